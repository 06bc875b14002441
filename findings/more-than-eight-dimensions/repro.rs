//! What candle does today: binary ops, comparisons and where_cond of more than eight dimensions panic.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros([2; 9].as_slice(), DType::F32, &Cpu)?;
    let reversed = xs.permute((0..9).rev().collect::<Vec<_>>())?;
    panics(|| &xs + &reversed, "8");
    panics(|| xs.eq(&reversed), "8");
    Ok(())
}
