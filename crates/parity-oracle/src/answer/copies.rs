//! Elements moved, repeated or set.

use parity_model::float::{Format, encode_int};
use parity_model::op::Copies;

use super::{Answer, moved};
use crate::expected::Call;
use crate::integer::saturate;
use crate::numbers::{indices, ints, ravel};
use crate::places::Moves;

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
        Copies::Full => moved((0..x.len()).map(|_| fill(call.case.params[0]))),
        Copies::Zeros => moved((0..x.len()).map(|_| fill(0.0))),
        Copies::Ones => moved((0..x.len()).map(|_| fill(1.0))),
        Copies::Eye | Copies::Tril | Copies::Triu => moved(indices(&call.shape).map(|index| {
            let (row, column) = (index[0], index[1]);
            let set = match op {
                Copies::Tril => column <= row,
                Copies::Triu => column >= row,
                _ => column == row,
            };
            fill(f64::from(u8::from(set)))
        })),
        Copies::Arange => {
            let param = |i: usize| {
                let param = call.case.params[i];
                Format::of(call.dtype).map_or(param.trunc(), |format| format.round(param))
            };
            moved((0..x.len()).map(|i| fill((i as f64).mul_add(param(2), param(0)))))
        }
        Copies::OneHot => {
            let ids = ints(&call.args[1]);
            let depth = call.whole(0);
            let hit = |at: usize| usize::from(ids[at / depth] == (at % depth) as i64);
            moved((0..ids.len() * depth).map(|at| x.bits(hit(at))))
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
        _ => {
            let moves = Moves {
                params: &call.case.params,
                shapes: call.args.iter().map(|arg| arg.shape.as_slice()).collect(),
                output: &call.shape,
            };
            moved(indices(&call.shape).map(|index| {
                let (arg, from) = moves.origin(op, &index);
                call.args[arg].bits(ravel(&from, &call.args[arg].shape))
            }))
        }
    }
}
