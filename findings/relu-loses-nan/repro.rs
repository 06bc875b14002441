//! What candle does today: relu turns NaN into 0.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[f32::NAN], &Cpu)?.relu()?;
    finding(out.to_vec1::<f32>()?, [0f32], [f32::NAN]);
    Ok(())
}
