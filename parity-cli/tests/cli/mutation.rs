//! Broken kernels are caught: a line of a kernel is changed, the kernel compiled, executed and judged; the run must fail.
//! Without the change it must pass, so that it is the change that is caught.

use std::fs;
use std::path::{Path, PathBuf};

use kernel_build::Target;
use parity_model::Verdict;
use serde_json::Value;

use crate::common::parity;

/// A change to one line of a kernel file, and the op whose cases must notice.
struct Mutant {
    what: &'static str,
    /// Which of [`MODULES`] has the ops' kernels.
    module: &'static str,
    file: &'static str,
    line: &'static str,
    replacement: &'static str,
    ops: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        what: "the strides are ignored",
        module: "unary.hip",
        file: "layout.h",
        line: "at[k] += size_t(coordinate) * stride(k, d - 1);",
        replacement: "",
        ops: "neg",
    },
    Mutant {
        what: "every strided tensor is taken for a contiguous one",
        module: "binary.hip",
        file: "layout.h",
        line: "is_plain(info == nullptr)",
        replacement: "is_plain(true)",
        ops: "lt",
    },
    Mutant {
        what: "the right operand is read where the left one is",
        module: "binary.hip",
        file: "layout.h",
        line: "out[i] = f(lhs[at[0]], rhs[at[1]]);",
        replacement: "out[i] = f(lhs[at[0]], rhs[at[0]]);",
        ops: "mul",
    },
    Mutant {
        what: "the last element is left out",
        module: "unary.hip",
        file: "layout.h",
        line: "out[i] = f(from[at[0]]);",
        replacement: "if (i + 1 < numel) { out[i] = f(from[at[0]]); }",
        ops: "exp",
    },
    Mutant {
        what: "what is after the last pack is taken for what is before it",
        module: "unary.hip",
        file: "packs.h",
        line: "single(i < head ? i : i + packs * N);",
        replacement: "single(i);",
        ops: "neg",
    },
    Mutant {
        what: "a comparison lets equality in",
        module: "binary.hip",
        file: "numeric.h",
        line: "PARITY_COMPARE(lt, <)",
        replacement: "PARITY_COMPARE(lt, <=)",
        ops: "lt",
    },
    Mutant {
        what: "the tanh form of gelu has a wrong constant",
        module: "unary.hip",
        file: "numeric.h",
        line: "const S inner = sqrt_two_over_pi * fused(S(0.044715), cube, x);",
        replacement: "const S inner = sqrt_two_over_pi * fused(S(0.0447), cube, x);",
        ops: "gelu",
    },
];

/// The modules with the kernels of the mutants' ops. Others are those that are built in.
const MODULES: [&str; 2] = ["unary.hip", "binary.hip"];

fn kernel_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rocm-backend/kernels")
}

/// A module's text without the rows of other ops, which would take most of its compilation.
fn rows_of(ops: &str, text: &str) -> String {
    let is_other = |line: &&str| {
        let row = line.trim_start();
        let arguments = ["KERNEL(", "KERNEL_WITH_PARAM("]
            .iter()
            .find_map(|start| row.strip_prefix(start));
        let kernel = arguments.and_then(|arguments| arguments.split(',').next());
        kernel.is_some_and(|kernel| {
            !ops.split(',')
                .any(|op| kernel == op || kernel.strip_prefix('b') == Some(op))
        })
    };
    // The last row of a list has no backslash after it.
    let kept = |line: &'_ str| match is_other(&line) {
        false => format!("{line}\n"),
        true if line.ends_with('\\') => String::new(),
        true => "\n".to_owned(),
    };
    text.lines().map(kept).collect()
}

/// Copies headers and the module of the mutant's ops, or all modules, changes what the mutant says, and compiles the rows of `ops` for the
/// software GPU.
fn compile(mutant: Option<&Mutant>, ops: &str, dir: &Path) -> PathBuf {
    let sources = dir.join("kernels");
    fs::create_dir(&sources).unwrap();
    for entry in fs::read_dir(kernel_dir()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let is_wanted =
            |module: &&str| name == *module && mutant.is_none_or(|mutant| mutant.module == *module);
        if path.extension().is_some_and(|end| end == "h") {
            fs::copy(&path, sources.join(name)).unwrap();
        } else if MODULES.iter().any(is_wanted) {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(sources.join(name), rows_of(ops, &text)).unwrap();
        }
    }
    if let Some(mutant) = mutant {
        let path = sources.join(mutant.file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text.matches(mutant.line).count(),
            1,
            "{}: `{}` is to stand once",
            mutant.file,
            mutant.line
        );
        fs::write(&path, text.replace(mutant.line, mutant.replacement)).unwrap();
    }
    let objects = dir.join("objects");
    fs::create_dir(&objects).unwrap();
    let targets = Target::parse_list("gfx1100").unwrap();
    kernel_build::compile(&sources, &targets, &objects, 2).unwrap();
    objects
}

/// Runs `ops` with the code objects and gives the exit code and the number of mismatches on the ROCm backend.
fn mismatches(objects: &Path, ops: &str) -> (i32, usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let objects = objects.to_str().unwrap();
    let env = [("ROCM_DRIVER", "soft"), ("ROCM_CODE_OBJECTS", objects)];
    let run = parity(
        &["run", "--backend", "rocm", "--ops", ops, "--format", "json"],
        root,
        &env,
    );
    let record: Value = serde_json::from_str(&run.stdout).unwrap();
    let driver = record["backends"][1]["driver"].as_str().unwrap();
    assert!(
        driver.contains(objects),
        "the record hides where the kernels came from: {driver}"
    );
    let cases = record["cases"].as_array().unwrap().iter();
    (
        run.code,
        cases
            .filter(|case| case["results"][1]["verdict"] == Verdict::Mismatch.name())
            .count(),
    )
}

#[test]
fn a_kernel_with_one_line_changed_is_caught() {
    for mutant in MUTANTS {
        let dir = tempfile::tempdir().unwrap();
        let objects = compile(Some(mutant), mutant.ops, dir.path());
        let (code, wrong) = mismatches(&objects, mutant.ops);
        assert_eq!(code, 100, "not caught: {}", mutant.what);
        assert!(wrong > 0, "failed for another reason: {}", mutant.what);
    }
}

#[test]
fn the_kernels_compiled_the_same_way_without_a_change_pass() {
    let dir = tempfile::tempdir().unwrap();
    let ops = "neg,abs,exp,gelu,add,mul,lt";
    let objects = compile(None, ops, dir.path());
    assert_eq!(mismatches(&objects, ops), (0, 0));
}
