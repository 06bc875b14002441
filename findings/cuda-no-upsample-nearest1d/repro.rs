//! What candle does today: there is no upsample_nearest1d.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros((1, 1, 2), DType::F32, &gpu)?;
    refuses(
        xs.upsample_nearest1d(4),
        "upsample-nearest1d is not supported on cuda",
    );
    Ok(())
}
