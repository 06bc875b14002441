//! Calls of ops that move, repeat or set elements.

use parity_model::op::Copies;
use parity_model::op::shape::chunk;

use super::params::number;
use super::{ParamsAndShapes, by_rule, shorter};
use crate::draw::Draw;

pub(super) fn copies(op: Copies, draw: &mut Draw) -> ParamsAndShapes {
    match op {
        Copies::Cat => {
            let (shape, dim) = (draw.shape(1), 0);
            let dim = if draw.chance(40) {
                dim
            } else {
                draw.below(shape.len())
            };
            let mut other = shape.clone();
            other[dim] = draw.extent(shape[dim].max(1) * 2);
            (vec![dim as f64], vec![shape, other])
        }
        Copies::SliceSet | Copies::SliceScatter => {
            let (shape, dim, start, len) = slice(draw);
            let mut source = shape.clone();
            source[dim] = len;
            (vec![dim as f64, start as f64], vec![shape, source])
        }
        Copies::Fill => {
            let (shape, dim, start, len) = slice(draw);
            let value = number("value", &shape, draw);
            (vec![value, dim as f64, start as f64, len as f64], vec![shape])
        }
        Copies::PadZeros | Copies::PadSame => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len());
            (
                vec![dim as f64, draw.below(5) as f64, draw.below(5) as f64],
                vec![shape],
            )
        }
        Copies::Stack => {
            let shape = draw.shape(0);
            (
                vec![draw.below(shape.len() + 1) as f64],
                vec![shape.clone(), shape],
            )
        }
        Copies::Repeat => {
            let shape = draw.shape(1);
            let times = shape.iter().map(|_| {
                if draw.chance(50) {
                    1.0
                } else {
                    draw.below(4) as f64
                }
            });
            (times.collect(), vec![shape])
        }
        Copies::Roll => {
            let shape = draw.shape(1);
            let dim = draw.below(shape.len());
            (
                vec![draw.below(2 * shape[dim] + 1) as f64, dim as f64],
                vec![shape],
            )
        }
        Copies::CopyApart => {
            let shape = draw.extents(2);
            let apart = shape[1].max(1) + draw.below(9);
            (vec![apart as f64], vec![shape])
        }
        Copies::Unfold => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len());
            let size = draw.between(1, shape[dim].min(9));
            (
                vec![dim as f64, size as f64, draw.between(1, 5) as f64],
                vec![shape],
            )
        }
        Copies::Chunk => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len());
            let chunks = draw.between(1, 7);
            let which = draw.below(chunks.min(shape[dim]));
            debug_assert!(chunk(shape[dim], chunks, which).1 > 0);
            (vec![chunks as f64, dim as f64, which as f64], vec![shape])
        }
        Copies::PixelShuffle => {
            let (mut shape, factor) = (draw.extents(4), draw.between(1, 3));
            shape[1] = (shape[1] / (factor * factor)).max(1) * factor * factor;
            (vec![factor as f64], vec![shape])
        }
        Copies::PixelUnshuffle => {
            let (mut shape, factor) = (draw.extents(4), draw.between(1, 3));
            shape[2] = (shape[2] / factor).max(1) * factor;
            shape[3] = (shape[3] / factor).max(1) * factor;
            (vec![factor as f64], vec![shape])
        }
        Copies::ReplicationPad2d => {
            let shape = draw.extents(4).into_iter().map(|extent| extent.max(1)).collect();
            (vec![draw.below(2) as f64], vec![shape])
        }
        Copies::Narrow => {
            let (shape, dim, start, len) = slice(draw);
            (vec![dim as f64, start as f64, len as f64], vec![shape])
        }
        Copies::Index => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len().min(3));
            let start = draw.below(shape[dim]);
            (
                vec![
                    dim as f64,
                    start as f64,
                    draw.between(start + 1, shape[dim]) as f64,
                ],
                vec![shape],
            )
        }
        Copies::GetOnDim => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len());
            (vec![dim as f64, draw.below(shape[dim]) as f64], vec![shape])
        }
        Copies::Permute => {
            let shape = draw.shape(1);
            let mut order: Vec<usize> = (0..shape.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, draw.below(i + 1));
            }
            (order.into_iter().map(|dim| dim as f64).collect(), vec![shape])
        }
        Copies::Squeeze => {
            let mut shape = draw.shape(1);
            let dim = draw.below(shape.len());
            shape[dim] = if draw.chance(70) { 1 } else { shape[dim] };
            (vec![dim as f64], vec![shape])
        }
        Copies::Unsqueeze => {
            let shape = draw.shape(0);
            (vec![draw.below(shape.len() + 1) as f64], vec![shape])
        }
        Copies::Flatten => {
            let shape = draw.shape(1);
            let first = draw.below(shape.len());
            (
                vec![first as f64, draw.between(first, shape.len() - 1) as f64],
                vec![shape],
            )
        }
        Copies::Reshape => {
            let shape = draw.shape(1);
            (reshaped(&shape, draw), vec![shape])
        }
        Copies::BroadcastAs => {
            let wanted = draw.shape(1);
            (
                wanted.iter().map(|extent| *extent as f64).collect(),
                vec![shorter(&wanted, draw)],
            )
        }
        Copies::SliceAssign => {
            let shape = draw.full(1);
            let starts: Vec<usize> = shape.iter().map(|extent| draw.below(*extent)).collect();
            let source = shape
                .iter()
                .zip(&starts)
                .map(|(extent, start)| draw.between(1, extent - start));
            let source = source.collect();
            (
                starts.into_iter().map(|start| start as f64).collect(),
                vec![shape, source],
            )
        }
        Copies::KvCache | Copies::RotatingKvCache => {
            let shape = draw.full(1);
            let dim = draw.below(shape.len());
            let mut next = shape.clone();
            next[dim] = draw.between(1, 6);
            (
                vec![dim as f64, draw.between(1, shape[dim] + 6) as f64],
                vec![shape, next],
            )
        }
        Copies::Meshgrid => {
            let shapes = vec![vec![draw.extent(40)], vec![draw.extent(40)]];
            (vec![draw.below(2) as f64, draw.below(2) as f64], shapes)
        }
        Copies::Eye | Copies::Tril | Copies::Triu => {
            let n = draw.extent(70);
            (vec![], vec![vec![n, n]])
        }
        Copies::Arange => arange(draw),
        Copies::OneHot => {
            let rank = draw.below(3);
            (
                vec![draw.positive(40) as f64],
                vec![vec![2], draw.within(rank, 60)],
            )
        }
        _ => by_rule(op.into(), draw),
    }
}

/// A shape, one of its dimensions, and a start and a length inside of that.
fn slice(draw: &mut Draw) -> (Vec<usize>, usize, usize, usize) {
    let shape = draw.shape(1);
    let dim = draw.below(shape.len());
    let start = draw.below(shape[dim] + 1);
    let len = match draw.chance(30) {
        true => shape[dim] - start,
        false => draw.below(shape[dim] - start + 1),
    };
    (shape, dim, start, len)
}

/// The shape with dimensions split, joined and put in.
fn reshaped(shape: &[usize], draw: &mut Draw) -> Vec<f64> {
    let mut new: Vec<usize> = vec![];
    for &extent in shape {
        let divisor = draw.between(1, 5);
        match draw.below(4) {
            0 if extent > 0 && extent % divisor == 0 => new.extend([divisor, extent / divisor]),
            1 if !new.is_empty() => {
                let last = new.len() - 1;
                new[last] *= extent;
            }
            2 => new.extend([1, extent]),
            _ => new.push(extent),
        }
    }
    new.truncate(12);
    new.into_iter().map(|extent| extent as f64).collect()
}

/// Numbers from a start by a step; half of the steps are numbers that no dtype holds. Their end lies between two numbers, so that
/// its rounding does not decide how many there are.
fn arange(draw: &mut Draw) -> ParamsAndShapes {
    let starts = [0.0, 1.0, -3.0, 0.5, 100.0, 0.1, -0.7];
    let exact = [1.0, 2.0, 3.0, 0.5, -1.0, 0.25];
    let rounded = [0.1, 0.3, -0.7, 0.01, 1.1, -2.3];
    let (start, count) = (draw.number(&starts), draw.below(100) as f64);
    let (step, short) = match draw.chance(50) {
        true => (draw.number(&exact), 0.0),
        false => (draw.number(&rounded), 0.5),
    };
    let end = start + step * (count - short);
    let steps = ((end - start) / step).ceil().max(0.0) as usize;
    (vec![start, end, step], vec![vec![steps]])
}
