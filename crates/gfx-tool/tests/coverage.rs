//! `gfx exec --coverage` and `--lcov`: examples/hip-ctest/sums.hip over this workspace's libamdhip64.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

#[path = "../../hsa-soft/tests/client/built.rs"]
mod built;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// A machine without it cannot run the tests, and the failure says so.
const CLANG: &str = "clang++-19";
const SOURCE: &str = "examples/hip-ctest/sums.hip";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The library; `ROCM_HIP_LIBRARY` says where it is, if it was built.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("ROCM_HIP_LIBRARY") {
    Some(file) => file.into(),
    None => built::built("hip-soft", "libhip_soft.so"),
});

/// The program, with code for two cards; `flags` are the compiler's.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("coverage-{name}-{}", std::process::id()));
    let output = Command::new(CLANG)
        .current_dir(root())
        .args(["-x", "hip", "-O2", "-std=c++17", "-nogpuinc", "-nogpulib"])
        .args(["--offload-arch=gfx1100", "--offload-arch=gfx942"])
        .args(["-mcode-object-version=5", "-Wno-unused-command-line-argument"])
        .args(["-isystem", "crates/gfx-tool/tests/include"])
        .args(flags)
        .arg(SOURCE)
        .args(["--hip-link", "-no-hip-rt", "-o"])
        .arg(&file)
        .arg("-Xlinker")
        .arg(&*LIBRARY)
        .output()
        .unwrap_or_else(|error| panic!("{CLANG}: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    file
}

fn gfx(flags: &[&str], program: &Path, argument: &str) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gfx"))
        .args(["exec", "--seam", "hip"])
        .args(flags)
        .arg("--")
        .arg(program)
        .arg(argument)
        .env("ROCM_HIP_LIBRARY", &*LIBRARY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Of a tracefile, what was executed of each line of the program's source.
fn lines(tracefile: &str) -> BTreeMap<usize, usize> {
    let mut lines = BTreeMap::new();
    let records = tracefile.split("end_of_record\n");
    for record in records.filter(|record| record.contains(&format!("{SOURCE}\n"))) {
        for line in record.lines().filter_map(|line| line.strip_prefix("DA:")) {
            let (number, executed) = line.split_once(',').unwrap();
            lines.insert(number.parse().unwrap(), executed.parse().unwrap());
        }
    }
    lines
}

/// The lines of the source that have these words.
fn with(words: &[&str]) -> Vec<usize> {
    let text = std::fs::read_to_string(root().join(SOURCE)).unwrap();
    let found = words.iter().map(|words| {
        let place = text.lines().position(|line| line.contains(words));
        place.unwrap() + 1
    });
    found.collect()
}

const ADD: &str = "if (i < n) sum[i] = a[i] + b[i];";
const REDUCE: [&str; 2] = [
    "if (threadIdx.x < half) part[threadIdx.x] +=",
    "if (threadIdx.x == 0) atomicAdd(total, part[0]);",
];

#[test]
fn lines_of_kernels_that_ran_are_executed_and_those_of_others_are_not() {
    let program = program("sums", &["-gline-tables-only"]);
    let folder = tempfile::tempdir().unwrap();
    let [json, lcov] = ["coverage.json", "lcov.info"].map(|name| folder.path().join(name));
    for card in ["gfx1100", "gfx942"] {
        let flags = [
            "--card",
            card,
            "--coverage",
            json.to_str().unwrap(),
            "--lcov",
            lcov.to_str().unwrap(),
        ];
        let (output, said) = gfx(&flags, &program, "reduce");
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains(&format!("coverage: {card}: 1 of 3 kernels launched")),
            "{said}"
        );
        let seen = lines(&std::fs::read_to_string(&lcov).unwrap());
        for line in with(&REDUCE) {
            assert!(seen[&line] > 0, "{card}, line {line}: {seen:?}");
        }
        for line in with(&[ADD]) {
            assert_eq!(seen[&line], 0, "{card}, line {line}: {seen:?}");
        }
        // The other way round: what is not executed depends on the program's run, not on the lines.
        let (output, said) = gfx(&flags, &program, "add");
        assert!(output.status.success(), "{said}");
        let seen = lines(&std::fs::read_to_string(&lcov).unwrap());
        assert!(seen[&with(&[ADD])[0]] > 0, "{card}: {seen:?}");
        for line in with(&REDUCE) {
            assert_eq!(seen[&line], 0, "{card}, line {line}: {seen:?}");
        }
        let coverage = kernel_coverage::read(&json).unwrap();
        let kernels = coverage.objects.iter().flat_map(|object| &object.kernels);
        let launched: Vec<&str> = kernels
            .filter(|kernel| kernel.launched())
            .map(|kernel| kernel.name.as_str())
            .collect();
        assert_eq!(launched, ["_Z3addPKfS0_Pfj"]);
    }
}

#[test]
fn a_kernel_that_faults_leaves_what_it_executed() {
    let program = program("race", &["-gline-tables-only"]);
    let folder = tempfile::tempdir().unwrap();
    let lcov = folder.path().join("lcov.info");
    let flags = ["--sanitize", "--lcov", lcov.to_str().unwrap()];
    let (output, said) = gfx(&flags, &program, "race");
    assert!(!output.status.success() && said.contains("sums.hip:"), "{said}");
    assert!(
        said.contains("coverage: gfx1100: 1 of 3 kernels launched"),
        "{said}"
    );
    let seen = lines(&std::fs::read_to_string(&lcov).unwrap());
    let [fold, total] = with(&REDUCE)[..] else {
        panic!()
    };
    assert!(seen[&fold] > 0 && seen[&total] == 0, "{seen:?}");
}

#[test]
fn what_has_no_lines_or_no_kernels_is_an_error() {
    let program = program("bare", &[]);
    let folder = tempfile::tempdir().unwrap();
    let lcov = folder.path().join("lcov.info");
    let (output, said) = gfx(&["--lcov", lcov.to_str().unwrap()], &program, "add");
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("have no lines of source. Compile them with -gline-tables-only"),
        "{said}"
    );
    let (output, said) = gfx(&["--lcov", lcov.to_str().unwrap()], Path::new("true"), "");
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("no coverage: no process of the program loaded a kernel"),
        "{said}"
    );
    // The program's own failure is the one that is passed on.
    let (output, said) = gfx(&["--lcov", lcov.to_str().unwrap()], &program, "other");
    assert_eq!(output.status.code(), Some(2), "{said}");
}

#[test]
fn a_folder_of_the_callers_is_filled_or_the_program_fails() {
    let program = program("folder", &["-gline-tables-only"]);
    let with = |folder: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_gfx"))
            .args(["exec", "--seam", "hip", "--"])
            .arg(&program)
            .arg("add")
            .env("ROCM_HIP_LIBRARY", &*LIBRARY)
            .env("ROCM_COVERAGE", folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("made");
    let (passes, said) = with(&folder);
    assert!(passes, "{said}");
    let coverage = kernel_coverage::Collector::of_folder(&folder)
        .unwrap()
        .coverage()
        .unwrap();
    assert_eq!(coverage.targets()["gfx1100"].launched, 1);
    let file = tempfile::NamedTempFile::new().unwrap();
    let (passes, said) = with(file.path());
    assert!(
        !passes && said.contains("finding: ROCM_COVERAGE=") && said.contains("cannot be written"),
        "{said}"
    );
}
