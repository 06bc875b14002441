//! What candle does today: moe_gemm has no f32.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::moe::moe_gemm;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let (row, experts) = (
        Tensor::ones((1, 8), DType::F32, &gpu)?,
        Tensor::ones((1, 1, 8), DType::F32, &gpu)?,
    );
    let id = Tensor::new(&[0u32], &gpu)?;
    let product = moe_gemm(&row, &experts, &None, &id, &id, 1, true);
    refuses(product, "only accepts f16/bf16 inputs");
    Ok(())
}
