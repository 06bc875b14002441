//! What candle does today: a reduction of a tensor without elements divides by zero.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros((2, 0), DType::F32, &gpu)?;
    panics(|| xs.sum(0), "attempt to divide by zero");
    Ok(())
}
