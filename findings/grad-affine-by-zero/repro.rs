//! What candle does today: affine by zero has no gradient.

use candle_core::{DType::F32, Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Var::ones(2, F32, &Cpu)?;
    let grads = xs.affine(0., 1.)?.sum_all()?.backward()?;
    finding(grads.get(&xs).is_some(), false, true);
    Ok(())
}
