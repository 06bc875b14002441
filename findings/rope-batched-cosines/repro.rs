//! What candle does today: rope takes the first batch's cosines for all when only the cosines have batches.

use candle_core::{Device::Cpu, Result, Tensor};
use candle_nn::rotary_emb;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 0.]]], [[[1., 0.]]]], &Cpu)?;
    let cos = Tensor::new(&[[[1f32]], [[0.]]], &Cpu)?;
    let sin = Tensor::new(&[[0f32]], &Cpu)?;
    let out = rotary_emb::rope(&xs, &cos, &sin)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [1f32, 0., 1., 0.], [1f32, 0., 0., 0.]);
    Ok(())
}
