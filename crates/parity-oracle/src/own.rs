//! What is right for an op of a program's own: its formula in the generic numbers of this crate, or its numbers in f64.
//!
//! A formula is written once, of [`Tensor`]s. From it follow the right answer in more than twice the width of f64, the running error
//! of every step, which is the limit, and the gradient. Numbers in f64 come with a limit that names its source, and have no
//! gradient. The op itself is declared in [`parity_model::op::own`].

use std::collections::BTreeMap;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::{Arc, PoisonError, RwLock};

use parity_model::DType;
use parity_model::op::Own;

use crate::formula::Arithmetic;
use crate::formula::ball::Accumulation;
use crate::limit::Limit;
use crate::program::{Argument, Program};
use crate::tape;

/// A formula of an op: its output, of the arguments and parameters of a call.
pub type Formula = dyn for<'t> Fn(&OwnCall<'t, '_>) -> Tensor<'t> + Send + Sync;

/// The elements of an op's output, row-major, of those of its arguments.
pub type PlainFormula = dyn Fn(&Plain<'_>) -> Vec<f64> + Send + Sync;

/// What is right for an op.
pub enum Right {
    /// By its formula: limits and the gradient follow from it. For float dtypes alone.
    Formula(Box<Formula>),
    /// By its numbers in f64, rounded once to the output's dtype. For any dtype.
    Numbers {
        /// The elements.
        of: Box<PlainFormula>,
        /// How far an output may lie from them.
        limit: Limit,
        /// Where the limit comes from, for reports.
        source: String,
    },
}

static REGISTRY: RwLock<BTreeMap<&'static str, Arc<Right>>> = RwLock::new(BTreeMap::new());

/// Keeps what is right for the op of this name, until the process ends.
///
/// # Errors
/// There is such an op already.
pub fn register(name: &'static str, right: Right) -> Result<(), String> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.contains_key(name) {
        return Err(format!(
            "what is right for `{name}` was said before: register each op once"
        ));
    }
    registry.insert(name, Arc::new(right));
    Ok(())
}

/// What was registered for an op.
///
/// # Panics
/// When nothing was, which `parity_run::own` does not let happen.
pub(crate) fn right(op: Own) -> Arc<Right> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let right = registry.get(op.name());
    Arc::clone(right.unwrap_or_else(|| panic!("nobody said what is right for the own op `{}`", op.name())))
}

/// A call of an op by numbers.
pub struct Plain<'c> {
    /// The parameters, in order.
    pub params: &'c [f64],
    /// The elements of each argument, row-major. Integers are exact up to 2^53.
    pub args: Vec<Vec<f64>>,
    /// The shape of each argument.
    pub shapes: Vec<&'c [usize]>,
    /// The shape of the output.
    pub output: &'c [usize],
    /// The dtype of the data.
    pub dtype: DType,
}

/// A call of an op by its formula.
pub struct OwnCall<'t, 'c> {
    program: &'c Program<'t, 'c>,
    op: Own,
}

impl<'t, 'c> OwnCall<'t, 'c> {
    pub(crate) fn new(program: &'c Program<'t, 'c>, op: Own) -> OwnCall<'t, 'c> {
        OwnCall { program, op }
    }

    /// Argument `i`, which is data.
    ///
    /// # Panics
    /// When the op has no such argument, or it is ids.
    pub fn x(&self, i: usize) -> Tensor<'t> {
        match self.program.args.get(i) {
            Some(Argument::Data(x)) => Tensor(*x),
            Some(Argument::Ids(..)) => panic!(
                "own op `{}`: argument {i} is ids: take them by `ids`",
                self.op.name()
            ),
            None => panic!("own op `{}`: it has no argument {i}", self.op.name()),
        }
    }

    /// Argument `i`, which is ids or a condition, row-major.
    ///
    /// # Panics
    /// When the op has no such argument, or it is data.
    pub fn ids(&self, i: usize) -> Vec<usize> {
        match self.program.args.get(i) {
            Some(Argument::Ids(..)) => self.program.ids(i),
            _ => panic!("own op `{}`: argument {i} does not hold ids", self.op.name()),
        }
    }

    /// Parameter `i`.
    ///
    /// # Panics
    /// When the op has no such parameter.
    pub fn param(&self, i: usize) -> f64 {
        let param = self.program.params.get(i).copied();
        param.unwrap_or_else(|| panic!("own op `{}`: it has no parameter {i}", self.op.name()))
    }

    /// The shape of the output.
    pub fn output(&self) -> &[usize] {
        self.program.output
    }

    /// What `formula` gives in f32 at least, rounded once to the dtype: for kernels that convert what they load and store.
    pub fn wide(&self, formula: impl Fn() -> Tensor<'t>) -> Tensor<'t> {
        let data = self.program.args.iter().find_map(|arg| match arg {
            Argument::Data(x) => Some(*x),
            Argument::Ids(..) => None,
        });
        let Some(x) = data else { return formula() };
        let number = x.arithmetic.wide(x.number, &|_| formula().0.number);
        Tensor(tape::Tensor::new(x.arithmetic, number))
    }
}

/// A tensor in a formula: for each element the exact number and a bound of what rounding after every step makes of it.
/// Operators broadcast as candle's `broadcast_add` does.
#[derive(Clone, Copy)]
pub struct Tensor<'t>(tape::Tensor<'t>);

impl<'t> Tensor<'t> {
    /// Checks a dimension.
    fn dim(self, dim: usize) -> usize {
        let rank = self.0.shape().len();
        assert!(
            dim < rank,
            "a formula asks for dimension {dim} of a tensor of {rank} dimensions"
        );
        dim
    }

    pub(crate) fn inner(self) -> tape::Tensor<'t> {
        self.0
    }

    /// The shape.
    pub fn shape(self) -> Vec<usize> {
        self.0.shape()
    }

    /// A constant in the place of this tensor: a scalar, rounded to the dtype as a backend does.
    pub fn constant(self, c: f64) -> Tensor<'t> {
        Tensor(self.0.constant(c))
    }

    /// The greater of two numbers.
    pub fn maximum(self, other: Tensor<'t>) -> Tensor<'t> {
        Tensor(self.0.maximum(other.0))
    }

    /// The lesser of two numbers.
    pub fn minimum(self, other: Tensor<'t>) -> Tensor<'t> {
        Tensor(self.0.minimum(other.0))
    }

    /// The greater of each number and a constant.
    pub fn at_least(self, least: f64) -> Tensor<'t> {
        Tensor(self.0.at_least(least))
    }

    /// The lesser of each number and a constant.
    pub fn at_most(self, most: f64) -> Tensor<'t> {
        Tensor(self.0.at_most(most))
    }

    /// A power with a constant exponent.
    pub fn powf(self, exponent: f64) -> Tensor<'t> {
        Tensor(self.0.powf(exponent))
    }

    /// `yes` where this is above `bound`, `no` elsewhere.
    pub fn above(self, bound: f64, yes: Tensor<'t>, no: Tensor<'t>) -> Tensor<'t> {
        Tensor(self.0.above(bound, yes.0, no.0))
    }

    /// The sum over dimensions, which stay with extent 1; terms in any order, in f32 at least.
    ///
    /// # Panics
    /// When the tensor lacks the dimension.
    pub fn sum(self, dims: &[usize]) -> Tensor<'t> {
        dims.iter().for_each(|dim| _ = self.dim(*dim));
        Tensor(self.0.sum(dims))
    }

    /// The mean over dimensions, which stay with extent 1.
    ///
    /// # Panics
    /// When the tensor lacks the dimension.
    pub fn mean(self, dims: &[usize]) -> Tensor<'t> {
        dims.iter().for_each(|dim| _ = self.dim(*dim));
        Tensor(self.0.mean(dims))
    }

    /// The greatest element along a dimension, which stays with extent 1; NaN if there is one.
    ///
    /// # Panics
    /// When the tensor lacks the dimension, or the dimension has extent 0.
    pub fn max(self, dim: usize) -> Tensor<'t> {
        Tensor(self.0.extreme(self.dim(dim), false))
    }

    /// The least element along a dimension, which stays with extent 1; NaN if there is one.
    ///
    /// # Panics
    /// When the tensor lacks the dimension, or the dimension has extent 0.
    pub fn min(self, dim: usize) -> Tensor<'t> {
        Tensor(self.0.extreme(self.dim(dim), true))
    }

    /// Products of the matrices in the last two dimensions; the dimensions before them are the same in both.
    ///
    /// # Panics
    /// When they are not.
    pub fn matmul(self, other: Tensor<'t>) -> Tensor<'t> {
        let (a, b) = (self.shape(), other.shape());
        let fits = match (a.as_slice(), b.as_slice()) {
            ([before @ .., _, k], [others @ .., l, _]) => before == others && k == l,
            _ => false,
        };
        assert!(fits, "a formula multiplies matrices of {a:?} with those of {b:?}");
        Tensor(self.0.matmul(other.0))
    }

    /// The last two dimensions swapped.
    ///
    /// # Panics
    /// When there are fewer than two.
    pub fn transposed(self) -> Tensor<'t> {
        self.dim(1);
        Tensor(self.0.transposed())
    }

    /// Slices `start` to `start + len` along a dimension.
    ///
    /// # Panics
    /// When they are not there.
    pub fn narrow(self, dim: usize, start: usize, len: usize) -> Tensor<'t> {
        let extent = self.shape()[self.dim(dim)];
        let inside = start.checked_add(len).is_some_and(|end| end <= extent);
        assert!(
            inside,
            "a formula takes {len} slices from {start} on along an extent of {extent}"
        );
        Tensor(self.0.narrowed(dim, start, len))
    }

    /// The elements, row-major, under another shape.
    ///
    /// # Panics
    /// When that has another number of elements.
    pub fn reshape(self, shape: &[usize]) -> Tensor<'t> {
        let own = self.shape();
        let count = shape.iter().product::<usize>();
        assert!(count == self.0.count(), "a formula reshapes {own:?} to {shape:?}");
        Tensor(self.0.reshaped(shape))
    }

    /// The tensor repeated along dimensions that it lacks, or has with extent 1.
    ///
    /// # Panics
    /// When its other dimensions are not those of the shape.
    pub fn broadcast(self, shape: &[usize]) -> Tensor<'t> {
        let own = self.shape();
        let mut pairs = own.iter().rev().zip(shape.iter().rev());
        let fits = own.len() <= shape.len() && pairs.all(|(a, b)| a == b || *a == 1);
        assert!(fits, "a formula broadcasts {own:?} to {shape:?}");
        Tensor(self.0.broadcast(shape))
    }

    /// Elements by their place in row-major order, as a tensor of a shape; 0 where there is none. Gradients of one element
    /// that is taken several times are summed in the dtype.
    ///
    /// # Panics
    /// When a place is not in the tensor, or the number of places is not the number of elements of the shape.
    pub fn taken(self, shape: &[usize], places: Vec<Option<usize>>) -> Tensor<'t> {
        let count = self.0.count();
        let inside = places.iter().flatten().all(|place| *place < count);
        assert!(
            inside && places.len() == shape.iter().product::<usize>(),
            "a formula takes {} elements of {count} as {shape:?}",
            places.len()
        );
        Tensor(self.0.taken(shape, places, Accumulation::InDtype))
    }
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {
        impl<'t> Tensor<'t> {
            $($(#[doc = $doc])+ pub fn $name(self) -> Tensor<'t> {
                Tensor(self.0.$name())
            })*
        }
    };
}

functions! {
    /// The magnitude.
    abs;
    /// -1, 0 or 1; 0 for NaN.
    sign;
    /// The greatest whole number that is not above.
    floor;
    /// The least whole number that is not below.
    ceil;
    /// The nearest whole number, halves away from zero.
    round;
    /// The square, of one rounding.
    sqr;
    /// The square root.
    sqrt;
    /// e to the power.
    exp;
    /// The natural logarithm.
    ln;
    /// The sine of radians.
    sin;
    /// The cosine of radians.
    cos;
    /// The hyperbolic tangent.
    tanh;
    /// The error function.
    erf;
    /// The number that a composition rounds to the dtype here, for compositions of several kernels.
    rounded;
}

impl<'t> Neg for Tensor<'t> {
    type Output = Tensor<'t>;

    fn neg(self) -> Tensor<'t> {
        Tensor(-self.0)
    }
}

/// Whether operators broadcast the shapes to a common one.
fn go_together(a: Tensor<'_>, b: Tensor<'_>) {
    let (a, b) = (a.shape(), b.shape());
    let fits = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .all(|(a, b)| a == b || *a == 1 || *b == 1);
    assert!(fits, "a formula has an operator between shapes {a:?} and {b:?}");
}

macro_rules! operators {
    ($($operator:ident, $method:ident;)*) => {
        $(
            impl<'t> $operator for Tensor<'t> {
                type Output = Tensor<'t>;

                fn $method(self, other: Tensor<'t>) -> Tensor<'t> {
                    go_together(self, other);
                    Tensor(self.0.$method(other.0))
                }
            }

            impl<'t> $operator<f64> for Tensor<'t> {
                type Output = Tensor<'t>;

                fn $method(self, c: f64) -> Tensor<'t> {
                    Tensor(self.0.$method(c))
                }
            }

            impl<'t> $operator<Tensor<'t>> for f64 {
                type Output = Tensor<'t>;

                fn $method(self, x: Tensor<'t>) -> Tensor<'t> {
                    x.constant(self).$method(x)
                }
            }
        )*
    };
}

operators! {
    Add, add;
    Sub, sub;
    Mul, mul;
    Div, div;
}
