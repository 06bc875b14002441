//! Elements moved, repeated or set.

use parity_model::float::{Format, encode_int};
use parity_model::op::Copies;

use super::{Answer, moved};
use crate::expected::Call;
use crate::integer::saturate;
use crate::numbers::{indices, ravel};

pub(crate) fn answer(call: &Call<'_>, op: Copies) -> Answer {
    let x = &call.args[0];
    let fill = |value: f64| match Format::of(call.dtype) {
        Some(format) => format.encode(value),
        None => encode_int(call.dtype, saturate(call.dtype, value)),
    };
    // The element of argument `arg` at `index` after `start` is taken off along the dimension.
    let shifted = |arg: usize, index: &[usize], dim: usize, start: usize| {
        let mut index = index.to_vec();
        index[dim] -= start;
        call.args[arg].bits(ravel(&index, &call.args[arg].shape))
    };
    match op {
        Copies::Copy => moved((0..x.len()).map(|i| x.bits(i))),
        Copies::Fill => {
            let (dim, start, len) = (call.whole(1), call.whole(2), call.whole(3));
            let value = fill(call.case.params[0]);
            let set = start..start + len;
            moved(indices(&call.shape).enumerate().map(|(i, index)| {
                if set.contains(&index[dim]) {
                    value
                } else {
                    x.bits(i)
                }
            }))
        }
        Copies::Cat => {
            let dim = call.whole(0);
            moved(indices(&call.shape).map(|index| {
                let (arg, start) = if index[dim] < x.shape[dim] {
                    (0, 0)
                } else {
                    (1, x.shape[dim])
                };
                shifted(arg, &index, dim, start)
            }))
        }
        Copies::SliceSet => {
            let (dim, offset) = (call.whole(0), call.whole(1));
            let written = offset..offset + call.args[1].shape[dim];
            moved(indices(&call.shape).map(|index| {
                let (arg, start) = if written.contains(&index[dim]) {
                    (1, offset)
                } else {
                    (0, 0)
                };
                shifted(arg, &index, dim, start)
            }))
        }
        Copies::PadZeros => {
            let (dim, left) = (call.whole(0), call.whole(1));
            moved(indices(&call.shape).map(|index| {
                if (left..left + x.shape[dim]).contains(&index[dim]) {
                    shifted(0, &index, dim, left)
                } else {
                    fill(0.0)
                }
            }))
        }
    }
}
