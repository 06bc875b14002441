//! What candle does today: ids and conditions in i16 and i32 are refused.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F32, &gpu)?;
    let ids = Tensor::zeros(3, DType::I32, &gpu)?;
    refuses(xs.index_add(&ids, &xs, 0), "index-add ids should be u8/u32/i64");
    refuses(
        xs.scatter_add(&ids, &xs, 0),
        "scatter-add ids should be u8/u32/i64",
    );
    refuses(ids.where_cond(&xs, &xs), "where conditions should be u8/u32/i64");
    Ok(())
}
