//! What candle does today: pow of a negative number is NaN.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[-2f32], &Cpu)?.pow(&Tensor::new(&[2f32], &Cpu)?)?;
    finding(out.to_vec1::<f32>()?, [f32::NAN], [4f32]);
    Ok(())
}
