//! What candle does today: i16 and i32 have storage and no kernels.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::I32, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(&xs + &xs, missing);
    refuses(xs.sum_all(), missing);
    refuses(xs.to_dtype(DType::I64), missing);
    refuses(xs.reshape((3, 1))?.repeat((1, 2)), missing);
    refuses(Tensor::ones(3, DType::I16, &gpu), missing);
    refuses(xs.eq(&xs), "dtype mismatch in binary op");
    Ok(())
}
