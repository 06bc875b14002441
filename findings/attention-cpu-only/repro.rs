//! What candle does today: flash_attn of candle-nn runs on the CPU alone.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_rocm(0)?;
    let q = Tensor::ones((1, 2, 1, 4), DType::F32, &gpu)?;
    refuses(
        flash_attn::<f32>(&q, &q, &q, 1., AttnMask::None, None, None),
        "Expected CPU storage",
    );
    Ok(())
}
