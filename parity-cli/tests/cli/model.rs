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
