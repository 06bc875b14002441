//! What candle does today: backward refuses overlapping pools, other upsampling and conv_transpose1d.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let x = Var::ones((1, 1, 4, 4), DType::F32, &Cpu)?;
    let refused = |y: Tensor, why: &str| refuses(y.backward(), why);
    refused(
        x.max_pool2d_with_stride(2, 1)?,
        "backward not supported for maxpool2d",
    );
    refused(
        x.avg_pool2d_with_stride(2, 1)?,
        "backward not supported for avgpool2d",
    );
    refused(x.upsample_nearest2d(6, 6)?, "non integer upscaling factors");
    refused(x.upsample_nearest2d(8, 4)?, "non uniform upscaling factors");
    refused(
        x.upsample_bilinear2d(8, 8, false)?,
        "backward not supported for upsample_bilinear2d",
    );
    let x = Var::ones((1, 1, 4), DType::F32, &Cpu)?;
    refused(
        x.conv_transpose1d(&x, 0, 0, 1, 1, 1)?,
        "backward is not supported for conv-transpose1d",
    );
    Ok(())
}
