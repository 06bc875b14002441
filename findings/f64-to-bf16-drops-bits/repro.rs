//! What candle does today: f64 to bf16 drops 32 bits of the mantissa before it rounds.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use half::bf16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    // A little more than halfway from 1 to the next bf16, which is 1.0078125.
    let above = 1. + 2f64.powi(-8) + 2f64.powi(-40);
    let out = Tensor::new(&[above], &Cpu)?.to_dtype(DType::BF16)?;
    finding(out.to_vec1::<bf16>()?, [1f32], [1.0078125f32]);
    Ok(())
}
