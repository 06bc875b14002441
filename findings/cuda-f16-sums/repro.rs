//! What candle does today: f16 sums round after every addition.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![1f32; 64];
    row[0] = 2048.;
    let sum = Tensor::new(row, &gpu)?.to_dtype(DType::F16)?.sum_all()?;
    finding(sum.to_dtype(DType::F32)?.to_scalar::<f32>()?, 2110f32, 2112f32);
    Ok(())
}
