//! Builds a suite, runs its test programs and reads what they say.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use candle_overlay::page::TestResult;

/// What came of each test, by the file's name without `.rs` and the test's.
pub(crate) type Outcomes = BTreeMap<(String, String), TestResult>;

/// The file of the test that tells which device there is.
pub(crate) const DEVICE: &str = "the_device_of_this_run";
const MARK: &str = "the device: ";
/// How the overlay says that it would have to run a custom op on the CPU.
const REFUSAL: &str = "ROCM_FALLBACK=refuse keeps it from running on the cpu";

/// The package that a release's tests are in.
pub(crate) fn package(release: &str) -> String {
    format!("upstream-tests-{release}")
}

/// The test of the file [`DEVICE`], for a suite that knows candle-core as `library`.
pub(crate) fn device_test(library: &str) -> String {
    format!(
        "#[test]\nfn {DEVICE}() {{\n    let device = {library}::Device::new_rocm(0).unwrap();\n    \
         let backend = device.as_rocm_device().unwrap().backend();\n    \
         println!(\"{MARK}{{backend}}, {{}}\", backend.info().driver());\n}}\n"
    )
}

/// Runs every test of `release`, fallbacks refused. One that then fails for the refusal of a custom op that is its own runs
/// again with fallbacks, and one of `rounded`, by file and name, with activations rounded as on the CPU.
pub(crate) fn run(
    folder: &Path,
    release: &str,
    target: &Path,
    rounded: &BTreeSet<(String, String)>,
) -> Result<Outcomes, Box<dyn Error>> {
    let mut outcomes = Outcomes::new();
    for (file, program) in programs(folder, release, target)? {
        let output = Command::new(&program)
            .current_dir(folder.join(release))
            .env("ROCM_FALLBACK", "refuse")
            .stderr(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        for (name, mut outcome) in read(&text) {
            let again = |fallback, activations| {
                let mut command = Command::new(&program);
                command.args(["--exact", &name]).current_dir(folder.join(release));
                command
                    .env("ROCM_FALLBACK", fallback)
                    .env("ROCM_ACTIVATIONS", activations)
                    .output()
            };
            if outcome == TestResult::Fail && said(&text, &name).contains(REFUSAL) {
                if again("allow", "")?.status.success() {
                    outcome = TestResult::PassWithFallback;
                }
            } else if outcome == TestResult::Fail
                && rounded.contains(&(file.clone(), name.clone()))
                && again("refuse", "cpu")?.status.success()
            {
                outcome = TestResult::PassRoundedAsCpu;
            }
            outcomes.insert((file.clone(), name), outcome);
        }
    }
    Ok(outcomes)
}

/// The device that the tests ran on, and its driver.
pub(crate) fn device(folder: &Path, release: &str, target: &Path) -> Result<String, Box<dyn Error>> {
    let programs = programs(folder, release, target)?;
    let program = programs
        .get(DEVICE)
        .ok_or("the test of the device was not built")?;
    let output = Command::new(program).arg("--nocapture").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once(MARK));
    Ok(line.ok_or("there is no ROCm device")?.1.to_owned())
}

/// The test programs of a release, built, by their file's name.
fn programs(
    folder: &Path,
    release: &str,
    target: &Path,
) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    let output = Command::new("cargo")
        .args([
            "test",
            "--no-run",
            "-p",
            &package(release),
            "--tests",
            "--manifest-path",
        ])
        .arg(folder.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("cargo cannot build the tests of {release}:\n{text}").into());
    }
    let programs = text.lines().filter_map(program);
    // Cargo says where they are from here; they run elsewhere.
    programs
        .map(|(file, path)| Ok((file, std::path::absolute(path)?)))
        .collect()
}

/// `Executable tests/ops.rs (/target/debug/deps/ops-1234)`, as cargo says it.
fn program(line: &str) -> Option<(String, PathBuf)> {
    let (_, rest) = line.split_once("Executable tests/")?;
    let (file, path) = rest.split_once(".rs (")?;
    Some((file.to_owned(), path.strip_suffix(')')?.into()))
}

/// `test name ... ok`, as a test program prints it; ignored tests are left out.
fn read(text: &str) -> Vec<(String, TestResult)> {
    let line = |line: &str| {
        let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        let outcome = match result {
            "ok" => TestResult::Pass,
            "FAILED" => TestResult::Fail,
            _ => return None,
        };
        Some((name.trim_end_matches(" - should panic").to_owned(), outcome))
    };
    text.lines().filter_map(line).collect()
}

/// What the failed test `name` said.
fn said<'a>(text: &'a str, name: &str) -> &'a str {
    let behind = text
        .split_once(&format!("---- {name} stdout ----"))
        .map_or("", |(_, rest)| rest);
    behind.split_once("\n---- ").map_or(behind, |(own, _)| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "running 4 tests\ntest adds ... ok\ntest inner::refused ... FAILED\n\
        test checks - should panic ... ok\ntest skipped ... ignored, for a reason\n\nfailures:\n\n\
        ---- inner::refused stdout ----\nError: no\n\n---- other stdout ----\nError: yes\n";

    #[test]
    fn the_outcomes_of_a_test_program_are_read() {
        let want = [
            ("adds", TestResult::Pass),
            ("inner::refused", TestResult::Fail),
            ("checks", TestResult::Pass),
        ];
        assert_eq!(read(SAID), want.map(|(name, outcome)| (name.to_owned(), outcome)));
        assert_eq!(said(SAID, "inner::refused").trim(), "Error: no");
    }

    #[test]
    fn a_program_is_found_in_what_cargo_says() {
        let line = "  Executable tests/ops.rs (/t/debug/deps/ops-12)";
        assert_eq!(
            program(line),
            Some(("ops".to_owned(), "/t/debug/deps/ops-12".into()))
        );
        assert_eq!(program("    Finished `test` profile"), None);
    }
}
