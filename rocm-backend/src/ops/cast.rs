//! From one dtype to another.

use crate::hip::launch::cast as launch;
use crate::{DType, DynBuffer, Result, View};

/// Each element in dtype `to`. Floats to integers as Rust's `as` (toward zero, saturating, NaN is 0), integers to
/// integers by their low bits, anything to a float rounded once, to nearest with ties to even; f8_e4m3 saturates.
///
/// # Errors
/// As [`unary`](super::unary()).
pub fn cast(x: View<'_>, to: DType) -> Result<DynBuffer> {
    let x = x.check("cast")?;
    let mut out = DynBuffer::uninit(x.buffer().device(), to, x.numel())?;
    launch::cast(&x, &mut out)?;
    Ok(out)
}
