//! What candle does today: a stride of zero panics, and windows, dilations and factors of zero are taken.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::{finding, panics};

#[test]
fn repro() -> Result<()> {
    let line = Tensor::ones((1, 1, 2), DType::F32, &Cpu)?;
    let image = Tensor::ones((1, 1, 2, 2), DType::F32, &Cpu)?;
    panics(|| image.avg_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| image.max_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| line.conv1d(&line, 0, 0, 1, 1), "attempt to divide by zero");
    panics(
        || line.conv_transpose1d(&line, 0, 0, 1, 1, 0),
        "attempt to calculate the remainder with a divisor of zero",
    );
    panics(
        || candle_nn::ops::pixel_shuffle(&image, 0),
        "attempt to divide by zero",
    );
    panics(
        || candle_nn::ops::pixel_unshuffle(&image, 0),
        "attempt to divide by zero",
    );
    finding(image.avg_pool2d_with_stride((0, 2), (1, 1)).is_ok(), true, false);
    finding(line.conv1d(&line, 0, 1, 0, 1).is_ok(), true, false);
    finding(line.conv_transpose1d(&line, 0, 0, 0, 1, 1).is_ok(), true, false);
    Ok(())
}
