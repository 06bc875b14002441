//! What candle does today: a NaN keeps a row from being sorted.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[3f32, f32::NAN, 1., 2.]], &gpu)?;
    let (sorted, _) = xs.sort_last_dim(true)?;
    finding(
        sorted.to_vec2::<f32>()?,
        [[2f32, f32::NAN, 1., 3.]],
        [[1f32, 2., 3., f32::NAN]],
    );
    Ok(())
}
