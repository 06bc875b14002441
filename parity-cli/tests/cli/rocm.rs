//! The main job, on the shipped specs: candle on the ROCm device against candle on the CPU and the oracle.
//!
//! Pinned to the software GPU, which every machine has; on a machine with an AMD GPU, leave `ROCM_DRIVER` alone and run
//! `parity` itself.

use std::{collections::BTreeSet, path::Path, process::Command};

use parity_model::{Op, Verdict};
use serde_json::Value;

use crate::common::{Specs, parity};

fn run(args: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let args = [&["run", "--backend", "rocm", "--format", "json"], args].concat();
    let run = parity(&args, root, &[("ROCM_DRIVER", "soft")]).exits(0);
    serde_json::from_str(&run.stdout).unwrap()
}

/// `[case][column]` of some field of the results.
fn column<'a>(
    record: &'a Value,
    backend: usize,
    field: &'a str,
) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let cases = record["cases"].as_array().unwrap().iter();
    cases.map(move |case| (case, &case["results"][backend][field]))
}

#[test]
fn the_software_gpu_computes_every_unary_and_binary_op() {
    let record = run(&["--ops", "unary,binary"]);
    let cases = record["cases"].as_array().unwrap();
    let layouts: BTreeSet<_> = cases
        .iter()
        .map(|case| case["layout"].as_str().unwrap())
        .collect();
    assert!(
        cases.len() >= 1500 && layouts.len() >= 5,
        "{} cases, layouts {layouts:?}",
        cases.len()
    );
    assert_eq!(record["planned"], cases.len());
    let rocm = &record["backends"][1];
    assert_eq!(
        (&rocm["level"], &rocm["target"]),
        (&"isa".into(), &"gfx1100".into())
    );

    let passed: BTreeSet<&str> = column(&record, 1, "verdict")
        .filter(|(_, verdict)| **verdict == Verdict::Pass.name())
        .map(|(case, _)| case["op"].as_str().unwrap())
        .collect();
    let all: BTreeSet<&str> = Op::ALL
        .iter()
        .filter(|op| matches!(op, Op::Unary(_) | Op::Binary(_)))
        .map(|op| op.name())
        .collect();
    assert_eq!(passed, all, "ops with at least one pass on rocm");

    // Nothing may come from the CPU by another door.
    assert!(column(&record, 1, "fallbacks").all(|(_, ops)| ops.as_array().unwrap().is_empty()));
}

#[test]
fn the_software_gpu_gives_the_same_bits_on_any_number_of_workers_and_threads() {
    let errors = |jobs: &str| {
        let record = run(&["--ops", "exp,div", "--tier", "quick", "--jobs", jobs]);
        column(&record, 1, "vs_oracle")
            .map(|(_, metrics)| metrics.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(errors("1"), errors("3"));
}

#[test]
fn without_the_libraries_that_a_card_under_amds_runtime_needs_nothing_runs() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    let run = |hsa: &Path, backend: &str| {
        let nowhere = [
            ("ROCM_HSA_LIBRARY", hsa.to_str().unwrap()),
            ("ROCM_PATH", "/nonexistent"),
            ("LD_LIBRARY_PATH", "/nonexistent"),
        ];
        parity(&["run", "--backend", backend, "--spec-dir", "."], &dir, &nowhere)
    };
    let ours = run(Path::new("/nonexistent/libhsa_runtime64.so"), "rocm:hsa")
        .exits(69)
        .complains("backend rocm:hsa is not available: ROCM_DRIVER=hsa: libhsa_runtime64.so is not found")
        .complains("`cargo build --release -p hsa-soft` makes it");
    assert_eq!(ours.stdout, "");

    // What stands for this workspace's library here has its name and nothing else of it.
    let (source, stub) = (specs.path("stub.c"), specs.path("stub.so"));
    std::fs::write(&source, "unsigned hsa_soft_gpu(void) { return 1; }").unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libhsa-runtime64.so.1", "-o"])
        .args([&stub, &source])
        .status()
        .unwrap();
    assert!(built.success());
    let amds = run(&stub, "rocm:hsa:gfx942");
    // On a machine with ROCm in the linker's own path that is AMD's, and lacks the rest of ours.
    if !amds.stderr.contains("no usable libamdhip64") {
        return;
    }
    let amds = amds
        .exits(69)
        .complains("backend rocm:hsa:gfx942 is not available: ROCM_DRIVER=hsa, and no usable libamdhip64")
        .complains("libamdhip64-6 or libamdhip64-7")
        .complains("ROCM_PATH")
        .complains("/opt/rocm/lib: no libamdhip64.so");
    assert_eq!(amds.stdout, "");
}
