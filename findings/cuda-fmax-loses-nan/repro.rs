//! What candle does today: f32 and f64 lose a NaN that f16 and bf16 keep.

#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let nan = Tensor::new(&[[f32::NAN, 1.]], &gpu)?;
    let ones = Tensor::ones((1, 2), DType::F32, &gpu)?;
    let max = |xs: Tensor| {
        xs.maximum(&ones.to_dtype(xs.dtype())?)?
            .to_dtype(DType::F32)?
            .to_vec2::<f32>()
    };
    assert!(max(nan.to_dtype(DType::F16)?)?[0][0].is_nan());
    finding(max(nan.clone())?, [[1f32, 1.]], [[f32::NAN, 1.]]);
    finding(nan.relu()?.to_vec2::<f32>()?, [[0f32, 1.]], [[f32::NAN, 1.]]);
    finding(nan.max(1)?.to_vec1::<f32>()?, [1f32], [f32::NAN]);
    let image = nan.reshape((1, 1, 1, 2))?;
    finding(
        image.max_pool2d((1, 2))?.flatten_all()?.to_vec1::<f32>()?,
        [1f32],
        [f32::NAN],
    );
    Ok(())
}
