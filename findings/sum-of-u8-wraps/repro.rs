//! What candle does today: a sum of u8 wraps at 256.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let hits = Tensor::zeros(300, DType::F32, &Cpu)?.eq(0f32)?;
    finding(hits.sum_all()?.to_dtype(DType::U32)?.to_scalar::<u32>()?, 44, 300);
    Ok(())
}
