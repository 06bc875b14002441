//! What candle does today: each of equal maxima gets the whole gradient.

use candle_core::{Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[2f32, 1., 2.], &Cpu)?;
    let grads = x.max(0)?.backward()?;
    finding(
        grads.get(&x).unwrap().to_vec1::<f32>()?,
        [1f32, 0., 1.],
        [0.5f32, 0., 0.5],
    );
    Ok(())
}
