//! Sums and extremes over dimensions.

mod spread;

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::{Keep, Reduce};
use parity_model::{DType, HostTensor, Op};

use super::{Answer, exact};
use crate::dot::{Dot, MEAN_ROUNDINGS, SOURCE};
use crate::expected::Call;
use crate::numbers::{indices, ravel};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Reduce, keep: Keep) -> Answer {
    let x = &call.args[0];
    let rows = match op {
        Reduce::CumSum | Reduce::Norm => vec![],
        Reduce::Sum
        | Reduce::Mean
        | Reduce::Min
        | Reduce::Max
        | Reduce::ArgMin
        | Reduce::ArgMax
        | Reduce::Var
        | Reduce::LogSumExp => rows(call, &keep.dims(&call.case.params, x.shape.len())),
    };
    let extreme = |least: bool| rows.iter().map(move |row| extreme(x, row, least));
    let taken = "exact: an element, or its index".to_owned();
    match op {
        Reduce::Sum => sums(call, false, &rows),
        Reduce::Mean => sums(call, true, &rows),
        Reduce::Min => (extreme(true).map(|at| exact(x.bits(at.1))).collect(), taken),
        Reduce::Max => (extreme(false).map(|at| exact(x.bits(at.1))).collect(), taken),
        Reduce::ArgMin => (extreme(true).map(|at| exact(at.0 as u64)).collect(), taken),
        Reduce::ArgMax => (extreme(false).map(|at| exact(at.0 as u64)).collect(), taken),
        Reduce::Var => (spread::variances(call, &rows), spread::SOURCE.to_owned()),
        Reduce::LogSumExp => (super::nn::log_sums(call, &rows), super::nn::SOURCE.to_owned()),
        Reduce::CumSum => running_sums(call),
        Reduce::Norm => super::of_parts(call, Op::Reduce(op, keep)),
    }
}

/// The sums of the elements so far. candle multiplies with a triangle of ones; the terms times zero add nothing.
fn running_sums(call: &Call<'_>) -> Answer {
    let (x, dim) = (&call.args[0], call.whole(0));
    let format = Format::of(call.dtype).unwrap_or_else(|| panic!("a running sum of {}", call.dtype));
    let element = |index: Vec<usize>| {
        let mut dot = Dot::new(call.dtype, call.sums);
        let mut at = index.clone();
        for i in 0..=index[dim] {
            at[dim] = i;
            dot.push(format.decode(x.bits(ravel(&at, &x.shape))), 1.0);
        }
        dot.element(&format, 1.0, 1.0)
    };
    (indices(&x.shape).map(element).collect(), SOURCE.to_owned())
}

/// For each element of the output, the places of its terms in the input, in order.
fn rows(call: &Call<'_>, reduced: &[usize]) -> Vec<Vec<usize>> {
    let shape = &call.args[0].shape;
    let extents: Vec<usize> = (0..shape.len())
        .filter(|d| !reduced.contains(d))
        .map(|d| shape[d])
        .collect();
    let mut rows = vec![Vec::new(); call.shape.iter().product()];
    for (place, index) in indices(shape).enumerate() {
        let kept: Vec<usize> = (0..shape.len())
            .filter(|d| !reduced.contains(d))
            .map(|d| index[d])
            .collect();
        rows[ravel(&kept, &extents)].push(place);
    }
    rows
}

fn sums(call: &Call<'_>, mean: bool, rows: &[Vec<usize>]) -> Answer {
    let (dtype, x) = (call.dtype, &call.args[0]);
    let Some(format) = Format::of(dtype) else {
        let sum = |row: &Vec<usize>| {
            let terms = row.iter().map(|&i| decode_int(dtype, x.bits(i)));
            let sum = terms.fold(0, |sum, term| call.sums.add(dtype, sum, term));
            exact(encode_int(dtype, sum))
        };
        return (rows.iter().map(sum).collect(), "exact: integers wrap".to_owned());
    };
    let element = |row: &Vec<usize>| {
        let mut dot = Dot::new(dtype, call.sums);
        row.iter().for_each(|&i| dot.push(format.decode(x.bits(i)), 1.0));
        match mean {
            true => dot.element(&format, 1.0 / row.len() as f64, MEAN_ROUNDINGS),
            false => dot.element(&format, 1.0, 1.0),
        }
    };
    let source = match mean {
        true => format!("{SOURCE}; the sum, 1/n and their product are each rounded to the dtype"),
        false => SOURCE.to_owned(),
    };
    (rows.iter().map(element).collect(), source)
}

/// Index in its row, and place, of the first NaN, or else of the first extreme element.
fn extreme(x: &HostTensor, row: &[usize], least: bool) -> (usize, usize) {
    let key = |place: usize| Key::of(x.dtype, x.bits(place));
    let mut best = (0, row[0]);
    for (i, &place) in row.iter().enumerate().skip(1) {
        let (new, old) = (key(place), key(best.1));
        let better = match (new, old) {
            (_, Key::NotANumber) => false,
            (Key::NotANumber, _) => true,
            (Key::Real(new), Key::Real(old)) => {
                if least {
                    new < old
                } else {
                    new > old
                }
            }
            (Key::Int(new), Key::Int(old)) => {
                if least {
                    new < old
                } else {
                    new > old
                }
            }
            (Key::Real(_), Key::Int(_)) | (Key::Int(_), Key::Real(_)) => false,
        };
        if better {
            best = (i, place);
        }
    }
    best
}

#[derive(Clone, Copy)]
enum Key {
    Real(f64),
    Int(i64),
    NotANumber,
}

impl Key {
    fn of(dtype: DType, bits: u64) -> Key {
        match Format::of(dtype).map(|format| format.decode(bits)) {
            None => Key::Int(decode_int(dtype, bits)),
            Some(x) if x.is_nan() => Key::NotANumber,
            Some(x) => Key::Real(x),
        }
    }
}

/// The reduction on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Reduce, keep: Keep) -> Tensor<'t> {
    let x = call.x(0);
    let shape = x.shape();
    let dims = keep.dims(call.params, shape.len());
    let kept = match op {
        Reduce::Sum => x.sum(&dims),
        Reduce::Mean => x.mean(&dims),
        Reduce::Min => x.extreme(dims[0], true),
        Reduce::Max => x.extreme(dims[0], false),
        Reduce::Var => {
            let squares = (x - x.mean(&dims)).sqr().sum(&dims);
            squares * (1.0 / (shape[dims[0]] as f64 - 1.0))
        }
        Reduce::LogSumExp => {
            let max = dims.iter().fold(x, |max, dim| max.extreme(*dim, false));
            (x - max).exp().sum(&dims).ln() + max
        }
        Reduce::Norm => x.sqr().sum(&dims).sqrt(),
        Reduce::CumSum => so_far(x, dims[0]),
        Reduce::ArgMin | Reduce::ArgMax => panic!("an index has no derivative"),
    };
    kept.reshaped(call.output)
}

/// The sums of the elements so far: products with ones, as candle has them.
fn so_far(x: Tensor<'_>, dim: usize) -> Tensor<'_> {
    let own = x.shape();
    let row = |index: Vec<usize>| {
        let term = |i: usize| {
            let mut at = index.clone();
            at[dim] = i;
            (ravel(&at, &own), 0)
        };
        (0..=index[dim]).map(term).collect()
    };
    let one = x.arithmetic.argument(&[1], &[1.0]);
    x.dot(one, &own, indices(&own).map(row).collect())
}
