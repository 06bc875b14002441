//! What candle does today: matmul refuses more than two batch dimensions.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 2, 2, 2, 2), DType::F32, &Cpu)?;
    assert!(xs.is_contiguous());
    refuses(xs.matmul(&xs), "non-contiguous lhs");
    Ok(())
}
