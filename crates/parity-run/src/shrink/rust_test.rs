//! A case as a Rust test that needs candle alone: inputs and right answer as literals, the limit as the tolerance.
//! candle's side of it comes from `parity_exec::source`; nothing is compiled here.

use std::fmt::Write;

use parity_exec::{BackendDevice, source};
use parity_model::{Case, DType, HostTensor, Op, float::Format};
use parity_oracle::{Expected, expected};

use crate::error::Error;

/// Elements of inputs and output together that a test still holds as literals.
const MOST_ELEMENTS: usize = 8192;

/// Numbers on a line of the right answer.
const PER_LINE: usize = 4;

/// The test, from its first comment to its closing brace.
///
/// # Errors
/// A case of random numbers, or one that is too large for literals.
pub fn rust_test(case: &Case, seed: u64, device: &BackendDevice) -> Result<String, Error> {
    let cannot = |why: String| Error::Nothing(format!("{}: {why}", case.id()));
    if matches!(case.op, Op::Random(_)) {
        return Err(cannot(
            "no element of what is drawn is right by itself, so that none can be a literal".to_owned(),
        ));
    }
    if case.check.compares_forms() {
        return Err(cannot(format!(
            "the check `{}` compares two forms of the call, and a test holds the right answer to one",
            case.check
        )));
    }
    let inputs = case.inputs(seed);
    let want = expected(case, &inputs);
    let elements = inputs.iter().map(HostTensor::len).sum::<usize>() + want.elements.len();
    if elements > MOST_ELEMENTS {
        return Err(cannot(format!(
            "inputs and output have {elements} elements, and a test holds {MOST_ELEMENTS} at most; more --runs may find a \
             smaller case"
        )));
    }
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_test(&mut page, case, &inputs, &want, device);
    Ok(page)
}

fn write_test(
    page: &mut String,
    case: &Case,
    inputs: &[HostTensor],
    want: &Expected,
    device: &BackendDevice,
) -> std::fmt::Result {
    let call = source::call(case);
    writeln!(page, "// {}", case.id())?;
    writeln!(page, "// {}", case.op.definition())?;
    writeln!(page, "// Needs {}.", crates(&call).join(", "))?;
    for (name, value) in device.env() {
        writeln!(page, "// Run it with {name}={value}.")?;
    }
    writeln!(page, "#[test]\nfn {}() -> candle_core::Result<()> {{", name(case))?;
    writeln!(page, "    use candle_core::{{DType, Device, Tensor}};\n")?;
    writeln!(page, "    let device = {};", device.source())?;
    page.push_str(&indented(&source::arguments(case, inputs)));
    if case.must_refuse() {
        let body = indented(&indented(&format!("Ok({call})\n")));
        writeln!(
            page,
            "    let got = (|| -> candle_core::Result<Tensor> {{\n{body}    }})();"
        )?;
        writeln!(
            page,
            "    assert!(got.is_err(), \"an id is out of range, and the call gave a result\");"
        )?;
        return writeln!(page, "    let _: DType = x0.dtype();\n    Ok(())\n}}");
    }
    page.push_str(&indented(&format!("let got = {call};\n")));
    writeln!(
        page,
        "    assert_eq!(got.dtype(), {});",
        source::dtype(want.dtype)
    )?;
    writeln!(
        page,
        "    assert_eq!(got.dims(), {:?} as [usize; {}]);",
        want.shape,
        want.shape.len()
    )?;
    match Format::of(want.dtype) {
        None => write_integers(page, want)?,
        Some(format) => write_floats(page, want, &format)?,
    }
    writeln!(page, "    Ok(())\n}}")
}

/// The crates that the test uses.
fn crates(call: &str) -> Vec<&'static str> {
    let others = [
        ("candle_nn::", "candle-nn"),
        ("candle_flash_attn::", "candle-flash-attn"),
        ("half::", "half"),
        ("float8::", "float8"),
    ];
    let used = others.into_iter().filter(|(path, _)| call.contains(path));
    std::iter::once("candle-core")
        .chain(used.map(|(_, name)| name))
        .collect()
}

/// A name that says the op, the dtype and the values.
fn name(case: &Case) -> String {
    let text = format!("{} {} {}", case.op, case.dtype, case.values)
        .to_lowercase()
        .replace('-', " minus ");
    let words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

fn indented(text: &str) -> String {
    let line = |line: &str| {
        if line.is_empty() {
            "\n".to_owned()
        } else {
            format!("    {line}\n")
        }
    };
    text.lines().map(line).collect()
}

/// Integers are compared in their own dtype: the limits of all of them leave no choice.
fn write_integers(page: &mut String, want: &Expected) -> std::fmt::Result {
    let dtype = want.dtype;
    let numbers: Vec<_> = want
        .elements
        .iter()
        .map(|element| parity_model::float::decode_int(dtype, element.bits).to_string())
        .collect();
    writeln!(page, "    let got = got.flatten_all()?.to_vec1::<{dtype}>()?;")?;
    writeln!(page, "    // {}", want.limit)?;
    writeln!(page, "    let want: Vec<{dtype}> = {};", list("vec![", &numbers))?;
    writeln!(page, "    assert_eq!(got, want);")
}

/// Floats are compared as `f64`, which holds all of them.
fn write_floats(page: &mut String, want: &Expected, format: &Format) -> std::fmt::Result {
    let numbers = want.elements.iter().map(|element| {
        let value = format.decode(element.bits);
        let within = match value.is_finite() {
            true => element.limit.ulp * format.ulp(value) + element.limit.abs,
            false => 0.0,
        };
        format!("({}, {within:?})", number(value))
    });
    let numbers: Vec<_> = numbers.collect();
    match want.dtype {
        DType::F64 => writeln!(page, "    let got = got.flatten_all()?.to_vec1::<f64>()?;")?,
        // By way of f32, which is exact: candle converts f8e4m3 to f64 through endless recursion.
        _ => {
            writeln!(
                page,
                "    let got = got.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;"
            )?;
            writeln!(
                page,
                "    let got: Vec<f64> = got.into_iter().map(f64::from).collect();"
            )?;
        }
    }
    writeln!(
        page,
        "    // The right answers, and how far from each an output may be: {}",
        want.limit
    )?;
    writeln!(
        page,
        "    let want: Vec<(f64, f64)> = {};",
        list("vec![", &numbers)
    )?;
    writeln!(
        page,
        "    for (i, (got, (want, within))) in got.into_iter().zip(want).enumerate() {{"
    )?;
    let right = match want.bitwise {
        true => "got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())",
        false => "got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= within",
    };
    writeln!(page, "        let right = {right};")?;
    writeln!(
        page,
        "        assert!(right, \"element {{i}} is {{got:?}}, expected {{want:?}} within {{within:e}}\");"
    )?;
    writeln!(page, "    }}")
}

fn number(value: f64) -> String {
    match value {
        x if x.is_nan() => "f64::NAN".to_owned(),
        f64::INFINITY => "f64::INFINITY".to_owned(),
        f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
        x => format!("{x:?}"),
    }
}

fn list(open: &str, items: &[String]) -> String {
    if items.len() <= PER_LINE {
        return format!("{open}{}]", items.join(", "));
    }
    let lines = items
        .chunks(PER_LINE)
        .map(|items| format!("        {},\n", items.join(", ")));
    format!("{open}\n{}    ]", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
        process::Command,
    };

    use parity_exec::Backend;

    use super::*;

    /// What a printed test may use.
    const CRATES: [&str; 5] = ["candle_core", "candle_nn", "candle_flash_attn", "half", "float8"];

    /// Where cargo keeps the libraries this test was linked from.
    fn libraries() -> PathBuf {
        let own = std::env::current_exe().unwrap();
        own.parent().unwrap().to_owned()
    }

    /// Every build of a crate that lies there, the newest first.
    fn builds(name: &str) -> Vec<PathBuf> {
        let prefix = format!("lib{name}-");
        let found = fs::read_dir(libraries()).unwrap();
        let found = found.map(|entry| entry.unwrap().path()).filter(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&prefix) && file.ends_with(".rlib")
        });
        let mut found: Vec<_> = found.collect();
        let age = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
        found.sort_by_key(|path| std::cmp::Reverse(age(path)));
        assert!(
            !found.is_empty(),
            "no {prefix}*.rlib in {}",
            libraries().display()
        );
        found
    }

    /// `rustc` on a file, with one build of each crate.
    fn rustc(file: &Path, crates: &[PathBuf]) -> Command {
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition", "2024", "-L"])
            .arg(format!("dependency={}", libraries().display()));
        for (name, path) in CRATES.iter().zip(crates) {
            rustc.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        rustc.arg(file);
        rustc
    }

    /// A build of each crate, of builds that know each other: a target directory keeps those of other features too.
    fn crates(dir: &Path) -> Vec<PathBuf> {
        let probe = dir.join("probe.rs");
        let text = "pub fn f(x: &candle_core::Tensor) -> candle_core::Result<candle_core::Tensor> { candle_nn::ops::sigmoid(x) }\n\
                    pub fn a(x: &candle_core::Tensor) -> candle_core::Result<candle_core::Tensor> {\n\
                        candle_flash_attn::flash_attn(x, x, x, 1., true)\n\
                    }\n\
                    pub fn g() -> candle_core::scalar::Scalar { half::f16::from_f64(1.0).into() }\n\
                    pub fn h() -> candle_core::scalar::Scalar { float8::F8E4M3::from_f64(1.0).into() }\n";
        fs::write(&probe, text).unwrap();
        let mut choices = vec![vec![]];
        for name in CRATES {
            let with = |chosen: &Vec<PathBuf>| {
                let chosen = chosen.clone();
                builds(name)
                    .into_iter()
                    .map(move |path| [chosen.as_slice(), &[path]].concat())
            };
            choices = choices.iter().flat_map(with).collect();
        }
        let fits = |chosen: &Vec<PathBuf>| {
            let mut rustc = rustc(&probe, chosen);
            rustc
                .args(["--crate-type", "lib", "--emit=metadata", "-o"])
                .arg(dir.join("probe.rmeta"));
            rustc.output().unwrap().status.success()
        };
        choices
            .into_iter()
            .find(fits)
            .expect("builds of candle that know each other")
    }

    /// Compiles tests against candle alone; the binary, or where `check` is set, whether they compile.
    fn compile(tests: &str, dir: &Path, check: bool) -> PathBuf {
        let (file, binary) = (dir.join("printed.rs"), dir.join("printed"));
        fs::write(&file, tests).unwrap();
        let mut rustc = rustc(&file, &crates(dir));
        rustc.args(["--test", "-D", "warnings", "-o"]).arg(&binary);
        if check {
            rustc.arg("--emit=metadata");
        }
        let compiled = rustc.output().unwrap();
        let messages = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{messages}");
        binary
    }

    /// Runs tests against candle alone; what they printed, and whether all passed.
    fn run(tests: &str) -> (String, bool) {
        let dir = tempfile::tempdir().unwrap();
        let binary = compile(tests, dir.path(), false);
        let ran = Command::new(&binary).output().unwrap();
        (
            String::from_utf8_lossy(&ran.stdout).into_owned(),
            ran.status.success(),
        )
    }

    /// The printed tests of cases, each in a module of its own; those of random numbers cannot be printed.
    fn printed(cases: &[Case]) -> String {
        let mut tests = String::new();
        for (i, case) in cases.iter().enumerate() {
            match rust_test(case, 0, &Backend::Cpu.into()) {
                Ok(test) => tests.push_str(&format!("mod case{i} {{\n{test}}}\n")),
                Err(error) => assert!(matches!(case.op, Op::Random(_)), "{error}"),
            }
        }
        tests
    }

    /// The smallest case of every op and dtype in the quick tier of the specs.
    fn smallest_of_every_op() -> Vec<Case> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../op-specs");
        let cases = crate::specs::load(Path::new(folder)).unwrap();
        let size = |case: &&Case| {
            let elements = case.args.iter().map(|arg| arg.shape.iter().product::<usize>());
            let (quick, finite) = (case.tier, format!("{:?}", case.values));
            (quick, elements.sum::<usize>(), finite)
        };
        let of = |op: Op| {
            let finite = |case: &&Case| {
                !matches!(
                    case.values,
                    parity_model::ValueSet::Nan | parity_model::ValueSet::Special
                )
            };
            let some = op.dtypes().iter().filter_map(|dtype| {
                let cases = cases.iter().filter(|case| case.op == op && case.dtype == *dtype);
                cases
                    .filter(finite)
                    .filter(|case| case.args.iter().all(|arg| !arg.shape.contains(&0)))
                    .min_by_key(size)
            });
            some.cloned().collect::<Vec<_>>()
        };
        Op::ALL.iter().flat_map(|op| of(*op)).collect()
    }

    #[test]
    fn a_printed_test_compiles_for_every_op_and_dtype() {
        let cases = smallest_of_every_op();
        assert!(cases.len() > Op::ALL.len());
        let dir = tempfile::tempdir().unwrap();
        compile(&printed(&cases), dir.path(), true);
    }

    #[test]
    fn candle_and_the_oracle_agree_in_printed_tests_of_every_form() {
        let cases = [
            "unary/powf(0.5):f32:[2,3]:transposed:uniform(1,2)",
            "binary/add:bf16:[3,5],[3,5]:sliced,broadcast:ints(-9,9)",
            "cast/to_i32:f64:[7]:contiguous:ints(-9,9)",
            "where/where_cond:u8,f32,f32:[4],[4],[4]:contiguous,contiguous,contiguous:uniform(0,1)",
            "reduce/sum(0,2):f32:[2,3,4]:transposed:ints(-4,4)",
            "indexing/gather(1):f16,i64:[2,3],[2,7]:contiguous,contiguous:ints(-4,4)",
            "indexing/index_select(0):f32,u32:[3],[2]:contiguous,contiguous:ids_beyond",
            "matmul/matmul:f32:[2,3],[3,4]:transposed,contiguous:ints(-4,4)",
            "conv/conv2d(1,2,1,1):f32:[1,2,5,5],[3,2,2,2]:contiguous,contiguous:ints(-4,4)",
            "pool/avg_pool2d(2,2,1,1):f32:[1,1,3,3]:contiguous:ints(-4,4)",
            "copy/fill(2,0,1,1):f16:[3]:contiguous:ints(-4,4)",
            "copy/slice_set(0,1):i64:[3],[2]:contiguous,contiguous:ints(-4,4)",
            "sort/argsort_asc:f32:[2,5]:contiguous:uniform(0,1)",
            "nn/layer_norm(0.00001):f32:[2,8],[8],[8]:contiguous,contiguous,contiguous:uniform(-1,1)",
            "quantized/dequantize_q4_0:u8:[2,32]:contiguous:any",
            "quantized/embedding_q2_K:u8,u32:[3,256],[2]:contiguous,contiguous:any",
        ];
        let cases = cases.map(|id| id.parse::<Case>().unwrap_or_else(|error| panic!("{error}")));
        let (output, passed) = run(&printed(&cases));
        assert!(
            passed && output.contains(&format!("{} passed", cases.len())),
            "{output}"
        );
    }

    #[test]
    fn a_printed_test_fails_where_candle_is_wrong_and_passes_where_it_is_right() {
        let wrong: Case = "unary/relu:f32:[3]:contiguous:nan".parse().unwrap();
        let (output, passed) = run(&rust_test(&wrong, 0, &Backend::Cpu.into()).unwrap());
        assert!(!passed && output.contains("expected NaN within 0e0"), "{output}");
        let right: Case = "unary/relu:f32:[3]:contiguous:ints(-4,4)".parse().unwrap();
        let (output, passed) = run(&rust_test(&right, 0, &Backend::Cpu.into()).unwrap());
        assert!(passed, "{output}");
    }

    #[test]
    fn a_case_too_large_for_literals_is_refused_with_a_way_out() {
        let case: Case = "unary/exp:f32:[5000]:contiguous:uniform(0,1)".parse().unwrap();
        let message = rust_test(&case, 0, &Backend::Cpu.into()).unwrap_err().to_string();
        assert!(
            message.contains("10000 elements") && message.contains("--runs"),
            "{message}"
        );
    }
}
