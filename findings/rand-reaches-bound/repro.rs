//! What candle does today: rand in bf16, f16 and f8e4m3 reaches the bound it excludes.

use candle_core::{Device::Cpu, Result, Tensor};
use half::{bf16, f16};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::rand(bf16::ZERO, bf16::ONE, 100_000, &Cpu)?;
    finding(xs.to_vec1::<bf16>()?.contains(&bf16::ONE), true, false);
    let xs = Tensor::rand(f16::ZERO, f16::ONE, 400_000, &Cpu)?;
    finding(xs.to_vec1::<f16>()?.contains(&f16::ONE), true, false);
    Ok(())
}
