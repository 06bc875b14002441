//! The shape rules: which shapes and parameters an op takes, the shape of what comes out, and which ids are in range.
//!
//! Written from the ops' definitions, not from what a backend accepts: a case that breaks a rule here is no case.

mod moves;
mod views;

pub use moves::chunk;

use super::{Conv, Copies, Indexing, Keep, Matmul, Nn, Op, Pool, Quantized, Reduce, Sort, Upsample};
use crate::case::shape_text;

/// What follows from an op's parameters and the shapes of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// The shape of the output.
    pub output: Vec<usize>,
    /// For an op with ids: they are below this.
    pub bound: Option<usize>,
}

impl Shapes {
    fn of(output: Vec<usize>) -> Result<Shapes, String> {
        Ok(Shapes { output, bound: None })
    }
}

/// Applies the rules. `params` and `shapes` have the lengths that [`Op::takes_params`] and [`Op::arity`] ask for.
///
/// # Errors
/// A sentence that says which rule is broken.
pub fn infer(op: Op, params: &[f64], shapes: &[&[usize]]) -> Result<Shapes, String> {
    let call = Call { op, params, shapes };
    match op {
        Op::Unary(_) | Op::Cast(_) | Op::Binary(_) | Op::Where(_) => call.alike(),
        Op::Broadcast(_) => call.broadcast(),
        Op::Reduce(op, keep) => call.reduce(op, keep),
        Op::Indexing(op) => call.indexing(op),
        Op::Matmul(op) => call.matmul(op),
        Op::Conv(op) => call.conv(op),
        Op::Pool(Pool::AvgPool2d | Pool::MaxPool2d) => call.pool(),
        Op::Upsample(op) => call.upsample(op),
        Op::Copies(op) => call.copies(op),
        Op::Sort(Sort::ArgSortAsc | Sort::ArgSortDesc | Sort::SortAsc | Sort::SortDesc) => call.sort(),
        Op::Nn(op) => call.nn(op),
        Op::Layers(op) => super::layers::layers(op, params, shapes),
        Op::Random(op) => super::layers::random(op, params, shapes),
        Op::Grad(op) => super::grad::shapes(op, params, shapes),
        Op::Quantized(op) => call.quantized(op),
    }
}

struct Call<'a> {
    op: Op,
    params: &'a [f64],
    shapes: &'a [&'a [usize]],
}

impl Call<'_> {
    /// Parameter `i` as a count.
    fn whole(&self, i: usize) -> Result<usize, String> {
        let value = self.params[i];
        if value >= 0.0 && value.fract() == 0.0 && value <= 1e9 {
            return Ok(value as usize);
        }
        let names = self.op.params();
        let name = names[i.min(names.len() - 1)].trim_end_matches("..");
        Err(format!(
            "`{}` takes a whole number as `{name}`, not {value}",
            self.op
        ))
    }

    fn positive(&self, i: usize) -> Result<usize, String> {
        match self.whole(i)? {
            0 => Err(format!("`{}`: `{}` must not be 0", self.op, self.op.params()[i])),
            n => Ok(n),
        }
    }

    /// Parameter `i` as a dimension of the first argument.
    fn dim(&self, i: usize) -> Result<usize, String> {
        let (dim, rank) = (self.whole(i)?, self.shapes[0].len());
        if dim < rank {
            return Ok(dim);
        }
        Err(format!(
            "`{}`: {} has no dimension {dim}",
            self.op,
            shape_text(self.shapes[0])
        ))
    }

    fn rank(&self, arg: usize, rank: usize) -> Result<&[usize], String> {
        let shape = self.shapes[arg];
        if shape.len() == rank {
            return Ok(shape);
        }
        Err(format!(
            "`{}`: argument {arg} has {rank} dimensions, and the shape is {}",
            self.op,
            shape_text(shape)
        ))
    }

    fn mismatch(&self, why: &str) -> String {
        let shapes: Vec<String> = self.shapes.iter().map(|shape| shape_text(shape)).collect();
        format!("`{}`: {why}, and the shapes are {}", self.op, shapes.join(","))
    }

    fn require(&self, holds: bool, why: &str) -> Result<(), String> {
        if holds { Ok(()) } else { Err(self.mismatch(why)) }
    }

    fn alike(&self) -> Result<Shapes, String> {
        let all = self.shapes.iter().all(|shape| *shape == self.shapes[0]);
        self.require(
            all,
            "all arguments have the same logical shape (layouts make them differ in memory)",
        )?;
        Shapes::of(self.shapes[0].to_vec())
    }

    fn broadcast(&self) -> Result<Shapes, String> {
        let common = super::grad::broadcast(self.shapes[0], self.shapes[1]);
        Shapes::of(common.ok_or_else(|| self.mismatch("the arguments have a common shape"))?)
    }

    fn reduce(&self, op: Reduce, keep: Keep) -> Result<Shapes, String> {
        (0..self.params.len()).try_for_each(|i| self.dim(i).map(drop))?;
        let dims = keep.dims(self.params, self.shapes[0].len());
        let ascending = dims.windows(2).all(|pair| pair[0] < pair[1]);
        self.require(ascending, "dims are named once each, in ascending order")?;
        let shape = self.shapes[0];
        let least = match op {
            Reduce::CumSum => return Shapes::of(shape.to_vec()),
            Reduce::Min | Reduce::Max | Reduce::ArgMin | Reduce::ArgMax | Reduce::LogSumExp => 1,
            Reduce::Var => 2,
            Reduce::Sum | Reduce::Mean | Reduce::Norm => 0,
        };
        let long = dims.iter().all(|&d| shape[d] >= least);
        self.require(
            long,
            "there is no extreme of nothing, and no variance of one element",
        )?;
        let kept = |(d, extent): (usize, &usize)| match (dims.contains(&d), keep) {
            (false, _) => Some(*extent),
            (true, Keep::One) => Some(1),
            (true, Keep::Nothing | Keep::Scalar) => None,
        };
        Shapes::of(shape.iter().enumerate().filter_map(kept).collect())
    }

    fn indexing(&self, op: Indexing) -> Result<Shapes, String> {
        let dim = self.dim(0)?;
        let (x, ids) = (self.shapes[0], self.shapes[1]);
        let with = |shape: &[usize], extent: usize| {
            let mut shape = shape.to_vec();
            shape[dim] = extent;
            shape
        };
        // Other dimensions of the ids may be shorter.
        let below = |ids: &[usize], x: &[usize]| {
            ids.len() == x.len() && (0..x.len()).all(|d| d == dim || ids[d] <= x[d])
        };
        let output = match op {
            Indexing::IndexSelect => with(x, self.rank(1, 1)?[0]),
            Indexing::Gather => {
                self.require(
                    below(ids, x),
                    "ids have the rank of x and are no longer in other dimensions",
                )?;
                ids.to_vec()
            }
            Indexing::Scatter | Indexing::ScatterSet | Indexing::ScatterAdd | Indexing::ScatterAddSet => {
                self.require(self.shapes[2] == ids, "ids and source have one shape")?;
                let alike = ids.len() == x.len() && with(ids, x[dim]) == x;
                self.require(alike, "ids and x differ along the dimension only")?;
                x.to_vec()
            }
            Indexing::IndexAdd => {
                let count = self.rank(1, 1)?[0];
                self.require(
                    self.shapes[2] == with(x, count),
                    "the source is as x, with one slice an id",
                )?;
                x.to_vec()
            }
        };
        let ids: usize = ids.iter().product();
        self.require(ids == 0 || x[dim] > 0, "ids need something to point at")?;
        Ok(Shapes {
            output,
            bound: Some(x[dim]),
        })
    }

    fn matmul(&self, op: Matmul) -> Result<Shapes, String> {
        let (l, r) = (self.shapes[0], self.shapes[1]);
        match op {
            Matmul::Matmul => {}
            Matmul::Dot => {
                self.require(l.len() == 1 && l == r, "both are lists of one length")?;
                return Shapes::of(vec![]);
            }
            Matmul::Mv => {
                let fits = l.len() == 2 && r.len() == 1 && l[1] == r[0];
                self.require(fits, "the left is [m, k] and the right [k]")?;
                return Shapes::of(vec![l[0]]);
            }
            Matmul::BroadcastMatmul => return self.broadcast_matmul(l, r),
        }
        self.require(
            l.len() >= 2 && l.len() == r.len(),
            "both have one rank of at least 2",
        )?;
        let (batch, inner) = l.split_at(l.len() - 2);
        let (batch_r, inner_r) = r.split_at(r.len() - 2);
        self.require(batch == batch_r, "the batch dimensions are the same")?;
        self.require(
            inner[1] == inner_r[0],
            "columns of the left are rows of the right",
        )?;
        Shapes::of([batch, &[inner[0], inner_r[1]]].concat())
    }

    fn broadcast_matmul(&self, l: &[usize], r: &[usize]) -> Result<Shapes, String> {
        self.require(l.len() >= 2 && r.len() >= 2, "both have a rank of at least 2")?;
        let ((batch_l, inner_l), (batch_r, inner_r)) = (l.split_at(l.len() - 2), r.split_at(r.len() - 2));
        self.require(
            inner_l[1] == inner_r[0],
            "columns of the left are rows of the right",
        )?;
        let batch = super::grad::broadcast(batch_l, batch_r);
        let batch = batch.ok_or_else(|| self.mismatch("the batch dimensions have a common shape"))?;
        Shapes::of([batch.as_slice(), &[inner_l[0], inner_r[1]]].concat())
    }

    fn conv(&self, op: Conv) -> Result<Shapes, String> {
        let (spatial, transposed, grouped) = match op {
            Conv::Conv1d => (1, false, true),
            Conv::Conv2d => (2, false, true),
            Conv::ConvTranspose1d => (1, true, true),
            Conv::ConvTranspose2d => (2, true, false),
        };
        let x = self.rank(0, 2 + spatial)?;
        let kernel = self.rank(1, 2 + spatial)?;
        let first = usize::from(transposed);
        let padding = self.whole(0)?;
        let output_padding = if transposed { self.whole(1)? } else { 0 };
        let (stride, dilation) = (self.positive(1 + first)?, self.positive(2 + first)?);
        let groups = if grouped { self.positive(3 + first)? } else { 1 };
        let channels = if transposed { kernel[0] } else { kernel[1] * groups };
        self.require(
            x[1] == channels && x[1] % groups == 0,
            "the channels of input and kernel agree",
        )?;
        let out_channels = if transposed { kernel[1] * groups } else { kernel[0] };
        self.require(
            out_channels % groups == 0,
            "the groups divide the output's channels",
        )?;
        let mut output = vec![x[0], out_channels];
        for d in 2..2 + spatial {
            self.require(
                x[d] > 0 && kernel[d] > 0,
                "input and kernel have no empty dimension",
            )?;
            let reach = dilation * (kernel[d] - 1);
            let extent = if transposed {
                ((x[d] - 1) * stride + reach + output_padding + 1).checked_sub(2 * padding)
            } else {
                (x[d] + 2 * padding)
                    .checked_sub(reach + 1)
                    .map(|room| room / stride + 1)
            };
            let extent = extent.filter(|extent| *extent > 0);
            output.push(extent.ok_or_else(|| self.mismatch("the kernel fits into the padded input"))?);
        }
        Shapes::of(output)
    }

    fn pool(&self) -> Result<Shapes, String> {
        let x = self.rank(0, 4)?;
        let mut output = x[..2].to_vec();
        for d in 0..2 {
            let (kernel, stride) = (self.positive(d)?, self.positive(2 + d)?);
            let room = x[2 + d].checked_sub(kernel);
            let room = room.ok_or_else(|| self.mismatch("the window fits into the image"))?;
            output.push(room / stride + 1);
        }
        Shapes::of(output)
    }

    fn upsample(&self, op: Upsample) -> Result<Shapes, String> {
        let (spatial, flag) = match op {
            Upsample::Nearest1d => (1, false),
            Upsample::Nearest2d => (2, false),
            Upsample::Bilinear2d | Upsample::BilinearScale => (2, true),
        };
        let x = self.rank(0, 2 + spatial)?;
        self.require(x[2..].iter().all(|extent| *extent > 0), "the image is not empty")?;
        if flag && self.whole(2)? > 1 {
            return Err(format!("`{}` takes 0 or 1 as `align_corners`", self.op));
        }
        let mut output = x[..2].to_vec();
        for i in 0..spatial {
            output.push(match op {
                Upsample::BilinearScale => self.scaled(x[2 + i], self.params[i])?,
                Upsample::Nearest1d | Upsample::Nearest2d | Upsample::Bilinear2d => self.positive(i)?,
            });
        }
        Shapes::of(output)
    }

    fn scaled(&self, extent: usize, scale: f64) -> Result<usize, String> {
        let scaled = (extent as f64 * scale).floor();
        self.require((1.0..=1e9).contains(&scaled), "something is left of the image")?;
        Ok(scaled as usize)
    }

    fn copies(&self, op: Copies) -> Result<Shapes, String> {
        let x = self.shapes[0];
        match op {
            Copies::Copy => Shapes::of(x.to_vec()),
            Copies::Fill => {
                let end = self.whole(2)? + self.whole(3)?;
                self.require(end <= x[self.dim(1)?], "the slices lie inside the argument")?;
                Shapes::of(x.to_vec())
            }
            Copies::Cat => {
                let (dim, other) = (self.dim(0)?, self.shapes[1]);
                let alike = other.len() == x.len() && (0..x.len()).all(|d| d == dim || x[d] == other[d]);
                self.require(alike, "the arguments differ along the dimension only")?;
                let mut output = x.to_vec();
                output[dim] += other[dim];
                Shapes::of(output)
            }
            Copies::PadZeros => {
                let dim = self.dim(0)?;
                let mut output = x.to_vec();
                output[dim] += self.whole(1)? + self.whole(2)?;
                Shapes::of(output)
            }
            Copies::PadSame
            | Copies::Stack
            | Copies::SliceSet
            | Copies::SliceScatter
            | Copies::Repeat
            | Copies::Flip
            | Copies::Roll
            | Copies::Unfold
            | Copies::Chunk
            | Copies::PixelShuffle
            | Copies::PixelUnshuffle
            | Copies::ReplicationPad2d
            | Copies::SliceAssign
            | Copies::KvCache
            | Copies::RotatingKvCache
            | Copies::Meshgrid
            | Copies::OneHot => moves::infer(self, op),
            Copies::Narrow
            | Copies::Index
            | Copies::GetOnDim
            | Copies::Transpose
            | Copies::Permute
            | Copies::Squeeze
            | Copies::Unsqueeze
            | Copies::Flatten
            | Copies::Reshape
            | Copies::BroadcastAs => views::infer(self, op),
            Copies::Full
            | Copies::Zeros
            | Copies::Ones
            | Copies::Eye
            | Copies::Tril
            | Copies::Triu
            | Copies::Arange => views::made(self, op),
        }
    }

    fn sort(&self) -> Result<Shapes, String> {
        self.require(!self.shapes[0].is_empty(), "a scalar has no last dimension")?;
        Shapes::of(self.shapes[0].to_vec())
    }

    fn nn(&self, op: Nn) -> Result<Shapes, String> {
        let x = self.shapes[0];
        match op {
            Nn::Sigmoid | Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu => {}
            Nn::Swiglu => {
                let last = x.last().copied().unwrap_or(1);
                self.require(last % 2 == 0, "the last dimension has two halves")?;
                let mut output = x.to_vec();
                output[x.len() - 1] = last / 2;
                return Shapes::of(output);
            }
            Nn::Softmax | Nn::LogSoftmax => {
                let dim = self.dim(0)?;
                self.require(x[dim] > 0, "the dimension is not empty")?;
            }
            Nn::SoftmaxLastDim => {
                self.require(
                    x.last().is_some_and(|extent| *extent > 0),
                    "the last dimension is not empty",
                )?;
            }
            Nn::RmsNorm | Nn::LayerNorm => {
                let last = x.last().copied().unwrap_or(0);
                let weights = self.shapes[1..].iter().all(|weight| **weight == [last]);
                self.require(
                    last > 0 && weights,
                    "the weights are as long as the last dimension, which is not empty",
                )?;
            }
            Nn::Rope | Nn::RopeI | Nn::RopeThd => {
                let x = self.rank(0, 4)?;
                let steps = if op == Nn::RopeThd { x[1] } else { x[2] };
                let angles = [x[0], steps, x[3] / 2];
                let fits = |shape: &[usize]| shape == &angles[1..] || shape == angles;
                let alike = self.shapes[1] == self.shapes[2];
                self.require(
                    x[3] % 2 == 0 && alike && fits(self.shapes[1]),
                    "cos and sin are [steps, width / 2] or [batch, steps, width / 2], and the width is even",
                )?;
            }
        }
        Shapes::of(x.to_vec())
    }

    fn quantized(&self, op: Quantized) -> Result<Shapes, String> {
        let format = op.format();
        let weights = match op {
            Quantized::Dequantize(_) | Quantized::DequantizeF16(_) => self.shapes[0],
            Quantized::Embedding(_) => self.rank(0, 2)?,
            Quantized::Qmatmul(_) => self.rank(1, 2)?,
            Quantized::IndexedMoe(_) => self.rank(1, 3)?,
            Quantized::Quantize(_) => self.shapes[0],
        };
        if format.stored(weights).is_none() {
            let why = format!("rows of weights are whole blocks of {}", format.block_len());
            return Err(self.mismatch(&why));
        }
        match op {
            Quantized::Dequantize(_) | Quantized::DequantizeF16(_) => Shapes::of(weights.to_vec()),
            Quantized::Embedding(_) => {
                let ids = self.shapes[1];
                let count: usize = ids.iter().product();
                self.require(count == 0 || weights[0] > 0, "ids need something to point at")?;
                Ok(Shapes {
                    output: [ids, &weights[1..]].concat(),
                    bound: Some(weights[0]),
                })
            }
            Quantized::Qmatmul(_) => {
                let x = self.shapes[0];
                let fits = x.len() >= 2 && x.last() == weights.last();
                self.require(fits, "activations are [.., m, k] and weights [n, k]")?;
                Shapes::of([&x[..x.len() - 1], &weights[..1]].concat())
            }
            Quantized::IndexedMoe(_) => {
                let (x, ids) = (self.rank(0, 3)?, self.rank(2, 2)?);
                let fits = x[0] == ids[0] && (x[1] == 1 || x[1] == ids[1]) && x[2] == weights[2];
                self.require(
                    fits && weights[0] > 0,
                    "activations are [t, 1, k] or [t, s, k], weights [experts, n, k] and ids [t, s]",
                )?;
                Ok(Shapes {
                    output: vec![ids[0], ids[1], weights[1]],
                    bound: Some(weights[0]),
                })
            }
            Quantized::Quantize(_) => Shapes::of(weights.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests;
