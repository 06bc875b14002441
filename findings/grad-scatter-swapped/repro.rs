//! What candle does today: the gradients of scatter and scatter_add are each other's.

use candle_core::{Device::Cpu, Result, Tensor, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let ids = Tensor::new(&[1u32, 1], &Cpu)?;
    let (x, source) = (Var::new(&[1f32, 2.], &Cpu)?, Var::new(&[3f32, 4.], &Cpu)?);
    let written = x.scatter(&ids, &source, 0)?.sum_all()?.backward()?;
    let added = x.scatter_add(&ids, &source, 0)?.sum_all()?.backward()?;

    finding(written.get(&x).unwrap().to_vec1::<f32>()?, [1f32, 1.], [1f32, 0.]);
    finding(
        written.get(&source).unwrap().to_vec1::<f32>()?,
        [1f32, 1.],
        [0f32, 1.],
    );
    finding(added.get(&x).unwrap().to_vec1::<f32>()?, [1f32, 0.], [1f32, 1.]);
    Ok(())
}
