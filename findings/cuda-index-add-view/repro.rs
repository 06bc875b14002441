//! What candle does today: index_add addresses its copy by the layout of the view.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::{panics, refuses};

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let table = Tensor::zeros((4, 2), DType::F32, &gpu)?;
    let (id, row) = (
        Tensor::new(&[0u32], &gpu)?,
        Tensor::ones((1, 2), DType::F32, &gpu)?,
    );
    let tail = table.narrow(0, 2, 2)?;
    panics(|| tail.index_add(&id, &row, 0), "`Option::unwrap()` on a `None`");
    let turned = Tensor::zeros((2, 4), DType::F32, &gpu)?.t()?;
    refuses(turned.index_add(&id, &row, 0), "only supports contiguous tensors");
    Ok(())
}
