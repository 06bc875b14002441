//! What candle 0.11.1's CUDA backend gets wrong, or lacks; as run on an NVIDIA GPU. Each test opens the device for itself.

use candle_core::{DType, Device, Result, Tensor, quantized::GgmlDType, quantized::QTensor};
use candle_nn::ops;

use crate::support::{faults, finding, panics, refuses};

#[test]
fn on_cuda_the_f8e4m3_kernels_are_compiled_and_never_found() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F8E4M3, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(xs.relu(), missing);
    refuses(&xs + &xs, missing);
    refuses(xs.affine(2., 1.), missing);
    refuses(xs.to_dtype(DType::F32), missing);
    refuses(
        Tensor::ones(3, DType::F32, &gpu)?.to_dtype(DType::F8E4M3),
        missing,
    );
    Ok(())
}

#[test]
fn on_cuda_i16_and_i32_have_storage_and_no_kernels() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::I32, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(&xs + &xs, missing);
    refuses(xs.sum_all(), missing);
    refuses(xs.to_dtype(DType::I64), missing);
    refuses(xs.reshape((3, 1))?.repeat((1, 2)), missing);
    refuses(Tensor::ones(3, DType::I16, &gpu), missing);
    refuses(xs.eq(&xs), "dtype mismatch in binary op");
    Ok(())
}

#[test]
fn on_cuda_conv1d_multiplies_with_the_kernel_it_just_copied_away_from() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[[1f32, 100.]]], &gpu)?;
    let stored = Tensor::new(&[[[1f32, 10.]], [[2., 20.]]], &gpu)?;
    let out = xs.conv1d(&stored.transpose(0, 2)?, 0, 1, 1, 1)?;
    finding(
        out.to_vec3::<f32>()?,
        [[[1001f32], [2002.]]],
        [[[201f32], [2010.]]],
    );
    Ok(())
}

#[test]
fn on_cuda_index_select_applies_the_strides_of_the_ids_to_the_source() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[10f32, 11., 12., 13., 14., 15.], &gpu)?;
    let ids = Tensor::new(&[[0u32, 5], [2, 5], [4, 5]], &gpu)?;
    let column = ids.narrow(1, 0, 1)?.squeeze(1)?;
    let out = xs.index_select(&column, 0)?;
    finding(out.to_vec1::<f32>()?, [10f32, 14., 14.], [10f32, 12., 14.]);
    Ok(())
}

#[test]
fn on_cuda_gather_takes_the_extents_of_the_source_for_those_of_the_ids() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[1f32, 2.], [3., 4.]], &gpu)?;
    let ids = Tensor::new(&[[0u32], [1]], &gpu)?;
    let out = xs.gather(&ids, 0)?;
    finding(out.to_vec2::<f32>()?, [[1f32], [4.]], [[1f32], [3.]]);
    Ok(())
}

#[test]
fn on_cuda_an_embedding_of_blocks_reads_behind_its_weights() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let weights = QTensor::quantize(&Tensor::ones((4, 32), DType::F32, &gpu)?, GgmlDType::Q4_0)?;
    let ids = Tensor::new(&[4u32], &gpu)?;
    let computes = weights
        .embedding(&ids)
        .and_then(|out| out.to_vec2::<f32>())
        .is_ok();
    finding(computes, true, false);
    Ok(())
}

#[test]
fn on_cuda_layer_norm_cancels_its_variance() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[10000f32, 10001., 10002., 10003.]], &gpu)?;
    let (ones, zeros) = (
        Tensor::ones(4, DType::F32, &gpu)?,
        Tensor::zeros(4, DType::F32, &gpu)?,
    );
    let out = ops::layer_norm(&xs, &ones, &zeros, 1e-5)?;
    let right = [[-1.3416355f32, -0.44721183, 0.44721183, 1.3416355]];
    finding(out.to_vec2::<f32>()?, [[f32::NAN; 4]], right);
    Ok(())
}

#[test]
fn on_cuda_rms_norm_and_layer_norm_compute_f64_in_f32() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[3f64]], &gpu)?;
    let ones = Tensor::ones(1, DType::F64, &gpu)?;
    let out = ops::rms_norm(&xs, &ones, 0.)?;
    finding(out.to_vec2::<f64>()?, [[0.9999999403953552f64]], [[1f64]]);
    Ok(())
}

#[test]
fn on_cuda_avg_pool2d_divides_f64_by_an_f32_reciprocal() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let out = Tensor::ones((1, 1, 3, 3), DType::F64, &gpu)?.avg_pool2d(3)?;
    finding(
        out.flatten_all()?.to_vec1::<f64>()?,
        [1.0000000074505806f64],
        [1f64],
    );
    Ok(())
}

#[test]
fn on_cuda_f32_and_f64_lose_a_nan_that_f16_and_bf16_keep() -> Result<()> {
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

#[test]
fn on_cuda_argmax_of_equal_elements_is_not_the_first() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![0f32; 33];
    (row[1], row[32]) = (1., 1.);
    let at = Tensor::new(row, &gpu)?.argmax(0)?;
    finding(at.to_scalar::<u32>()?, 32, 1);
    Ok(())
}

#[test]
fn on_cuda_argsort_reorders_equal_elements() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[0f32, 1., 0., 0.], &gpu)?;
    let order = xs.arg_sort_last_dim(true)?;
    finding(order.to_vec1::<u32>()?, [0u32, 3, 2, 1], [0u32, 2, 3, 1]);
    Ok(())
}

#[test]
fn on_cuda_a_nan_keeps_a_row_from_being_sorted() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[[3f32, f32::NAN, 1., 2.]], &gpu)?;
    let (sorted, _) = xs.sort_last_dim(true)?;
    finding(
        sorted.to_vec2::<f32>()?,
        [[2f32, f32::NAN, 1., 3.]],
        [[1f32, 2., 3., f32::NAN]],
    );
    Ok(())
}

#[test]
fn on_cuda_f16_sums_round_after_every_addition() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![1f32; 64];
    row[0] = 2048.;
    let sum = Tensor::new(row, &gpu)?.to_dtype(DType::F16)?.sum_all()?;
    finding(sum.to_dtype(DType::F32)?.to_scalar::<f32>()?, 2110f32, 2112f32);
    Ok(())
}

#[test]
fn on_cuda_a_cast_to_a_narrower_integer_wraps_where_the_cpu_saturates() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[-1f32, 300., f32::NAN], &gpu)?;
    finding(
        xs.to_dtype(DType::U8)?.to_vec1::<u8>()?,
        [0u8, 44, 0],
        [0u8, 255, 0],
    );
    let nan = Tensor::new(&[f64::NAN], &gpu)?;
    finding(nan.to_dtype(DType::I64)?.to_vec1::<i64>()?, [i64::MIN], [0i64]);
    Ok(())
}

#[test]
fn on_cuda_i64_has_two_answers_to_a_division_by_zero() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::new(&[1i64, 1 << 40], &gpu)?;
    let quotient = (&xs / &xs.zeros_like()?)?;
    finding(quotient.to_vec1::<i64>()?, [0xffff_ffffi64, -1], [-1i64, -1]);
    Ok(())
}

#[test]
fn on_cuda_a_quantized_product_loses_a_nan() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let weights = QTensor::quantize(&Tensor::ones((1, 32), DType::F32, &gpu)?, GgmlDType::Q8_0)?;
    let product = candle_core::quantized::QMatMul::from_qtensor(weights)?;
    let mut row = vec![1f32; 32];
    row[0] = f32::NAN;
    let out = candle_core::Module::forward(&product, &Tensor::new(row, &gpu)?.unsqueeze(0)?)?;
    finding(out.to_vec2::<f32>()?[0][0].is_nan(), false, true);
    Ok(())
}

#[test]
fn on_cuda_an_id_out_of_range_ends_the_context() {
    faults(
        "cuda::on_cuda_an_id_out_of_range_ends_the_context",
        "CUDA_ERROR_ASSERT",
        || {
            let gpu = Device::new_cuda(0)?;
            let xs = Tensor::new(&[1f32, 2.], &gpu)?;
            // The launch succeeds; whatever is asked of the device next fails, this tensor's own data included.
            let _ = xs.index_select(&Tensor::new(&[2u32], &gpu)?, 0)?.to_vec1::<f32>();
            xs.to_vec1::<f32>()
        },
    );
}

#[test]
fn on_cuda_a_reduction_over_an_empty_dimension_divides_by_zero() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros((2, 0), DType::F32, &gpu)?;
    panics(|| xs.sum(0), "attempt to divide by zero");
    Ok(())
}

#[test]
fn on_cuda_an_empty_view_behind_the_start_of_its_storage_panics() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let empty = Tensor::zeros((0, 2), DType::F32, &gpu)?.narrow(1, 1, 1)?;
    panics(
        || ops::sigmoid(&empty),
        "called `Option::unwrap()` on a `None` value",
    );
    Ok(())
}

#[test]
fn on_cuda_many_ops_refuse_a_tensor_without_elements() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(0, DType::F32, &gpu)?;
    assert!(xs.exp().is_ok() && (&xs + &xs).is_ok());
    let empty_grid = "CUDA_ERROR_INVALID_VALUE";
    refuses(xs.eq(&xs), empty_grid);
    refuses(xs.to_dtype(DType::F64), empty_grid);
    refuses(ops::sigmoid(&xs), empty_grid);
    refuses(
        xs.to_dtype(DType::U8).and_then(|at| at.where_cond(&xs, &xs)),
        empty_grid,
    );
    refuses(
        Tensor::zeros((0, 4), DType::F32, &gpu)?.arg_sort_last_dim(true),
        empty_grid,
    );
    let none = Tensor::zeros(0, DType::U32, &gpu)?;
    refuses(
        Tensor::zeros(3, DType::F32, &gpu)?.index_select(&none, 0),
        empty_grid,
    );
    Ok(())
}

#[test]
fn on_cuda_matmul_refuses_views_that_the_cpu_takes() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let wide = Tensor::ones((4, 6), DType::F32, &gpu)?;
    let every_other = wide.reshape((4, 3, 2))?.narrow(2, 0, 1)?.squeeze(2)?;
    refuses(
        every_other.matmul(&Tensor::ones((3, 2), DType::F32, &gpu)?),
        "matmul is only supported for contiguous tensors",
    );
    Ok(())
}

#[test]
fn on_cuda_there_is_no_upsample_nearest1d() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros((1, 1, 2), DType::F32, &gpu)?;
    refuses(
        xs.upsample_nearest1d(4),
        "upsample-nearest1d is not supported on cuda",
    );
    Ok(())
}

#[test]
fn on_cuda_ids_and_conditions_in_i16_and_i32_are_refused() -> Result<()> {
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

#[test]
fn on_cuda_quantized_products_refuse_what_the_cpu_takes() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let product = |rows: Tensor, dtype| {
        let weights = QTensor::quantize(&Tensor::ones((2, 256), DType::F32, &gpu)?, dtype)?;
        candle_core::Module::forward(&candle_core::quantized::QMatMul::from_qtensor(weights)?, &rows)
    };
    let none = Tensor::zeros((0, 256), DType::F32, &gpu)?;
    refuses(
        product(none, GgmlDType::Q4_0),
        "only bsize between 1 and 8 are supported, got 0",
    );
    let four = Tensor::zeros((1, 2, 2, 256), DType::F32, &gpu)?;
    refuses(product(four, GgmlDType::Q4_0), "unexpected shape for input");
    let rows = Tensor::zeros((1, 256), DType::F32, &gpu)?;
    refuses(
        product(rows.clone(), GgmlDType::Q8K),
        "unsupported dtype for quantized matmul",
    );
    refuses(
        product(rows.to_dtype(DType::F16)?, GgmlDType::Q8K),
        "unexpected dtype, expected: F32",
    );
    Ok(())
}

#[test]
fn on_cuda_a_dequantized_zero_has_lost_its_sign() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let mut row = vec![0f32; 32];
    row[0] = 8.;
    let weights = QTensor::quantize(&Tensor::new(row, &gpu)?, GgmlDType::Q4_0)?;
    let zero = weights.dequantize(&gpu)?.to_vec1::<f32>()?[1];
    finding(zero.is_sign_negative(), false, true);
    Ok(())
}

#[test]
fn on_cuda_integers_have_no_relu_no_sign_and_no_rounding() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::U32, &gpu)?;
    let missing = "CUDA_ERROR_NOT_FOUND";
    refuses(xs.relu(), missing);
    refuses(xs.sign(), missing);
    refuses(xs.floor(), missing);
    Ok(())
}

#[test]
fn on_cuda_no_random_number_is_drawn_in_f8e4m3() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    let xs = Tensor::zeros(3, DType::F8E4M3, &gpu)?;
    refuses(xs.rand_like(0., 1.), "for rand_uniform");
    refuses(xs.randn_like(0., 1.), "for rand_normal");
    Ok(())
}

#[test]
fn on_cuda_every_expert_but_the_first_is_read_from_the_wrong_place_in_q8_0() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    // Two experts of one row: 127 all over, which blocks of 8 bits hold exactly, and twice that.
    let experts = Tensor::cat(
        &[
            Tensor::full(127f32, (1, 1, 64), &gpu)?,
            Tensor::full(254f32, (1, 1, 64), &gpu)?,
        ],
        0,
    )?;
    let experts = QTensor::quantize(&experts, GgmlDType::Q8_0)?;
    let (rows, second) = (
        Tensor::full(127f32, (1, 1, 64), &gpu)?,
        Tensor::new(&[[1u32]], &gpu)?,
    );
    let product = experts.indexed_moe_forward(&rows, &second)?;
    let first = 64. * 127. * 127.;
    finding(product.flatten_all()?.to_vec1::<f32>()?[0], first, 2. * first);
    Ok(())
}

#[test]
fn on_cuda_index_add_addresses_its_copy_by_the_layout_of_the_view() -> Result<()> {
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
