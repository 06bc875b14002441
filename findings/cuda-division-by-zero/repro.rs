//! What candle does today: i64 has two answers to a division by zero.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[1i64, 1 << 40], &gpu)?;
    let quotient = (&xs / &xs.zeros_like()?)?;
    finding(quotient.to_vec1::<i64>()?, [0xffff_ffffi64, -1], [-1i64, -1]);
    Ok(())
}
