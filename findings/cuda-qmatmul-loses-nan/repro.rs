//! What candle does today: a quantized product loses a NaN.

#![cfg(feature = "cuda")]

use candle_core::{
    DType, Device, Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let weights = QTensor::quantize(&Tensor::ones((1, 32), DType::F32, &gpu)?, GgmlDType::Q8_0)?;
    let product = QMatMul::from_qtensor(weights)?;
    let mut row = vec![1f32; 32];
    row[0] = f32::NAN;
    let out = Module::forward(&product, &Tensor::new(row, &gpu)?.unsqueeze(0)?)?;
    finding(out.to_vec2::<f32>()?[0][0].is_nan(), false, true);
    Ok(())
}
