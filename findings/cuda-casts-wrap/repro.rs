//! What candle does today: a cast to an integer wraps where the CPU saturates.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[-1f32, 300., f32::NAN], &gpu)?;
    finding(
        xs.to_dtype(DType::U8)?.to_vec1::<u8>()?,
        [0u8, 44, 0],
        [0u8, 255, 0],
    );
    let nan = Tensor::new(&[f64::NAN], &gpu)?;
    finding(nan.to_dtype(DType::I64)?.to_vec1::<i64>()?, [i64::MIN], [0i64]);
    Ok(())
}
