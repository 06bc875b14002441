//! What candle does today: products with experts panic on the CPU.

use candle_core::{
    DType,
    Device::Cpu,
    Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let experts = Tensor::zeros((2, 4, 32), DType::F32, &Cpu)?;
    let experts = QTensor::quantize(&experts, GgmlDType::Q8_0)?;
    let xs = Tensor::zeros((1, 1, 32), DType::F32, &Cpu)?;
    let ids = Tensor::zeros((1, 2), DType::U32, &Cpu)?;
    panics(
        || experts.indexed_moe_forward(&xs, &ids),
        "not implemented in this platform",
    );
    Ok(())
}
