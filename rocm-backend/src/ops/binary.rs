//! Functions of two tensors of one shape. Broadcasting is the caller's: a stride of 0 repeats an element.

use crate::hip::launch::elementwise as launch;
use crate::kernel::{Family, Kernel};
use crate::{Buffer, DType, Result, View};

/// `f(l, r)` for each pair of elements, of the same dtype. `kernel` is `badd`, `bsub`, `bmul`, `bdiv`, `bmaximum` or
/// `bminimum`.
///
/// # Errors
/// `Error::Invalid` for views of two shapes, dtypes or devices; else as [`unary`](super::unary).
pub fn binary(kernel: &str, l: View<'_>, r: View<'_>) -> Result<Buffer> {
    run(Family::Binary, kernel, l, r, l.buffer.dtype())
}

/// Whether `l` and `r` compare so, as a u8 of 0 or 1. `kernel` is `eq`, `ne`, `lt`, `le`, `gt` or `ge`.
///
/// # Errors
/// As [`binary`].
pub fn compare(kernel: &str, l: View<'_>, r: View<'_>) -> Result<Buffer> {
    run(Family::Compare, kernel, l, r, DType::U8)
}

fn run(family: Family, kernel: &str, l: View<'_>, r: View<'_>, result: DType) -> Result<Buffer> {
    let kernel = Kernel::find(family, kernel, l.buffer.dtype())?;
    let (l, r) = (l.check(kernel.name)?, r.check(kernel.name)?);
    let mut out = Buffer::new(l.buffer().device(), result, l.numel())?;
    launch::map(kernel, &[], &[l, r], &mut out, 0, &[])?;
    Ok(out)
}
