//! What candle does today: rms_norm and layer_norm refuse f64.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 4), DType::F64, &Cpu)?;
    let ones = Tensor::ones(4, DType::F64, &Cpu)?;
    refuses(
        ops::rms_norm(&xs, &ones, 1e-5),
        "unsupported dtype for rmsnorm F64",
    );
    refuses(
        ops::layer_norm(&xs, &ones, &ones, 1e-5),
        "unsupported dtype for rmsnorm F64",
    );
    Ok(())
}
