//! What candle does today: products with experts in f16 are the bits of the results as numbers.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::moe::moe_gemm;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let row = (Tensor::ones((1, 8), DType::F16, &gpu)? / 8.0)?;
    let experts = Tensor::ones((1, 1, 8), DType::F16, &gpu)?;
    let id = Tensor::new(&[0u32], &gpu)?;
    let product = moe_gemm(&row, &experts, &None, &id, &id, 1, true)?;
    // The bits of the f16 1 are 0x3c00.
    finding(product.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?[0], 15360., 1.);
    Ok(())
}
