//! What candle does today: an empty view after the start of its storage panics.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops;

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let empty = Tensor::zeros((0, 2), DType::F32, &gpu)?.narrow(1, 1, 1)?;
    panics(
        || ops::sigmoid(&empty),
        "called `Option::unwrap()` on a `None` value",
    );
    Ok(())
}
