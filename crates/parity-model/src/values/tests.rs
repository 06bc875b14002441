//! Tests of the value sets: what each holds, and what it refuses to fill.

use super::*;
use crate::Op;
use crate::float::decode_int;
use crate::op::{Binary, Unary};

fn slot(arg: usize, arity: usize) -> Slot<'static> {
    Slot {
        seed: 1,
        id: "unary/exp:f32:[4]:contiguous:any",
        arg,
        place: arg,
        arity,
    }
}

fn floats(set: &str, dtype: DType, shape: &[usize], arg: usize, arity: usize) -> Vec<f64> {
    let tensor = fill(set.parse().unwrap(), dtype, shape, &slot(arg, arity));
    let format = Format::of(dtype).unwrap();
    (0..tensor.len()).map(|i| format.decode(tensor.bits(i))).collect()
}

fn integers(set: &str, dtype: DType, shape: &[usize], arg: usize) -> Vec<i64> {
    let tensor = fill(set.parse().unwrap(), dtype, shape, &slot(arg, 2));
    (0..tensor.len())
        .map(|i| decode_int(dtype, tensor.bits(i)))
        .collect()
}

#[test]
fn every_spelling_parses_back() {
    for text in [
        "uniform(-10,10)",
        "uniform(0.001,1)",
        "geometric(0.00001,1000)",
        "ints(-9,9)",
        "nonzero(-9,9)",
        "any",
        "special",
        "nan",
        "nans",
        "nan_only",
        "ties",
        "peaks",
        "extremes",
        "divzero",
        "exhaustive",
        "numbers",
        "quants",
    ] {
        assert_eq!(text.parse::<ValueSet>().unwrap().to_string(), text);
    }
}

#[test]
fn a_bad_spelling_says_what_is_wrong() {
    for (text, why) in [
        ("uniform", "two bounds"),
        ("uniform(1,2", "closing parenthesis"),
        ("uniform(2,1)", "lower one first"),
        ("uniform(a,1)", "not a number"),
        ("ints(0.5,1)", "not an integer"),
        ("ints(3,3)", "lower bound comes first"),
        ("geometric(0,1)", "above zero"),
        ("special(1,2)", "takes no bounds"),
        ("gaussian", "expected one of uniform(lo,hi)"),
    ] {
        let message = text.parse::<ValueSet>().unwrap_err().to_string();
        assert!(message.contains(text) && message.contains(why), "{message}");
    }
}

#[test]
fn inputs_depend_on_seed_id_and_argument_and_on_nothing_else() {
    let make = |seed, id, arg| {
        fill(
            ValueSet::Any,
            DType::F32,
            &[8],
            &Slot {
                seed,
                id,
                arg,
                place: arg,
                arity: 2,
            },
        )
    };
    assert_eq!(make(1, "a", 0), make(1, "a", 0));
    assert_ne!(make(1, "a", 0), make(2, "a", 0));
    assert_ne!(make(1, "a", 0), make(1, "b", 0));
    assert_ne!(make(1, "a", 0), make(1, "a", 1));
}

#[test]
fn the_stream_is_the_documented_one_for_ever() {
    // Recorded inputs and reports refer to these bits; a change here invalidates them all.
    let tensor = fill(
        ValueSet::Any,
        DType::I64,
        &[2],
        &Slot {
            seed: 7,
            id: "x",
            arg: 0,
            place: 0,
            arity: 1,
        },
    );
    assert_eq!(fnv1a("x"), 0xaf63_f54c_8602_1707);
    assert_eq!(
        [tensor.bits(0), tensor.bits(1)],
        [0x1907_0c72_482d_37eb, 0x5413_3072_d223_9e18]
    );
}

#[test]
fn uniform_and_geometric_stay_inside_and_fill_their_range() {
    let xs = floats("uniform(-2,3)", DType::F64, &[1000], 0, 1);
    assert!(xs.iter().all(|x| (-2.0..3.0).contains(x)));
    assert!(xs.iter().any(|x| *x < -1.9) && xs.iter().any(|x| *x > 2.9));
    let xs = floats("geometric(0.001,1000)", DType::F64, &[1000], 0, 1);
    assert!(xs.iter().all(|x| (0.001..=1000.0).contains(x)));
    assert!(
        xs.iter().filter(|x| **x < 1.0).count().abs_diff(500) < 100,
        "half of them lie below one"
    );
}

#[test]
fn special_pairs_hold_every_pair() {
    let count = specials(&Format::of(DType::F16).unwrap()).len();
    let left = floats("special", DType::F16, &[count * count], 0, 2);
    let right = floats("special", DType::F16, &[count * count], 1, 2);
    let pairs: std::collections::BTreeSet<_> = left
        .iter()
        .zip(&right)
        .map(|(l, r)| (l.to_bits(), r.to_bits()))
        .collect();
    assert_eq!(pairs.len(), count * count);
    assert!(left.contains(&f64::INFINITY) && left.contains(&65504.0) && left.iter().all(|x| !x.is_nan()));
}

#[test]
fn nan_stands_first_middle_and_last_and_alone_on_either_side() {
    let nan = |arg, arity| -> Vec<usize> {
        let xs = floats("nan", DType::F32, &[9], arg, arity);
        (0..9).filter(|i| xs[*i].is_nan()).collect()
    };
    assert_eq!(nan(0, 1), [0, 4, 8]);
    assert_eq!(nan(0, 2), [0, 4]);
    assert_eq!(nan(1, 2), [4, 8]);
}

#[test]
fn nans_are_one_in_thirty_two_at_places_that_differ_between_rows() {
    let xs = floats("nans", DType::F8E4M3, &[64, 64], 0, 1);
    let places: Vec<usize> = (0..4096).filter(|i| xs[*i].is_nan()).collect();
    assert!((64..256).contains(&places.len()), "{}", places.len());
    let columns: std::collections::BTreeSet<usize> = places.iter().map(|i| i % 64).collect();
    assert!(columns.len() > 48, "{}", columns.len());
    assert!(xs.iter().all(|x| x.is_nan() || x.abs() <= 4.0));
}

#[test]
fn nan_only_holds_no_number() {
    assert!(
        floats("nan_only", DType::BF16, &[64], 0, 1)
            .iter()
            .all(|x| x.is_nan())
    );
}

#[test]
fn peaks_are_few_of_every_dtype_and_at_places_that_differ_between_rows() {
    for dtype in DType::ALL {
        let xs: Vec<f64> = match dtype.is_float() {
            true => floats("peaks", dtype, &[64, 1024], 0, 1),
            false => integers("peaks", dtype, &[64, 1024], 0)
                .into_iter()
                .map(|x| x as f64)
                .collect(),
        };
        // f8e4m3 and bf16 round; 29 becomes 28 or 30 and stays in the middle.
        let places = |is: fn(&f64) -> bool| -> Vec<usize> {
            let found = xs.iter().enumerate().filter(|(_, x)| is(x));
            found.map(|(i, _)| i % 1024).collect()
        };
        for found in [places(|x| *x > 40.0), places(|x| *x < 15.0)] {
            assert!((40..160).contains(&found.len()), "{} of {dtype}", found.len());
            let columns: std::collections::BTreeSet<_> = found.iter().collect();
            assert!(columns.len() > 36, "{} of {dtype}", columns.len());
        }
        assert!(xs.iter().all(|x| (0.0..=104.0).contains(x)), "{dtype}");
    }
}

/// How many of `xs` are halfway between two neighbours in `format`.
fn halfway(xs: &[f64], format: DType) -> usize {
    let bits = Format::of(format).unwrap().mantissa_bits as i32;
    let is_halfway = |x: &&f64| {
        let unit = (x.abs().log2().floor() as i32 - bits) as f64;
        (x.abs() / unit.exp2()).fract() == 0.5
    };
    xs.iter().filter(|&&x| x != 0.0).filter(is_halfway).count()
}

#[test]
fn ties_lie_halfway_between_numbers_of_narrower_formats() {
    let xs = floats("ties", DType::F32, &[4096], 0, 1);
    for narrower in [DType::BF16, DType::F16, DType::F8E4M3] {
        assert!(halfway(&xs, narrower) > 256, "{narrower}");
    }
    assert_eq!(
        halfway(&floats("uniform(1,2)", DType::F32, &[4096], 0, 1), DType::BF16),
        0
    );
}

#[test]
fn sums_and_products_of_ties_lie_halfway_between_numbers_of_their_own_format() {
    for dtype in [DType::F8E4M3, DType::BF16, DType::F16, DType::F32] {
        let [left, right] = [0, 1].map(|place| floats("ties", dtype, &[4096], place, 2));
        let sums: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l + r).collect();
        let products: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l * r).collect();
        assert!(halfway(&sums, dtype) > 512, "{dtype}: {}", halfway(&sums, dtype));
        assert!(
            halfway(&products, dtype) > 128,
            "{dtype}: {}",
            halfway(&products, dtype)
        );
    }
}

#[test]
fn exhaustive_holds_every_pattern_and_numbers_every_number() {
    let tensor = fill(ValueSet::Exhaustive, DType::F8E4M3, &[256], &slot(0, 1));
    assert!((0..256).all(|i| tensor.bits(i) == i as u64));
    // Each time one place later.
    let tensor = fill(ValueSet::Exhaustive, DType::F8E4M3, &[16, 256], &slot(0, 1));
    let place = |time: usize, pattern: u64| (0..256).find(|i| tensor.bits(256 * time + i) == pattern);
    for pattern in 0..256 {
        let places: Vec<_> = (0..16).map(|time| place(time, pattern)).collect();
        let expected = (0..16).map(|time| Some((pattern as usize + time) % 256));
        assert_eq!(places, expected.collect::<Vec<_>>());
    }
    let numbers = floats("numbers", DType::F8E4M3, &[256], 0, 1);
    assert!(numbers.iter().all(|x| !x.is_nan()));
    let (left, right) = (
        integers("exhaustive", DType::U8, &[65536], 0),
        integers("exhaustive", DType::U8, &[65536], 1),
    );
    assert!((0..65536).all(|i| (left[i], right[i]) == ((i % 256) as i64, (i / 256) as i64)));
}

#[test]
fn nonzero_has_no_zero_and_no_minimum_and_divzero_has_zeros_on_the_right_only() {
    let xs = integers("nonzero(-40000,40000)", DType::I16, &[4000], 1);
    assert!(xs.iter().all(|x| *x != 0 && *x != -32768 && x.abs() <= 32767));
    assert!(integers("divzero", DType::I32, &[30], 0).iter().all(|x| *x != 0));
    assert_eq!(
        integers("divzero", DType::I32, &[30], 1)
            .iter()
            .filter(|x| **x == 0)
            .count(),
        10
    );
    assert!(
        integers("ints(-9,9)", DType::U8, &[100], 0)
            .iter()
            .all(|x| (0..=9).contains(x))
    );
}

#[test]
fn extremes_hold_both_ends() {
    let xs = integers("extremes", DType::I64, &[64], 0);
    assert!(xs.contains(&i64::MIN) && xs.contains(&i64::MAX) && xs.contains(&-1));
    let xs = integers("extremes", DType::U32, &[64], 0);
    assert!(xs.contains(&0) && xs.contains(&i64::from(u32::MAX)) && !xs.contains(&-1));
}

#[test]
fn a_set_that_cannot_fill_the_arguments_is_refused() {
    let refused = |set: &str, op: Op, dtype, shape: &[usize], contiguous| {
        let shapes = vec![shape; Op::arity(op)];
        set.parse::<ValueSet>()
            .unwrap()
            .check(op, dtype, &shapes, contiguous)
    };
    for (set, op, dtype, shape, contiguous, why) in [
        (
            "uniform(0,1)",
            Unary::Abs.into(),
            DType::I32,
            &[4][..],
            true,
            "integer dtype",
        ),
        (
            "extremes",
            Unary::Abs.into(),
            DType::F32,
            &[4],
            true,
            "float dtype",
        ),
        ("divzero", Binary::Add.into(), DType::I32, &[4], true, "div alone"),
        (
            "ints(-9,9)",
            Binary::Div.into(),
            DType::I32,
            &[4],
            true,
            "by zero",
        ),
        (
            "ints(-9,-3)",
            Binary::Add.into(),
            DType::U8,
            &[4],
            true,
            "fewer than two",
        ),
        ("nan", Unary::Exp.into(), DType::F32, &[2], true, "at least 3"),
        ("exhaustive", Unary::Exp.into(), DType::F32, &[4], true, "32 bits"),
        (
            "exhaustive",
            Binary::Add.into(),
            DType::F16,
            &[65536],
            true,
            "two 8-bit",
        ),
        (
            "exhaustive",
            Unary::Exp.into(),
            DType::F16,
            &[4],
            true,
            "65536 elements",
        ),
        (
            "exhaustive",
            Unary::Exp.into(),
            DType::F16,
            &[3, 32768],
            true,
            "several times",
        ),
        (
            "exhaustive",
            Binary::Add.into(),
            DType::U8,
            &[2, 65536],
            true,
            "65536 elements",
        ),
        (
            "numbers",
            Unary::Exp.into(),
            DType::F16,
            &[256, 256],
            false,
            "contiguous",
        ),
    ] {
        let message = refused(set, op, dtype, shape, contiguous).unwrap_err();
        assert!(message.contains(why), "{set} {op} {dtype}: {message}");
    }
    assert_eq!(
        refused("nonzero(-9,9)", Binary::Div.into(), DType::I32, &[4], true),
        Ok(())
    );
    assert_eq!(
        refused("exhaustive", Binary::Add.into(), DType::U8, &[65536], true),
        Ok(())
    );
}
