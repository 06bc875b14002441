//! What candle does today: avg_pool2d of integers is 0.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[[[[1i64, 3], [5, 7]]]], &Cpu)?;
    let out = xs.avg_pool2d(2)?.flatten_all()?;
    finding(out.to_vec1::<i64>()?, [0], [4]);
    Ok(())
}
