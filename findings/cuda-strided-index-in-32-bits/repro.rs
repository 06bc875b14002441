//! What candle does today: a view that reaches beyond 2^32 elements is read at other places.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let apart = 1 << 32;
    // 8 GiB, of which two elements are not 0.
    let all = Tensor::zeros(2 * apart, DType::U8, &gpu)?;
    all.slice_set(&Tensor::new(&[1_u8], &gpu)?, 0, 0)?;
    all.slice_set(&Tensor::new(&[2_u8], &gpu)?, 0, apart)?;
    let column = all.reshape((2, apart))?.narrow(1, 0, 1)?;
    finding(
        column.contiguous()?.flatten_all()?.to_vec1::<u8>()?,
        [1, 1],
        [1, 2],
    );
    Ok(())
}
