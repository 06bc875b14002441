//! Elements moved, repeated or set.

use parity_model::float::{Format, encode_int};
use parity_model::op::Copies;

use super::{Answer, moved};
use crate::expected::Call;
use crate::formula::ball::Accumulation;
use crate::formula::integer::saturate;
use crate::numbers::{indices, ints, ravel};
use crate::places::Moves;
use crate::program::Program;
use crate::tape::Tensor;

/// The pattern of copies each of whose elements comes from a place that [`Moves::origin`] tells.
macro_rules! from_one_place {
    () => {
        Copies::PadSame
            | Copies::Stack
            | Copies::SliceSet
            | Copies::SliceScatter
            | Copies::SliceAssign
            | Copies::KvCache
            | Copies::RotatingKvCache
            | Copies::Repeat
            | Copies::Flip
            | Copies::Roll
            | Copies::Unfold
            | Copies::Chunk
            | Copies::PixelShuffle
            | Copies::PixelUnshuffle
            | Copies::ReplicationPad2d
            | Copies::Meshgrid
            | Copies::Narrow
            | Copies::Index
            | Copies::GetOnDim
            | Copies::Transpose
            | Copies::Permute
            | Copies::Squeeze
            | Copies::Unsqueeze
            | Copies::Flatten
            | Copies::Reshape
            | Copies::BroadcastAs
    };
}

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
    let triangle = |set: fn(usize, usize) -> bool| {
        let set = |index: Vec<usize>| set(index[0], index[1]);
        moved(indices(&call.shape).map(|index| fill(f64::from(u8::from(set(index))))))
    };
    match op {
        Copies::Copy | Copies::CopyApart => moved((0..x.len()).map(|i| x.bits(i))),
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
        Copies::Eye => triangle(|row, column| row == column),
        Copies::Tril => triangle(|row, column| row >= column),
        Copies::Triu => triangle(|row, column| row <= column),
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
        from_one_place!() => {
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

/// The copy on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Copies) -> Tensor<'t> {
    let x = call.x(0);
    match op {
        Copies::Copy | Copies::CopyApart => x.reshaped(call.output),
        Copies::PadZeros => placed(x, call.whole(0), call.whole(1), call.output),
        Copies::Cat => cat([x, call.x(1)], call.whole(0), call.output),
        from_one_place!() => elsewhere(call, op),
        Copies::Fill
        | Copies::Full
        | Copies::Zeros
        | Copies::Ones
        | Copies::Eye
        | Copies::Tril
        | Copies::Triu
        | Copies::Arange
        | Copies::OneHot => panic!("`{op}` has no derivative"),
    }
}

/// Both tensors one after the other along the dimension.
pub(super) fn cat<'t>([x, y]: [Tensor<'t>; 2], dim: usize, output: &[usize]) -> Tensor<'t> {
    placed(x, dim, 0, output) + placed(y, dim, x.shape()[dim], output)
}

/// The tensor from `start` on along the dimension, among zeros.
fn placed<'t>(x: Tensor<'t>, dim: usize, start: usize, output: &[usize]) -> Tensor<'t> {
    let own = x.shape();
    let from = |mut index: Vec<usize>| {
        index[dim] = index[dim].checked_sub(start).filter(|at| *at < own[dim])?;
        Some(ravel(&index, &own))
    };
    x.taken(output, indices(output).map(from).collect(), Accumulation::Wide)
}

/// Elements of the arguments in other places.
fn elsewhere<'t>(call: &Program<'t, '_>, op: Copies) -> Tensor<'t> {
    let args: Vec<Tensor<'t>> = (0..call.args.len()).map(|i| call.x(i)).collect();
    let shapes: Vec<Vec<usize>> = args.iter().map(|x| x.shape()).collect();
    let moves = Moves {
        params: call.params,
        shapes: shapes.iter().map(Vec::as_slice).collect(),
        output: call.output,
    };
    let origin = |index: Vec<usize>| {
        let (arg, from) = moves.origin(op, &index);
        (arg, ravel(&from, &shapes[arg]))
    };
    let origins: Vec<(usize, usize)> = indices(call.output).map(origin).collect();
    let part = |(arg, x): (usize, &Tensor<'t>)| {
        let places = origins.iter().map(|(of, at)| (*of == arg).then_some(*at));
        x.taken(call.output, places.collect(), Accumulation::Wide)
    };
    let parts: Vec<Tensor<'t>> = args.iter().enumerate().map(part).collect();
    parts[1..].iter().fold(parts[0], |sum, part| sum + *part)
}
