//! The ops, one file a family: the formula of each, the right elements, and how far an output may be from each.
//!
//! `formula` is what an op computes, written once: over any [`crate::formula::Arithmetic`] for functions of elements, on a
//! [`crate::tape`] for what needs whole tensors. `answer` gives the elements of the op's output, row-major, and the source
//! of their limits in words. Definitions are the op table's.

pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod conv;
pub(crate) mod copies;
pub(crate) mod grad;
pub(crate) mod indexing;
pub(crate) mod layers;
pub(crate) mod matmul;
pub(crate) mod nn;
pub(crate) mod own;
pub(crate) mod pool;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod unary;
pub(crate) mod upsample;

use parity_model::Op;
use parity_model::op::Differentiable;

use crate::Element;
use crate::expected::Call;
use crate::formula::ball::Balls;
use crate::limit::Limit;
use crate::program::{Program, arguments};
use crate::tape::Tape;

/// The elements of an output, and the source of their limits.
pub(crate) type Answer = (Vec<Element>, String);

/// An element that leaves no choice.
pub(crate) fn exact(bits: u64) -> Element {
    Element {
        bits,
        limit: Limit::EXACT,
    }
}

/// An answer whose elements are elements of the arguments.
pub(crate) fn moved(bits: impl Iterator<Item = u64>) -> Answer {
    (
        bits.map(exact).collect(),
        "exact: elements are moved, not computed".to_owned(),
    )
}

/// The answer of an op that candle makes of parts, on floats: its formula with the running error of every step.
pub(crate) fn of_parts(call: &Call<'_>, op: Op) -> Answer {
    let balls = Balls::of(call.dtype, call.sums);
    let tape = Tape::new(balls);
    let args = arguments(&tape, call.case.op.roles(), call.args);
    let program = Program {
        params: &call.case.params,
        args: &args,
        output: &call.shape,
    };
    let y = program.run(Differentiable::Op(op));
    let elements = y.values().into_iter().map(|ball| balls.element(ball));
    let source = "running error of the formula, one rounding a step, sums in f32 (f64 for f64) in any order";
    (elements.collect(), source.to_owned())
}
