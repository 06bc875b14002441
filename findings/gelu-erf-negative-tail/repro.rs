//! What candle does today: gelu_erf has no negative tail.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[-6f32], &Cpu)?.gelu_erf()?;
    finding(out.to_vec1::<f32>()?, [-0f32], [-5.919526e-9f32]);
    Ok(())
}
