//! Extremes of rows and columns whose partial results are NaN: all of them, those of one wave, and those of one lane.

use rocm_backend::ops::{self, Reduce};
use rocm_backend::{DType, DynBuffer, View};

use crate::floats::{FLOATS, download, rounded, upload};
use crate::support::device;

const EXTREMES: [Reduce; 4] = [Reduce::Max, Reduce::Min, Reduce::ArgMax, Reduce::ArgMin];

/// The extreme of a row as f64, or its place: the first NaN, else the first element that no other is better than.
fn reference(op: Reduce, row: impl Iterator<Item = f64>) -> f64 {
    let mut best: Option<(usize, f64)> = None;
    for (place, value) in row.enumerate() {
        let is_better = match best {
            None => true,
            Some((_, best)) if best.is_nan() => false,
            Some(_) if value.is_nan() => true,
            Some((_, best)) if matches!(op, Reduce::Max | Reduce::ArgMax) => value > best,
            Some((_, best)) => value < best,
        };
        if is_better {
            best = Some((place, value));
        }
    }
    let (place, value) = best.unwrap();
    if matches!(op, Reduce::ArgMax | Reduce::ArgMin) {
        place as f64
    } else {
        value
    }
}

/// The numbers of columns and rows as bits, NaN equal to NaN.
fn bits(values: &[f64]) -> Vec<u64> {
    let canonical = |value: &f64| if value.is_nan() { f64::NAN } else { *value };
    values.iter().map(canonical).map(f64::to_bits).collect()
}

/// A tensor whose columns or rows are reduced.
struct Case {
    /// Blocks that are all the same memory, rows, and columns.
    dims: [usize; 3],
    /// The dimension that is reduced.
    reduced: usize,
    /// Elements behind `dims[2]` from row to row.
    gap: usize,
}

impl Case {
    fn strides(&self) -> [usize; 3] {
        [0, self.dims[2] + self.gap, 1]
    }

    /// Compares each extreme of `values`, of which there is one block.
    fn check(&self, dtype: DType, ops: &[Reduce], what: &str, values: &[f64]) {
        let device = device();
        let (strides, dims) = (self.strides(), self.dims);
        let x: DynBuffer = upload(&device, dtype, values);
        for &op in ops {
            let got = ops::reduce(op, View::new(&x, &dims, &strides), &[self.reduced]).unwrap();
            let got = download(&got);
            let (outer, inner) = if self.reduced == 1 {
                (strides[2], strides[1])
            } else {
                (strides[1], strides[2])
            };
            let (results, terms) = if self.reduced == 1 {
                (dims[2], dims[1])
            } else {
                (dims[1], dims[2])
            };
            let of_block: Vec<f64> = (0..results)
                .map(|result| reference(op, (0..terms).map(|term| values[result * outer + term * inner])))
                .collect();
            let want = of_block.repeat(dims[0]);
            assert_eq!(
                bits(&got),
                bits(&want),
                "{op:?} of {dtype} over {} of {dims:?}, {what}",
                self.reduced
            );
        }
    }

    /// As many values as a block has in memory.
    fn len(&self) -> usize {
        self.dims[1] * (self.dims[2] + self.gap)
    }
}

/// Small numbers, positive and negative where the dtype has these.
fn number(dtype: DType, at: usize) -> f64 {
    let value = (at * 7 % 113) as f64 - if FLOATS.contains(&dtype) { 50.0 } else { 0.0 };
    rounded(dtype, value)
}

/// `dims`, of which `reduced` is reduced, with `gap` elements between rows.
const fn case(dims: [usize; 3], reduced: usize, gap: usize) -> Case {
    Case { dims, reduced, gap }
}

#[test]
fn extremes_are_right_where_whole_waves_have_met_nothing_but_nan() {
    // Columns of one part and of several, columns that fill packs, rows that no workgroup holds, and rows in parts.
    let cases = [
        case([1, 255, 32], 1, 1),
        case([1, 20_003, 33], 1, 0),
        case([1, 183, 512], 1, 0),
        case([1, 2, 40_003], 2, 0),
        case([1, 1, 270_003], 2, 0),
    ];
    for &dtype in FLOATS {
        for case in &cases {
            let len = case.len();
            let ops = if len > 200_000 { &EXTREMES[..2] } else { &EXTREMES };
            case.check(dtype, ops, "all NaN", &vec![f64::NAN; len]);
            // A number now and then among the NaN, and NaN in the last elements alone.
            let some = (0..len).map(|at| {
                if at % 1001 == 500 {
                    number(dtype, at)
                } else {
                    f64::NAN
                }
            });
            case.check(dtype, ops, "few numbers", &some.collect::<Vec<_>>());
            let last = (0..len).map(|at| {
                if at + 100 > len {
                    f64::NAN
                } else {
                    number(dtype, at)
                }
            });
            case.check(dtype, ops, "NaN at the end", &last.collect::<Vec<_>>());
        }
    }
}

/// A thread loads packs twice where parts of columns are of 128 rows at least, which takes 17 million elements: blocks that are all the same
/// memory.
#[test]
fn extremes_of_packs_of_columns_are_right_where_the_first_loads_were_of_nan() {
    for &dtype in FLOATS {
        let inner = (32 * 16 / dtype.size_in_bytes()).max(128);
        let case = case([130 * 128 / inner + 1, 1031, inner], 1, 0);
        case.check(dtype, &EXTREMES[..2], "all NaN", &vec![f64::NAN; case.len()]);
    }
}

#[test]
fn extremes_of_long_columns_are_right_for_every_dtype() {
    let cases = [
        case([1, 203, 33], 1, 2),
        case([1, 511, 16], 1, 1),
        case([1, 20_003, 33], 1, 0),
    ];
    for &dtype in DType::ALL {
        for case in &cases {
            let values: Vec<f64> = (0..case.len()).map(|at| number(dtype, at)).collect();
            case.check(dtype, &EXTREMES, "numbers", &values);
        }
    }
}
