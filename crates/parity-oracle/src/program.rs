//! Every op that has a derivative, and every layer, as steps on a tape: candle's composition of each.

use parity_model::op::{
    Binary, Conv, Copies, Differentiable, GradOnly, Indexing, Keep, Layers, Matmul, Nn, Op, Pool, Reduce,
    Unary, Upsample, Where,
};

use crate::answer::{conv, upsample};
use crate::ball::Sums;
use crate::each::Each;
use crate::numbers::{indices, ravel};
use crate::places::Moves;
use crate::tape::{Id, Tape};

/// An argument of a program.
pub(crate) enum Argument {
    /// Numbers, on the tape.
    Data(Id),
    /// Ids or a condition, with their shape.
    Ids(Vec<i64>, Vec<usize>),
}

impl Argument {
    /// The tensor of numbers.
    pub(crate) fn data(&self) -> Id {
        match self {
            Argument::Data(id) => *id,
            Argument::Ids(..) => panic!("ids are no numbers"),
        }
    }

    fn ids(&self) -> (&[i64], &[usize]) {
        match self {
            Argument::Ids(ids, shape) => (ids, shape),
            Argument::Data(_) => panic!("numbers are no ids"),
        }
    }
}

/// A call to be put on a tape.
pub(crate) struct Program<'a> {
    pub(crate) params: &'a [f64],
    pub(crate) args: &'a [Argument],
    /// The shape of the result.
    pub(crate) output: &'a [usize],
}

impl Program<'_> {
    /// Puts `function` of the arguments on the tape.
    pub(crate) fn run(&self, tape: &mut Tape, function: Differentiable) -> Id {
        match function {
            Differentiable::Op(op) => self.op(tape, op),
            Differentiable::GradOnly(GradOnly::Flatten) => tape.reshaped(self.x(0), self.output),
            Differentiable::GradOnly(GradOnly::Expand) => tape.broadcast(self.x(0), self.output),
            Differentiable::GradOnly(GradOnly::Permute) => {
                let own = tape.shape(self.x(0)).to_vec();
                let reversed = |index: Vec<usize>| index.into_iter().rev().collect::<Vec<_>>();
                let places = indices(self.output).map(|index| Some(ravel(&reversed(index), &own)));
                let places = places.collect();
                tape.taken(self.x(0), self.output, places, Sums::Accumulated)
            }
        }
    }

    fn op(&self, tape: &mut Tape, op: Op) -> Id {
        match op {
            Op::Unary(op) => tape.each(self.x(0), Each::Unary(op, self.params.to_vec())),
            Op::Binary(op) => tape.pair(op, self.x(0), self.x(1)),
            Op::Broadcast(op) => tape.pair(op, self.x(0), self.x(1)),
            Op::Where(Where::WhereCond) => {
                let chosen = self.args[0]
                    .ids()
                    .0
                    .iter()
                    .map(|truth| *truth != 0)
                    .collect::<Vec<_>>();
                choose(tape, &chosen, self.x(1), self.x(2))
            }
            Op::Reduce(op, keep) => self.reduce(tape, op, keep),
            Op::Indexing(op) => self.indexing(tape, op),
            Op::Matmul(op) => self.matmul(tape, op),
            Op::Conv(op) => self.conv(tape, op),
            Op::Pool(op) => self.pool(tape, op),
            Op::Upsample(op) => self.upsample(tape, op),
            Op::Copies(op) => self.copies(tape, op),
            Op::Nn(op) => self.nn(tape, op),
            Op::Layers(op) => crate::layers::run(self, tape, op),
            Op::Cast(_) | Op::Sort(_) | Op::Random(_) | Op::Grad(_) | Op::Quantized(_) => {
                panic!("`{op}` has no derivative and is no layer")
            }
        }
    }

    /// Argument `i`, numbers.
    pub(crate) fn x(&self, i: usize) -> Id {
        self.args[i].data()
    }

    /// Argument `i`, ids.
    pub(crate) fn ids(&self, i: usize) -> Vec<usize> {
        self.args[i].ids().0.iter().map(|id| *id as usize).collect()
    }

    /// Both arguments one after the other along the dimension.
    pub(crate) fn cat(&self, tape: &mut Tape) -> Id {
        self.copies(tape, Copies::Cat)
    }

    /// Parameter `i`, which the shape rules have found to be a whole number.
    pub(crate) fn whole(&self, i: usize) -> usize {
        self.params[i] as usize
    }

    fn reduce(&self, tape: &mut Tape, op: Reduce, keep: Keep) -> Id {
        let dims = keep.dims(self.params, tape.shape(self.x(0)).len());
        let kept = match op {
            Reduce::Sum => tape.summed(self.x(0), &dims),
            Reduce::Mean => tape.mean(self.x(0), &dims),
            Reduce::Min => tape.extreme(self.x(0), dims[0], true),
            Reduce::Max => tape.extreme(self.x(0), dims[0], false),
            Reduce::Var => {
                let count = tape.shape(self.x(0))[dims[0]] as f64;
                let mean = tape.mean(self.x(0), &dims);
                let difference = tape.pair(Binary::Sub, self.x(0), mean);
                let square = tape.each(difference, Each::Unary(Unary::Sqr, vec![]));
                let sum = tape.summed(square, &dims);
                tape.each(sum, Each::Unary(Unary::Affine, vec![1.0 / (count - 1.0), 0.0]))
            }
            Reduce::LogSumExp => {
                let max = dims
                    .iter()
                    .fold(self.x(0), |max, dim| tape.extreme(max, *dim, false));
                let shifted = tape.pair(Binary::Sub, self.x(0), max);
                let exp = tape.each(shifted, Each::Unary(Unary::Exp, vec![]));
                let sum = tape.summed(exp, &dims);
                let log = tape.each(sum, Each::Unary(Unary::Log, vec![]));
                tape.pair(Binary::Add, log, max)
            }
            Reduce::Norm => {
                let square = tape.each(self.x(0), Each::Unary(Unary::Sqr, vec![]));
                let sum = tape.summed(square, &dims);
                tape.each(sum, Each::Unary(Unary::Sqrt, vec![]))
            }
            Reduce::CumSum => self.running_sums(tape, dims[0]),
            Reduce::ArgMin | Reduce::ArgMax => panic!("an index has no derivative"),
        };
        tape.reshaped(kept, self.output)
    }

    /// The sums of the elements so far: products with ones, as candle has them.
    fn running_sums(&self, tape: &mut Tape, dim: usize) -> Id {
        let own = tape.shape(self.x(0)).to_vec();
        let row = |index: Vec<usize>| {
            let term = |i: usize| {
                let mut at = index.clone();
                at[dim] = i;
                (ravel(&at, &own), 0)
            };
            (0..=index[dim]).map(term).collect()
        };
        let terms = indices(&own).map(row).collect();
        let one = tape.argument(&[1], &[1.0]);
        tape.dot(self.x(0), one, &own, terms)
    }

    fn matmul(&self, tape: &mut Tape, op: Matmul) -> Id {
        let (l, r) = (self.x(0), self.x(1));
        match op {
            Matmul::Matmul => tape.matmul(l, r),
            Matmul::Mv => {
                let column = tape.reshaped(r, &[tape.shape(r)[0], 1]);
                let product = tape.matmul(l, column);
                tape.reshaped(product, self.output)
            }
            Matmul::Dot => {
                let products = tape.pair(Binary::Mul, l, r);
                let sum = tape.summed(products, &[0]);
                tape.reshaped(sum, &[])
            }
            Matmul::BroadcastMatmul => {
                let batch = &self.output[..self.output.len() - 2];
                let mut whole = |x: Id| {
                    let own = tape.shape(x).to_vec();
                    tape.broadcast(x, &[batch, &own[own.len() - 2..]].concat())
                };
                let (l, r) = (whole(l), whole(r));
                tape.matmul(l, r)
            }
        }
    }

    pub(crate) fn indexing(&self, tape: &mut Tape, op: Indexing) -> Id {
        let (dim, x) = (self.whole(0), self.x(0));
        let (ids, ids_shape) = self.args[1].ids();
        let own = tape.shape(x).to_vec();
        let id = |at: usize| ids[at] as usize;
        let place = |mut index: Vec<usize>, id: usize| {
            index[dim] = id;
            ravel(&index, &own)
        };
        match op {
            Indexing::IndexSelect | Indexing::Gather => {
                let of_slice = op == Indexing::IndexSelect;
                let from = |(at, index): (usize, Vec<usize>)| {
                    let id = if of_slice { id(index[dim]) } else { id(at) };
                    Some(place(index, id))
                };
                let places = indices(self.output).enumerate().map(from).collect();
                tape.taken(x, self.output, places, Sums::InDtype)
            }
            Indexing::Scatter | Indexing::ScatterSet => {
                let mut writer = vec![None; tape.values(x).len()];
                for (at, index) in indices(ids_shape).enumerate() {
                    writer[place(index, id(at))] = Some(at);
                }
                let kept = writer
                    .iter()
                    .enumerate()
                    .map(|(at, writer)| writer.is_none().then_some(at));
                let kept = kept.collect();
                let kept = tape.taken(x, &own, kept, Sums::InDtype);
                let written = tape.taken(self.x(2), &own, writer, Sums::InDtype);
                tape.pair(Binary::Add, kept, written)
            }
            Indexing::ScatterAdd | Indexing::ScatterAddSet | Indexing::IndexAdd => {
                let source = tape.shape(self.x(2)).to_vec();
                let of_slice = op == Indexing::IndexAdd;
                let into = |(at, index): (usize, Vec<usize>)| {
                    let id = if of_slice { id(index[dim]) } else { id(at) };
                    place(index, id)
                };
                let into = indices(&source).enumerate().map(into).collect();
                let added = tape.summed_into(self.x(2), &own, into, Sums::InDtype);
                tape.pair(Binary::Add, x, added)
            }
        }
    }

    /// A convolution of the first two arguments.
    pub(crate) fn conv(&self, tape: &mut Tape, op: Conv) -> Id {
        let (x, kernel) = (self.x(0), self.x(1));
        let shapes = [tape.shape(x), tape.shape(kernel)];
        let terms = conv::terms(op, self.params, shapes, self.output).collect();
        tape.dot(x, kernel, self.output, terms)
    }

    fn pool(&self, tape: &mut Tape, op: Pool) -> Id {
        let own = tape.shape(self.x(0)).to_vec();
        let window = |index: Vec<usize>| -> Vec<usize> {
            let at = |k: Vec<usize>| {
                let (h, w) = (index[2] * self.whole(2) + k[0], index[3] * self.whole(3) + k[1]);
                ravel(&[index[0], index[1], h, w], &own)
            };
            indices(&[self.whole(0), self.whole(1)]).map(at).collect()
        };
        let windows: Vec<Vec<usize>> = indices(self.output).map(window).collect();
        match op {
            Pool::MaxPool2d => tape.extreme_of(self.x(0), self.output, windows, false),
            Pool::AvgPool2d => {
                let size = self.whole(0) * self.whole(1);
                let places = windows.iter().flatten().map(|at| Some(*at)).collect();
                let spread = tape.taken(self.x(0), &[windows.len(), size], places, Sums::Accumulated);
                let mean = tape.mean(spread, &[1]);
                tape.reshaped(mean, self.output)
            }
        }
    }

    fn upsample(&self, tape: &mut Tape, op: Upsample) -> Id {
        let own = tape.shape(self.x(0)).to_vec();
        match op {
            Upsample::Nearest1d | Upsample::Nearest2d => {
                let from =
                    |index: Vec<usize>| Some(ravel(&upsample::nearest(&index, &own, self.output), &own));
                let places = indices(self.output).map(from).collect();
                tape.taken(self.x(0), self.output, places, Sums::Accumulated)
            }
            Upsample::Bilinear2d | Upsample::BilinearScale => {
                let (mut weights, mut terms) = (Vec::new(), Vec::new());
                for index in indices(self.output) {
                    let along = |d: usize| {
                        let corners = self.whole(2) == 1;
                        let step = match op {
                            Upsample::BilinearScale => 1.0 / self.params[d - 2],
                            _ => own[d] as f64 / self.output[d] as f64,
                        };
                        upsample::neighbours(index[d], own[d], self.output[d], corners, step)
                    };
                    let (rows, columns) = (along(2), along(3));
                    let mut row = Vec::new();
                    for (h, by_row) in [(rows.0, 1.0 - rows.2), (rows.1, rows.2)] {
                        for (w, by_column) in [(columns.0, 1.0 - columns.2), (columns.1, columns.2)] {
                            row.push((ravel(&[index[0], index[1], h, w], &own), weights.len()));
                            weights.push(by_row * by_column);
                        }
                    }
                    terms.push(row);
                }
                let weights = tape.argument(&[weights.len()], &weights);
                let weights = tape.each(weights, Each::Rounded);
                tape.dot(self.x(0), weights, self.output, terms)
            }
        }
    }

    fn copies(&self, tape: &mut Tape, op: Copies) -> Id {
        let x = self.x(0);
        let own = tape.shape(x).to_vec();
        // The places along `dim` that an argument of extent `len` fills from `start` on.
        let placed = |start: usize, shape: &[usize]| -> Vec<Option<usize>> {
            let dim = self.whole(0);
            let from = |mut index: Vec<usize>| {
                index[dim] = index[dim].checked_sub(start).filter(|at| *at < shape[dim])?;
                Some(ravel(&index, shape))
            };
            indices(self.output).map(from).collect()
        };
        match op {
            Copies::Copy => tape.reshaped(x, &own),
            Copies::PadZeros => {
                let places = placed(self.whole(1), &own);
                tape.taken(x, self.output, places, Sums::Accumulated)
            }
            Copies::Cat => {
                let (first, second) = (placed(0, &own), placed(own[self.whole(0)], tape.shape(self.x(1))));
                let first = tape.taken(x, self.output, first, Sums::Accumulated);
                let second = tape.taken(self.x(1), self.output, second, Sums::Accumulated);
                tape.pair(Binary::Add, first, second)
            }
            _ => self.moved(tape, op),
        }
    }

    /// Elements of the arguments in other places.
    fn moved(&self, tape: &mut Tape, op: Copies) -> Id {
        let shapes: Vec<Vec<usize>> = (0..self.args.len())
            .map(|i| tape.shape(self.x(i)).to_vec())
            .collect();
        let moves = Moves {
            params: self.params,
            shapes: shapes.iter().map(Vec::as_slice).collect(),
            output: self.output,
        };
        let origins: Vec<(usize, usize)> = indices(self.output)
            .map(|index| {
                let (arg, from) = moves.origin(op, &index);
                (arg, ravel(&from, &shapes[arg]))
            })
            .collect();
        let mut part = |arg: usize| {
            let places = origins.iter().map(|(of, at)| (*of == arg).then_some(*at));
            let places = places.collect();
            tape.taken(self.x(arg), self.output, places, Sums::Accumulated)
        };
        let parts: Vec<Id> = (0..self.args.len()).map(&mut part).collect();
        parts[1..]
            .iter()
            .fold(parts[0], |sum, part| tape.pair(Binary::Add, sum, *part))
    }

    pub(crate) fn nn(&self, tape: &mut Tape, op: Nn) -> Id {
        let x = self.x(0);
        match op {
            Nn::Sigmoid => tape.each(x, Each::Sigmoid),
            Nn::SoftmaxLastDim => softmax(tape, x, tape.shape(x).len() - 1),
            Nn::Softmax => softmax(tape, x, self.whole(0)),
            Nn::LogSoftmax => log_softmax(tape, x, self.whole(0)),
            Nn::RmsNorm => crate::layers::run(self, tape, Layers::RmsNormSlow),
            Nn::LayerNorm => crate::layers::run(self, tape, Layers::LayerNormSlow),
            Nn::Rope => crate::layers::run(self, tape, Layers::RopeSlow),
            Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu | Nn::Swiglu => {
                crate::layers::activation(self, tape, op)
            }
            Nn::RopeI | Nn::RopeThd => panic!("`{op}` is not differentiated here"),
        }
    }
}

/// The elements of `yes` where `chosen`, those of `no` elsewhere.
pub(crate) fn choose(tape: &mut Tape, chosen: &[bool], yes: Id, no: Id) -> Id {
    let shape = tape.shape(yes).to_vec();
    let mut part = |x: Id, wanted: bool| {
        let places = chosen
            .iter()
            .enumerate()
            .map(|(at, truth)| (*truth == wanted).then_some(at));
        let places = places.collect();
        tape.taken(x, &shape, places, Sums::Accumulated)
    };
    let (yes, no) = (part(yes, true), part(no, false));
    tape.pair(Binary::Add, yes, no)
}

/// x - max and e^(x - max) along `dim`.
fn exponentials(tape: &mut Tape, x: Id, dim: usize) -> (Id, Id) {
    let max = tape.extreme(x, dim, false);
    let shifted = tape.pair(Binary::Sub, x, max);
    (shifted, tape.each(shifted, Each::Unary(Unary::Exp, vec![])))
}

/// e^(x - max) over its sum along `dim`.
pub(crate) fn softmax(tape: &mut Tape, x: Id, dim: usize) -> Id {
    let (_, exponentials) = exponentials(tape, x, dim);
    let sum = tape.summed(exponentials, &[dim]);
    tape.pair(Binary::Div, exponentials, sum)
}

/// x - max less the logarithm of the sum of its exponentials along `dim`.
pub(crate) fn log_softmax(tape: &mut Tape, x: Id, dim: usize) -> Id {
    let (shifted, exponentials) = exponentials(tape, x, dim);
    let sum = tape.summed(exponentials, &[dim]);
    let log = tape.each(sum, Each::Unary(Unary::Log, vec![]));
    tape.pair(Binary::Sub, shifted, log)
}
