//! What candle does today: roll along an empty dimension and chunk into no parts divide by zero.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros((2, 0), DType::F32, &Cpu)?;
    panics(|| xs.roll(1, 1), "divisor of zero");
    panics(|| xs.chunk(0, 0), "attempt to divide by zero");
    Ok(())
}
