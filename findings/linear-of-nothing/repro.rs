//! What candle does today: a linear layer refuses a batch of nothing.

use candle_core::{DType, Device::Cpu, Module, Result, Tensor};
use candle_nn::Linear;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let layer = Linear::new(Tensor::ones((5, 3), DType::F32, &Cpu)?, None);
    let xs = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Cpu);
    assert_eq!(layer.forward(&xs(&[0, 3])?)?.dims(), [0, 5]);
    refuses(
        layer.forward(&xs(&[0, 2, 3])?),
        "cannot reshape tensor of 0 elements",
    );
    Ok(())
}
