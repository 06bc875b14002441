//! What candle does today: exp, log, sin, cos, tanh, neg, recip, sqr and sqrt of integers reach a `todo!`.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[1i64], &Cpu)?;
    for op in [Tensor::exp, Tensor::neg, Tensor::sqr, Tensor::sqrt] {
        panics(|| op(&xs), "not yet implemented: no unary function for i64");
    }
    Ok(())
}
