//! What candle does today: argsort refuses rows of more than 8,192 elements.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let is_sorted = |len: u32| Tensor::arange(0u32, len, &gpu)?.arg_sort_last_dim(true);
    finding(
        [is_sorted(8192).is_ok(), is_sorted(8193).is_ok()],
        [true, false],
        [true, true],
    );
    Ok(())
}
