//! What candle does today: f32 sums over any but the last dimension stand still at 2²⁴.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let ones = Tensor::ones(1, DType::F32, &Cpu)?.broadcast_as(16_777_224)?;
    finding(ones.sum_all()?.to_scalar::<f32>()?, 16_777_216f32, 16_777_224f32);
    Ok(())
}
