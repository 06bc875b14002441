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
        "nans",
        "nan_only",
        "ties",
        "peaks",
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

/// Whether one of the first cases of a pool of these ops is so.
fn comes_up(ops: &str, is: impl Fn(&Case) -> bool) -> bool {
    let ops: Vec<Op> = ops.split(',').map(|name| name.parse().unwrap()).collect();
    let pool = Pool::new(&ops, &[]).unwrap();
    (0..4000).any(|number| is(&pool.case(9, number)))
}

#[test]
fn ties_and_nan_alone_come_up_where_an_answer_is_defined() {
    let drawn =
        |ops: &str, set: ValueSet| comes_up(ops, |case| case.check != Check::Invalid && case.values == set);
    for op in ["add", "to_bf16", "affine", "sum", "mean"] {
        assert!(drawn(op, ValueSet::Ties), "ties of {op}");
    }
    for op in ["max", "argmin", "softmax", "maximum", "sqrt"] {
        assert!(drawn(op, ValueSet::OnlyNan), "nan_only of {op}");
        assert!(drawn(op, ValueSet::Nans), "nans of {op}");
    }
    // Products of ties overflow f16, and what a NaN of the padding becomes in a convolution is nowhere said.
    for op in ["matmul", "conv2d", "flash_attn_windowed"] {
        assert!(!drawn(op, ValueSet::Ties), "ties of {op}");
        assert!(!drawn(op, ValueSet::OnlyNan), "nan_only of {op}");
    }
    let narrow = Pool::new(&["sum".parse().unwrap()], &[DType::F8E4M3]).unwrap();
    assert!((0..4000).all(|number| narrow.case(9, number).values != ValueSet::Ties));
}

#[test]
fn what_is_to_be_refused_has_counts_of_nothing_and_heads_that_do_not_divide() {
    let refused = |case: &Case, at: usize, value: f64| {
        case.check == Check::Invalid && case.params.get(at).is_some_and(|param| *param == value)
    };
    for (ops, at) in [
        ("unfold", 2),
        ("chunk", 0),
        ("pixel_shuffle", 0),
        ("avg_pool2d,max_pool2d", 2),
        ("avg_pool2d,max_pool2d", 3),
        ("conv1d,conv2d", 1),
        ("conv1d,conv2d", 2),
    ] {
        assert!(
            comes_up(ops, |case| refused(case, at, 0.0)),
            "{ops}: parameter {at} of 0"
        );
    }
    for ops in [
        "flash_attn",
        "flash_attn_windowed",
        "flash_attn_alibi_windowed_softcap",
    ] {
        let heads = |case: &Case| !case.args[0].shape[2].is_multiple_of(case.args[1].shape[2]);
        let widths = |case: &Case| case.args[0].shape[3] != case.args[1].shape[3];
        assert!(
            comes_up(ops, |case| case.check == Check::Invalid && heads(case)),
            "{ops}: heads"
        );
        assert!(
            comes_up(ops, |case| case.check == Check::Invalid && widths(case)),
            "{ops}: widths"
        );
    }
    assert!(comes_up("swiglu", |case| {
        case.check == Check::Invalid && case.args[0].shape.last() == Some(&1)
    }));
    // candle cannot be asked for a chunk that does not exist.
    let missing = |case: &Case| case.params[0] > 0.0 && case.params[2] >= case.params[0];
    assert!(!comes_up("chunk", missing));
    // Of what only lends a shape, nothing is spoiled.
    assert!(!comes_up("arange_step,zeros,reshape", |case| case.check == Check::Invalid));
}

#[test]
fn numbers_are_drawn_where_formulas_and_roundings_go_wrong() {
    let steps = |case: &Case| case.check == Check::Value && [0.1, 0.3].contains(&case.params[2]);
    assert!(comes_up("arange_step", |case| case.dtype == DType::F32 && steps(case)));
    assert!(comes_up("arange_step", |case| case.dtype == DType::BF16 && steps(case)));
    for ops in ["qmatmul_q4_0", "indexed_moe_q4_K"] {
        assert!(comes_up(ops, |case| case.values == ValueSet::Nan), "{ops}");
    }
    assert!(!comes_up("quantize_q4_0", |case| case.values == ValueSet::Nan));
    for ops in ["log_sum_exp", "softmax", "log_softmax", "softmax_last_dim"] {
        assert!(comes_up(ops, |case| case.values == ValueSet::Special), "{ops}");
    }
    let far = |case: &Case| case.values.to_string() == "uniform(10000,10004)";
    for ops in ["layer_norm", "var", "group_norm"] {
        assert!(
            comes_up(ops, |case| case.dtype == DType::F32 && far(case)),
            "{ops}"
        );
    }
    assert!(!comes_up("layer_norm", |case| case.dtype == DType::F16 && far(case)));
    let nothing = |case: &Case| case.args[0].shape[case.params[1] as usize] == 0;
    assert!(comes_up("roll", |case| case.check == Check::Value && nothing(case)));
    // A first dimension of one element, with a stride of 0, and an extreme over it.
    let one = |case: &Case| case.args[0].layout == Layout::BroadcastOne && case.params[0] == 0.0;
    assert!(comes_up("max", one));
}

#[test]
fn integers_to_be_cast_lie_around_the_middle_between_two_floats() {
    let pool = Pool::new(
        &["to_bf16".parse().unwrap()],
        &[DType::I32, DType::U32, DType::I64],
    )
    .unwrap();
    let mut ties = 0;
    for number in 0..4000 {
        let case = pool.case(9, number);
        let ValueSet::Ints { lo, hi } = case.values else {
            continue;
        };
        // The narrow windows, high enough for f32 to round the integers beside the middle to it.
        if hi - lo != 2 || lo < 1 << 26 {
            continue;
        }
        let middle = lo + 1;
        // One bit more than the float has: 4, 8, 11 or 24.
        let bits = 64 - u64::try_from(middle).unwrap().leading_zeros() - middle.trailing_zeros();
        assert!([5, 9, 12, 25].contains(&bits), "{middle}: {bits} bits");
        ties += usize::from(bits == 9);
    }
    assert!(ties > 10, "{ties}");
}
