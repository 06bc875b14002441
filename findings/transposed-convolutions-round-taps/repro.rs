//! What candle does today: transposed convolutions round after each tap.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use half::bf16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 1., 256.]]], &Cpu)?.to_dtype(DType::BF16)?;
    let kernel = Tensor::ones((1, 1, 3), DType::BF16, &Cpu)?;
    let out = xs
        .conv_transpose1d(&kernel, 1, 0, 1, 1, 1)?
        .narrow(2, 1, 1)?
        .flatten_all()?;
    finding(out.to_vec1::<bf16>()?, [256f32], [258f32]);
    Ok(())
}
