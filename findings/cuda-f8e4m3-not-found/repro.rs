//! What candle does today: the f8e4m3 kernels are compiled and never found.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F8E4M3, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(xs.relu(), missing);
    refuses(&xs + &xs, missing);
    refuses(xs.affine(2., 1.), missing);
    refuses(xs.to_dtype(DType::F32), missing);
    refuses(
        Tensor::ones(3, DType::F32, &gpu)?.to_dtype(DType::F8E4M3),
        missing,
    );
    Ok(())
}
