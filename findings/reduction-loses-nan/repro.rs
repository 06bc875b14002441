//! What candle does today: max, min, argmax and argmin keep a NaN only when it comes first.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let rows = Tensor::new(&[[f32::NAN, 1., 2.], [1., f32::NAN, 2.]], &Cpu)?;
    let right = [f32::NAN, f32::NAN];
    finding(rows.max(1)?.to_vec1::<f32>()?, [f32::NAN, 2.], right);
    finding(rows.min(1)?.to_vec1::<f32>()?, [f32::NAN, 1.], right);
    finding(rows.argmax(1)?.to_vec1::<u32>()?, [0, 2], [0, 1]);
    finding(rows.argmin(1)?.to_vec1::<u32>()?, [0, 0], [0, 1]);
    Ok(())
}
