//! What candle does today: selu knows f32 only.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones(2, DType::F64, &Cpu)?;
    refuses(ops::selu(&xs, 1.67, 1.05), "dtype mismatch in mul");
    Ok(())
}
