//! What candle does today: max_pool2d keeps a NaN only when it comes first in its window.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, f32::NAN], [3., 2.]]]], &Cpu)?;
    let out = xs.max_pool2d(2)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [3f32], [f32::NAN]);
    Ok(())
}
