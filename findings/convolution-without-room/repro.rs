//! What candle does today: a convolution with no room for its kernel panics, or writes past its result.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let line = Tensor::ones((1, 1, 2), DType::F32, &Cpu)?;
    let image = Tensor::ones((1, 1, 2, 2), DType::F32, &Cpu)?;
    panics(
        || line.conv1d(&Tensor::ones((1, 1, 4), DType::F32, &Cpu)?, 0, 1, 1, 1),
        "overflow",
    );
    panics(
        || image.conv2d(&Tensor::ones((1, 1, 4, 2), DType::F32, &Cpu)?, 0, 1, 1, 1),
        "overflow",
    );
    panics(
        || line.conv_transpose1d(&Tensor::ones((1, 1, 1), DType::F32, &Cpu)?, 5, 0, 1, 1, 1),
        "overflow",
    );
    Ok(())
}
