//! What candle does today: the gradient of unfold is refused.

use candle_core::{DType, Device::Cpu, Result, Var};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let x = Var::ones((1, 4), DType::F32, &Cpu)?;
    let windows = x.unfold(1, 2, 1)?;
    refuses(windows.sum_all()?.backward(), "Shape mismatch");
    Ok(())
}
