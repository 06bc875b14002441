//! What candle does today: matmul refuses views that the CPU takes.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let wide = Tensor::ones((4, 6), DType::F32, &gpu)?;
    let every_other = wide.reshape((4, 3, 2))?.narrow(2, 0, 1)?.squeeze(2)?;
    refuses(
        every_other.matmul(&Tensor::ones((3, 2), DType::F32, &gpu)?),
        "matmul is only supported for contiguous tensors",
    );
    Ok(())
}
