//! What candle does today: quantizing a part of a tensor reads the whole storage.

use candle_core::{
    Device::Cpu,
    Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::{finding, panics};

#[test]
fn repro() -> Result<()> {
    let mut numbers = vec![1f32; 32];
    numbers.extend([2f32; 32]);
    let last = Tensor::from_vec(numbers, (2, 32), &Cpu)?.narrow(0, 1, 1)?;
    assert!(last.is_contiguous());
    if cfg!(debug_assertions) {
        panics(|| QTensor::quantize(&last, GgmlDType::Q4_0), "size mismatch");
        return Ok(());
    }
    let first = QTensor::quantize(&last, GgmlDType::Q4_0)?.dequantize(&Cpu)?;
    finding(first.to_vec2::<f32>()?, [[1f32; 32]], [[2f32; 32]]);
    Ok(())
}
