//! What candle does today: log_sum_exp of infinities is NaN.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let (inf, none) = (f32::INFINITY, f32::NEG_INFINITY);
    let rows = Tensor::new(&[[none, none], [inf, 0.]], &Cpu)?;
    finding(
        rows.log_sum_exp(1)?.to_vec1::<f32>()?,
        [f32::NAN, f32::NAN],
        [none, inf],
    );
    Ok(())
}
