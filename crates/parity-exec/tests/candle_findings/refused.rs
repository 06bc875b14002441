//! What candle refuses though it has what it takes, or though its documentation promises it.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};
use candle_nn::ops;

use crate::support::refuses;

#[test]
fn conv2d_refuses_bf16_which_conv1d_takes() -> Result<()> {
    let image = Tensor::ones((1, 1, 3, 3), DType::BF16, &Cpu)?;
    let line = Tensor::ones((1, 1, 3), DType::BF16, &Cpu)?;
    assert!(line.conv1d(&line, 0, 1, 1, 1).is_ok());
    refuses(
        image.conv2d(&image, 0, 1, 1, 1),
        "unsupported dtype BF16 for op matmul",
    );
    Ok(())
}

#[test]
fn matmul_refuses_more_than_two_batch_dimensions() -> Result<()> {
    let xs = Tensor::ones((2, 2, 2, 2, 2), DType::F32, &Cpu)?;
    assert!(xs.is_contiguous());
    refuses(xs.matmul(&xs), "non-contiguous lhs");
    Ok(())
}

#[test]
fn matmul_refuses_batches_that_do_not_follow_one_another() -> Result<()> {
    let xs = Tensor::ones((2, 3, 4, 4), DType::F32, &Cpu)?;
    let swapped = xs.transpose(0, 1)?;
    refuses(swapped.matmul(&swapped), "non-contiguous lhs");
    let shared = Tensor::ones((2, 1, 4, 4), DType::F32, &Cpu)?.broadcast_as((2, 3, 4, 4))?;
    refuses(xs.matmul(&shared), "non-contiguous rhs");
    Ok(())
}

#[test]
fn rms_norm_and_layer_norm_refuse_f64_and_layer_norm_calls_itself_rmsnorm() -> Result<()> {
    let xs = Tensor::ones((2, 4), DType::F64, &Cpu)?;
    let ones = Tensor::ones(4, DType::F64, &Cpu)?;
    refuses(
        ops::rms_norm(&xs, &ones, 1e-5),
        "unsupported dtype for rmsnorm F64",
    );
    refuses(
        ops::layer_norm(&xs, &ones, &ones, 1e-5),
        "unsupported dtype for rmsnorm F64",
    );
    Ok(())
}

#[test]
fn indexing_refuses_a_strided_source() -> Result<()> {
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

#[test]
fn ids_in_i32_are_refused_by_all_but_two_ops_in_the_name_of_another_dtype() -> Result<()> {
    let xs = Tensor::ones(3, DType::F32, &Cpu)?;
    let ids = Tensor::zeros(3, DType::I32, &Cpu)?;
    assert!(xs.index_add(&ids, &xs, 0).is_ok() && xs.scatter_add(&ids, &xs, 0).is_ok());
    refuses(
        xs.index_select(&ids, 0),
        "unsupported dtype F32 for op index-select",
    );
    refuses(xs.gather(&ids, 0), "unsupported dtype F32 for op gather");
    refuses(xs.scatter(&ids, &xs, 0), "unsupported dtype F32 for op scatter");
    Ok(())
}

#[test]
fn the_maximum_of_no_rows_is_refused() -> Result<()> {
    let xs = Tensor::ones((0, 3), DType::F32, &Cpu)?;
    assert_eq!(xs.sum(1)?.dims(), [0]);
    refuses(xs.max(1), "empty tensor for reduce");
    Ok(())
}

#[test]
fn the_cpus_random_numbers_cannot_be_repeated() {
    refuses(Cpu.set_seed(1), "cannot seed the CPU rng");
}

#[test]
fn selu_knows_f32_only() -> Result<()> {
    let xs = Tensor::ones(2, DType::F64, &Cpu)?;
    refuses(ops::selu(&xs, 1.67, 1.05), "dtype mismatch in mul");
    Ok(())
}

#[test]
fn cumsum_refuses_integers() -> Result<()> {
    let xs = Tensor::new(&[1i64, 2, 3], &Cpu)?;
    refuses(xs.cumsum(0), "unsupported dtype I64 for op matmul");
    Ok(())
}

#[test]
fn backward_refuses_pools_upsampling_and_transposed_convolutions_that_it_could_know() -> Result<()> {
    let x = Var::ones((1, 1, 4, 4), DType::F32, &Cpu)?;
    let refused = |y: Tensor, why: &str| refuses(y.backward(), why);
    refused(
        x.max_pool2d_with_stride(2, 1)?,
        "backward not supported for maxpool2d",
    );
    refused(
        x.avg_pool2d_with_stride(2, 1)?,
        "backward not supported for avgpool2d",
    );
    refused(x.upsample_nearest2d(6, 6)?, "non integer upscaling factors");
    refused(x.upsample_nearest2d(8, 4)?, "non uniform upscaling factors");
    refused(
        x.upsample_bilinear2d(8, 8, false)?,
        "backward not supported for upsample_bilinear2d",
    );
    let x = Var::ones((1, 1, 4), DType::F32, &Cpu)?;
    refused(
        x.conv_transpose1d(&x, 0, 0, 1, 1, 1)?,
        "backward is not supported for conv-transpose1d",
    );
    Ok(())
}

#[test]
fn the_gradient_of_scatter_add_refuses_fewer_ids_than_the_tensor_has_elements() -> Result<()> {
    let x = Var::ones(3, DType::F32, &Cpu)?;
    let ids = Tensor::zeros(2, DType::U32, &Cpu)?;
    let added = x.scatter_add(&ids, &Tensor::ones(2, DType::F32, &Cpu)?, 0)?;
    refuses(added.sum_all()?.backward(), "shape mismatch in scatter");
    Ok(())
}

#[test]
fn the_gradient_of_unfold_is_refused() -> Result<()> {
    let x = Var::ones((1, 4), DType::F32, &Cpu)?;
    let windows = x.unfold(1, 2, 1)?;
    refuses(windows.sum_all()?.backward(), "Shape mismatch");
    Ok(())
}
