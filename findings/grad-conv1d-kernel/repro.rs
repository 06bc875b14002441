//! What candle does today: the gradient of a conv1d kernel mixes channels with batches.

use candle_core::{Device::Cpu, Result, Tensor, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Tensor::new(&[[[1f32, 2.]], [[3., 4.]]], &Cpu)?;
    let kernel = Var::new(&[[[1f32]], [[1.]]], &Cpu)?;
    let weights = Tensor::new(&[[[0f32, 0.], [1., 1.]], [[0., 0.], [0., 0.]]], &Cpu)?;
    let grads = (x.conv1d(&kernel, 0, 1, 1, 1)? * weights)?
        .sum_all()?
        .backward()?;
    let gradient = grads.get(&kernel).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [7f32, 0.], [0f32, 3.]);
    Ok(())
}
