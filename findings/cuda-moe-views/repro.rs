//! What candle does today: moe_gemm reads views as if they were contiguous.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::moe::moe_gemm;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let rows = Tensor::arange(0f32, 2., &gpu)?.unsqueeze(1)?.broadcast_as((2, 8))?;
    let rows = rows.to_dtype(DType::BF16)?.contiguous()?;
    let experts = Tensor::ones((1, 1, 8), DType::BF16, &gpu)?;
    let id = Tensor::new(&[0u32], &gpu)?;
    let product = |row: &Tensor| {
        let product = moe_gemm(row, &experts, &None, &id, &id, 1, true)?;
        Ok::<_, candle_core::Error>(product.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?[0])
    };
    let second = rows.narrow(0, 1, 1)?;
    finding(product(&second)?, 0., product(&second.copy()?)?);
    Ok(())
}
