//! What candle does today: nearest upsampling by a whole number can miss by one.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[0f32, 1.]]], &Cpu)?;
    let ones = xs.upsample_nearest1d(98)?.sum_all()?;
    finding(ones.to_scalar::<f32>()?, 48f32, 49f32);
    Ok(())
}
