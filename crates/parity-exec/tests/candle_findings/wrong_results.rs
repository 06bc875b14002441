//! Values that are wrong, silently.

use candle_core::{DType, Device::Cpu, Module, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::{Linear, loss, rotary_emb};
use half::{bf16, f16};

use crate::support::finding;

#[test]
fn matmul_stacks_the_batches_of_a_transposed_lhs() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 2.], [3., 4.]], [[5., 6.], [7., 8.]]], &Cpu)?;
    let one = Tensor::new(&[[1f32, 0.], [0., 1.]], &Cpu)?;
    let today = [[[1f32, 3.], [2., 4.]], [[3., 5.], [4., 6.]]];
    let right = [[[1f32, 3.], [2., 4.]], [[5., 7.], [6., 8.]]];

    let product = xs.transpose(1, 2)?.matmul(&one.broadcast_as((2, 2, 2))?)?;
    finding(product.to_vec3::<f32>()?, today, right);
    let linear = Linear::new(one.clone(), None).forward(&xs.transpose(1, 2)?)?;
    finding(linear.to_vec3::<f32>()?, today, right);
    let same = xs.conv_transpose1d(&one.reshape((2, 2, 1))?, 0, 0, 1, 1, 1)?;
    let mixed = [[[1f32, 2.], [3., 4.]], [[3., 4.], [5., 6.]]];
    finding(same.to_vec3::<f32>()?, mixed, xs.to_vec3::<f32>()?);
    Ok(())
}

#[test]
fn conv1d_makes_a_strided_kernel_contiguous_and_then_ignores_it() -> Result<()> {
    let xs = Tensor::new(&[[[1f32], [10.]]], &Cpu)?;
    let kernel = Tensor::new(&[[[1f32], [2.]], [[3.], [4.]]], &Cpu)?.transpose(0, 1)?;
    let out = xs.conv1d(&kernel, 0, 1, 1, 1)?;
    finding(out.to_vec3::<f32>()?, [[[21f32], [43.]]], [[[31f32], [42.]]]);
    Ok(())
}

#[test]
fn gather_reads_from_the_wrong_place_when_ids_are_smaller_than_the_source() -> Result<()> {
    let xs = Tensor::new(&[[[1f32, 2.], [3., 4.]]], &Cpu)?;
    let ids = Tensor::zeros((1, 2, 1), DType::U32, &Cpu)?;
    let out = xs.gather(&ids, 0)?;
    finding(out.to_vec3::<f32>()?, [[[1f32], [2.]]], [[[1f32], [3.]]]);
    Ok(())
}

#[test]
fn bilinear_upsampling_to_the_same_size_forgets_the_view() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 2.], [3., 4.]]]], &Cpu)?.transpose(2, 3)?;
    let out = xs.upsample_bilinear2d(2, 2, false)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [1f32, 2., 3., 4.], [1f32, 3., 2., 4.]);
    Ok(())
}

#[test]
fn an_id_of_255_in_u8_selects_zeros() -> Result<()> {
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

#[test]
fn rope_takes_another_batchs_angles_when_there_are_spare_positions() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 0.]]], [[[1., 0.]]]], &Cpu)?;
    let cos = Tensor::new(&[[[1f32], [9.]], [[0.], [9.]]], &Cpu)?;
    let sin = Tensor::new(&[[[0f32], [9.]], [[1.], [9.]]], &Cpu)?;
    for rope in [rotary_emb::rope, rotary_emb::rope_i, rotary_emb::rope_thd] {
        let out = rope(&xs, &cos, &sin)?.flatten_all()?;
        finding(out.to_vec1::<f32>()?, [1f32, 0., 9., 9.], [1f32, 0., 0., 1.]);
    }
    Ok(())
}

#[test]
fn rope_takes_the_first_batchs_cosines_for_all_when_the_sines_have_no_batch() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, 0.]]], [[[1., 0.]]]], &Cpu)?;
    let cos = Tensor::new(&[[[1f32]], [[0.]]], &Cpu)?;
    let sin = Tensor::new(&[[0f32]], &Cpu)?;
    let out = rotary_emb::rope(&xs, &cos, &sin)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [1f32, 0., 1., 0.], [1f32, 0., 0., 0.]);
    Ok(())
}

#[test]
fn nearest_upsampling_by_49_gives_one_pixel_50_places() -> Result<()> {
    let xs = Tensor::new(&[[[0f32, 1.]]], &Cpu)?;
    let ones = xs.upsample_nearest1d(98)?.sum_all()?;
    finding(ones.to_scalar::<f32>()?, 48f32, 49f32);
    Ok(())
}

#[test]
fn maximum_and_minimum_lose_a_nan_on_the_right() -> Result<()> {
    let numbers = Tensor::new(&[1f32, f32::NAN], &Cpu)?;
    let others = Tensor::new(&[f32::NAN, 1.], &Cpu)?;
    let right = [f32::NAN, f32::NAN];
    finding(numbers.maximum(&others)?.to_vec1::<f32>()?, [1., f32::NAN], right);
    finding(numbers.minimum(&others)?.to_vec1::<f32>()?, [1., f32::NAN], right);
    Ok(())
}

#[test]
fn relu_turns_nan_into_zero() -> Result<()> {
    let out = Tensor::new(&[f32::NAN], &Cpu)?.relu()?;
    finding(out.to_vec1::<f32>()?, [0f32], [f32::NAN]);
    Ok(())
}

#[test]
fn a_reduction_keeps_a_nan_only_when_it_comes_first() -> Result<()> {
    let rows = Tensor::new(&[[f32::NAN, 1., 2.], [1., f32::NAN, 2.]], &Cpu)?;
    let right = [f32::NAN, f32::NAN];
    finding(rows.max(1)?.to_vec1::<f32>()?, [f32::NAN, 2.], right);
    finding(rows.min(1)?.to_vec1::<f32>()?, [f32::NAN, 1.], right);
    finding(rows.argmax(1)?.to_vec1::<u32>()?, [0, 2], [0, 1]);
    finding(rows.argmin(1)?.to_vec1::<u32>()?, [0, 0], [0, 1]);
    Ok(())
}

#[test]
fn max_pool2d_keeps_a_nan_only_when_it_comes_first() -> Result<()> {
    let xs = Tensor::new(&[[[[1f32, f32::NAN], [3., 2.]]]], &Cpu)?;
    let out = xs.max_pool2d(2)?.flatten_all()?;
    finding(out.to_vec1::<f32>()?, [3f32], [f32::NAN]);
    Ok(())
}

#[test]
fn f64_to_bf16_drops_half_of_the_bits_before_it_rounds() -> Result<()> {
    // A little more than halfway from 1 to the next bf16, which is 1.0078125.
    let above = 1. + 2f64.powi(-8) + 2f64.powi(-40);
    let out = Tensor::new(&[above], &Cpu)?.to_dtype(DType::BF16)?;
    finding(out.to_vec1::<bf16>()?, [1f32], [1.0078125f32]);
    Ok(())
}

#[test]
fn integers_to_bf16_are_rounded_twice() -> Result<()> {
    // 2^24 + 2^16 + 1: a little more than halfway from 2^24 to the next bf16, which is 2^24 + 2^17.
    for dtype in [DType::U32, DType::I32, DType::I64] {
        let xs = Tensor::new(&[16_842_753u32], &Cpu)?.to_dtype(dtype)?;
        let out = xs.to_dtype(DType::BF16)?.to_dtype(DType::F64)?;
        finding(out.to_vec1::<f64>()?, [16_777_216f64], [16_908_288f64]);
    }
    Ok(())
}

#[test]
fn adding_in_bf16_flushes_subnormals_on_machines_with_avx512_bf16() -> Result<()> {
    let tiny = bf16::from_bits(1);
    let xs = Tensor::full(tiny, 32, &Cpu)?;
    let out = (&xs + xs.zeros_like()?)?.to_vec1::<bf16>()?;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512vl") {
        finding(out, [bf16::ZERO; 32], [tiny; 32]);
        return Ok(());
    }
    assert_eq!(out, [tiny; 32], "this machine has no AVX512-BF16");
    Ok(())
}

#[test]
fn numbers_are_cast_to_an_integer_tensors_dtype_before_they_are_used() -> Result<()> {
    let xs = Tensor::new(&[2u32, 4, 6], &Cpu)?;
    finding(xs.affine(0.5, 0.)?.to_vec1::<u32>()?, [0, 0, 0], [1, 2, 3]);
    finding((&xs / 2.)?.to_vec1::<u32>()?, [0, 0, 0], [1, 2, 3]);
    finding((10. - &xs)?.to_vec1::<u32>()?, [10, 10, 10], [8, 6, 4]);
    finding(xs.mean_all()?.to_scalar::<u32>()?, 0, 4);
    Ok(())
}

#[test]
fn avg_pool2d_of_integers_is_zero() -> Result<()> {
    let xs = Tensor::new(&[[[[1i64, 3], [5, 7]]]], &Cpu)?;
    let out = xs.avg_pool2d(2)?.flatten_all()?;
    finding(out.to_vec1::<i64>()?, [0], [4]);
    Ok(())
}

#[test]
fn gelu_erf_and_silu_of_integers_are_zero() -> Result<()> {
    let xs = Tensor::new(&[3i64], &Cpu)?;
    for op in [Tensor::gelu, Tensor::gelu_erf, Tensor::erf, Tensor::silu] {
        let answer = op(&xs).map_or("refused".to_owned(), |out| format!("{:?}", out.to_vec1::<i64>()));
        finding(answer, "Ok([0])", "refused");
    }
    Ok(())
}

#[test]
fn a_comparison_casts_its_number_to_the_tensors_dtype() -> Result<()> {
    let xs = Tensor::new(&[2u32], &Cpu)?;
    finding(xs.lt(2.5)?.to_vec1::<u8>()?, [0], [1]);
    finding(xs.ge(-1i64)?.to_vec1::<u8>()?, [0], [1]);
    Ok(())
}

#[test]
fn cumsum_carries_an_infinity_back_to_the_elements_before_it() -> Result<()> {
    let out = Tensor::new(&[1., f32::INFINITY, 2.], &Cpu)?.cumsum(0)?;
    let right = [1., f32::INFINITY, f32::INFINITY];
    finding(
        out.to_vec1::<f32>()?,
        [f32::NAN, f32::INFINITY, f32::INFINITY],
        right,
    );
    Ok(())
}

#[test]
fn pow_of_a_negative_number_is_nan() -> Result<()> {
    let out = Tensor::new(&[-2f32], &Cpu)?.pow(&Tensor::new(&[2f32], &Cpu)?)?;
    finding(out.to_vec1::<f32>()?, [f32::NAN], [4f32]);
    Ok(())
}

#[test]
fn log_sum_exp_of_infinities_is_nan() -> Result<()> {
    let (inf, none) = (f32::INFINITY, f32::NEG_INFINITY);
    let rows = Tensor::new(&[[none, none], [inf, 0.]], &Cpu)?;
    finding(
        rows.log_sum_exp(1)?.to_vec1::<f32>()?,
        [f32::NAN, f32::NAN],
        [none, inf],
    );
    Ok(())
}

#[test]
fn arange_step_adds_up_its_rounding_errors() -> Result<()> {
    let steps = Tensor::arange_step(0f64, 1., 0.1, &Cpu)?;
    finding(steps.dims(), [11], [10]);
    Ok(())
}

#[test]
fn unfold_counts_windows_in_f32_and_reaches_past_the_end() -> Result<()> {
    let xs = Tensor::zeros(16_777_219, DType::U8, &Cpu)?;
    finding(xs.unfold(0, 2, 1)?.dims(), [16_777_220, 2], [16_777_218, 2]);
    Ok(())
}

#[test]
fn binary_cross_entropy_of_a_sure_logit_is_infinite_or_nan() -> Result<()> {
    let sure = Tensor::new(&[[100f32]], &Cpu)?;
    let wrong = loss::binary_cross_entropy_with_logit(&sure, &sure.zeros_like()?)?;
    finding(wrong.to_scalar::<f32>()?, f32::INFINITY, 100f32);
    let right = loss::binary_cross_entropy_with_logit(&sure, &sure.ones_like()?)?;
    finding(right.to_scalar::<f32>()?, f32::NAN, 0f32);
    Ok(())
}

#[test]
fn rand_in_half_precision_reaches_the_bound_it_excludes() -> Result<()> {
    let xs = Tensor::rand(bf16::ZERO, bf16::ONE, 100_000, &Cpu)?;
    finding(xs.to_vec1::<bf16>()?.contains(&bf16::ONE), true, false);
    let xs = Tensor::rand(f16::ZERO, f16::ONE, 400_000, &Cpu)?;
    finding(xs.to_vec1::<f16>()?.contains(&f16::ONE), true, false);
    Ok(())
}

#[test]
fn conv1d_takes_groups_that_do_not_divide_the_output_channels() -> Result<()> {
    let xs = Tensor::ones((1, 2, 3), DType::F32, &Cpu)?;
    let kernel = Tensor::ones((3, 1, 1), DType::F32, &Cpu)?;
    finding(xs.conv1d(&kernel, 0, 1, 1, 2).is_ok(), true, false);
    Ok(())
}

#[test]
fn attention_on_the_cpu_answers_in_f32() -> Result<()> {
    let q = Tensor::ones((1, 2, 1, 4), DType::F16, &Cpu)?;
    let out = flash_attn::<f16>(&q, &q, &q, 1., AttnMask::None, None, None)?;
    finding(out.dtype(), DType::F32, DType::F16);
    Ok(())
}
