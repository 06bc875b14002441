//! What candle does today: arange_step adds its roundings up.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let steps = Tensor::arange_step(0f64, 1., 0.1, &Cpu)?;
    finding(steps.dims(), [11], [10]);
    let tenths = Tensor::arange_step(0f64, 10., 0.1, &Cpu)?;
    finding(tenths.dims(), [101], [100]);
    Ok(())
}
