//! What candle does today: avg_pool2d multiplies f64 by a reciprocal in f32.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let out = Tensor::ones((1, 1, 3, 3), DType::F64, &gpu)?.avg_pool2d(3)?;
    finding(
        out.flatten_all()?.to_vec1::<f64>()?,
        [1.0000000074505806f64],
        [1f64],
    );
    Ok(())
}
