//! What candle does today: sorting, softmax and norms of rows of no elements panic.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::ops;

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::zeros((2, 0), DType::F32, &Cpu)?;
    let none = Tensor::zeros(0, DType::F32, &Cpu)?;
    panics(|| xs.arg_sort_last_dim(true), "chunk_size must not be zero");
    panics(|| ops::softmax_last_dim(&xs), "chunk_size must not be zero");
    panics(
        || ops::layer_norm(&xs, &none, &none, 1e-5),
        "chunk_size must not be zero",
    );
    panics(|| ops::rms_norm(&xs, &none, 1e-5), "attempt to divide by zero");
    Ok(())
}
