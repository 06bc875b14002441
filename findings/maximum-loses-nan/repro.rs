//! What candle does today: maximum and minimum lose a NaN on the right.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let numbers = Tensor::new(&[1f32, f32::NAN], &Cpu)?;
    let others = Tensor::new(&[f32::NAN, 1.], &Cpu)?;
    let right = [f32::NAN, f32::NAN];
    finding(numbers.maximum(&others)?.to_vec1::<f32>()?, [1., f32::NAN], right);
    finding(numbers.minimum(&others)?.to_vec1::<f32>()?, [1., f32::NAN], right);
    Ok(())
}
