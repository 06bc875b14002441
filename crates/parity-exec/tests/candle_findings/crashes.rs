//! Panics, and calls that never end.

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops;

use crate::support::{never_ends, panics};

#[test]
fn f8_to_f64_calls_itself_for_ever() -> Result<()> {
    let test = "crashes::f8_to_f64_calls_itself_for_ever";
    never_ends(test, || {
        let xs = Tensor::ones(1, DType::F8E4M3, &Cpu)?;
        xs.to_dtype(DType::F64)
    });
    Ok(())
}

#[test]
fn arange_never_ends_when_the_step_is_rounded_away() -> Result<()> {
    let test = "crashes::arange_never_ends_when_the_step_is_rounded_away";
    never_ends(test, || Tensor::arange(16_777_216f32, 16_777_220., &Cpu));
    Ok(())
}

#[test]
fn dividing_integers_panics() -> Result<()> {
    let xs = Tensor::new(&[i64::MIN], &Cpu)?;
    panics(|| &xs / xs.zeros_like()?, "attempt to divide by zero");
    let minus_one = Tensor::new(&[-1i64], &Cpu)?;
    panics(|| &xs / &minus_one, "attempt to divide with overflow");
    Ok(())
}

#[test]
fn unary_ops_on_integers_reach_a_todo() -> Result<()> {
    let xs = Tensor::new(&[1i64], &Cpu)?;
    for op in [Tensor::exp, Tensor::neg, Tensor::sqr, Tensor::sqrt] {
        panics(|| op(&xs), "not yet implemented: no unary function for i64");
    }
    Ok(())
}

#[test]
fn sorting_a_row_with_nans_panics() -> Result<()> {
    // Descending numbers, with a NaN in every third place.
    let number = |i: u8| if i % 3 == 1 { f32::NAN } else { -f32::from(i) };
    let row: Vec<_> = (0..33).map(number).collect();
    let xs = Tensor::new(row, &Cpu)?;
    panics(|| xs.arg_sort_last_dim(true), "total order");
    Ok(())
}

#[test]
fn rows_of_no_elements_panic() -> Result<()> {
    let xs = Tensor::zeros((2, 0), DType::F32, &Cpu)?;
    let none = Tensor::zeros(0, DType::F32, &Cpu)?;
    panics(|| xs.arg_sort_last_dim(true), "chunk_size must not be zero");
    panics(|| ops::softmax_last_dim(&xs), "chunk_size must not be zero");
    panics(
        || ops::layer_norm(&xs, &none, &none, 1e-5),
        "chunk_size must not be zero",
    );
    panics(|| ops::rms_norm(&xs, &none, 1e-5), "attempt to divide by zero");
    Ok(())
}

#[test]
fn a_reduction_over_a_broadcast_dimension_of_one_panics() -> Result<()> {
    let xs = Tensor::new(&[1f32, 2.], &Cpu)?.broadcast_as((1, 2))?;
    panics(|| xs.max(0), "attempt to divide by zero");
    panics(|| xs.argmax(0), "attempt to divide by zero");
    Ok(())
}

#[test]
fn binary_ops_of_more_than_eight_dimensions_panic() -> Result<()> {
    let xs = Tensor::zeros([2; 9].as_slice(), DType::F32, &Cpu)?;
    let reversed = xs.permute((0..9).rev().collect::<Vec<_>>())?;
    panics(|| &xs + &reversed, "8");
    panics(|| xs.eq(&reversed), "8");
    Ok(())
}

#[test]
fn a_convolution_with_no_room_for_its_kernel_panics() -> Result<()> {
    let line = Tensor::ones((1, 1, 2), DType::F32, &Cpu)?;
    let image = Tensor::ones((1, 1, 2, 2), DType::F32, &Cpu)?;
    panics(
        || line.conv1d(&Tensor::ones((1, 1, 4), DType::F32, &Cpu)?, 0, 1, 1, 1),
        "overflow",
    );
    panics(
        || image.conv2d(&Tensor::ones((1, 1, 4, 2), DType::F32, &Cpu)?, 0, 1, 1, 1),
        "overflow",
    );
    panics(
        || line.conv_transpose1d(&Tensor::ones((1, 1, 1), DType::F32, &Cpu)?, 5, 0, 1, 1, 1),
        "overflow",
    );
    Ok(())
}

#[test]
fn a_stride_of_zero_panics() -> Result<()> {
    let line = Tensor::ones((1, 1, 2), DType::F32, &Cpu)?;
    let image = Tensor::ones((1, 1, 2, 2), DType::F32, &Cpu)?;
    panics(|| image.avg_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| image.max_pool2d_with_stride(2, 0), "attempt to divide by zero");
    panics(|| line.conv1d(&line, 0, 0, 1, 1), "attempt to divide by zero");
    Ok(())
}

#[test]
fn roll_along_nothing_and_chunk_into_nothing_divide_by_zero() -> Result<()> {
    let xs = Tensor::zeros((2, 0), DType::F32, &Cpu)?;
    panics(|| xs.roll(1, 1), "divisor of zero");
    panics(|| xs.chunk(0, 0), "attempt to divide by zero");
    Ok(())
}

#[test]
fn quantizing_a_part_of_a_tensor_panics() -> Result<()> {
    let xs = Tensor::zeros((2, 32), DType::F32, &Cpu)?;
    let last = xs.narrow(0, 1, 1)?;
    assert!(last.is_contiguous());
    panics(|| QTensor::quantize(&last, GgmlDType::Q4_0), "size mismatch");
    Ok(())
}

#[test]
fn products_with_experts_panic_on_the_cpu() -> Result<()> {
    let experts = Tensor::zeros((2, 4, 32), DType::F32, &Cpu)?;
    let experts = QTensor::quantize(&experts, GgmlDType::Q8_0)?;
    let xs = Tensor::zeros((1, 1, 32), DType::F32, &Cpu)?;
    let ids = Tensor::zeros((1, 2), DType::U32, &Cpu)?;
    panics(
        || experts.indexed_moe_forward(&xs, &ids),
        "not implemented in this platform",
    );
    Ok(())
}

#[test]
fn attention_of_heads_that_do_not_divide_panics() -> Result<()> {
    let q = Tensor::ones((1, 5, 4, 8), DType::F32, &Cpu)?;
    let k = Tensor::ones((1, 5, 3, 8), DType::F32, &Cpu)?;
    let attend = || flash_attn::<f32>(&q, &k, &k, 1., AttnMask::None, None, None);
    panics(attend, "out of range for slice");
    Ok(())
}

#[test]
fn a_sum_of_nothing_behind_an_offset_panics() -> Result<()> {
    let xs = Tensor::zeros((0, 2), DType::F32, &Cpu)?;
    let column = xs.narrow(1, 1, 1)?.squeeze(1)?;
    panics(|| column.sum_all(), "out of range for slice");
    Ok(())
}

#[test]
fn unfold_with_a_step_of_zero_has_all_windows_there_are() -> Result<()> {
    let xs = Tensor::zeros(9, DType::F32, &Cpu)?;
    panics(|| xs.unfold(0, 3, 0)?.contiguous(), "capacity overflow");
    Ok(())
}
