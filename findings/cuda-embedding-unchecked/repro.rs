//! What candle does today: an embedding of quantized blocks reads past its weights.

#![cfg(feature = "cuda")]

use candle_core::{
    DType, Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let weights = QTensor::quantize(&Tensor::ones((4, 32), DType::F32, &gpu)?, GgmlDType::Q4_0)?;
    let ids = Tensor::new(&[4u32], &gpu)?;
    let computes = weights
        .embedding(&ids)
        .and_then(|out| out.to_vec2::<f32>())
        .is_ok();
    finding(computes, true, false);
    Ok(())
}
