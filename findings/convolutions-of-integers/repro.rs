//! What candle does today: conv1d and conv2d refuse integers.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let line = Tensor::ones((1, 1, 3), DType::U32, &Cpu)?;
    refuses(
        line.conv1d(&line, 0, 1, 1, 1),
        "unsupported dtype U32 for op matmul",
    );
    let image = Tensor::ones((1, 1, 3, 3), DType::U8, &Cpu)?;
    refuses(
        image.conv2d(&image, 0, 1, 1, 1),
        "unsupported dtype U8 for op matmul",
    );
    Ok(())
}
