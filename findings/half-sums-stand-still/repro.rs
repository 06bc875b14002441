//! What candle does today: sums in half precision stand still.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    for (dtype, today, right) in [(DType::BF16, 256f32, 512f32), (DType::F16, 2048., 4096.)] {
        let ones = Tensor::ones(right as usize, dtype, &Cpu)?;
        let sum = ones.sum_all()?.to_dtype(DType::F32)?;
        finding(sum.to_scalar::<f32>()?, today, right);
    }
    Ok(())
}
