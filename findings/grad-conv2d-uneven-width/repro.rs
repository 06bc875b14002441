//! What candle does today: the gradient of conv2d takes the output padding of the height for the width.

use candle_core::{DType::F32, Device::Cpu, Result, Tensor, Var};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    // Windows of two by two, each three after the one before: they cover five rows, and of six columns five.
    let kernel = Tensor::ones((1, 1, 2, 2), F32, &Cpu)?;
    let xs = Var::ones((1, 1, 5, 6), F32, &Cpu)?;
    let sum = xs.conv2d(&kernel, 0, 3, 1, 1)?.sum_all()?;
    refuses(sum.backward(), "shape mismatch in add");
    let even = Var::ones((1, 1, 5, 5), F32, &Cpu)?;
    even.conv2d(&kernel, 0, 3, 1, 1)?.sum_all()?.backward()?;
    Ok(())
}
