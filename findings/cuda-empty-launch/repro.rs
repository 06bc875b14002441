//! What candle does today: many ops refuse a tensor without elements.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(0, DType::F32, &gpu)?;
    assert!(xs.exp().is_ok() && (&xs + &xs).is_ok());
    let empty_grid = "CUDA_ERROR_INVALID_VALUE";
    refuses(xs.eq(&xs), empty_grid);
    refuses(xs.to_dtype(DType::F64), empty_grid);
    refuses(ops::sigmoid(&xs), empty_grid);
    refuses(
        xs.to_dtype(DType::U8).and_then(|at| at.where_cond(&xs, &xs)),
        empty_grid,
    );
    refuses(
        Tensor::zeros((0, 4), DType::F32, &gpu)?.arg_sort_last_dim(true),
        empty_grid,
    );
    let none = Tensor::zeros(0, DType::U32, &gpu)?;
    refuses(
        Tensor::zeros(3, DType::F32, &gpu)?.index_select(&none, 0),
        empty_grid,
    );
    Ok(())
}
