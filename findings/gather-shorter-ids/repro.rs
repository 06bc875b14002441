//! What candle does today: gather misreads when ids are smaller than the source in another dimension.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 2.], [3., 4.]]], &Cpu)?;
    let ids = Tensor::zeros((1, 2, 1), DType::U32, &Cpu)?;
    let out = xs.gather(&ids, 0)?;
    finding(out.to_vec3::<f32>()?, [[[1f32], [2.]]], [[[1f32], [3.]]]);
    Ok(())
}
