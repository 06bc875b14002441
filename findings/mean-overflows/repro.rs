//! What candle does today: the mean and the norm overflow where a sum does.

use candle_core::{Device::Cpu, Result, Tensor};
use half::f16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[f16::from_f32(60_000.), f16::from_f32(60_000.)], &Cpu)?;
    finding(
        xs.mean_all()?.to_scalar::<f16>()?,
        f16::INFINITY,
        f16::from_f32(60_000.),
    );
    let xs = Tensor::new(&[f16::from_f32(300.), f16::from_f32(400.)], &Cpu)?;
    finding(xs.norm()?.to_scalar::<f16>()?, f16::INFINITY, f16::from_f32(500.));
    Ok(())
}
