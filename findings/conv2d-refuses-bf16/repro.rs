//! What candle does today: conv2d refuses bf16.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let image = Tensor::ones((1, 1, 3, 3), DType::BF16, &Cpu)?;
    let line = Tensor::ones((1, 1, 3), DType::BF16, &Cpu)?;
    assert!(line.conv1d(&line, 0, 1, 1, 1).is_ok());
    refuses(
        image.conv2d(&image, 0, 1, 1, 1),
        "unsupported dtype BF16 for op matmul",
    );
    Ok(())
}
