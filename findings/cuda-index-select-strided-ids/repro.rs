//! What candle does today: index_select applies the strides of the ids to the source.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[10f32, 11., 12., 13., 14., 15.], &gpu)?;
    let ids = Tensor::new(&[[0u32, 5], [2, 5], [4, 5]], &gpu)?;
    let column = ids.narrow(1, 0, 1)?.squeeze(1)?;
    let out = xs.index_select(&column, 0)?;
    finding(out.to_vec1::<f32>()?, [10f32, 14., 14.], [10f32, 12., 14.]);
    Ok(())
}
