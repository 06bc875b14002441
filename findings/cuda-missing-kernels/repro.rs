//! What candle does today: integers have no relu, no sign, no rounding and few casts; upsample_nearest1d is missing.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::U32, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(xs.relu(), missing);
    refuses(xs.sign(), missing);
    refuses(xs.floor(), missing);
    let row = Tensor::zeros((1, 1, 2), DType::F32, &gpu)?;
    refuses(
        row.upsample_nearest1d(4),
        "upsample-nearest1d is not supported on cuda",
    );
    Ok(())
}
