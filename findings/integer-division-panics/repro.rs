//! What candle does today: dividing integers by zero, or the least by -1, panics.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[i64::MIN], &Cpu)?;
    panics(|| &xs / xs.zeros_like()?, "attempt to divide by zero");
    let minus_one = Tensor::new(&[-1i64], &Cpu)?;
    panics(|| &xs / &minus_one, "attempt to divide with overflow");
    Ok(())
}
