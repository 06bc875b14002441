//! `parity model`, as far as it goes without the worker that links the networks.

use std::path::Path;

use crate::common::parity;

fn model(args: &[&str]) -> crate::common::Run {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    parity(&[&["model"], args].concat(), &checkout, &[])
}

#[test]
fn the_networks_are_listed_with_their_dtypes_and_none_is_run() {
    let list = model(&["--all", "--list"]).exits(0).stdout;
    let llama = "llama (llama): f32, f16, bf16";
    assert!(list.lines().any(|line| line == llama), "{list}");
    assert!(list.lines().count() >= 50, "{list}");
}

#[test]
fn an_unknown_network_is_met_with_the_known_ones() {
    model(&["lama"]).exits(64).complains("unknown model `lama`");
}

#[test]
fn a_network_whose_weights_are_not_there_says_where_they_come_from() {
    let name = "all-minilm-l6-v2";
    model(&[name])
        .exits(66)
        .complains("no folder of weights is named; `ci/models` downloads");
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    model(&[name, "--weights", dir])
        .exits(66)
        .complains("all-minilm-l6-v2.safetensors: No such file");
    std::fs::write(folder.path().join("all-minilm-l6-v2.safetensors"), "other").unwrap();
    model(&[name, "--weights", dir]).exits(66).complains(
        "its SHA-256 is d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, not 53aa51",
    );
}
