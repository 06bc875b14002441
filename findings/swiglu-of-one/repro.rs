//! What candle does today: swiglu of a last dimension of one panics.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::{panics, refuses};

#[test]
fn repro() -> Result<()> {
    refuses(
        ops::swiglu(&Tensor::ones((2, 3), DType::F32, &Cpu)?),
        "shape mismatch",
    );
    let one = Tensor::ones((2, 1), DType::F32, &Cpu)?;
    panics(|| ops::swiglu(&one), "index out of bounds");
    Ok(())
}
