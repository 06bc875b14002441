//! What candle does today: conv1d takes groups that do not divide the output channels.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((1, 2, 3), DType::F32, &Cpu)?;
    let kernel = Tensor::ones((3, 1, 1), DType::F32, &Cpu)?;
    finding(xs.conv1d(&kernel, 0, 1, 1, 2).is_ok(), true, false);
    Ok(())
}
