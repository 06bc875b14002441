//! Properties of the cases that are drawn: the same for the same seed, spelled by their ids, of every op.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::collections::{BTreeMap, BTreeSet};

use parity_fuzz::{Class, Pool};
use parity_model::{Case, Check, DType, Layout, Op, ValueSet};

const COUNT: u64 = 30_000;

fn cases(seed: u64) -> impl Iterator<Item = Case> {
    let pool = Pool::new(&[], &[]).unwrap();
    (0..COUNT).map(move |number| pool.case(seed, number))
}

#[test]
fn the_same_seed_gives_the_same_ids_and_another_gives_others() {
    let pool = Pool::new(&[], &[]).unwrap();
    let ids = |seed| {
        (0..500)
            .map(|number| pool.case(seed, number).id())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(1), ids(1));
    let backwards: Vec<_> = (0..500).rev().map(|number| pool.case(1, number).id()).collect();
    assert_eq!(backwards.into_iter().rev().collect::<Vec<_>>(), ids(1));
    let (one, other) = (ids(1), ids(2));
    let same = one.iter().filter(|id| other.contains(id)).count();
    assert!(same < 10, "{same} of 500");
}

#[test]
fn every_id_gives_its_case_back() {
    for case in cases(3) {
        let id = case.id().to_string();
        let again: Case = id.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, case, "{id}");
        let kept: Result<parity_model::CaseId, _> = id.parse();
        assert!(kept.is_ok(), "{id}");
    }
}

#[test]
fn every_op_and_whatever_a_case_can_say_comes_up() {
    let (mut ops, mut dtypes) = (BTreeSet::new(), BTreeSet::new());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut classes = BTreeSet::new();
    for case in cases(4) {
        ops.insert(case.op);
        dtypes.extend(case.args.iter().map(|arg| (case.op.family(), arg.dtype)));
        classes.insert(Class::of(&case).to_string());
        let mut note = |what: &str| *seen.entry(what.to_owned()).or_default() += 1;
        note(case.check.name());
        note(case.values.to_string().split('(').next().unwrap());
        for arg in &case.args {
            note(arg.layout.name());
            note(&format!("rank {}", arg.shape.len()));
            for edge in [0, 1, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025] {
                if arg.shape.contains(&edge) {
                    note(&format!("extent {edge}"));
                }
            }
        }
    }
    let missing: Vec<_> = Op::ALL
        .iter()
        .filter(|op| !ops.contains(op) && op.dtypes() != [DType::U8; 0])
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    for dtype in DType::ALL {
        assert!(dtypes.contains(&(parity_model::Family::Binary, dtype)), "{dtype}");
    }
    let words = Layout::ALL.iter().map(|layout| layout.name().to_owned());
    let words = words.chain(Check::ALL.iter().map(|check| check.name().to_owned()));
    let words = words.chain((0..=10).map(|rank| format!("rank {rank}")));
    let sets = [
        "uniform",
        "geometric",
        "ints",
        "nonzero",
        "any",
        "special",
        "nan",
        "extremes",
        "divzero",
        "quants",
    ];
    let ids = [ValueSet::IdsBeyond, ValueSet::IdsNegative, ValueSet::IdsNone].map(|set| set.to_string());
    let words = words
        .chain(sets.map(str::to_owned))
        .chain(ids)
        .chain(["view".to_owned()]);
    let extents = [0, 1, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025];
    let words = words.chain(extents.map(|extent| format!("extent {extent}")));
    let missing: Vec<_> = words
        .filter(|word| seen.get(word).copied().unwrap_or(0) == 0)
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {seen:#?}");
    assert!(classes.len() >= 15, "{classes:?}");
}

#[test]
fn a_pool_draws_from_its_ops_and_dtypes_alone() {
    let ops: Vec<Op> = ["exp", "matmul"].map(|name| name.parse().unwrap()).to_vec();
    let pool = Pool::new(&ops, &[DType::F16]).unwrap();
    for number in 0..500 {
        let case = pool.case(5, number);
        assert!(ops.contains(&case.op), "{}", case.id());
        // Data of two dtypes is there to be refused.
        assert!(
            case.args.iter().any(|arg| arg.dtype == DType::F16) || case.check == Check::Invalid,
            "{}",
            case.id()
        );
    }
    assert_eq!(Pool::new(&["exp".parse().unwrap()], &[DType::U8]), None);
}
