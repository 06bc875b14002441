//! What candle does today: fused ops refuse strided arguments.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 3), DType::F32, &Cpu)?.t()?;
    let one = Tensor::ones(2, DType::F32, &Cpu)?;
    refuses(ops::softmax_last_dim(&xs), "input has to be contiguous");
    refuses(ops::rms_norm(&xs, &one, 1e-5), "input has to be contiguous");
    refuses(
        ops::layer_norm(&xs, &one, &one, 1e-5),
        "input has to be contiguous",
    );
    Ok(())
}
