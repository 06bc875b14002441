//! What candle does today: no random number is drawn in f8e4m3.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F8E4M3, &gpu)?;
    refuses(xs.rand_like(0., 1.), "for rand_uniform");
    refuses(xs.randn_like(0., 1.), "for rand_normal");
    Ok(())
}
