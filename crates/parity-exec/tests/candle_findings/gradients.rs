//! Where candle's `backward` gives another gradient than calculus, or none.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};
use candle_nn::{LayerNorm, Module as _};

use crate::support::finding;

#[test]
fn scatter_passes_gradients_to_what_it_wrote_over_and_scatter_add_does_not() -> Result<()> {
    let ids = Tensor::new(&[1u32, 1], &Cpu)?;
    let (x, source) = (Var::new(&[1f32, 2.], &Cpu)?, Var::new(&[3f32, 4.], &Cpu)?);
    let written = x.scatter(&ids, &source, 0)?.sum_all()?.backward()?;
    let added = x.scatter_add(&ids, &source, 0)?.sum_all()?.backward()?;

    finding(written.get(&x).unwrap().to_vec1::<f32>()?, [1f32, 1.], [1f32, 0.]);
    finding(
        written.get(&source).unwrap().to_vec1::<f32>()?,
        [1f32, 1.],
        [0f32, 1.],
    );
    finding(added.get(&x).unwrap().to_vec1::<f32>()?, [1f32, 0.], [1f32, 1.]);
    Ok(())
}

#[test]
fn the_gradient_of_max_pool2d_is_divided_by_the_size_of_the_window() -> Result<()> {
    let x = Var::new(&[[[[1f32, 2.], [3., 4.]]]], &Cpu)?;
    let grads = x.max_pool2d(2)?.sum_all()?.backward()?;
    let gradient = grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [0f32, 0., 0., 0.25], [0f32, 0., 0., 1.]);
    Ok(())
}

#[test]
fn the_gradient_of_a_pool_is_stretched_over_what_no_window_covers() -> Result<()> {
    let x = Var::new(&[[[[1f32, 2., 3., 4., 5.]]]], &Cpu)?;
    let weights = Tensor::new(&[[[[1f32, 10.]]]], &Cpu)?;
    let grads = (x.avg_pool2d((1, 2))? * weights)?.sum_all()?.backward()?;
    let gradient = grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [0.5f32, 0.5, 0.5, 5., 5.], [0.5f32, 0.5, 5., 5., 0.]);
    Ok(())
}

#[test]
fn each_of_equal_maxima_gets_the_whole_gradient() -> Result<()> {
    let x = Var::new(&[2f32, 1., 2.], &Cpu)?;
    let grads = x.max(0)?.backward()?;
    finding(
        grads.get(&x).unwrap().to_vec1::<f32>()?,
        [1f32, 0., 1.],
        [0.5f32, 0., 0.5],
    );
    Ok(())
}

#[test]
fn the_gradient_of_a_conv1d_kernel_mixes_channels_with_batches() -> Result<()> {
    let x = Tensor::new(&[[[1f32, 2.]], [[3., 4.]]], &Cpu)?;
    let kernel = Var::new(&[[[1f32]], [[1.]]], &Cpu)?;
    let weights = Tensor::new(&[[[0f32, 0.], [1., 1.]], [[0., 0.], [0., 0.]]], &Cpu)?;
    let grads = (x.conv1d(&kernel, 0, 1, 1, 1)? * weights)?
        .sum_all()?
        .backward()?;
    let gradient = grads.get(&kernel).unwrap().flatten_all()?.to_vec1::<f32>()?;
    finding(gradient, [7f32, 0.], [0f32, 3.]);
    Ok(())
}

#[test]
fn layer_norm_of_a_contiguous_tensor_drops_the_gradient_without_a_word() -> Result<()> {
    let x = Var::new(&[[1f32, 2., 4.], [8., 16., 32.]], &Cpu)?;
    let one = Tensor::ones(3, DType::F32, &Cpu)?;
    let grads = LayerNorm::new(one.clone(), one, 1e-5)
        .forward(&x)?
        .sum_all()?
        .backward()?;
    finding(grads.get(&x).is_some(), false, true);
    Ok(())
}

#[test]
fn upsampling_forgets_the_gradient_that_a_tensor_has_from_elsewhere() -> Result<()> {
    let x = Var::new(&[[[1f32, 2.]]], &Cpu)?;
    let both = (x.upsample_nearest1d(4)?.sum_all()? + x.sum_all()?)?;
    let grads = both.backward()?;
    finding(
        grads.get(&x).unwrap().flatten_all()?.to_vec1::<f32>()?,
        [2f32, 2.],
        [3f32, 3.],
    );
    Ok(())
}

#[test]
fn the_gradient_of_powf_0_at_zero_is_nan() -> Result<()> {
    let x = Var::new(&[0f32, 2.], &Cpu)?;
    let grads = x.powf(0.)?.sum_all()?.backward()?;
    finding(
        grads.get(&x).unwrap().to_vec1::<f32>()?,
        [f32::NAN, 0.],
        [0f32, 0.],
    );
    Ok(())
}
