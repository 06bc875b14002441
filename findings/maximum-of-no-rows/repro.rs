//! What candle does today: the maximum of no rows is refused.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((0, 3), DType::F32, &Cpu)?;
    assert_eq!(xs.sum(1)?.dims(), [0]);
    refuses(xs.max(1), "empty tensor for reduce");
    Ok(())
}
