//! What candle does today: a division by a number multiplies by its rounded reciprocal.

use candle_core::{Device::Cpu, Result, Tensor};
use half::f16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[f16::from_f32(60_000.)], &Cpu)?;
    finding((&xs / 1e8)?.to_vec1::<f16>()?, [f16::ZERO], [f16::from_f64(6e-4)]);
    Ok(())
}
