//! Products of matrices and of batches of matrices. What computes them, a kernel or rocBLAS, is decided in
//! `hip/launch/matmul.rs`.

use super::attention::list;
use crate::hip::launch::matmul::{self as launch, Product};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, View};

const OP: &str = "matmul";

/// `l · r` for each pair of matrices of a batch: `l` is `[.., m, k]`, `r` is `[.., k, n]`, the leading dimensions of
/// each make the same number of matrices `b`, and the result is `[b, m, n]`, contiguous. Strides and offsets are free, those
/// between the matrices too. bf16, f16, f32 and f64.
///
/// Sums are taken in f32 for 16-bit floats, else in the dtype, and rounded once to the dtype; without a k they are 0.
/// [`trace::served`](crate::trace::served) tells what computed them.
///
/// # Errors
/// `Error::Shape` for shapes that do not fit together, `Error::DTypes`, `Error::Devices`, `Error::TooLarge`; else as
/// [`unary`](super::unary()).
pub fn matmul(l: View<'_>, r: View<'_>) -> Result<DynBuffer> {
    let (Some((b, [m, k])), Some((batch, [rows, n]))) = (matrices(&l), matrices(&r)) else {
        return Err(mismatch(OP, &l, &r));
    };
    if (b, k) != (batch, rows) {
        return Err(mismatch(OP, &l, &r));
    }
    let (dtype, device) = (l.buffer().dtype(), l.buffer().device());
    Error::unless_same_dtype(OP, dtype, r.buffer().dtype())?;
    let results = b.checked_mul(m).and_then(|rows| rows.checked_mul(n));
    let results = results.ok_or_else(|| Error::uncountable(OP, &[b, m, n]))?;
    let product = Product::new(l.check(OP)?, r.check(OP)?, (b, m, n, k))?;
    if k == 0 {
        return DynBuffer::zeros(device, dtype, results);
    }
    let mut out = DynBuffer::uninit(device, dtype, results)?;
    launch::run(&product, &mut out)?;
    Ok(out)
}

/// The name in errors, and of the op in candle.
const SCALED: &str = "matmul_f8";

/// Products of f8_e4m3 matrices whose rows and columns have scales: element (i, j) is `rows[i] · columns[j] · Σ l[i, k] r[k, j]`, summed and
/// scaled in f32 and rounded once to `dtype`: bf16, f16 or f32. A list of scales is f32, one each or one for all. Matrices may have any
/// strides and lie in batches, which share the scales.
///
/// ```
/// use float8::F8E4M3;
/// use rocm_backend::{DType, Device, Result, View, ops};
///
/// fn main() -> Result<()> {
///     let device = Device::new(0)?;
///     let x = device.upload(&[1.5_f32, -2.0].map(F8E4M3::from_f32))?;
///     let scale = device.upload(&[0.5_f32])?;
///     let scale = View::contiguous(&scale, &[1]);
///     let out = ops::matmul_f8(View::contiguous(&x, &[1, 2]), View::contiguous(&x, &[2, 1]), [scale, scale], DType::F32)?;
///     assert_eq!(out.download::<f32>()?, [6.25 / 4.0]);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// As [`matmul`]; `Error::Shape` for a list of another length, `Error::NotContiguous` for one that is not, `Error::Unsupported` for
/// operands or a result of another dtype.
pub fn matmul_f8(l: View<'_>, r: View<'_>, scales: [View<'_>; 2], dtype: DType) -> Result<DynBuffer> {
    let unsupported = |dtype| {
        let op = SCALED.to_owned();
        Err(Error::Unsupported { op, dtype })
    };
    if l.buffer().dtype() != DType::F8E4M3 {
        return unsupported(l.buffer().dtype());
    }
    if !matches!(dtype, DType::BF16 | DType::F16 | DType::F32) {
        return unsupported(dtype);
    }
    Error::unless_same_dtype(SCALED, DType::F8E4M3, r.buffer().dtype())?;
    let (Some((b, [m, k])), Some((batch, [rows, n]))) = (matrices(&l), matrices(&r)) else {
        return Err(mismatch(SCALED, &l, &r));
    };
    if (b, k) != (batch, rows) {
        return Err(mismatch(SCALED, &l, &r));
    }
    let scales = [scales_of(scales[0], m)?, scales_of(scales[1], n)?];
    let results = b.checked_mul(m).and_then(|rows| rows.checked_mul(n));
    let results = results.ok_or_else(|| Error::uncountable(SCALED, &[b, m, n]))?;
    let device = l.buffer().device();
    let mut out = DynBuffer::uninit(device, dtype, results)?;
    if results == 0 {
        return Ok(out);
    }
    let scaled = launch::Scaled {
        l: l.check(SCALED)?,
        r: r.check(SCALED)?,
        scales,
        sizes: [m, n, k, b],
    };
    launch::scaled(SCALED, &scaled, &mut out)?;
    Ok(out)
}

/// A list of scales, and the step from one to the next: 0 where there is one for all.
fn scales_of(view: View<'_>, count: usize) -> Result<(Region<'_>, usize)> {
    let single = view.dims() == [1];
    let dims = [if single { 1 } else { count }];
    let region = list(SCALED, "scales", view, DType::F32, &dims)?;
    Ok((region, usize::from(!single)))
}

/// How many matrices a view has, and their sizes.
fn matrices(view: &View<'_>) -> Option<(usize, [usize; 2])> {
    let (batch, matrix) = view.dims().split_last_chunk()?;
    let count = batch.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim))?;
    Some((count, *matrix))
}

fn mismatch(op: &str, l: &View<'_>, r: &View<'_>) -> Error {
    Error::shape(
        op,
        format!(
            "{:?} and {:?} are not as many matrices of which one's columns are the other's rows",
            l.dims(),
            r.dims()
        ),
    )
}
