//! What candle does today: bilinear upsampling to the same size copies the whole storage of a view.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 2.], [3., 4.]]]], &Cpu)?.transpose(2, 3)?;
    let out = xs.upsample_bilinear2d(2, 2, false)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [1f32, 2., 3., 4.], [1f32, 3., 2., 4.]);
    Ok(())
}
