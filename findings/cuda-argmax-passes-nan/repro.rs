//! What candle does today: argmax and argmin pass a NaN over.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let at = Tensor::new(&[1f32, f32::NAN, 2.], &gpu)?.argmax(0)?;
    finding(at.to_scalar::<u32>()?, 2, 1);
    Ok(())
}
