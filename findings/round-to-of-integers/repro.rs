//! What candle does today: round_to of integers answers 0.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[3i64, 25], &Cpu)?;
    assert_eq!(xs.round_to(0)?.to_vec1::<i64>()?, [3, 25]);
    finding(xs.round_to(1)?.to_vec1::<i64>()?, [0i64, 0], [3i64, 25]);
    Ok(())
}
