//! What candle does today: quantized products refuse what the CPU takes.

#![cfg(feature = "cuda")]

use candle_core::{
    DType, Device, Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let product = |rows: Tensor, dtype| {
        let weights = QTensor::quantize(&Tensor::ones((2, 256), DType::F32, &gpu)?, dtype)?;
        Module::forward(&QMatMul::from_qtensor(weights)?, &rows)
    };
    let none = Tensor::zeros((0, 256), DType::F32, &gpu)?;
    refuses(
        product(none, GgmlDType::Q4_0),
        "only bsize between 1 and 8 are supported, got 0",
    );
    let four = Tensor::zeros((1, 2, 2, 256), DType::F32, &gpu)?;
    refuses(product(four, GgmlDType::Q4_0), "unexpected shape for input");
    let rows = Tensor::zeros((1, 256), DType::F32, &gpu)?;
    refuses(
        product(rows.clone(), GgmlDType::Q8K),
        "unsupported dtype for quantized matmul",
    );
    refuses(
        product(rows.to_dtype(DType::F16)?, GgmlDType::Q8K),
        "unexpected dtype, expected: F32",
    );
    Ok(())
}
