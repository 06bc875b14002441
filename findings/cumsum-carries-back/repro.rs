//! What candle does today: cumsum carries an infinity or NaN back to the elements before it.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let out = Tensor::new(&[1., f32::INFINITY, 2.], &Cpu)?.cumsum(0)?;
    let right = [1., f32::INFINITY, f32::INFINITY];
    finding(
        out.to_vec1::<f32>()?,
        [f32::NAN, f32::INFINITY, f32::INFINITY],
        right,
    );
    Ok(())
}
