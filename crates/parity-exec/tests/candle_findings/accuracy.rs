//! Answers that are as far off as the way candle computes them makes them.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};
use candle_nn::ops;
use half::{bf16, f16};

use crate::support::finding;

#[test]
fn sums_in_half_precision_stand_still() -> Result<()> {
    for (dtype, today, right) in [(DType::BF16, 256f32, 512f32), (DType::F16, 2048., 4096.)] {
        let ones = Tensor::ones(right as usize, dtype, &Cpu)?;
        let sum = ones.sum_all()?.to_dtype(DType::F32)?;
        finding(sum.to_scalar::<f32>()?, today, right);
    }
    Ok(())
}

#[test]
fn f32_sums_over_any_but_the_last_dimension_stand_still_at_2_to_the_24() -> Result<()> {
    let ones = Tensor::ones(1, DType::F32, &Cpu)?.broadcast_as(16_777_224)?;
    finding(ones.sum_all()?.to_scalar::<f32>()?, 16_777_216f32, 16_777_224f32);
    Ok(())
}

#[test]
fn the_mean_overflows_where_the_sum_does() -> Result<()> {
    let xs = Tensor::new(&[f16::from_f32(60_000.), f16::from_f32(60_000.)], &Cpu)?;
    finding(
        xs.mean_all()?.to_scalar::<f16>()?,
        f16::INFINITY,
        f16::from_f32(60_000.),
    );
    Ok(())
}

#[test]
fn softmax_last_dim_sums_in_half_precision() -> Result<()> {
    let xs = Tensor::zeros((1, 1024), DType::BF16, &Cpu)?;
    let total = ops::softmax_last_dim(&xs)?.to_dtype(DType::F32)?.sum_all()?;
    finding(total.to_scalar::<f32>()?, 4f32, 1f32);
    Ok(())
}

#[test]
fn avg_pool2d_sums_in_half_precision() -> Result<()> {
    let xs = Tensor::ones((1, 1, 32, 32), DType::BF16, &Cpu)?;
    let out = xs.avg_pool2d(32)?.flatten_all()?;
    finding(out.to_vec1::<bf16>()?, [0.25f32], [1f32]);
    Ok(())
}

#[test]
fn transposed_convolutions_round_after_each_tap() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 1., 256.]]], &Cpu)?.to_dtype(DType::BF16)?;
    let kernel = Tensor::ones((1, 1, 3), DType::BF16, &Cpu)?;
    let out = xs
        .conv_transpose1d(&kernel, 1, 0, 1, 1, 1)?
        .narrow(2, 1, 1)?
        .flatten_all()?;
    finding(out.to_vec1::<bf16>()?, [256f32], [258f32]);
    Ok(())
}

#[test]
fn index_add_and_scatter_add_sum_in_half_precision() -> Result<()> {
    let ones = Tensor::ones(512, DType::BF16, &Cpu)?;
    let ids = Tensor::zeros(512, DType::U32, &Cpu)?;
    let first = |sums: Tensor| sums.narrow(0, 0, 1)?.to_vec1::<bf16>();
    finding(
        first(ones.zeros_like()?.index_add(&ids, &ones, 0)?)?,
        [256f32],
        [512f32],
    );
    finding(
        first(ones.zeros_like()?.scatter_add(&ids, &ones, 0)?)?,
        [256f32],
        [512f32],
    );
    Ok(())
}

#[test]
fn layer_norm_loses_the_variance_of_a_row_far_from_zero() -> Result<()> {
    let xs = Tensor::new(&[[10_000f32, 10_001., 10_002., 10_003.]], &Cpu)?;
    let (ones, zeros) = (
        Tensor::ones(4, DType::F32, &Cpu)?,
        Tensor::zeros(4, DType::F32, &Cpu)?,
    );
    let largest = ops::layer_norm(&xs, &ones, &zeros, 1e-5)?
        .narrow(1, 3, 1)?
        .flatten_all()?;
    finding(largest.to_vec1::<f32>()?, [474.34167f32], [1.3416355f32]);
    Ok(())
}

#[test]
fn elu_of_a_small_negative_number_is_zero() -> Result<()> {
    let out = Tensor::new(&[-1e-8f32], &Cpu)?.elu(1.)?;
    finding(out.to_vec1::<f32>()?, [0f32], [-1e-8f32]);
    Ok(())
}

#[test]
fn gelu_erf_has_no_negative_tail() -> Result<()> {
    let out = Tensor::new(&[-6f32], &Cpu)?.gelu_erf()?;
    finding(out.to_vec1::<f32>()?, [-0f32], [-5.919526e-9f32]);
    Ok(())
}

#[test]
fn a_division_by_a_number_multiplies_by_its_rounded_reciprocal() -> Result<()> {
    let xs = Tensor::new(&[f16::from_f32(60_000.)], &Cpu)?;
    finding((&xs / 1e8)?.to_vec1::<f16>()?, [f16::ZERO], [f16::from_f64(6e-4)]);
    Ok(())
}

#[test]
fn a_sum_of_u8_wraps_at_256() -> Result<()> {
    let hits = Tensor::zeros(300, DType::F32, &Cpu)?.eq(0f32)?;
    finding(hits.sum_all()?.to_dtype(DType::U32)?.to_scalar::<u32>()?, 44, 300);
    Ok(())
}

#[test]
fn gradients_of_gelu_and_gelu_erf_are_good_to_six_digits() -> Result<()> {
    let x = Var::new(&[1f64], &Cpu)?;
    let by_tanh = x.gelu()?.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    let by_erf = x.gelu_erf()?.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    finding(by_tanh, [1.0829639004263785f64], [1.0829640838457826f64]);
    finding(by_erf, [1.0833153005156202f64], [1.0833154705876864f64]);
    Ok(())
}

#[test]
fn arange_adds_its_roundings_up() -> Result<()> {
    let tenths = Tensor::arange_step(0f64, 10., 0.1, &Cpu)?;
    finding(tenths.dims(), [101], [100]);
    Ok(())
}

#[test]
fn a_product_of_one_row_or_one_column_in_f16_is_summed_in_f16() -> Result<()> {
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
