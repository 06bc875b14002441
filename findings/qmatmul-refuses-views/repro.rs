//! What candle does today: a quantized product refuses a strided tensor.

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType::F32, Device::Cpu, Module, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let weights = QTensor::quantize(&Tensor::zeros((2, 32), F32, &Cpu)?, GgmlDType::Q4_0)?;
    let product = QMatMul::from_qtensor(weights)?;
    let xs = Tensor::zeros((32, 3), F32, &Cpu)?.t()?;
    refuses(product.forward(&xs), "not contiguous");
    product.forward(&xs.contiguous()?)?;
    Ok(())
}
