//! Scale and shift.

use crate::hip::launch::elementwise as launch;
use crate::kernel::Kernel;
use crate::{DynBuffer, Result, Scalar, View};

/// `x * mul + add` for each element, in the dtype's arithmetic. `mul` and `add` are rounded to the dtype first; for
/// integers that is truncation, saturating, as Rust's `as`.
///
/// # Errors
/// As [`unary`](super::unary()).
pub fn affine(x: View<'_>, mul: f64, add: f64) -> Result<DynBuffer> {
    let dtype = x.buffer().dtype();
    let x = x.check(Kernel::AFFINE.name)?;
    let mut out = DynBuffer::uninit(x.buffer().device(), dtype, x.numel())?;
    let factors = [mul, add].map(|factor| Scalar::from_f64(dtype, factor));
    launch::map(Kernel::AFFINE, &[], &[x], &mut out, 0, &factors)?;
    Ok(out)
}
