//! What candle does today: sigmoid refuses f8e4m3.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros(3, DType::F8E4M3, &Cpu)?;
    assert!(xs.tanh().is_ok());
    refuses(ops::sigmoid(&xs), "unsupported dtype F8E4M3 for op sigmoid");
    Ok(())
}
