//! What candle does today: a debug assertion asks for an even number of blocks in a row.

use candle_core::{
    DType,
    Device::Cpu,
    Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let weights = QTensor::quantize(&Tensor::ones((1, 32), DType::F32, &Cpu)?, GgmlDType::Q4_1)?;
    let product = QMatMul::from_qtensor(weights)?;
    let xs = Tensor::ones((1, 32), DType::F32, &Cpu)?;
    if cfg!(debug_assertions) {
        panics(|| product.forward(&xs), "nb is not divisible by 2");
    }
    Ok(())
}
