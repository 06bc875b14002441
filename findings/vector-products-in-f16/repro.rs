//! What candle does today: a product of one row or one column in f16 is summed in f16.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use half::f16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let (today, right) = ([2048f32, 2048.], [4096f32, 4096.]);
    let numbers = |xs: Tensor| xs.flatten_all()?.to_vec1::<f16>();
    let row = Tensor::ones((1, 4096), DType::F16, &Cpu)?;
    let matrix = Tensor::ones((4096, 2), DType::F16, &Cpu)?;
    finding(numbers(row.matmul(&matrix)?)?, today, right);
    finding(numbers(matrix.t()?.matmul(&row.t()?)?)?, today, right);
    let rows = Tensor::ones((2, 4096), DType::F16, &Cpu)?;
    assert_eq!(numbers(rows.matmul(&matrix)?)?, [f16::from_f32(4096.); 4]);
    // One output channel is one column.
    let image = Tensor::ones((1, 456, 3, 4), DType::F16, &Cpu)?;
    let kernel = Tensor::ones((1, 456, 3, 3), DType::F16, &Cpu)?;
    finding(
        numbers(image.conv2d(&kernel, 0, 1, 1, 1)?)?,
        today,
        [4104f32, 4104.],
    );
    Ok(())
}
