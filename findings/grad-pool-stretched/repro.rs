//! What candle does today: the gradient of a pool is stretched over what no window covers.

use candle_core::{Device::Cpu, Result, Tensor, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[[[[1f32, 2., 3., 4., 5.]]]], &Cpu)?;
    let weights = Tensor::new(&[[[[1f32, 10.]]]], &Cpu)?;
    let grads = (x.avg_pool2d((1, 2))? * weights)?.sum_all()?.backward()?;
    let gradient = grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [0.5f32, 0.5, 0.5, 5., 5.], [0.5f32, 0.5, 5., 5., 0.]);
    Ok(())
}
