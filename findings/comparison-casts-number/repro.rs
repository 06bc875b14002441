//! What candle does today: a comparison casts its number to the tensor's dtype.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[2u32], &Cpu)?;
    finding(xs.lt(2.5)?.to_vec1::<u8>()?, [0], [1]);
    finding(xs.ge(-1i64)?.to_vec1::<u8>()?, [0], [1]);
    Ok(())
}
