//! Calls that go against the rules of their op, by one step: an extent, a dimension or a parameter that is just outside.

use parity_model::Op;
use parity_model::op::{Copies, Layers, Reduce};

use crate::draw::Draw;

/// What of a call may be changed: where the op's rule leaves out what comes out, a backend has to refuse it.
enum Spoilable {
    /// Extents, ranks and parameters.
    All,
    /// The parameters of these names.
    Params(&'static [&'static str]),
    /// The extents of one argument.
    Extents,
    /// Nothing. The op's rule is narrower than its function in candle, so that more calls have an answer than the table knows: a
    /// case would ask for a refusal of what means something.
    Nothing,
}

/// What of a call of the op may be changed.
fn part(op: Op) -> Spoilable {
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Where(_) | Op::Broadcast(_) => Spoilable::All,
        // The variance of one element is NaN in candle, as in PyTorch; the table leaves it out.
        Op::Reduce(Reduce::Var, _) => Spoilable::Nothing,
        Op::Reduce(..) | Op::Indexing(_) | Op::Matmul(_) | Op::Conv(_) | Op::Pool(_) | Op::Sort(_) => {
            Spoilable::All
        }
        Op::Nn(_) => Spoilable::All,
        Op::Copies(op) => copies(op),
        Op::Layers(op) => layers(op),
        // Flags that are counts here, tapes of both.
        Op::Upsample(_) | Op::Grad(_) | Op::Quantized(_) | Op::Random(_) => Spoilable::Nothing,
        // What a program's own op makes of what its declaration leaves out is not known.
        Op::Own(_) => Spoilable::Nothing,
    }
}

/// Dimensions that are not there, places past the end, counts of nothing. Shapes that are made of parameters are left alone.
fn copies(op: Copies) -> Spoilable {
    match op {
        Copies::Cat | Copies::Stack | Copies::Roll => Spoilable::Params(&["dim"]),
        Copies::Unfold => Spoilable::Params(&["dim", "step"]),
        // A chunk that is not there is looked for in the list that candle returns, so that candle has no part in its refusal.
        Copies::Chunk => Spoilable::Params(&["chunks"]),
        Copies::PixelShuffle | Copies::PixelUnshuffle => Spoilable::Params(&["factor"]),
        Copies::CopyApart => Spoilable::Nothing,
        Copies::Narrow => Spoilable::Params(&["dim", "start", "len"]),
        Copies::GetOnDim => Spoilable::Params(&["dim", "index"]),
        Copies::Transpose => Spoilable::Params(&["dim1", "dim2"]),
        Copies::Copy
        | Copies::SliceSet
        | Copies::Fill
        // Without padding candle does not look at the dimension.
        | Copies::PadZeros
        | Copies::PadSame
        | Copies::SliceScatter
        | Copies::Repeat
        | Copies::Flip
        | Copies::ReplicationPad2d
        | Copies::Index
        | Copies::Permute
        | Copies::Squeeze
        | Copies::Unsqueeze
        | Copies::Flatten
        | Copies::Reshape
        | Copies::BroadcastAs
        | Copies::SliceAssign
        | Copies::KvCache
        | Copies::RotatingKvCache
        | Copies::Meshgrid
        | Copies::Full
        | Copies::Zeros
        | Copies::Ones
        | Copies::Eye
        | Copies::Tril
        | Copies::Triu
        | Copies::Arange
        | Copies::OneHot => Spoilable::Nothing,
    }
}

/// Of attention: heads that do not divide and widths that differ. Other layers broadcast their weights; a new one is left alone until
/// somebody has read what its function in candle refuses.
fn layers(op: Layers) -> Spoilable {
    if matches!(
        op,
        Layers::FlashAttention | Layers::FlashWindowed | Layers::FlashAlibi | Layers::PagedAttention
    ) {
        Spoilable::Extents
    } else {
        Spoilable::Nothing
    }
}

/// Whether a call of the op can be made one that is to be refused.
pub(crate) fn can(op: Op) -> bool {
    !matches!(part(op), Spoilable::Nothing)
}

/// Whether a backend has to refuse all that the op's rule in the table leaves out, dtypes among it.
pub(crate) fn refusals_are_said(op: Op) -> bool {
    matches!(part(op), Spoilable::All)
}

/// Changes one thing. What comes out may still be a call.
pub(crate) fn spoil(op: Op, params: &mut [f64], shapes: &mut [Vec<usize>], draw: &mut Draw) {
    let names = op.params();
    // The last name may be that of several parameters.
    let name = |at: usize| names.get(at).or(names.last()).copied().unwrap_or_default();
    match part(op) {
        Spoilable::All => match draw.below(4) {
            0 if !params.is_empty() => {
                let at = draw.below(params.len());
                param(name(at), &mut params[at], draw);
            }
            1 => rank(shapes, draw),
            _ => extent(shapes, draw),
        },
        Spoilable::Params(which) => {
            let places = (0..params.len()).filter(|at| which.contains(&name(*at)));
            let at = *draw.pick(&places.collect::<Vec<_>>());
            param(name(at), &mut params[at], draw);
        }
        Spoilable::Extents => extent(shapes, draw),
        Spoilable::Nothing => {}
    }
}

/// A number just outside: nothing, or more. candle counts in `usize`, so that a negative number cannot be passed.
fn param(name: &str, param: &mut f64, draw: &mut Draw) {
    // A dimension of 0 is there.
    *param = match !name.starts_with("dim") && draw.chance(50) {
        true => 0.0,
        false => *param + draw.number(&[1.0, 2.0, 7.0]),
    };
}

/// A dimension less, or one more.
fn rank(shapes: &mut [Vec<usize>], draw: &mut Draw) {
    let which = draw.below(shapes.len());
    let shape = &mut shapes[which];
    if shape.len() > 1 && draw.chance(50) {
        shape.remove(draw.below(shape.len()));
    } else {
        shape.insert(draw.below(shape.len() + 1), 2);
    }
}

/// An extent that is one more, one less, or 1, as that of a dimension which broadcasting repeats.
fn extent(shapes: &mut [Vec<usize>], draw: &mut Draw) {
    let which = draw.below(shapes.len());
    let shape = &mut shapes[which];
    if shape.is_empty() {
        return;
    }
    let at = draw.below(shape.len());
    shape[at] = match draw.below(3) {
        0 => shape[at] + 1,
        1 => shape[at].saturating_sub(1),
        _ => 1,
    };
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
