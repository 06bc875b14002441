//! Means and maxima of windows.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::Pool;

use super::{Answer, exact};
use crate::dot::{Dot, MEAN_ROUNDINGS, SOURCE};
use crate::expected::Call;
use crate::formula::ball::Accumulation;
use crate::formula::exact::maximum;
use crate::numbers::{indices, ravel};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Pool) -> Answer {
    let (dtype, x) = (call.dtype, &call.args[0]);
    let window = |index: Vec<usize>| -> Vec<u64> {
        let places = window(&index, &call.case.params, &x.shape);
        places.into_iter().map(|at| x.bits(at)).collect()
    };
    let max = |bits: Vec<u64>| match Format::of(dtype) {
        None => bits
            .into_iter()
            .max_by_key(|bits| decode_int(dtype, *bits))
            .unwrap_or_default(),
        Some(format) => {
            let reals = bits.iter().map(|bits| format.decode(*bits));
            format.encode(reals.fold(f64::NEG_INFINITY, maximum))
        }
    };
    let mean = |bits: Vec<u64>| {
        let Some(format) = Format::of(dtype) else {
            let numbers = bits.iter().map(|bits| decode_int(dtype, *bits));
            let sum = numbers.fold(0_i64, i64::wrapping_add);
            return exact(encode_int(dtype, sum / bits.len() as i64));
        };
        let mut dot = Dot::new(dtype, call.sums);
        bits.iter().for_each(|bits| dot.push(format.decode(*bits), 1.0));
        dot.element(&format, 1.0 / bits.len() as f64, MEAN_ROUNDINGS)
    };
    let windows = indices(&call.shape).map(window);
    match op {
        Pool::MaxPool2d => (
            windows.map(|bits| exact(max(bits))).collect(),
            "exact: an element of the window".to_owned(),
        ),
        Pool::AvgPool2d => (
            windows.map(mean).collect(),
            format!("{SOURCE}; the sum, 1/n and their product are each rounded to the dtype"),
        ),
    }
}

/// The pooling on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Pool) -> Tensor<'t> {
    let x = call.x(0);
    let own = x.shape();
    let windows = indices(call.output).map(|index| window(&index, call.params, &own));
    let windows: Vec<Vec<usize>> = windows.collect();
    match op {
        Pool::MaxPool2d => x.extreme_of(call.output, windows, false),
        Pool::AvgPool2d => {
            let shape = [windows.len(), call.whole(0) * call.whole(1)];
            let places = windows.iter().flatten().map(|at| Some(*at)).collect();
            let mean = x.taken(&shape, places, Accumulation::Wide).mean(&[1]);
            mean.reshaped(call.output)
        }
    }
}

/// The places of the window of an output element in an input of shape `own`.
fn window(index: &[usize], params: &[f64], own: &[usize]) -> Vec<usize> {
    let whole = |i: usize| params[i] as usize;
    let at = |k: Vec<usize>| {
        let (h, w) = (index[2] * whole(2) + k[0], index[3] * whole(3) + k[1]);
        ravel(&[index[0], index[1], h, w], own)
    };
    indices(&[whole(0), whole(1)]).map(at).collect()
}
