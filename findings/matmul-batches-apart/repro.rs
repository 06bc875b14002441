//! What candle does today: matmul refuses batches that do not follow one another.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 3, 4, 4), DType::F32, &Cpu)?;
    let swapped = xs.transpose(0, 1)?;
    refuses(swapped.matmul(&swapped), "non-contiguous lhs");
    let shared = Tensor::ones((2, 1, 4, 4), DType::F32, &Cpu)?.broadcast_as((2, 3, 4, 4))?;
    refuses(xs.matmul(&shared), "non-contiguous rhs");
    Ok(())
}
