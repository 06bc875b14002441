//! Invariants of the dependency graph: who may know whom, and under which licences.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

fn metadata(extra: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(extra)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Package name → names of its dependencies (development ones left out), of our own packages.
fn our_edges() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata(&["--no-deps"]);
    let edges = |p: &Value| {
        let names = p["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|d| d["kind"] != "dev");
        names.map(|d| d["name"].as_str().unwrap().to_owned()).collect()
    };
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["name"].as_str().unwrap().to_owned(), edges(p)))
        .collect()
}

#[track_caller]
fn never_knows(package: &str, strangers: &[&str]) {
    let edges = our_edges();
    let mut reached = BTreeSet::new();
    let mut queue = vec![package.to_owned()];
    assert!(edges.contains_key(package), "no package `{package}`");
    while let Some(next) = queue.pop() {
        for dependency in edges.get(&next).into_iter().flatten() {
            if reached.insert(dependency.clone()) {
                queue.push(dependency.clone());
            }
        }
    }
    let known: Vec<_> = strangers.iter().filter(|s| reached.contains(**s)).collect();
    assert!(known.is_empty(), "`{package}` must not depend on {known:?}");
}

const CANDLE: [&str; 3] = ["candle-core", "candle-nn", "candle-kernels"];

#[test]
fn the_judge_links_no_backend() {
    never_knows(
        "parity-oracle",
        &[&CANDLE[..], &["parity-exec", "rocm-backend", "gfx-emu"]].concat(),
    );
    never_knows(
        "parity-model",
        &[
            &CANDLE[..],
            &["parity-exec", "parity-oracle", "rocm-backend", "gfx-emu"],
        ]
        .concat(),
    );
}

#[test]
fn the_judged_process_has_no_judge() {
    never_knows("parity-exec", &["parity-oracle", "parity-report"]);
    never_knows("zoo-worker", &["parity-oracle", "parity-report", "parity-zoo"]);
}

#[test]
fn the_judge_of_models_links_no_backend() {
    never_knows(
        "parity-zoo",
        &[
            &CANDLE[..],
            &["candle-transformers", "parity-exec", "rocm-backend", "gfx-emu"],
        ]
        .concat(),
    );
}

#[test]
fn networks_are_compiled_for_their_worker_alone() {
    never_knows("parity-cli", &["candle-transformers", "zoo-worker"]);
}

#[test]
fn the_report_links_no_backend_and_no_judge() {
    never_knows(
        "parity-report",
        &[
            &CANDLE[..],
            &["parity-exec", "parity-oracle", "rocm-backend", "gfx-emu"],
        ]
        .concat(),
    );
}

#[test]
fn drawn_cases_know_no_backend_and_no_judge() {
    never_knows(
        "parity-fuzz",
        &[
            &CANDLE[..],
            &["parity-exec", "parity-oracle", "rocm-backend", "gfx-emu"],
        ]
        .concat(),
    );
}

#[test]
fn a_recording_links_no_backend_and_no_judge() {
    never_knows(
        "parity-golden",
        &[
            &CANDLE[..],
            &["parity-exec", "parity-oracle", "rocm-backend", "gfx-emu"],
        ]
        .concat(),
    );
}

#[test]
fn the_rocm_backend_knows_no_candle() {
    never_knows(
        "rocm-backend",
        &[&CANDLE[..], &["parity-model", "parity-exec"]].concat(),
    );
}

#[test]
fn the_emulator_knows_no_hip() {
    never_knows(
        "gfx-emu",
        &[
            &CANDLE[..],
            &["rocm-rs", "rocm-soft", "rocm-backend", "parity-model"],
        ]
        .concat(),
    );
}

#[test]
fn what_both_seams_stand_on_knows_neither() {
    never_knows("soft-runtime", &["rocm-rs", "hip-soft", "hsa-soft"]);
}

/// The libraries of `metadata` whose files have names by which the dynamic linker finds AMD's. Cargo has the programs that it runs search
/// its own folders.
fn taken_for_amds(metadata: &Value) -> Vec<String> {
    const AMDS: [&str; 6] = [
        "amdhip64",
        "hsa-runtime64",
        "rocblas",
        "MIOpen",
        "rocrand",
        "rccl",
    ];
    let packages = metadata["packages"].as_array().unwrap();
    let targets = packages
        .iter()
        .flat_map(|package| package["targets"].as_array().unwrap());
    let libraries = targets.filter(|target| {
        target["crate_types"]
            .as_array()
            .unwrap()
            .contains(&"cdylib".into())
    });
    let names = libraries.map(|target| target["name"].as_str().unwrap().to_owned());
    names.filter(|name| AMDS.contains(&name.as_str())).collect()
}

#[test]
fn no_library_that_cargo_writes_is_taken_for_amds() {
    assert_eq!(taken_for_amds(&metadata(&["--no-deps"])), [""; 0]);
    let library =
        |name: &str, kind: &str| json!({"packages": [{"targets": [{"name": name, "crate_types": [kind]}]}]});
    assert_eq!(taken_for_amds(&library("amdhip64", "cdylib")), ["amdhip64"]);
    assert_eq!(taken_for_amds(&library("amdhip64", "lib")), [""; 0]);
}

#[test]
fn only_the_executor_names_candle() {
    let ours: Vec<_> = our_edges()
        .into_iter()
        .filter(|(_, deps)| CANDLE.iter().any(|c| deps.contains(*c)))
        .map(|(name, _)| name)
        .collect();
    // The worker of `parity model` builds networks, which no other crate names; candle-flash-attn is a library for candle's users.
    assert_eq!(ours, ["candle-flash-attn", "parity-exec", "zoo-worker"]);
}

#[test]
fn everything_linked_is_under_a_licence_that_deny_toml_allows() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml")).unwrap();
    let deny: toml::Value = text.parse::<toml::Table>().unwrap().into();
    let allowed: BTreeSet<_> = deny["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l.as_str().unwrap())
        .collect();
    let metadata = metadata(&[]);
    let refused: Vec<String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| !p["license"].as_str().is_some_and(|l| permitted(l, &allowed)))
        .map(|p| format!("{} {}: {}", p["name"], p["version"], p["license"]))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Whether an SPDX expression (`A OR B`, `A AND B`, parentheses, the old `A/B`) can be met with allowed licences.
fn permitted(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    if allowed.contains(expression.trim()) {
        return true;
    }
    let flat = expression.replace(['(', ')'], "").replace('/', " OR ");
    flat.split(" AND ")
        .all(|part| part.split(" OR ").any(|l| allowed.contains(l.trim())))
}

#[test]
fn a_licence_outside_the_list_is_refused() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0"]);
    assert!(permitted("MIT OR GPL-3.0", &allowed) && permitted("MIT/Apache-2.0", &allowed));
    assert!(!permitted("MIT AND GPL-3.0", &allowed) && !permitted("GPL-3.0", &allowed));
}
