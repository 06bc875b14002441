//! What candle does today: conv1d multiplies with the kernel it has just copied away from.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[[1f32, 100.]]], &gpu)?;
    let stored = Tensor::new(&[[[1f32, 10.]], [[2., 20.]]], &gpu)?;
    let out = xs.conv1d(&stored.transpose(0, 2)?, 0, 1, 1, 1)?;
    finding(
        out.to_vec3::<f32>()?,
        [[[1001f32], [2002.]]],
        [[[201f32], [2010.]]],
    );
    Ok(())
}
