//! What candle does today: moe_gemm is right in bf16 alone: in f16 its results are their bits as numbers, f32 is refused.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::moe::moe_gemm;

use crate::support::{finding, refuses};

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let row = (Tensor::ones((1, 8), DType::F16, &gpu)? / 8.0)?;
    let experts = Tensor::ones((1, 1, 8), DType::F16, &gpu)?;
    let id = Tensor::new(&[0u32], &gpu)?;
    let product = moe_gemm(&row, &experts, &None, &id, &id, 1, true)?;
    // The bits of the f16 1 are 0x3c00.
    finding(
        product.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?[0],
        15360.,
        1.,
    );
    let (row, experts) = (row.to_dtype(DType::F32)?, experts.to_dtype(DType::F32)?);
    let single = moe_gemm(&row, &experts, &None, &id, &id, 1, true);
    refuses(single, "only accepts f16/bf16 inputs");
    Ok(())
}
