//! What candle does today: a stride of zero panics.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let line = Tensor::ones((1, 1, 2), DType::F32, &Cpu)?;
    let image = Tensor::ones((1, 1, 2, 2), DType::F32, &Cpu)?;
    panics(|| image.avg_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| image.max_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| line.conv1d(&line, 0, 0, 1, 1), "attempt to divide by zero");
    Ok(())
}
