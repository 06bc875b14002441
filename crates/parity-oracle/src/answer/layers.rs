//! Layers and losses: candle's composition of each, with the running error of every step.

use parity_model::Op;
use parity_model::op::{Differentiable, Layers};

use super::Answer;
use super::grad::arguments;
use crate::ball::Steps;
use crate::expected::Call;
use crate::program::Program;
use crate::tape::Tape;

const SOURCE: &str =
    "running error of the formula, one rounding a step, sums in f32 (f64 for f64) in any order";

pub(crate) fn answer(call: &Call<'_>, op: Layers) -> Answer {
    formula(call, Op::Layers(op))
}

/// The answer of an op that candle makes of parts, on floats: its formula with the running error of every step.
pub(crate) fn formula(call: &Call<'_>, op: Op) -> Answer {
    let steps = Steps::of(call.dtype, call.arithmetic);
    let mut tape = Tape::new(steps);
    let args = arguments(&mut tape, call.case.op.roles(), call.args);
    let program = Program {
        params: &call.case.params,
        args: &args,
        output: &call.shape,
    };
    let y = program.run(&mut tape, Differentiable::Op(op));
    let elements = tape.values(y).iter().map(|ball| steps.element(*ball));
    (elements.collect(), SOURCE.to_owned())
}
