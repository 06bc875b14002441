//! What candle does today: a dequantized zero has lost its sign.

#![cfg(feature = "cuda")]

use candle_core::{
    Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![0f32; 32];
    row[0] = 8.;
    let weights = QTensor::quantize(&Tensor::new(row, &gpu)?, GgmlDType::Q4_0)?;
    let zero = weights.dequantize(&gpu)?.to_vec1::<f32>()?[1];
    finding(zero.is_sign_negative(), false, true);
    Ok(())
}
