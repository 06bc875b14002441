//! Calls that go against the rules of their op, by one step: an extent, a dimension or a parameter that is just outside.

use parity_model::Op;
use parity_model::op::Reduce;

use crate::draw::Draw;

/// Changes one thing, where what the op does not take is to be refused. What comes out may still be a call.
pub(crate) fn spoil(op: Op, params: &mut [f64], shapes: &mut [Vec<usize>], draw: &mut Draw) {
    if !refusals_are_said(op) {
        return;
    }
    let which = draw.below(shapes.len());
    match draw.below(4) {
        0 if !params.is_empty() => {
            let at = draw.below(params.len());
            // candle counts in `usize`: what is negative is no call.
            params[at] += draw.number(&[1.0, 2.0, 7.0]);
        }
        1 if shapes[which].len() > 1 => {
            let at = draw.below(shapes[which].len());
            shapes[which].remove(at);
        }
        2 => {
            let at = draw.below(shapes[which].len() + 1);
            shapes[which].insert(at, 2);
        }
        _ if !shapes[which].is_empty() => {
            let at = draw.below(shapes[which].len());
            let extent = shapes[which][at];
            shapes[which][at] = if draw.chance(50) {
                extent + 1
            } else {
                extent.saturating_sub(1)
            };
        }
        _ => {}
    }
}

/// Whether all that the op's rule in the table leaves out is to be refused by a backend as well. Rules of the others are
/// narrower than their functions in candle, so that more calls have an answer than the table knows: a case would ask for a
/// refusal of what means something.
pub(crate) fn refusals_are_said(op: Op) -> bool {
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Where(_) | Op::Broadcast(_) => true,
        // The variance of one element is NaN in candle, as in PyTorch; the table leaves it out.
        Op::Reduce(Reduce::Var, _) => false,
        Op::Reduce(..) | Op::Indexing(_) | Op::Matmul(_) | Op::Conv(_) | Op::Pool(_) | Op::Sort(_) => true,
        Op::Nn(_) => true,
        // Flags that are counts here, shapes that are made of parameters, layers that broadcast their weights, tapes of both.
        Op::Upsample(_) | Op::Copies(_) | Op::Layers(_) | Op::Grad(_) | Op::Quantized(_) | Op::Random(_) => {
            false
        }
        // What a program's own op makes of what its declaration leaves out is not known.
        Op::Own(_) => false,
    }
}

/// Whether data of two dtypes goes against the op.
pub(crate) fn mixes_are_refused(op: Op) -> bool {
    match op {
        Op::Binary(_) | Op::Broadcast(_) | Op::Where(_) | Op::Matmul(_) | Op::Conv(_) => true,
        Op::Unary(_)
        | Op::Cast(_)
        | Op::Reduce(..)
        | Op::Indexing(_)
        | Op::Pool(_)
        | Op::Sort(_)
        | Op::Nn(_) => false,
        Op::Upsample(_) | Op::Copies(_) | Op::Layers(_) | Op::Grad(_) | Op::Quantized(_) | Op::Random(_) => {
            false
        }
        // What a program's own op makes of what its declaration leaves out is not known.
        Op::Own(_) => false,
    }
}
