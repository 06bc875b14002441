//! What candle does today: attention answers in f32 on the CPU, and of f64 with an f32 scale everywhere.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use half::f16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let q = Tensor::ones((1, 2, 1, 4), DType::F16, &Cpu)?;
    let out = flash_attn::<f16>(&q, &q, &q, 1., AttnMask::None, None, None)?;
    finding(out.dtype(), DType::F32, DType::F16);
    Ok(())
}
