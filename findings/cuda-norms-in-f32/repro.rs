//! What candle does today: rms_norm and layer_norm compute f64 in f32.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[3f64]], &gpu)?;
    let ones = Tensor::ones(1, DType::F64, &gpu)?;
    let out = ops::rms_norm(&xs, &ones, 0.)?;
    finding(out.to_vec2::<f64>()?, [[0.9999999403953552f64]], [[1f64]]);
    Ok(())
}
