//! Functions of two tensors of one shape. Broadcasting is the caller's: a stride of 0 repeats an element.

use crate::hip::launch::elementwise as launch;
use crate::kernel::{Binary, Compare, Kernel};
use crate::{DType, DynBuffer, Result, View};

/// `op(l, r)` for each pair of elements, of the same dtype.
///
/// # Errors
/// `Error::Shape`, `Error::DTypes` and `Error::Devices` for views of two of them; else as [`unary`](super::unary()).
pub fn binary(op: Binary, l: View<'_>, r: View<'_>) -> Result<DynBuffer> {
    run(op.kernel(), l, r, l.buffer().dtype())
}

/// Whether `l` and `r` compare so, as a u8 of 0 or 1.
///
/// # Errors
/// As [`binary`].
pub fn compare(op: Compare, l: View<'_>, r: View<'_>) -> Result<DynBuffer> {
    run(op.kernel(), l, r, DType::U8)
}

fn run(kernel: Kernel, l: View<'_>, r: View<'_>, result: DType) -> Result<DynBuffer> {
    kernel.supports(l.buffer().dtype())?;
    let (l, r) = (l.check(kernel.name)?, r.check(kernel.name)?);
    let mut out = DynBuffer::uninit(l.buffer().device(), result, l.numel())?;
    launch::map(kernel, &[], &[l, r], &mut out, 0, &[])?;
    Ok(out)
}
