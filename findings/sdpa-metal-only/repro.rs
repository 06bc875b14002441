//! What candle does today: sdpa has kernels for Metal alone.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let q = Tensor::ones((1, 1, 2, 32), DType::F32, &Cpu)?;
    refuses(ops::sdpa(&q, &q, &q, None, false, 1., 1.), "SDPA has no cpu impl");
    Ok(())
}
