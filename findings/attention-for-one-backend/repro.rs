//! What candle does today: flash_attn of candle-nn runs on the CPU alone, and sdpa on Metal alone.

use candle_core::{DType, Device, Result, Tensor};
// Upstream's own, which has this name behind the one of crates/candle-nn.
use candle_nn::attention::{AttnMask, cpu_flash::elsewhere_flash_attn as flash_attn};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let q = |device: &Device| Tensor::ones((1, 2, 1, 32), DType::F32, device);
    let (host, gpu) = (q(&Device::Cpu)?, q(&Device::new_rocm(0)?)?);
    refuses(
        flash_attn::<f32>(&gpu, &gpu, &gpu, 1., AttnMask::None, None, None),
        "Expected CPU storage",
    );
    refuses(
        ops::sdpa(&host, &host, &host, None, false, 1., 1.),
        "SDPA has no cpu impl",
    );
    Ok(())
}
