//! `ROCM_SANITIZE`: this program's tests again under it, and a bug that only it reports.
//!
//! A process has one device, so what needs the variable runs in a child: this test program itself.

use std::process::{Command, Output};

use rocm_rs::hip::bindings as hip;

use crate::call::{arg, function, launch, load, malloc, upload};
use crate::compile::compile;

/// Runs this program with `args`.
fn run(sanitize: &str, args: &[&str]) -> (bool, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(args).env("ROCM_SANITIZE", sanitize).output();
    let Output { status, stdout, .. } = output.unwrap();
    (status.success(), String::from_utf8_lossy(&stdout).into_owned())
}

#[test]
fn every_other_test_passes_under_the_sanitizer() {
    let (passes, text) = run("1", &["--skip", "sanitize::"]);
    assert!(passes && text.contains("test result: ok"), "{text}");
}

#[test]
fn a_read_of_what_nobody_wrote_fails_with_the_variable_and_not_without() {
    let child = [
        "--exact",
        "sanitize::child_that_expects_a_finding",
        "--ignored",
        "--nocapture",
    ];
    for (sanitize, finds) in [("1", true), ("0", false), ("", false)] {
        let (passes, text) = run(sanitize, &child);
        assert_eq!(passes, finds, "ROCM_SANITIZE={sanitize}: {text}");
    }
}

#[test]
#[ignore = "a child of the test above"]
fn child_that_expects_a_finding() {
    let source = "KERNEL copy(const unsigned* in, unsigned* out) { out[tid(0)] = in[tid(0)]; }";
    let module = load(&compile("hip_unwritten", "gfx1100", source, &[])).unwrap();
    let copy = function(module, "copy").unwrap();
    let (mut fresh, mut out) = (malloc(128), upload(&[0; 32]));
    let code = launch(copy, [1; 3], [32, 1, 1], &mut [arg(&mut fresh), arg(&mut out)]);
    assert_eq!(code, hip::hipError_t_hipErrorLaunchFailure);
    let text = rocm_soft::take_fault().unwrap();
    assert!(
        text.contains("`copy`") && text.contains("never written"),
        "{text}"
    );
}
