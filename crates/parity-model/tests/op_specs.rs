//! The specs in `op-specs/`: that they are valid, and that they cover what they are there to cover.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::known::KnownFailures;
use parity_model::{Case, DType, Family, Layout, Op, Tier, spec};

const UNARY: &str = include_str!("../../../op-specs/unary.toml");
const BINARY: &str = include_str!("../../../op-specs/binary.toml");
const KNOWN: &str = include_str!("../../../op-specs/known-failures.toml");

fn cases() -> Vec<Case> {
    let files = [("binary.toml", BINARY), ("unary.toml", UNARY)]
        .map(|(name, text)| spec::parse(name, text).expect("the specs are valid"));
    spec::expand(&files).expect("no case stands twice")
}

/// The cases of the default run.
fn ci() -> Vec<Case> {
    cases().into_iter().filter(|case| case.tier <= Tier::Ci).collect()
}

#[test]
fn the_default_run_is_large_enough_to_mean_something_and_small_enough_to_be_run() {
    let count = ci().len();
    assert!((2_500..=4_000).contains(&count), "{count} cases");
    let elements: usize = ci()
        .iter()
        .map(|case| case.result_shape().iter().product::<usize>())
        .sum();
    assert!(
        elements < 12_000_000,
        "{elements} elements: the software GPU computes every one"
    );
}

#[test]
fn every_op_runs_with_every_dtype_that_means_something() {
    let seen: BTreeSet<(Op, DType)> = ci().iter().map(|case| (case.op, case.dtype)).collect();
    for &op in Op::ALL {
        for &dtype in op.dtypes() {
            assert!(seen.contains(&(op, dtype)), "{op} of {dtype} is in no case");
        }
    }
}

#[test]
fn every_op_and_dtype_runs_in_the_quick_tier() {
    let quick = cases().into_iter().filter(|case| case.tier == Tier::Quick);
    let quick: BTreeSet<(Op, DType)> = quick.map(|case| (case.op, case.dtype)).collect();
    assert_eq!(
        quick.len(),
        Op::ALL.iter().map(|op| op.dtypes().len()).sum::<usize>()
    );
}

#[test]
fn every_op_runs_in_at_least_five_layouts_and_each_family_in_all() {
    let mut per_op: BTreeMap<Op, BTreeSet<Layout>> = BTreeMap::new();
    for case in ci() {
        per_op
            .entry(case.op)
            .or_default()
            .extend(case.args.iter().map(|arg| arg.layout));
    }
    for (op, layouts) in &per_op {
        assert!(layouts.len() >= 5, "{op}: {layouts:?}");
    }
    for family in Family::ALL {
        let all: BTreeSet<Layout> = per_op
            .iter()
            .filter(|(op, _)| op.family() == family)
            .flat_map(|(_, layouts)| layouts.clone())
            .collect();
        assert_eq!(all.len(), Layout::ALL.len(), "{family}: {all:?}");
    }
}

#[test]
fn sizes_include_nothing_a_scalar_and_the_edges_of_wavefront_workgroup_and_grid() {
    for family in Family::ALL {
        let shapes: BTreeSet<Vec<usize>> = ci()
            .iter()
            .filter(|case| case.op.family() == family)
            .map(|case| case.result_shape().to_vec())
            .collect();
        for size in [1, 31, 32, 33, 255, 256, 257, 1023, 1025, 65537] {
            assert!(shapes.contains(&vec![size]), "{family}: [{size}]");
        }
        assert!(
            shapes.contains(&vec![])
                && shapes.contains(&vec![0])
                && shapes.iter().any(|shape| shape.len() == 5)
        );
    }
}

#[test]
fn every_id_is_unique_and_parses_back() {
    let cases = cases();
    let ids: BTreeSet<_> = cases.iter().map(Case::id).collect();
    assert_eq!(ids.len(), cases.len());
    for case in &cases {
        let parsed: Case = case.id().as_str().parse().unwrap();
        assert_eq!(parsed.id(), case.id());
        assert_eq!(
            (parsed.op, &parsed.args, parsed.values),
            (case.op, &case.args, case.values)
        );
    }
}

#[test]
fn every_known_failure_is_about_a_case() {
    let known = KnownFailures::parse("known-failures.toml", KNOWN).unwrap();
    assert!(!known.entries.is_empty());
    let ids: Vec<_> = cases().iter().map(Case::id).collect();
    assert_eq!(known.stale(ids.iter()), []);
}
