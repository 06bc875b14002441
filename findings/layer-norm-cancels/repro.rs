//! What candle does today: layer_norm loses the variance of a row far from zero.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[10_000f32, 10_001., 10_002., 10_003.]], &Cpu)?;
    let (ones, zeros) = (
        Tensor::ones(4, DType::F32, &Cpu)?,
        Tensor::zeros(4, DType::F32, &Cpu)?,
    );
    let largest = ops::layer_norm(&xs, &ones, &zeros, 1e-5)?
        .narrow(1, 3, 1)?
        .flatten_all()?;
    finding(largest.to_vec1::<f32>()?, [474.34167f32], [1.3416355f32]);
    Ok(())
}
