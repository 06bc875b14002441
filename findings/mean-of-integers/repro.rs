//! What candle does today: numbers are cast to an integer tensor's dtype before they are used.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[2u32, 4, 6], &Cpu)?;
    finding(xs.affine(0.5, 0.)?.to_vec1::<u32>()?, [0, 0, 0], [1, 2, 3]);
    finding((&xs / 2.)?.to_vec1::<u32>()?, [0, 0, 0], [1, 2, 3]);
    finding((10. - &xs)?.to_vec1::<u32>()?, [10, 10, 10], [8, 6, 4]);
    finding(xs.mean_all()?.to_scalar::<u32>()?, 0, 4);
    Ok(())
}
