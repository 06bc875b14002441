//! Small networks on the software GPU, judged as `parity model` judges them; and faults that must be noticed and named.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{fs, io::Write as _, path::Path, time::Duration};

use kernel_build::Target;
use parity_zoo::{Begun, Dtype, Journal, Keep, ModelSpec, ModelVerdict, Settings, Worker, WrongWeight};

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
        cards: "ROCM_SOFT_DEVICES".to_owned(),
        seed: 0,
        jobs: 1,
        weights: None,
        fault: None,
        candle_version: "0.11.1".to_owned(),
    }
}

#[test]
fn a_language_model_a_mixture_an_image_model_blocks_graphs_and_training_agree() {
    let names = [
        "llama",
        "mixtral",
        "vit",
        "gguf-llama",
        "train-mlp-sgd",
        "llama-captured",
        "decode-loop",
    ];
    let models = models(&names, &[Dtype::F32, Dtype::Q8_0]);
    let record = parity_zoo::run(&models, &settings(&[]), None, &|_| {}).unwrap();
    assert_eq!(record.results.len(), 7);
    for result in &record.results {
        assert_eq!(result.verdict, ModelVerdict::Agrees, "{result:?}");
        assert!(result.kernels > 0 && result.level == "isa", "{result:?}");
    }
    let text = parity_zoo::text(&record);
    assert!(text.contains("7 results") && text.contains("7 agrees"), "{text}");
    let stored = tempfile::NamedTempFile::new().unwrap();
    fs::write(stored.path(), parity_zoo::json(&record).unwrap()).unwrap();
    assert_eq!(
        parity_zoo::markdown(&parity_zoo::read(stored.path()).unwrap()),
        parity_zoo::markdown(&record)
    );
}

#[test]
fn a_run_that_was_cut_off_goes_on_with_its_journal() {
    let models = models(&["llama", "train-mlp-sgd"], &[Dtype::F32]);
    let run = |journal: Journal| parity_zoo::run(&models, &settings(&[]), Some(journal), &|_| {});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let keep = || -> Keep {
        let mut file = fs::File::options().append(true).create(true).open(&path).unwrap();
        Box::new(move |line| {
            writeln!(file, "{}", str::from_utf8(&line).unwrap()).map_err(|why| why.to_string())
        })
    };
    let whole = run(Journal::new(keep())).unwrap();

    // As of a run that was killed while it wrote the second model's line.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    let cut = parity_zoo::read(&path).unwrap();
    assert_eq!((cut.results.len(), cut.missing), (1, 1));

    let begun = || Begun::read(&path, &fs::read(&path).unwrap()).unwrap();
    fs::write(&path, &text[..begun().whole]).unwrap();
    let resumed = run(Journal::after(begun(), keep())).unwrap();
    // Its seconds say that the first model did not run again.
    assert_eq!(resumed.results[0], whole.results[0]);
    assert_eq!(resumed.results[1].error, whole.results[1].error);
    assert_eq!(parity_zoo::read(&path).unwrap().results, resumed.results);

    let other = Settings {
        seed: 1,
        ..settings(&[])
    };
    let journal = Journal::after(begun(), keep());
    let refused = parity_zoo::run(&models, &other, Some(journal), &|_| {}).unwrap_err();
    let want = "the seed: `0` in the journal, `1` now";
    assert!(refused.to_string().contains(want), "{refused}");
}

#[test]
fn every_op_of_a_language_model_is_a_case_with_its_own_shapes_and_layouts() {
    let found =
        parity_zoo::bisect(&models(&["llama"], &[Dtype::F32])[0], Dtype::F32, &settings(&[])).unwrap();
    let exported = parity_zoo::export(&found);
    assert!(exported.left_out.is_empty(), "{:?}", exported.left_out);
    let ids: Vec<String> = exported.cases.iter().map(|case| case.id().to_string()).collect();
    assert!(ids.len() > 40 && ids.len() < found.steps.len(), "{ids:#?}");
    // Queries of seven tokens, four heads of width 8, times the keys, which are transposed.
    let scores = "matmul/matmul:f32:[1,4,7,8],[1,4,8,7]:contiguous,transposed:uniform(-1,1)";
    assert!(ids.iter().any(|id| id == scores), "{ids:#?}");
}

#[test]
fn one_weight_tensor_that_is_a_ten_thousandth_off_is_refused() {
    let mut settings = settings(&[]);
    settings.fault = Some(WrongWeight {
        tensor: "model.layers.1.mlp.down_proj.weight".to_owned(),
        factor: 1.000_1,
    });
    let record = parity_zoo::run(&models(&["llama"], &[Dtype::F32]), &settings, None, &|_| {}).unwrap();
    assert_eq!(
        record.results[0].verdict,
        ModelVerdict::Wrong,
        "{:?}",
        record.results
    );
    assert_eq!(record.failing(), 1);
}

#[test]
fn a_model_that_cannot_be_built_and_a_time_that_is_over_are_told_apart() {
    let mut broken = models(&["llama"], &[Dtype::F32]);
    broken[0].config.remove("vocab_size");
    let record = parity_zoo::run(&broken, &settings(&[]), None, &|_| {}).unwrap();
    assert_eq!(record.results[0].verdict, ModelVerdict::CpuFails);
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
    let record = parity_zoo::run(&slow, &settings, None, &|_| {}).unwrap();
    let message = record.results[0].message.as_deref().unwrap();
    assert!(message.contains("longer than 2 s"), "{message}");
}

/// One wrong line of a kernel, and an op of a network that it makes wrong.
struct Fault {
    what: &'static str,
    /// The module that is compiled with it.
    module: &'static str,
    file: &'static str,
    line: &'static str,
    wrong: &'static str,
    model: &'static str,
    dtype: Dtype,
    /// The first op that bisection is to name.
    op: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "a wrong constant in the tanh form of gelu",
        module: "unary.hip",
        file: "numeric.h",
        line: "const S inner = sqrt_two_over_pi * fused(S(0.044715), cube, x);",
        wrong: "const S inner = sqrt_two_over_pi * fused(S(0.0447), cube, x);",
        model: "gemma2",
        dtype: Dtype::F32,
        op: "gelu",
    },
    Fault {
        what: "the erf form of gelu, of a number that is a thousandth too large",
        module: "unary.hip",
        file: "numeric.h",
        line: "return x * normcdf(x);",
        wrong: "return x * normcdf(x * S(1.001));",
        model: "bert",
        dtype: Dtype::F32,
        op: "gelu_erf",
    },
    Fault {
        what: "a denominator of silu that is a thousandth too large",
        module: "unary.hip",
        file: "numeric.h",
        line: "return div(x, S(1) + exp(-x));",
        wrong: "return div(x, S(1.001) + exp(-x));",
        model: "llama",
        dtype: Dtype::F32,
        op: "silu",
    },
    Fault {
        what: "elu below zero is not continuous",
        module: "unary.hip",
        file: "numeric.h",
        line: "alpha * (exp(x) - S(1))",
        wrong: "alpha * (exp(x) - S(1.001))",
        model: "encodec",
        dtype: Dtype::F32,
        op: "elu",
    },
    Fault {
        what: "the second of a rotated pair has a sum of the first alone",
        module: "reduce.hip",
        file: "rope.h",
        line: "return narrow<T>(device_math::fma(widen(x), widen(sine), widen(y) * widen(cosine)));",
        wrong: "return narrow<T>(device_math::fma(widen(x), widen(sine), widen(x) * widen(cosine)));",
        model: "llama",
        dtype: Dtype::F32,
        op: "rotary-emb",
    },
    Fault {
        what: "layer_norm subtracts what it should add",
        module: "reduce.hip",
        file: "norm.h",
        line: "return narrow<T>((widen(x) - mean) * scale * weights(k, e) + shifts(k, e));",
        wrong: "return narrow<T>((widen(x) - mean) * scale * weights(k, e) - shifts(k, e));",
        model: "bert",
        dtype: Dtype::F32,
        op: "layer-norm",
    },
    Fault {
        what: "rms_norm adds a thousandth to its weights",
        module: "reduce.hip",
        file: "norm.h",
        line: "return narrow<T>(widen(x) * scale * weights(k, e)); });",
        wrong: "return narrow<T>(widen(x) * scale * (weights(k, e) + A(0.001))); });",
        model: "llama",
        dtype: Dtype::F32,
        op: "rms-norm",
    },
    Fault {
        what: "softmax divides by a sum that is a thousandth too large",
        module: "reduce.hip",
        file: "norm.h",
        line: "mine * power_for<T>(best - greatest), add);",
        wrong: "mine * power_for<T>(best - greatest), add) * A(1.001);",
        model: "vit",
        dtype: Dtype::F32,
        op: "softmax-last-dim",
    },
    Fault {
        what: "the smallest of a window in the place of the largest",
        module: "conv.hip",
        file: "pool.h",
        line: "largest = device_math::max_number(largest, widen(x));",
        wrong: "largest = device_math::max_number(largest, -widen(x));",
        model: "resnet18",
        dtype: Dtype::F32,
        op: "max_pool2d",
    },
    Fault {
        what: "the nearest element is the next one",
        module: "conv.hip",
        file: "upsample.h",
        line: "const u32 at = u32(f64(out) * scale);",
        wrong: "const u32 at = u32(f64(out) * scale) + 1;",
        model: "segformer",
        dtype: Dtype::F32,
        op: "upsample_nearest2d",
    },
    Fault {
        what: "the other of two operands is chosen",
        module: "ternary.hip",
        file: "ternary.hip",
        line: "out[i] = *(cond[at[0]] != 0 ? t + at[1] : f + at[2]);",
        wrong: "out[i] = *(cond[at[0]] == 0 ? t + at[1] : f + at[2]);",
        model: "llama",
        dtype: Dtype::F32,
        op: "where_cond",
    },
    Fault {
        what: "a scale of quantized activations that is a twentieth too large",
        module: "quantized.hip",
        file: "quantized_dot.h",
        line: "const f16 head[2] = {f16(scale), f16(sum)};",
        wrong: "const f16 head[2] = {f16(scale * 1.05f), f16(sum)};",
        model: "gguf-llama",
        dtype: Dtype::Q8_0,
        op: "qmatmul",
    },
];

/// The kernels' code objects, those of the fault's module with it. The others are as they were compiled before.
fn kernels(dir: &Path, fault: &Fault) -> String {
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
        if name == fault.module || path.extension().is_some_and(|extension| extension == "h") {
            fs::copy(&path, sources.join(name)).unwrap();
        }
    }
    let path = sources.join(fault.file);
    let text = fs::read_to_string(&path).unwrap();
    let count = text.matches(fault.line).count();
    assert_eq!(count, 1, "{}: `{}` is to stand once", fault.file, fault.line);
    fs::write(&path, text.replace(fault.line, fault.wrong)).unwrap();
    kernel_build::compile(&sources, &targets, &objects, 2).unwrap();
    objects.to_str().unwrap().to_owned()
}

/// Bisects a network without a fault: no op is named, and almost all were compared.
#[track_caller]
fn names_none(model: &str, dtype: Dtype) {
    let spec = &models(&[model], &[dtype])[0];
    let found = parity_zoo::bisect(spec, dtype, &settings(&[])).unwrap();
    let page = parity_zoo::bisection(&found);
    assert_eq!(found.first, None, "{page}");
    let compared = found.steps.iter().filter(|step| step.op.skipped.is_none());
    assert!(compared.count() * 20 > found.steps.len() * 19, "{page}");
}

/// Bisects a network with a fault in one kernel, which must be named.
#[track_caller]
fn names(fault: &Fault) {
    let dir = tempfile::tempdir().unwrap();
    let objects = kernels(dir.path(), fault);
    let spec = &models(&[fault.model], &[fault.dtype])[0];
    let found = parity_zoo::bisect(spec, fault.dtype, &settings(&[("ROCM_CODE_OBJECTS", &objects)])).unwrap();
    let page = parity_zoo::bisection(&found);
    let first = found.first.unwrap_or_else(|| panic!("{}: {page}", fault.what));
    assert_eq!(found.steps[first].op.op, fault.op, "{}: {page}", fault.what);
    assert!(page.contains("is the first outside its limit"), "{page}");
}

#[test]
fn a_bisection_names_the_op_whose_kernel_is_wrong_and_no_op_where_none_is() {
    names_none(FAULTS[0].model, FAULTS[0].dtype);
    names(&FAULTS[0]);
}

#[test]
#[ignore = "a module is compiled for each fault: model-specs/README.md says how to run it"]
fn every_planted_fault_is_named_and_no_op_without_one() {
    for fault in FAULTS {
        names_none(fault.model, fault.dtype);
        names(fault);
        println!("{} of {} is named: {}", fault.op, fault.model, fault.what);
    }
}
