//! What candle does today: the running statistics of batch_norm get no gradient.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};
use candle_nn::{BatchNorm, ModuleT as _};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let (one, zero) = (
        Tensor::ones(2, DType::F32, &Cpu)?,
        Tensor::zeros(2, DType::F32, &Cpu)?,
    );
    let norm = BatchNorm::new(2, zero.clone(), one.clone(), one, zero, 1e-5)?;
    let xs = Var::ones((3, 2), DType::F32, &Cpu)?;
    let grads = norm.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(grads.get(&xs).is_some());
    finding(grads.get(norm.running_mean()).is_some(), false, true);
    Ok(())
}
