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
    let rows = || rows(call, &keep.dims(&call.case.params, call.args[0].shape.len()));
    match op {
        Reduce::Sum => sums(call, false, &rows()),
        Reduce::Mean => sums(call, true, &rows()),
        Reduce::Min => extremes(call, true, &rows(), |x, at| x.bits(at.1)),
        Reduce::Max => extremes(call, false, &rows(), |x, at| x.bits(at.1)),
        Reduce::ArgMin => extremes(call, true, &rows(), |_, at| at.0 as u64),
        Reduce::ArgMax => extremes(call, false, &rows(), |_, at| at.0 as u64),
        Reduce::Var => (spread::variances(call, &rows()), spread::SOURCE.to_owned()),
        Reduce::LogSumExp => (super::nn::log_sums(call, &rows()), super::nn::SOURCE.to_owned()),
        Reduce::CumSum => running_sums(call),
        Reduce::Norm => super::of_parts(call, Op::Reduce(op, keep)),
    }
}

/// What `of` takes of the index in its row, and of the place, of each row's extreme element.
fn extremes(
    call: &Call<'_>,
    least: bool,
    rows: &[Vec<usize>],
    of: fn(&HostTensor, (usize, usize)) -> u64,
) -> Answer {
    let x = &call.args[0];
    let elements = rows.iter().map(|row| exact(of(x, extreme(x, row, least))));
    (elements.collect(), "exact: an element, or its index".to_owned())
}

/// The sums of the elements so far. candle multiplies with a triangle of ones; the terms times zero add nothing.
fn running_sums(call: &Call<'_>) -> Answer {
    let (x, dim) = (&call.args[0], call.whole(0));
    let Some(format) = Format::of(call.dtype) else {
        let element = |index: Vec<usize>| {
            let terms = so_far(&index, dim, &x.shape)
                .into_iter()
                .map(|at| decode_int(call.dtype, x.bits(at)));
            let sum = terms.fold(0, |sum, term| call.sums.add(call.dtype, sum, term));
            exact(encode_int(call.dtype, sum))
        };
        return (
            indices(&x.shape).map(element).collect(),
            "exact: integers wrap".to_owned(),
        );
    };
    let element = |index: Vec<usize>| {
        let mut dot = Dot::new(call.dtype, call.sums);
        for at in so_far(&index, dim, &x.shape) {
            dot.push(format.decode(x.bits(at)), 1.0);
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
        Reduce::CumSum => {
            // Products with ones, as candle has them.
            let row = |index: Vec<usize>| so_far(&index, dims[0], &shape).into_iter().map(|at| (at, 0));
            let terms = indices(&shape).map(|index| row(index).collect()).collect();
            x.dot(x.arithmetic.argument(&[1], &[1.0]), &shape, terms)
        }
        Reduce::ArgMin | Reduce::ArgMax => panic!("an index has no derivative"),
    };
    kept.reshaped(call.output)
}

/// The places along `dim` up to an index.
fn so_far(index: &[usize], dim: usize, shape: &[usize]) -> Vec<usize> {
    let place = |i: usize| {
        let mut at = index.to_vec();
        at[dim] = i;
        ravel(&at, shape)
    };
    (0..=index[dim]).map(place).collect()
}
