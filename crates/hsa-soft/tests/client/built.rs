//! Builds a C library of this workspace; the tests of hip-soft and rocm-soft-c use this file as well. Cargo builds one for nobody's
//! tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The file `name` that cargo writes for `package`.
pub(crate) fn built(package: &str, name: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", package])
        .arg("--message-format=json")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    let messages = String::from_utf8(output.stdout).unwrap();
    let mut texts = messages.split('"');
    let file = texts.find(|text| text.ends_with(&format!("/{name}")));
    PathBuf::from(file.unwrap())
}
