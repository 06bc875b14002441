//! What `./parity` has compiled is what its tests are made of: cargo compiles a crate anew for another set of features or another profile,
//! and a machine of two cores spends minutes on that.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Package and version → the sets of features that it is built with, of a selection of `cargo tree`.
fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(selection)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut features: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Between the trees of two packages is an empty line.
    let text = String::from_utf8(out.stdout).unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (package, set) = line.trim_end_matches(" (*)").split_once('\t').unwrap();
        features
            .entry(package.to_owned())
            .or_default()
            .insert(set.to_owned());
    }
    features
}

/// The packages of `command` that `workspace` has with other features only.
fn built_twice(
    command: &BTreeMap<String, BTreeSet<String>>,
    workspace: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let differs = |(package, sets): (&String, &BTreeSet<String>)| {
        let there = workspace.get(package).cloned().unwrap_or_default();
        (!sets.is_subset(&there)).then(|| format!("{package}: {sets:?}, and in the workspace {there:?}"))
    };
    command.iter().filter_map(differs).collect()
}

#[test]
fn the_command_and_the_workspaces_tests_ask_others_for_the_same_features() {
    // What is linked, and what runs at build time: cargo keeps their features apart.
    for edges in ["normal,no-proc-macro", "normal,build"] {
        let command = features(&["--package", "parity-cli", "--edges", edges]);
        let workspace = features(&["--workspace", "--edges", &format!("{edges},dev")]);
        let twice = built_twice(&command, &workspace);
        assert!(
            twice.is_empty(),
            "name the features in the manifest of parity-cli, or of candle-overlay for build scripts: {twice:#?}"
        );
    }
}

#[test]
fn another_set_of_features_is_noticed() {
    let with = |set: &str| BTreeMap::from([("syn v2.0.0".to_owned(), BTreeSet::from([set.to_owned()]))]);
    assert_eq!(built_twice(&with("full"), &with("full,visit")).len(), 1);
    assert_eq!(built_twice(&with("full"), &BTreeMap::new()).len(), 1);
    assert!(built_twice(&with("full"), &with("full")).is_empty());
}

#[test]
fn the_profile_of_tests_names_every_crate_of_ours() {
    let table = |path: &str| -> toml::Table {
        std::fs::read_to_string(root().join(path))
            .unwrap()
            .parse()
            .unwrap()
    };
    let workspace = table("Cargo.toml");
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let ours: BTreeSet<_> = members
        .iter()
        .map(|member| member.as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    let tests = table("ci/tests.toml");
    let named = tests["profile"]["release"]["package"].as_table().unwrap();
    let checked: BTreeSet<_> = named
        .iter()
        .filter(|(_, profile)| {
            profile
                .get("overflow-checks")
                .is_some_and(|on| on.as_bool() == Some(true))
        })
        .map(|(package, _)| package.clone())
        .collect();
    assert_eq!(checked, ours);
}
