//! What candle does today: affine rounds its product before it adds.

use candle_core::{Device::Cpu, Result, Tensor};
use half::f16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[f16::MAX], &Cpu)?
        .affine(-2., 1e6)?
        .to_vec1::<f16>()?[0];
    finding(out, f16::NAN, f16::INFINITY);
    Ok(())
}
