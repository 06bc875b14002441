//! Products of matrices and of batches of matrices. What computes them, a kernel or rocBLAS, is decided in
//! `hip/launch/matmul.rs`.

use crate::hip::launch::matmul::{self as launch, Product};
use crate::{DynBuffer, Error, Result, View};

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
        return Err(mismatch(&l, &r));
    };
    if (b, k) != (batch, rows) {
        return Err(mismatch(&l, &r));
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

/// How many matrices a view has, and their sizes.
fn matrices(view: &View<'_>) -> Option<(usize, [usize; 2])> {
    let (batch, matrix) = view.dims().split_last_chunk()?;
    let count = batch.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim))?;
    Some((count, *matrix))
}

fn mismatch(l: &View<'_>, r: &View<'_>) -> Error {
    Error::shape(
        OP,
        format!(
            "{:?} and {:?} are not as many matrices of which one's columns are the other's rows",
            l.dims(),
            r.dims()
        ),
    )
}
