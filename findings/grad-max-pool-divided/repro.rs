//! What candle does today: the gradient of max_pool2d is divided by the size of the window.

use candle_core::{Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[[[[1f32, 2.], [3., 4.]]]], &Cpu)?;
    let grads = x.max_pool2d(2)?.sum_all()?.backward()?;
    let gradient = grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [0f32, 0., 0., 0.25], [0f32, 0., 0., 1.]);
    Ok(())
}
