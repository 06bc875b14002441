//! What candle does today: indexing, flip and slice_set refuse strided tensors.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::ones((2, 3), DType::F32, &Cpu)?.t()?;
    let ids = Tensor::zeros(2, DType::U32, &Cpu)?;
    refuses(
        xs.index_select(&ids, 0),
        "index-select only supports contiguous tensors",
    );
    refuses(xs.flip(&[0]), "index-select only supports contiguous tensors");
    let ids = Tensor::zeros((3, 2), DType::U32, &Cpu)?;
    refuses(xs.gather(&ids, 0), "gather only supports contiguous tensors");
    Ok(())
}
