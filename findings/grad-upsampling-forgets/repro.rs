//! What candle does today: upsampling forgets the gradient that a tensor has from elsewhere.

use candle_core::{Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[[[1f32, 2.]]], &Cpu)?;
    let both = (x.upsample_nearest1d(4)?.sum_all()? + x.sum_all()?)?;
    let grads = both.backward()?;
    finding(
        grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?,
        [2f32, 2.],
        [3f32, 3.],
    );
    Ok(())
}
