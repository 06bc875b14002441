//! A call of an op as steps on a tape: its arguments, and which family's formula it is.

use parity_model::HostTensor;
use parity_model::op::{Differentiable, GradOnly, Op, Role, Where};

use crate::formula::ball::Accumulation;
use crate::numbers::{indices, ints, ravel, reals};
use crate::ops;
use crate::tape::{Mask, Tape, Tensor};

/// An argument of a program.
pub(crate) enum Argument<'t> {
    /// Numbers, on the tape.
    Data(Tensor<'t>),
    /// Ids or a condition, with their shape.
    Ids(Vec<i64>, Vec<usize>),
}

/// The arguments of a call, numbers on the tape.
pub(crate) fn arguments<'t>(tape: &'t Tape, roles: &[Role], args: &[HostTensor]) -> Vec<Argument<'t>> {
    let argument = |(role, arg): (&Role, &HostTensor)| match role {
        Role::Data => Argument::Data(tape.argument(&arg.shape, &reals(arg))),
        Role::Condition | Role::Index => Argument::Ids(ints(arg), arg.shape.clone()),
        Role::Blocks => panic!("blocks have no derivative"),
    };
    roles.iter().zip(args).map(argument).collect()
}

/// A call to be put on a tape.
pub(crate) struct Program<'t, 'c> {
    pub(crate) params: &'c [f64],
    pub(crate) args: &'c [Argument<'t>],
    /// The shape of the result.
    pub(crate) output: &'c [usize],
}

impl<'t> Program<'t, '_> {
    /// Puts `function` of the arguments on the tape.
    pub(crate) fn run(&self, function: Differentiable) -> Tensor<'t> {
        match function {
            Differentiable::Op(op) => self.op(op),
            Differentiable::GradOnly(GradOnly::Flatten) => self.x(0).reshaped(self.output),
            Differentiable::GradOnly(GradOnly::Expand) => self.x(0).broadcast(self.output),
            Differentiable::GradOnly(GradOnly::BesideNearest1d | GradOnly::BesideNearest2d) => {
                let own = self.x(0).shape();
                let (pixels, width) = (own[2..].iter().product::<usize>(), own[own.len() - 1]);
                let copies = self.output[2] - pixels;
                let from = |index: Vec<usize>| {
                    let pixel = match index[2].checked_sub(copies) {
                        Some(pixel) => pixel,
                        // Of the larger image, whose rows are twice as long: of a list there is one.
                        None => index[2] / (2 * width) / 2 * width + index[2] % (2 * width) / 2,
                    };
                    Some((index[0] * own[1] + index[1]) * pixels + pixel)
                };
                let places = indices(self.output).map(from).collect();
                self.x(0).taken(self.output, places, Accumulation::Wide)
            }
            Differentiable::GradOnly(GradOnly::Permute) => {
                let own = self.x(0).shape();
                let reversed = |index: Vec<usize>| index.into_iter().rev().collect::<Vec<_>>();
                let places = indices(self.output).map(|index| Some(ravel(&reversed(index), &own)));
                self.x(0).taken(self.output, places.collect(), Accumulation::Wide)
            }
        }
    }

    fn op(&self, op: Op) -> Tensor<'t> {
        match op {
            Op::Unary(op) => ops::unary::formula(op, self.params, self.x(0)),
            Op::Binary(op) => ops::binary::formula(op, self.x(0), self.x(1)),
            Op::Broadcast(op) => {
                let [a, b] = [0, 1].map(|i| self.x(i).broadcast(self.output));
                ops::binary::formula(op, a, b)
            }
            Op::Where(Where::WhereCond) => {
                let truths = self.ids(0).iter().map(|truth| *truth != 0).collect();
                Mask(truths).choose(self.x(1), self.x(2))
            }
            Op::Reduce(op, keep) => ops::reduce::formula(self, op, keep),
            Op::Indexing(op) => ops::indexing::formula(self, op),
            Op::Matmul(op) => ops::matmul::formula(self, op),
            Op::Conv(op) => ops::conv::formula(self, op),
            Op::Pool(op) => ops::pool::formula(self, op),
            Op::Upsample(op) => ops::upsample::formula(self, op),
            Op::Copies(op) => ops::copies::formula(self, op),
            Op::Nn(op) => ops::nn::formula(self, op),
            Op::Layers(op) => ops::layers::formula(self, op),
            Op::Own(op) => ops::own::formula(self, op),
            Op::Cast(_) | Op::Sort(_) | Op::Random(_) | Op::Grad(_) | Op::Quantized(_) => {
                panic!("`{op}` has no derivative and is not a layer")
            }
        }
    }

    /// Argument `i`, numbers.
    pub(crate) fn x(&self, i: usize) -> Tensor<'t> {
        match &self.args[i] {
            Argument::Data(x) => *x,
            Argument::Ids(..) => panic!("ids are not numbers"),
        }
    }

    /// Argument `i`, ids.
    pub(crate) fn ids(&self, i: usize) -> Vec<usize> {
        match &self.args[i] {
            Argument::Ids(ids, _) => ids.iter().map(|id| *id as usize).collect(),
            Argument::Data(_) => panic!("numbers are not ids"),
        }
    }

    /// The shape of argument `i`.
    pub(crate) fn shape(&self, i: usize) -> Vec<usize> {
        match &self.args[i] {
            Argument::Data(x) => x.shape(),
            Argument::Ids(_, shape) => shape.clone(),
        }
    }

    /// Parameter `i`, which the shape rules have found to be a whole number.
    pub(crate) fn whole(&self, i: usize) -> usize {
        self.params[i] as usize
    }
}
