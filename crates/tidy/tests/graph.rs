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

/// Package name → names of its dependencies, development ones left out.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Those of our own packages.
fn our_edges() -> Edges {
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

/// Those of `strangers` that `package` depends on, itself or through others.
fn known<'a>(edges: &Edges, package: &str, strangers: &[&'a str]) -> Vec<&'a str> {
    let mut reached = BTreeSet::new();
    let mut queue = vec![package.to_owned()];
    while let Some(next) = queue.pop() {
        for dependency in edges.get(&next).into_iter().flatten() {
            if reached.insert(dependency.clone()) {
                queue.push(dependency.clone());
            }
        }
    }
    let known = strangers.iter().filter(|stranger| reached.contains(**stranger));
    known.copied().collect()
}

/// `package` knows none of `strangers`; an edge to one of them, through another package, would be found.
#[track_caller]
fn never_knows(package: &str, strangers: &[&str]) {
    let edges = our_edges();
    assert!(edges.contains_key(package), "no package `{package}`");
    let found = known(&edges, package, strangers);
    assert!(found.is_empty(), "`{package}` must not depend on {found:?}");
    for stranger in strangers {
        let mut planted = edges.clone();
        let between = BTreeSet::from([(*stranger).to_owned()]);
        planted.insert("between".to_owned(), between);
        let dependencies = planted.get_mut(package).unwrap();
        dependencies.insert("between".to_owned());
        let found = known(&planted, package, strangers);
        assert!(
            found.contains(stranger),
            "an edge from `{package}` to `{stranger}` is not found"
        );
    }
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

/// The packages that depend on candle themselves.
fn naming_candle(edges: &Edges) -> Vec<&str> {
    let naming = edges
        .iter()
        .filter(|(_, dependencies)| CANDLE.iter().any(|name| dependencies.contains(*name)));
    naming.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn only_the_executor_names_candle() {
    let mut edges = our_edges();
    // The worker of `parity model` builds networks, which no other crate names; candle-flash-attn is a library for candle's users.
    assert_eq!(
        naming_candle(&edges),
        ["candle-flash-attn", "parity-exec", "zoo-worker"]
    );
    let planted = edges.get_mut("gfx-emu").unwrap();
    planted.insert("candle-nn".to_owned());
    assert!(naming_candle(&edges).contains(&"gfx-emu"));
}

/// The crates that deny unsafe code and expect it, with a reason, where they meet C or the machine.
const UNSAFE: [&str; 8] = [
    "gfx-emu",
    "hip-soft",
    "hsa-soft",
    "rocm-backend",
    "rocm-nvidia",
    "rocm-soft",
    "rocm-soft-c",
    "soft-runtime",
];

/// What the manifest of the crate `name` lacks: the workspace's lints, which forbid unsafe code, or for one of [`UNSAFE`] that it denies
/// unsafe code. rocm-rs may have what it likes: it declares foreign functions and calls none.
fn lax(name: &str, manifest: &str) -> Option<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let lints = manifest.get("lints");
    let forbids = lints.and_then(|lints| lints.get("workspace")) == Some(&true.into());
    let denies = lints.and_then(|lints| lints.get("rust")?.get("unsafe_code")) == Some(&"deny".into());
    match (name, UNSAFE.contains(&name)) {
        ("rocm-rs", _) => None,
        (_, true) if denies => None,
        (_, false) if forbids => None,
        (_, true) => Some(format!("{name}: `unsafe_code = \"deny\"` is missing")),
        (_, false) => Some(format!("{name}: `[lints] workspace = true` is missing")),
    }
}

#[test]
fn all_crates_but_those_that_meet_c_forbid_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let workspace: toml::Value = workspace.parse::<toml::Table>().unwrap().into();
    let lints = &workspace["workspace"]["lints"]["rust"];
    assert_eq!(lints["unsafe_code"], "forbid".into());
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().filter_map(|package| {
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        lax(package["name"].as_str().unwrap(), &manifest)
    });
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_manifest_that_lets_unsafe_code_in_is_found() {
    let own = "[lints.rust]\nunsafe_code = \"deny\"\n";
    assert_eq!(lax("tidy", "[lints]\nworkspace = true\n"), None);
    assert_eq!(lax("rocm-soft", own), None);
    for lets_in in [
        "[package]\nname = \"tidy\"\n",
        "[lints]\nworkspace = false\n",
        own,
    ] {
        assert!(lax("tidy", lets_in).is_some(), "{lets_in}");
    }
    assert!(lax("rocm-soft", "[lints.rust]\nunsafe_code = \"allow\"\n").is_some());
}

/// The crates of [`UNSAFE`] that the rule for contributors does not name.
fn unnamed(contributing: &str) -> Vec<&'static str> {
    let rule = contributing
        .split("\n- ")
        .find(|rule| rule.starts_with("`unsafe` is in"));
    let rule = rule.unwrap_or_default();
    let named = |name: &str| rule.contains(&format!("/{name}/")) || rule.contains(&format!("`{name}/"));
    UNSAFE.into_iter().filter(|name| !named(name)).collect()
}

#[test]
fn the_rule_for_contributors_names_every_crate_with_unsafe_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(unnamed(&page), [""; 0]);
    assert_eq!(
        unnamed(&page.replace("crates/hsa-soft/", "others/")),
        ["hsa-soft"]
    );
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
