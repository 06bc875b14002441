//! What candle does today: layer_norm of a contiguous tensor drops the gradient without a word.

use candle_core::{DType, Device::Cpu, Module, Result, Tensor, Var};
use candle_nn::LayerNorm;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[[1f32, 2., 4.], [8., 16., 32.]], &Cpu)?;
    let one = Tensor::ones(3, DType::F32, &Cpu)?;
    let grads = LayerNorm::new(one.clone(), one, 1e-5)
        .forward(&x)?
        .sum_all()?
        .backward()?;
    finding(grads.get(&x).is_some(), false, true);
    Ok(())
}
