//! What candle does today: unfold counts its windows in f32 and reaches past the end.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros(16_777_219, DType::U8, &Cpu)?;
    finding(xs.unfold(0, 2, 1)?.dims(), [16_777_220, 2], [16_777_218, 2]);
    Ok(())
}
