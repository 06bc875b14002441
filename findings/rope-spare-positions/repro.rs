//! What candle does today: rope with batched cos and sin reads another batch's angles when there are spare positions.

use candle_core::{Device::Cpu, Result, Tensor};
use candle_nn::rotary_emb;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 0.]]], [[[1., 0.]]]], &Cpu)?;
    let cos = Tensor::new(&[[[1f32], [9.]], [[0.], [9.]]], &Cpu)?;
    let sin = Tensor::new(&[[[0f32], [9.]], [[1.], [9.]]], &Cpu)?;
    for rope in [rotary_emb::rope, rotary_emb::rope_i, rotary_emb::rope_thd] {
        let out = rope(&xs, &cos, &sin)?.flatten_all()?;
        finding(out.to_vec1::<f32>()?, [1f32, 0., 9., 9.], [1f32, 0., 0., 1.]);
    }
    Ok(())
}
