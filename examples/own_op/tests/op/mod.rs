//! What parity has to know of the op.

use parity_run::Error;
use parity_run::own::{DType, OwnOp};

/// Adds the op to the table of this process.
pub fn register() -> Result<(), Error> {
    OwnOp::new(
        "quick_geglu",
        "gate / (1 + e^(-alpha gate)) up, in f32 at least; NaN at a gate of -inf, where the quotient is -inf / inf.",
    )
    .param("alpha")
    .data("gate")
    .data("up")
    .dtypes(&[DType::F16, DType::F32, DType::F64])
    .shape("[..] [..] -> [..]")
    .batch(&[Some(0), Some(0)], 0)
    .formula(|call| call.wide(|| call.x(0) / (1.0 + (call.x(0) * -call.param(0)).exp()) * call.x(1)))
    .gradient(&[DType::F32, DType::F64], "w (s + alpha gate s (1 - s)) up by the gate, w gate s by up; s = 1 / (1 + e^(-alpha gate)).")
    .call("own_op::quick_geglu(&x0, &x1, {alpha})?", |x, params| own_op::quick_geglu(&x[0], &x[1], params[0]))
    .register()
}
