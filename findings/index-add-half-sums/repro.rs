//! What candle does today: index_add and scatter_add sum in half precision.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use half::bf16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let ones = Tensor::ones(512, DType::BF16, &Cpu)?;
    let ids = Tensor::zeros(512, DType::U32, &Cpu)?;
    let first = |sums: Tensor| sums.narrow(0, 0, 1)?.to_vec1::<bf16>();
    finding(
        first(ones.zeros_like()?.index_add(&ids, &ones, 0)?)?,
        [256f32],
        [512f32],
    );
    finding(
        first(ones.zeros_like()?.scatter_add(&ids, &ones, 0)?)?,
        [256f32],
        [512f32],
    );
    Ok(())
}
