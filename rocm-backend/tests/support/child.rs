//! A test in a process of its own, on the software device: environment variables choose what that is, once a process.

use std::process::Command;

/// Runs the ignored test `name` of this file with these variables.
#[track_caller]
pub(crate) fn run(name: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("ROCM_DRIVER", "soft")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name}, which has to be a test of this file:\n{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
