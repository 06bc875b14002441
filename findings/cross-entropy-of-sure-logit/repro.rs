//! What candle does today: binary_cross_entropy_with_logit of a sure logit is infinite or NaN.

use candle_core::{Device::Cpu, Result, Tensor};
use candle_nn::loss;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let sure = Tensor::new(&[[100f32]], &Cpu)?;
    let wrong = loss::binary_cross_entropy_with_logit(&sure, &sure.zeros_like()?)?;
    finding(wrong.to_scalar::<f32>()?, f32::INFINITY, 100f32);
    let right = loss::binary_cross_entropy_with_logit(&sure, &sure.ones_like()?)?;
    finding(right.to_scalar::<f32>()?, f32::NAN, 0f32);
    Ok(())
}
