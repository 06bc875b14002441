//! What candle does today: layer_norm cancels its variance.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[10000f32, 10001., 10002., 10003.]], &gpu)?;
    let (ones, zeros) = (
        Tensor::ones(4, DType::F32, &gpu)?,
        Tensor::zeros(4, DType::F32, &gpu)?,
    );
    let out = ops::layer_norm(&xs, &ones, &zeros, 1e-5)?;
    let right = [[-1.3416355f32, -0.44721183, 0.44721183, 1.3416355]];
    finding(out.to_vec2::<f32>()?, [[f32::NAN; 4]], right);
    Ok(())
}
