//! What candle does today: conv1d reads a strided kernel as if it were contiguous.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[1f32], [10.]]], &Cpu)?;
    let kernel = Tensor::new(&[[[1f32], [2.]], [[3.], [4.]]], &Cpu)?.transpose(0, 1)?;
    let out = xs.conv1d(&kernel, 0, 1, 1, 1)?;
    finding(out.to_vec3::<f32>()?, [[[21f32], [43.]]], [[[31f32], [42.]]]);
    Ok(())
}
