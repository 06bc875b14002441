//! Products of f8e4m3 with scales, which candle has none of.

use rocm_backend::ops;

use super::{dtype, fused2, storage::on_rocm};
use crate::{DType, Result, Tensor, bail};

/// `a` times `b`, both f8e4m3: (.., m, k) and (.., k, n). Element (i, j) of a product is `scale_a[i] · scale_b[j] · Σ a[i, k] b[k, j]`, summed and
/// scaled in f32 and rounded once to `dtype`: f32, f16 or bf16. Scales are f32, (m) and (n), or (1) where there is one for all.
///
/// On `Device::Rocm` a kernel computes it, on the matrix cores of cards that have such for bytes: fnuz's on CDNA 3, OCP's on RDNA 4. On another
/// device it is composed of candle's ops.
///
/// ```ignore
/// // Weights and activations are stored as f8e4m3 with a scale for each row.
/// let y = rocm::matmul_f8(&x, &weight.t()?, &scale_of_x, &scale_of_weight, DType::BF16)?;
/// ```
///
/// # Errors
/// For operands of another dtype, shapes that do not fit, scales on another device, and what [`ops::matmul_f8`] refuses.
pub fn matmul_f8(a: &Tensor, b: &Tensor, scale_a: &Tensor, scale_b: &Tensor, dtype: DType) -> Result<Tensor> {
    for (what, operand, wanted) in [
        ("an operand", a, DType::F8E4M3),
        ("an operand", b, DType::F8E4M3),
        ("a scale", scale_a, DType::F32),
        ("a scale", scale_b, DType::F32),
    ] {
        if operand.dtype() != wanted {
            let found = operand.dtype().as_str();
            bail!("matmul_f8: {what} is {found}, expected {}", wanted.as_str())
        }
    }
    let (of_a, of_b) = (a.dims().to_vec(), b.dims().to_vec());
    let (Some((_, [m, _])), Some((_, [_, n]))) = (of_a.split_last_chunk(), of_b.split_last_chunk()) else {
        bail!("matmul_f8: {of_a:?} and {of_b:?} are not matrices")
    };
    let (m, n) = (*m, *n);
    for (scale, count) in [(scale_a, m), (scale_b, n)] {
        if scale.dims() != [1] && scale.dims() != [count] {
            bail!(
                "matmul_f8: scales of {:?}, expected [1] or [{count}]",
                scale.dims()
            )
        }
    }
    let scales = [scale_a.contiguous()?, scale_b.contiguous()?];
    let on_device = scales.clone();
    fused2(
        "matmul-f8",
        [a, b],
        move |a, b| {
            let product = a.to_dtype(DType::F32)?.matmul(&b.to_dtype(DType::F32)?)?;
            let rows = scales[0].reshape(((), 1))?;
            product
                .broadcast_mul(&rows)?
                .broadcast_mul(&scales[1])?
                .to_dtype(dtype)
        },
        move |a, b| {
            let held = on_device.each_ref().map(Tensor::storage_and_layout);
            let mut lists = Vec::with_capacity(2);
            for (storage, layout) in &held {
                lists.push(on_rocm("matmul_f8", storage, layout)?.1);
            }
            let out = ops::matmul_f8(a, b, [lists[0], lists[1]], dtype::to_backend(dtype)?)?;
            let batch = &a.dims()[..a.dims().len() - 2];
            Ok((out, [batch, &[m, n]].concat().into()))
        },
    )
}
