//! What candle does today: elu of a small negative number is 0.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[-1e-8f32], &Cpu)?.elu(1.)?;
    finding(out.to_vec1::<f32>()?, [0f32], [-1e-8f32]);
    Ok(())
}
