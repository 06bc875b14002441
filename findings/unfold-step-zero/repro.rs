//! What candle does today: unfold takes a step of 0.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros(9, DType::F32, &Cpu)?;
    panics(|| xs.unfold(0, 3, 0)?.contiguous(), "capacity overflow");
    Ok(())
}
