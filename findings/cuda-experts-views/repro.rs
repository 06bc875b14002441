//! What candle does today: products with experts read views as if they were contiguous.

#![cfg(feature = "cuda")]

use candle_core::{
    DType, Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let experts = QTensor::quantize(&Tensor::ones((1, 1, 256), DType::F32, &gpu)?, GgmlDType::Q4K)?;
    let rows = Tensor::cat(
        &[
            Tensor::zeros((1, 1, 256), DType::F32, &gpu)?,
            Tensor::ones((1, 1, 256), DType::F32, &gpu)?,
        ],
        0,
    )?;
    let id = Tensor::new(&[[0u32]], &gpu)?;
    let product = |rows: &Tensor| {
        experts
            .indexed_moe_forward(rows, &id)?
            .flatten_all()?
            .to_vec1::<f32>()
    };
    let second = rows.narrow(0, 1, 1)?;
    let right = product(&second.copy()?)?[0];
    finding(product(&second)?[0], 0., right);
    let (rows, one) = (
        rows.reshape((2, 256))?.to_dtype(DType::BF16)?,
        Tensor::new(&[0u32], &gpu)?,
    );
    let experts = Tensor::ones((1, 1, 256), DType::BF16, &gpu)?;
    let product = |rows: &Tensor| {
        let product = candle_nn::moe::moe_gemm(rows, &experts, &None, &one, &one, 1, true)?;
        product.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()
    };
    let second = rows.narrow(0, 1, 1)?;
    finding(product(&second)?[0], 0., product(&second.copy()?)?[0]);
    Ok(())
}
