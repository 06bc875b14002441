//! The binary alone, far from any checkout.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::common::{Run, finish};

/// A directory that holds the program and nothing else.
fn alone() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(env!("CARGO_BIN_EXE_parity"), dir.path().join("parity")).unwrap();
    dir
}

fn parity(dir: &Path, args: &[&str]) -> Run {
    finish(Command::new(dir.join("parity")).args(args).current_dir(dir))
}

const CASE: &str = "unary/relu:f32:[257]:contiguous:special";

#[test]
fn the_program_alone_runs_the_cases_of_its_checkout() {
    let dir = alone();
    let run = parity(
        dir.path(),
        &["run", "--backend", "cpu", "--ops", "relu", "--tier", "quick"],
    )
    .exits(0);
    assert!(run.stdout.contains("pass"), "{}", run.stdout);

    // As many as in the checkout, none of them lost on the way into the program.
    let count = |dir: &Path| parity(dir, &["list", "cases"]).exits(0).stdout.lines().count();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = finish(
        Command::new(env!("CARGO_BIN_EXE_parity"))
            .args(["list", "cases"])
            .current_dir(checkout),
    );
    assert_eq!(count(dir.path()), listed.exits(0).stdout.lines().count());

    let doctor = parity(dir.path(), &["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("cases in built-in:/op-specs, carried by this program"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn the_program_alone_says_what_a_recording_is_whose_outputs_it_lacks() {
    let dir = alone();
    let verify = |name: &str| parity(dir.path(), &["golden", "verify", name]).exits(66);
    let asked = verify("cuda-h200");
    asked
        .complains("of an NVIDIA H200")
        .complains("copy golden/cuda-h200 of its repository");
    // The control: nobody recorded this one.
    verify("cuda-h201").complains("no golden bundle golden/cuda-h201");
    // A manifest by itself is not written among the specs.
    parity(dir.path(), &["specs", "export", "."]).exits(0);
    assert!(!dir.path().join("golden").exists());
}

#[test]
fn exported_specs_are_read_instead_of_the_carried_ones() {
    let dir = alone();
    parity(dir.path(), &["specs", "export", "."]).exits(0);
    let mine = dir.path().join("op-specs/unary.toml");
    fs::write(&mine, "family = \"unary\"\n[[group]]\nops = [\"exq\"]\n").unwrap();
    parity(dir.path(), &["run", "--backend", "cpu", "--case", CASE])
        .exits(65)
        .complains("op-specs/unary.toml:3:8");

    // The carried ones are still there by their name.
    parity(
        dir.path(),
        &[
            "list",
            "cases",
            "--ops",
            "relu",
            "--spec-dir",
            "built-in:/op-specs",
        ],
    )
    .exits(0);
}

#[test]
fn an_export_overwrites_nothing() {
    let dir = alone();
    fs::create_dir_all(dir.path().join("op-specs")).unwrap();
    fs::write(dir.path().join("op-specs/unary.toml"), "mine").unwrap();
    parity(dir.path(), &["specs", "export", "."])
        .exits(74)
        .complains("op-specs/unary.toml is there already; nothing was written");
    assert_eq!(
        fs::read_to_string(dir.path().join("op-specs/unary.toml")).unwrap(),
        "mine"
    );
    assert!(!dir.path().join("findings").exists());
}

#[test]
fn carried_findings_cannot_be_brought_up_to_date() {
    let dir = alone();
    let stored = dir.path().join("run.json");
    let args = [
        "run",
        "--backend",
        "cpu",
        "--ops",
        "relu",
        "--tier",
        "quick",
        "--format",
        "json",
        "--out",
        "run.json",
    ];
    parity(dir.path(), &args).exits(0);
    parity(
        dir.path(),
        &["baseline", "update", stored.to_str().unwrap(), "--reason", "none"],
    )
    .exits(64)
    .complains("`parity specs export DIR` writes them");
}
