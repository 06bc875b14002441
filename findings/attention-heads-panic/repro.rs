//! What candle does today: attention on the CPU panics where heads do not divide.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let q = Tensor::ones((1, 5, 4, 8), DType::F32, &Cpu)?;
    let k = Tensor::ones((1, 5, 3, 8), DType::F32, &Cpu)?;
    let attend = || flash_attn::<f32>(&q, &k, &k, 1., AttnMask::None, None, None);
    panics(attend, "out of range for slice");
    Ok(())
}
