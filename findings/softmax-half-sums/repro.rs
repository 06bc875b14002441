//! What candle does today: softmax_last_dim sums in half precision.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros((1, 1024), DType::BF16, &Cpu)?;
    let total = ops::softmax_last_dim(&xs)?.to_dtype(DType::F32)?.sum_all()?;
    finding(total.to_scalar::<f32>()?, 4f32, 1f32);
    Ok(())
}
