//! What candle does today: a sum of nothing after an offset panics.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros((0, 2), DType::F32, &Cpu)?;
    let column = xs.narrow(1, 1, 1)?.squeeze(1)?;
    panics(|| column.sum_all(), "out of range for slice");
    Ok(())
}
