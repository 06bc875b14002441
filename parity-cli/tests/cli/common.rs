//! Runs the `parity` binary on specs the test writes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

/// A spec directory of the test's own.
pub(crate) struct Specs {
    dir: TempDir,
}

impl Specs {
    /// Writes files: name, text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Specs {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(DIRECTORY)).unwrap();
        let specs = Specs { dir };
        for (name, text) in files {
            fs::write(specs.path(name), text).unwrap();
        }
        specs
    }

    /// One group of unary ops, on `f32` and uniform values.
    pub(crate) fn unary(ops: &str, more: &str) -> Specs {
        Specs::new(&[("unary.toml", &unary(ops, more))])
    }

    /// A path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(DIRECTORY).join(name)
    }

    /// The file of a finding beside the directory.
    pub(crate) fn finding(&self, name: &str) -> PathBuf {
        self.dir.path().join("findings").join(name).join("finding.toml")
    }

    /// Writes a finding with these rows.
    pub(crate) fn write_finding(&self, name: &str, rows: &str) {
        write_finding(&self.dir.path().join("findings"), name, rows);
    }

    /// `parity {args} --spec-dir {this}`.
    pub(crate) fn parity(&self, args: &[&str]) -> Run {
        let dir = self.path("");
        parity(
            &[args, &["--spec-dir", dir.to_str().unwrap()]].concat(),
            &dir,
            &[],
        )
    }
}

/// The directory of specs, in a directory that holds what is beside it.
const DIRECTORY: &str = "op-specs";

/// Writes a finding with these rows into a directory of findings.
pub(crate) fn write_finding(findings: &Path, name: &str, rows: &str) {
    let text = format!(
        "title = \"planted\"\nclass = \"unexplained\"\nbackends = [\"cpu\"]\nverdict = \"mismatch\"\nreason = \"it rounds\"\n\
         matches = [\n  {rows},\n]\n"
    );
    fs::create_dir_all(findings.join(name)).unwrap();
    fs::write(findings.join(name).join("finding.toml"), text).unwrap();
}

/// The text of a spec.
pub(crate) fn unary(ops: &str, more: &str) -> String {
    format!(
        r#"family = "unary"
[[group]]
ops = [{ops}]
dtypes = ["f32"]
shapes = [[8, 9]]
layouts = ["contiguous", "transposed"]
values = ["uniform(-2,2)"]
tier = "quick"
{more}
"#
    )
}

/// What a run of the binary left.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Asserts the exit code and returns the run.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Run {
        assert_eq!(
            self.code, code,
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Asserts that stderr holds `text`.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Run {
        assert!(self.stderr.contains(text), "`{text}` is not in\n{}", self.stderr);
        self
    }
}

/// Everything of a record but its times.
pub(crate) fn timeless(text: &str) -> Value {
    let mut record: Value = serde_json::from_str(text).unwrap();
    for field in ["started", "seconds"] {
        record[field].take();
    }
    for case in record["cases"].as_array_mut().unwrap() {
        for result in case["results"].as_array_mut().unwrap() {
            result["millis"].take();
        }
    }
    record
}

/// Asserts that two records without times are the same; names the first case that is not.
#[track_caller]
pub(crate) fn assert_same(a: &Value, b: &Value) {
    let (left, right) = (a["cases"].as_array().unwrap(), b["cases"].as_array().unwrap());
    assert_eq!(left.len(), right.len(), "cases");
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left, right);
    }
    assert!(a == b, "all cases are the same, and something else is not");
}

/// A copy of the repository's specs.
pub(crate) fn copied_specs(to: &Path) {
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../op-specs");
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Runs `parity` in `dir`.
pub(crate) fn parity(args: &[&str], dir: &Path, env: &[(&str, &str)]) -> Run {
    finish(
        Command::new(env!("CARGO_BIN_EXE_parity"))
            .args(args)
            .current_dir(dir)
            .envs(env.iter().copied()),
    )
}

/// A shell with a line as it was printed; only `parity` is put on its path.
pub(crate) fn shell(line: &str, dir: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_parity")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .env("PATH", format!("{}:{path}", binary.display()))
        .current_dir(dir);
    shell
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Run {
        code: status.code().unwrap_or(-1),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}
