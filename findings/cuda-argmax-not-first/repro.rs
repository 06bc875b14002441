//! What candle does today: argmax of equal elements is not the first.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![0f32; 33];
    (row[1], row[32]) = (1., 1.);
    let at = Tensor::new(row, &gpu)?.argmax(0)?;
    finding(at.to_scalar::<u32>()?, 32, 1);
    Ok(())
}
