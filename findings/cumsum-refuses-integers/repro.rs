//! What candle does today: cumsum refuses integers.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[1i64, 2, 3], &Cpu)?;
    refuses(xs.cumsum(0), "unsupported dtype I64 for op matmul");
    Ok(())
}
