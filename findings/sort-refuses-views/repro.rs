//! What candle does today: sorting refuses a strided tensor.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 3), DType::F32, &Cpu)?.t()?;
    refuses(xs.arg_sort_last_dim(true), "only supports contiguous tensors");
    refuses(xs.sort_last_dim(true), "only supports contiguous tensors");
    Ok(())
}
