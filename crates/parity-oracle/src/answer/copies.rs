//! Elements moved, repeated or set.

use parity_model::float::{Format, encode_int};
use parity_model::op::Copies;
use parity_model::op::shape::chunk;

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
        Copies::PadSame
        | Copies::Stack
        | Copies::SliceScatter
        | Copies::Repeat
        | Copies::Flip
        | Copies::Roll
        | Copies::Unfold
        | Copies::Chunk
        | Copies::PixelShuffle
        | Copies::PixelUnshuffle
        | Copies::ReplicationPad2d => moved(indices(&call.shape).map(|index| {
            let (arg, from) = origin(call, op, &index);
            call.args[arg].bits(ravel(&from, &call.args[arg].shape))
        })),
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

/// The argument, and the index in it, whose element belongs at `index` of the output.
fn origin(call: &Call<'_>, op: Copies, index: &[usize]) -> (usize, Vec<usize>) {
    let x = &call.args[0].shape;
    let mut from = index.to_vec();
    match op {
        Copies::PadSame => {
            let (dim, left) = (call.whole(0), call.whole(1));
            from[dim] = from[dim].saturating_sub(left).min(x[dim] - 1);
        }
        Copies::Stack => return (from.remove(call.whole(0)), from),
        Copies::SliceScatter => {
            let (dim, start) = (call.whole(0), call.whole(1));
            if (start..start + call.args[1].shape[dim]).contains(&from[dim]) {
                from[dim] -= start;
                return (1, from);
            }
        }
        Copies::Repeat => from.iter_mut().zip(x).for_each(|(i, extent)| *i %= extent),
        Copies::Flip => {
            for dim in (0..call.case.params.len()).map(|i| call.whole(i)) {
                from[dim] = x[dim] - 1 - from[dim];
            }
        }
        Copies::Roll => {
            let (dim, shift) = (call.whole(1), call.whole(0));
            from[dim] = (from[dim] + x[dim] - shift % x[dim]) % x[dim];
        }
        Copies::Unfold => {
            let within = from.pop().unwrap_or(0);
            from[call.whole(0)] = from[call.whole(0)] * call.whole(2) + within;
        }
        Copies::Chunk => {
            let dim = call.whole(1);
            from[dim] += chunk(x[dim], call.whole(0), call.whole(2)).0;
        }
        Copies::PixelShuffle => {
            let f = call.whole(0);
            let within = index[2] % f * f + index[3] % f;
            from = vec![index[0], index[1] * f * f + within, index[2] / f, index[3] / f];
        }
        Copies::PixelUnshuffle => {
            let f = call.whole(0);
            let within = index[1] % (f * f);
            from = vec![
                index[0],
                index[1] / (f * f),
                index[2] * f + within / f,
                index[3] * f + within % f,
            ];
        }
        Copies::ReplicationPad2d => {
            for dim in [2, 3] {
                from[dim] = from[dim].saturating_sub(call.whole(0)).min(x[dim] - 1);
            }
        }
        Copies::Copy | Copies::Cat | Copies::SliceSet | Copies::Fill | Copies::PadZeros => {}
    }
    (0, from)
}
