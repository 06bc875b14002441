//! What candle does today: an id of 255 in u8 means "no element".

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let rows = Tensor::arange(0f32, 300., &Cpu)?;
    let ids = Tensor::new(&[254u8, 255], &Cpu)?;
    finding(
        rows.index_select(&ids, 0)?.to_vec1::<f32>()?,
        [254f32, 0.],
        [254f32, 255.],
    );
    finding(
        rows.gather(&ids, 0)?.to_vec1::<f32>()?,
        [254f32, 0.],
        [254f32, 255.],
    );
    let sums = rows
        .zeros_like()?
        .index_add(&ids, &Tensor::ones(2, DType::F32, &Cpu)?, 0)?;
    finding(sums.sum_all()?.to_scalar::<f32>()?, 1f32, 2f32);
    Ok(())
}
