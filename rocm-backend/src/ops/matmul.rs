//! Products of matrices and of batches of matrices. What computes them, a kernel or rocBLAS, is decided in
//! `hip/launch/matmul.rs`.

use crate::hip::launch::matmul::{self as launch, Product};
use crate::{Buffer, Error, Result, View};

/// `l · r` for each pair of matrices of a batch: `l` is `[.., m, k]`, `r` is `[.., k, n]`, the leading dimensions of
/// each make `b` matrices, and the result is `[b, m, n]`, contiguous. Strides and offsets are free, those between the
/// matrices too. bf16, f16, f32 and f64.
///
/// Sums are taken in f32 for 16-bit floats, else in the dtype, and rounded once to the dtype; without a k they are 0.
/// [`Device::served`](crate::Device::served) tells what computed them.
///
/// # Errors
/// `Error::Invalid` for shapes that do not fit together, two dtypes or two devices; else as [`unary`](super::unary).
pub fn matmul(l: View<'_>, r: View<'_>, bmnk: (usize, usize, usize, usize)) -> Result<Buffer> {
    let (b, m, n, k) = bmnk;
    let fits = |view: &View<'_>, wanted: [usize; 2]| match view.dims.split_last_chunk() {
        Some((batch, matrix)) => {
            *matrix == wanted
                && batch.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim)) == Some(b)
                && view.strides.len() == view.dims.len()
        }
        None => false,
    };
    if !fits(&l, [m, k]) || !fits(&r, [k, n]) {
        return Err(Error::Invalid(format!(
            "matmul: {:?} and {:?} are not {b} matrices of {m}x{k} and {k}x{n}",
            l.dims, r.dims
        )));
    }
    if l.buffer.dtype() != r.buffer.dtype() {
        return Err(Error::Invalid(format!(
            "matmul: {} times {}: the operands are not of one dtype",
            l.buffer.dtype(),
            r.buffer.dtype()
        )));
    }
    let results = b.checked_mul(m).and_then(|rows| rows.checked_mul(n));
    let results = results.ok_or_else(|| {
        Error::Invalid(format!(
            "matmul: {b} results of {m}x{n} are more elements than can be counted"
        ))
    })?;
    let product = Product::new(l.check("matmul")?, r.check("matmul")?, bmnk)?;
    let (dtype, device) = (l.buffer.dtype(), l.buffer.device());
    if k == 0 {
        return device.zeros(dtype, results);
    }
    let mut out = Buffer::new(device, dtype, results)?;
    launch::run(&product, &mut out)?;
    Ok(out)
}
