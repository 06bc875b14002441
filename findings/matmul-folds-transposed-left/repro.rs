//! What candle does today: matmul misreads a transposed left side when the right side is one matrix for all batches.

use candle_core::{Device::Cpu, Module, Result, Tensor};
use candle_nn::Linear;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 2.], [3., 4.]], [[5., 6.], [7., 8.]]], &Cpu)?;
    let one = Tensor::new(&[[1f32, 0.], [0., 1.]], &Cpu)?;
    let today = [[[1f32, 3.], [2., 4.]], [[3., 5.], [4., 6.]]];
    let right = [[[1f32, 3.], [2., 4.]], [[5., 7.], [6., 8.]]];

    let product = xs.transpose(1, 2)?.matmul(&one.broadcast_as((2, 2, 2))?)?;
    finding(product.to_vec3::<f32>()?, today, right);
    let linear = Linear::new(one.clone(), None).forward(&xs.transpose(1, 2)?)?;
    finding(linear.to_vec3::<f32>()?, today, right);
    let same = xs.conv_transpose1d(&one.reshape((2, 2, 1))?, 0, 0, 1, 1, 1)?;
    let mixed = [[[1f32, 2.], [3., 4.]], [[3., 4.], [5., 6.]]];
    finding(same.to_vec3::<f32>()?, mixed, xs.to_vec3::<f32>()?);
    Ok(())
}
