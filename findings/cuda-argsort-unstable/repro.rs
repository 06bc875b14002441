//! What candle does today: argsort reorders equal elements.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[0f32, 1., 0., 0.], &gpu)?;
    let order = xs.arg_sort_last_dim(true)?;
    finding(order.to_vec1::<u32>()?, [0u32, 3, 2, 1], [0u32, 2, 3, 1]);
    Ok(())
}
