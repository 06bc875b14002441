//! What candle does today: gather takes the extents of the source for those of the ids.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[1f32, 2.], [3., 4.]], &gpu)?;
    let ids = Tensor::new(&[[0u32], [1]], &gpu)?;
    let out = xs.gather(&ids, 0)?;
    finding(out.to_vec2::<f32>()?, [[1f32], [4.]], [[1f32], [3.]]);
    Ok(())
}
