//! What candle does today: prelu multiplies numbers above zero with a slope that is no number.

use candle_core::{Device::Cpu, Module, Result, Tensor};
use candle_nn::PReLU;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let slope = Tensor::new(&[f32::INFINITY], &Cpu)?;
    let out = PReLU::new(slope, true).forward(&Tensor::new(&[2f32, -1.], &Cpu)?)?;
    finding(
        out.to_vec1::<f32>()?,
        [f32::NAN, f32::NEG_INFINITY],
        [2f32, f32::NEG_INFINITY],
    );
    Ok(())
}
