//! What candle does today: avg_pool2d sums in half precision.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use half::bf16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((1, 1, 32, 32), DType::BF16, &Cpu)?;
    let out = xs.avg_pool2d(32)?.flatten_all()?;
    finding(out.to_vec1::<bf16>()?, [0.25f32], [1f32]);
    Ok(())
}
