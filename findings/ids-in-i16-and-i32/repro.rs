//! What candle does today: ids in i16 and i32 are refused by all but two ops, in the name of another dtype.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones(3, DType::F32, &Cpu)?;
    let ids = Tensor::zeros(3, DType::I32, &Cpu)?;
    assert!(xs.index_add(&ids, &xs, 0).is_ok() && xs.scatter_add(&ids, &xs, 0).is_ok());
    refuses(
        xs.index_select(&ids, 0),
        "unsupported dtype F32 for op index-select",
    );
    refuses(xs.gather(&ids, 0), "unsupported dtype F32 for op gather");
    refuses(xs.scatter(&ids, &xs, 0), "unsupported dtype F32 for op scatter");
    Ok(())
}
