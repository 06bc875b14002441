//! What candle does today: the gradient of powf(0) at zero is NaN.

use candle_core::{Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[0f32, 2.], &Cpu)?;
    let grads = x.powf(0.)?.sum_all()?.backward()?;
    finding(
        grads.get(&x).unwrap().to_vec1::<f32>()?,
        [f32::NAN, 0.],
        [0f32, 0.],
    );
    Ok(())
}
