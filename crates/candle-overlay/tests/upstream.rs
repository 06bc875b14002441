//! The pristine candle-core: what is derived from it is what `crates/candle-core` was reviewed with.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use candle_overlay::{
    derive::{Derived, Glue, derive},
    front::front,
    pristine::{CANDLE_CORE, CANDLE_NN, Origin, Places, Source},
};
use toml::{Table, Value};

fn candle_core() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../candle-core")
}

fn upstream() -> Source {
    let places = Places::from_env(&CANDLE_CORE).unwrap();
    Source::find(&CANDLE_CORE, &places).unwrap()
}

fn derived() -> Derived {
    derive(&upstream(), &Glue::read(&candle_core().join("glue")).unwrap()).unwrap()
}

#[test]
fn the_derivation_does_what_the_committed_audit_says() {
    let derived = derived();
    let path = candle_core().join("audit.txt");
    if std::env::var_os("CANDLE_OVERLAY_BLESS").is_some() {
        fs::write(&path, &derived.audit).unwrap();
    }
    assert_eq!(
        derived.audit,
        fs::read_to_string(&path).unwrap(),
        "read the difference, then bless it"
    );
}

#[test]
fn every_renaming_and_override_has_its_place_upstream() {
    let audit = derived().audit;
    let unused = audit
        .split_once("## Ours, but without a place upstream")
        .unwrap()
        .1;
    assert_eq!(unused.lines().skip(1).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_files_come_from_the_checked_archive() {
    if std::env::var_os(CANDLE_CORE.override_variable()).is_none() {
        assert!(matches!(upstream().origin(), Origin::Archive(_)));
    }
}

#[test]
fn device_has_everything_that_a_user_of_pull_request_3801_would_call() {
    let derived = derived();
    let text = |path: &str| String::from_utf8(derived.files[path].clone()).unwrap();
    for name in ["new_rocm", "rocm_if_available", "is_rocm", "as_rocm_device"] {
        assert!(
            text("src/device.rs").contains(&format!("pub fn {name}(")),
            "{name}"
        );
    }
    assert!(text("src/device.rs").contains("Rocm { gpu_id: usize }"));
    assert!(text("src/lib.rs").contains("pub use rocm::{RocmDevice, RocmError, RocmStorage};"));
    assert_eq!(text("src/custom_op.rs").matches("fn rocm_fwd(").count(), 7);
}

#[test]
fn the_functions_before_candle_nns_are_those_of_the_committed_audit() {
    let folder = candle_core().join("../candle-nn");
    let source = Source::find(&CANDLE_NN, &Places::from_env(&CANDLE_NN).unwrap()).unwrap();
    let derived = front(&source, &Glue::read(&folder.join("glue")).unwrap()).unwrap();
    let path = folder.join("audit.txt");
    if std::env::var_os("CANDLE_OVERLAY_BLESS").is_some() {
        fs::write(&path, &derived.audit).unwrap();
    }
    assert_eq!(
        derived.audit,
        fs::read_to_string(&path).unwrap(),
        "read the difference, then bless it"
    );
    // Every other file is upstream's, byte for byte.
    let changed = derived
        .files
        .iter()
        .filter(|(path, bytes)| source.file(path).unwrap() != bytes.as_slice());
    assert_eq!(
        changed.map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["src/attention/cpu_flash/mod.rs", "src/moe.rs"]
    );
    let ours = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let theirs = str::from_utf8(source.file("Cargo.toml").unwrap()).unwrap();
    assert_eq!(Manifest::read(&ours), Manifest::read(theirs));
}

#[test]
fn a_function_of_the_glue_that_upstream_lacks_is_an_error_that_names_it() {
    let source = Source::find(&CANDLE_NN, &Places::from_env(&CANDLE_NN).unwrap()).unwrap();
    let mut glue = Glue::default();
    glue.add("moe.rs", "pub fn moe_gem() {}".to_owned());
    let error = front(&source, &glue).unwrap_err().to_string();
    assert_eq!(error, "glue/moe.rs:1: src/moe.rs has no such function");
}

/// A dependency, however its manifest spells it.
#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    version: String,
    features: BTreeSet<String>,
    optional: bool,
    default_features: bool,
}

impl Dependency {
    fn read(value: &Value) -> Dependency {
        let short: Table;
        let table = match value {
            Value::String(_) => {
                short = Table::from_iter([("version".to_owned(), value.clone())]);
                &short
            }
            Value::Table(table) => table,
            other => panic!("{other} is not a dependency"),
        };
        let switch = |key: &str, default| table.get(key).map_or(default, |value| value.as_bool().unwrap());
        let features = table
            .get("features")
            .map_or(&[][..], |value| value.as_array().unwrap());
        Dependency {
            version: table
                .get("version")
                .map_or("", |value| value.as_str().unwrap())
                .to_owned(),
            features: features
                .iter()
                .map(|feature| feature.as_str().unwrap().to_owned())
                .collect(),
            optional: switch("optional", false),
            default_features: switch("default-features", true),
        }
    }
}

/// What our manifest must share with upstream's. Test, bench and example tables are not among it.
#[derive(Debug, PartialEq)]
struct Manifest {
    version: Value,
    features: Value,
    dependencies: BTreeMap<String, Dependency>,
}

impl Manifest {
    fn read(text: &str) -> Manifest {
        let manifest: Table = text.parse().unwrap();
        let mut tables = vec![("everywhere", &manifest["dependencies"])];
        let targets = manifest.get("target").and_then(Value::as_table);
        for (target, table) in targets.into_iter().flatten() {
            tables.push((target, &table["dependencies"]));
        }
        let mut dependencies = BTreeMap::new();
        for (place, table) in tables {
            for (name, value) in table.as_table().unwrap() {
                dependencies.insert(format!("{name} {place}"), Dependency::read(value));
            }
        }
        let (version, features) = (
            manifest["package"]["version"].clone(),
            manifest["features"].clone(),
        );
        Manifest {
            version,
            features,
            dependencies,
        }
    }
}

#[test]
fn the_manifest_is_upstreams_but_for_rocm_backend_and_how_cuda_is_found() {
    let ours = fs::read_to_string(candle_core().join("Cargo.toml")).unwrap();
    let upstream = upstream();
    let theirs = str::from_utf8(upstream.file("Cargo.toml").unwrap()).unwrap();
    let (mut ours, theirs) = (Manifest::read(&ours), Manifest::read(theirs));
    assert!(ours.dependencies.remove("rocm-backend everywhere").is_some());
    let features = ours.features.as_table_mut().unwrap();
    assert!(features.remove("rocm-nvidia").is_some());
    let cudarc = ours.dependencies.get_mut("cudarc everywhere").unwrap();
    assert!(
        cudarc.features.remove("dynamic-loading"),
        "NVIDIA's libraries are looked for, not linked"
    );
    cudarc.features.insert("dynamic-linking".to_owned());
    assert_eq!(ours, theirs);
}

#[test]
fn a_dependency_that_upstream_lacks_is_noticed() {
    let manifest = fs::read_to_string(candle_core().join("Cargo.toml")).unwrap();
    let more = manifest.replace("libc = \"0.2.147\"\n", "libc = \"0.2.147\"\nlog = \"0.4\"\n");
    assert_ne!(Manifest::read(&manifest), Manifest::read(&more));
}
