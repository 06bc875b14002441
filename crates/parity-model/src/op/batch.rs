//! Which ops are batched, and along which dimensions: f(cat(a, b)) = cat(f(a), f(b)).
//!
//! A property of the op's definition. What a backend makes of a batch is not known here.

use super::{Conv, Copies, Indexing, Keep, Matmul, Nn, Op, Pool, Quantized, Reduce, shape};

/// How a call is cut in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// For each argument the dimension that is cut; `None` for one that both parts get whole.
    pub args: Vec<Option<usize>>,
    /// The dimension of the output along which the parts follow one another.
    pub output: usize,
    /// Where the cut is.
    pub at: usize,
}

/// How the call can be cut; `None` when nothing of it is a batch, or the batch is of one. `params` and `shapes` go
/// together, as [`shape::infer`] says.
pub fn batch(op: Op, params: &[f64], shapes: &[&[usize]]) -> Option<Batch> {
    let x = *shapes.first()?;
    let all = |dim: usize| Some((vec![Some(dim); shapes.len()], dim));
    // The first dimension that the op treats as a batch, where it works along `dim`.
    let beside = |dim: usize| (0..x.len()).find(|d| *d != dim);
    let dim = |i: usize| params.get(i).map(|dim| *dim as usize);
    let only_first = |rank: usize| {
        let mut args = vec![None; shapes.len()];
        args[0] = Some(0);
        (x.len() >= rank).then_some((args, 0))
    };
    let (args, output) = match op {
        Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Where(_) => all(0),
        Op::Reduce(op, keep) => reduce(op, keep, params, x),
        Op::Indexing(op) => indexing(op, dim(0)?, shapes),
        Op::Broadcast(_) => all(0),
        Op::Matmul(Matmul::Matmul) if x.len() > 2 => all(0),
        Op::Matmul(Matmul::Matmul | Matmul::Mv) => only_first(2),
        Op::Matmul(Matmul::BroadcastMatmul) => only_first(3),
        Op::Matmul(Matmul::Dot) => None,
        Op::Conv(Conv::Conv1d | Conv::Conv2d | Conv::ConvTranspose1d | Conv::ConvTranspose2d)
        | Op::Pool(Pool::AvgPool2d | Pool::MaxPool2d)
        | Op::Upsample(_) => only_first(3),
        Op::Copies(Copies::Copy) => all(0),
        Op::Copies(
            Copies::Cat
            | Copies::SliceSet
            | Copies::PadZeros
            | Copies::PadSame
            | Copies::SliceScatter
            | Copies::Unfold,
        ) => all(beside(dim(0)?)?),
        Op::Copies(Copies::Fill | Copies::Roll | Copies::Chunk) => all(beside(dim(1)?)?),
        Op::Copies(Copies::Flip) => all((0..x.len()).find(|d| !params.contains(&(*d as f64)))?),
        Op::Copies(Copies::Repeat) => all((0..x.len()).find(|d| params.get(*d) == Some(&1.0))?),
        // The new dimension comes before the batch, or after it.
        Op::Copies(Copies::Stack) if dim(0)? == 0 => Some((vec![Some(0); 2], 1)),
        Op::Copies(Copies::Stack) => all(0),
        Op::Copies(
            Copies::Narrow | Copies::Index | Copies::KvCache | Copies::RotatingKvCache | Copies::SliceAssign,
        ) => whole_dims(op, params, shapes),
        Op::Copies(Copies::OneHot) => Some((vec![None, Some(0)], 0)),
        // The shape of the output is a parameter, or the order of its dimensions another.
        Op::Copies(
            Copies::GetOnDim
            | Copies::Transpose
            | Copies::Permute
            | Copies::Squeeze
            | Copies::Unsqueeze
            | Copies::Flatten
            | Copies::Reshape
            | Copies::BroadcastAs
            | Copies::Meshgrid
            | Copies::Eye
            | Copies::Tril
            | Copies::Triu
            | Copies::Arange,
        ) => None,
        Op::Copies(Copies::Full | Copies::Zeros | Copies::Ones) => all(0),
        Op::Copies(Copies::PixelShuffle | Copies::PixelUnshuffle | Copies::ReplicationPad2d) => only_first(4),
        Op::Sort(_) => only_first(2),
        Op::Nn(op) => nn(op, dim(0), shapes),
        Op::Quantized(Quantized::Dequantize(_) | Quantized::DequantizeF16(_) | Quantized::Qmatmul(_)) => {
            only_first(2)
        }
        Op::Quantized(Quantized::IndexedMoe(_)) => Some((vec![Some(0), None, Some(0)], 0)),
        Op::Quantized(Quantized::Quantize(_)) => only_first(2),
        Op::Quantized(Quantized::Embedding(_)) => Some((vec![None, Some(0)], 0)),
        // Losses and gradients mix what is in a batch, or depend on its size.
        Op::Layers(_) | Op::Random(_) | Op::Grad(_) => None,
    }?;
    let mut extents = args
        .iter()
        .zip(shapes)
        .filter_map(|(dim, shape)| Some(*shape.get((*dim)?)?));
    let extent = extents.next()?;
    let whole = shape::infer(op, params, shapes).ok()?.output;
    let even = extents.all(|other| other == extent) && whole.get(output) == Some(&extent);
    let cut = args
        .iter()
        .zip(shapes)
        .all(|(dim, shape)| dim.is_none_or(|dim| dim < shape.len()));
    (even && cut && extent >= 2).then_some(Batch {
        args,
        output,
        at: extent.div_ceil(3),
    })
}

/// Dimensions to cut of the arguments, and of the output.
type Cut = Option<(Vec<Option<usize>>, usize)>;

fn reduce(op: Reduce, keep: Keep, params: &[f64], x: &[usize]) -> Cut {
    let over = keep.dims(params, x.len());
    // Every dimension before the first that stays is gone, has extent 1, or, of running sums, is as it was.
    let kept = (0..x.len()).find(|d| !over.contains(d))?;
    let at = match keep {
        _ if op == Reduce::CumSum => kept,
        Keep::Nothing | Keep::Scalar => 0,
        Keep::One => kept,
    };
    Some((vec![Some(kept)], at))
}

/// Along the first dimension that both have whole.
fn whole_dims(op: Op, params: &[f64], shapes: &[&[usize]]) -> Cut {
    let whole = shape::infer(op, params, shapes).ok()?.output;
    let same = |d: usize| shapes.iter().all(|shape| shape.get(d) == whole.get(d));
    let dim = (0..whole.len()).find(|d| same(*d) && params.first() != Some(&(*d as f64)))?;
    // A start of its own in each dimension: that of the cut one is 0, for both are whole there.
    Some((vec![Some(dim); shapes.len()], dim))
}

fn indexing(op: Indexing, dim: usize, shapes: &[&[usize]]) -> Cut {
    let other = (0..shapes[0].len()).find(|d| *d != dim);
    match op {
        // Of a single dimension, the ids are the batch.
        Indexing::IndexSelect => Some(other.map_or((vec![None, Some(0)], 0), |d| (vec![Some(d), None], d))),
        Indexing::Gather => other.map(|d| (vec![Some(d); 2], d)),
        Indexing::Scatter | Indexing::ScatterSet | Indexing::ScatterAdd | Indexing::ScatterAddSet => {
            other.map(|d| (vec![Some(d); 3], d))
        }
        Indexing::IndexAdd => other.map(|d| (vec![Some(d), None, Some(d)], d)),
    }
}

fn nn(op: Nn, dim: Option<usize>, shapes: &[&[usize]]) -> Cut {
    let rank = shapes[0].len();
    let first = |least: usize| {
        let mut args = vec![None; shapes.len()];
        args[0] = Some(0);
        (rank >= least).then_some((args, 0))
    };
    match op {
        Nn::Sigmoid | Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu => first(1),
        Nn::Swiglu => first(2),
        Nn::Softmax | Nn::LogSoftmax => {
            let other = (0..rank).find(|d| Some(*d) != dim)?;
            Some((vec![Some(other)], other))
        }
        Nn::SoftmaxLastDim | Nn::RmsNorm | Nn::LayerNorm => first(2),
        // Angles of three dimensions belong to the batch.
        Nn::Rope | Nn::RopeI | Nn::RopeThd if shapes[1].len() == 3 => Some((vec![Some(0); 3], 0)),
        Nn::Rope | Nn::RopeI | Nn::RopeThd => first(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn of(id: &str) -> Option<(Vec<Option<usize>>, usize, usize)> {
        let case: Case = id.parse().unwrap();
        let shapes: Vec<&[usize]> = case.args.iter().map(|arg| arg.shape.as_slice()).collect();
        batch(case.op, &case.params, &shapes).map(|batch| (batch.args, batch.output, batch.at))
    }

    #[test]
    fn calls_are_cut_along_dimensions_that_do_not_meet_in_the_op() {
        for (id, want) in [
            ("unary/exp:f32:[5,3]:contiguous:any", Some((vec![Some(0)], 0, 2))),
            ("unary/exp:f32:[1,3]:contiguous:any", None),
            ("unary/exp:f32:[]:contiguous:any", None),
            (
                "reduce/sum(0):f32:[5,7]:contiguous:any",
                Some((vec![Some(1)], 0, 3)),
            ),
            ("reduce/sum(0,1):f32:[5,7]:contiguous:any", None),
            (
                "reduce/max(2):f32:[5,7,3]:contiguous:any",
                Some((vec![Some(0)], 0, 2)),
            ),
            (
                "matmul/matmul:f32:[4,3],[3,2]:contiguous,contiguous:any",
                Some((vec![Some(0), None], 0, 2)),
            ),
            (
                "indexing/index_select(0):f32,u32:[9],[4]:contiguous,contiguous:any",
                Some((vec![None, Some(0)], 0, 2)),
            ),
            (
                "indexing/gather(0):f32,u32:[5,7],[5,6]:contiguous,contiguous:any",
                None,
            ),
            (
                "nn/softmax(0):f32:[5,7]:contiguous:any",
                Some((vec![Some(1)], 1, 3)),
            ),
            ("sort/argsort_asc:f32:[7]:contiguous:any", None),
        ] {
            assert_eq!(of(id), want, "{id}");
        }
    }
}
