//! What candle does today: index_add and the scatters name no dtype where two differ.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F32, &gpu)?;
    let ids = Tensor::zeros(3, DType::U32, &gpu)?;
    let other = Tensor::zeros(3, DType::F64, &gpu)?;
    refuses(xs.index_add(&ids, &other, 0), "dtype mismatch in binary op");
    Ok(())
}
