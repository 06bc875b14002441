//! What candle does today: q8_1 and q8K have no products and no embedding, and plain weights no f16.

#![cfg(feature = "cuda")]

use candle_core::{
    DType, Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let weights = QTensor::quantize(&Tensor::ones((2, 256), DType::F32, &gpu)?, GgmlDType::Q8_1)?;
    assert!(weights.dequantize(&gpu).is_ok());
    finding(weights.dequantize_f16(&gpu).is_ok(), false, true);
    Ok(())
}
