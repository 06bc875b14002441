//! Small networks on the software GPU, judged as `parity model` judges them; and faults that must be noticed and named.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{fs, path::Path, time::Duration};

use kernel_build::Target;
use parity_zoo::{Dtype, ModelSpec, Settings, Verdict, Worker, WrongWeight};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn models(names: &[&str], dtypes: &[Dtype]) -> Vec<ModelSpec> {
    let all = parity_zoo::load(&root().join("../../model-specs")).unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    parity_zoo::select(all, &names, dtypes).unwrap()
}

fn settings(variables: &[(&str, &str)]) -> Settings {
    let device = [("ROCM_DRIVER", "soft"), ("ROCM_SOFT_DEVICES", "gfx1100")];
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Settings {
        worker: Worker {
            program: env!("CARGO_BIN_EXE_parity-zoo-worker").into(),
            limit: Duration::from_secs(300),
            threads: 2,
        },
        devices: vec![(
            "rocm:gfx1100".to_owned(),
            device.iter().chain(variables).map(owned).collect(),
        )],
        reference: "cpu".to_owned(),
        dequantized: ("CANDLE_DEQUANTIZE_ALL".to_owned(), "1".to_owned()),
        seed: 0,
        jobs: 1,
        weights: None,
        fault: None,
        candle_version: "0.11.1".to_owned(),
    }
}

#[test]
fn a_language_model_a_mixture_an_image_model_blocks_and_training_agree() {
    let names = ["llama", "mixtral", "vit", "gguf-llama", "train-mlp-sgd"];
    let models = models(&names, &[Dtype::F32, Dtype::Q8_0]);
    let record = parity_zoo::run(&models, &settings(&[]), &|_| {}).unwrap();
    assert_eq!(record.results.len(), 5);
    for result in &record.results {
        assert_eq!(result.verdict, Verdict::Agrees, "{result:?}");
        assert!(result.kernels > 0 && result.level == "isa", "{result:?}");
    }
    let text = parity_zoo::text(&record);
    assert!(text.contains("5 results") && text.contains("5 agrees"), "{text}");
    let stored = tempfile::NamedTempFile::new().unwrap();
    fs::write(stored.path(), parity_zoo::json(&record).unwrap()).unwrap();
    assert_eq!(
        parity_zoo::markdown(&parity_zoo::read(stored.path()).unwrap()),
        parity_zoo::markdown(&record)
    );
}

#[test]
fn one_weight_tensor_that_is_a_ten_thousandth_off_is_refused() {
    let mut settings = settings(&[]);
    settings.fault = Some(WrongWeight {
        tensor: "model.layers.1.mlp.down_proj.weight".to_owned(),
        factor: 1.000_1,
    });
    let record = parity_zoo::run(&models(&["llama"], &[Dtype::F32]), &settings, &|_| {}).unwrap();
    assert_eq!(record.results[0].verdict, Verdict::Wrong, "{:?}", record.results);
    assert_eq!(record.failing(), 1);
}

#[test]
fn a_model_that_cannot_be_built_and_a_time_that_is_over_are_told_apart() {
    let mut broken = models(&["llama"], &[Dtype::F32]);
    broken[0].config.remove("vocab_size");
    let record = parity_zoo::run(&broken, &settings(&[]), &|_| {}).unwrap();
    assert_eq!(record.results[0].verdict, Verdict::CpuFails);
    assert!(
        record.results[0]
            .message
            .as_deref()
            .unwrap()
            .contains("vocab_size")
    );

    let mut slow = models(&["train-mlp-sgd"], &[Dtype::F32]);
    slow[0].steps = 1_000_000;
    let mut settings = settings(&[]);
    settings.worker.limit = Duration::from_secs(2);
    let record = parity_zoo::run(&slow, &settings, &|_| {}).unwrap();
    let message = record.results[0].message.as_deref().unwrap();
    assert!(message.contains("longer than 2 s"), "{message}");
}

/// The kernels' code objects, those of one module from a header with one line changed. The others are as they were compiled before.
fn kernels(dir: &Path, module: &str, header: &str, line: &str, replacement: &str) -> String {
    let (sources, objects) = (dir.join("kernels"), dir.join("objects"));
    fs::create_dir(&sources).unwrap();
    fs::create_dir(&objects).unwrap();
    let (kernels, targets) = (
        root().join("../../rocm-backend/kernels"),
        Target::parse_list("gfx1100").unwrap(),
    );
    kernel_build::compile(&kernels, &targets, &objects, 2).unwrap();
    for entry in fs::read_dir(kernels).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name == module || path.extension().is_some_and(|extension| extension == "h") {
            fs::copy(&path, sources.join(name)).unwrap();
        }
    }
    let text = fs::read_to_string(sources.join(header)).unwrap();
    assert_eq!(
        text.matches(line).count(),
        1,
        "{header}: `{line}` is to stand once"
    );
    fs::write(sources.join(header), text.replace(line, replacement)).unwrap();
    kernel_build::compile(&sources, &targets, &objects, 2).unwrap();
    objects.to_str().unwrap().to_owned()
}

/// A wrong constant in the tanh form of gelu, which gemma2's layers have in one place each.
#[test]
fn a_bisection_names_the_op_whose_kernel_is_wrong_and_no_op_where_none_is() {
    let gemma = models(&["gemma2"], &[Dtype::F32]);
    let found = parity_zoo::bisect(&gemma[0], Dtype::F32, &settings(&[])).unwrap();
    assert_eq!(found.first, None, "{}", parity_zoo::bisection(&found));
    let compared = found
        .steps
        .iter()
        .filter(|step| step.op.skipped.is_none())
        .count();
    assert!(
        compared * 20 > found.steps.len() * 19,
        "{}",
        parity_zoo::bisection(&found)
    );

    let dir = tempfile::tempdir().unwrap();
    let line = "const S inner = sqrt_two_over_pi * fused(S(0.044715), cube, x);";
    let wrong = "const S inner = sqrt_two_over_pi * fused(S(0.0447), cube, x);";
    let objects = kernels(dir.path(), "unary.hip", "numeric.h", line, wrong);
    let planted = settings(&[("ROCM_CODE_OBJECTS", &objects)]);
    let found = parity_zoo::bisect(&gemma[0], Dtype::F32, &planted).unwrap();
    let page = parity_zoo::bisection(&found);
    let first = &found.steps[found.first.expect(&page)];
    assert_eq!(first.op.op, "gelu", "{page}");
    assert!(page.contains("is the first outside its limit"), "{page}");
}
