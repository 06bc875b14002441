//! What candle does today: a quantized product on the CPU loses a NaN.

use candle_core::{
    DType,
    Device::Cpu,
    Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let weights = QTensor::quantize(&Tensor::ones((1, 32), DType::F32, &Cpu)?, GgmlDType::Q8_0)?;
    let mut row = vec![1f32; 32];
    row[0] = f32::NAN;
    let out = QMatMul::from_qtensor(weights)?.forward(&Tensor::new(row, &Cpu)?.unsqueeze(0)?)?;
    finding(out.to_vec2::<f32>()?[0][0].is_nan(), false, true);
    Ok(())
}
