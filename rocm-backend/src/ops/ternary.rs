//! A choice between two tensors.

use crate::hip::launch::ternary as launch;
use crate::{DynBuffer, Result, View};

/// The element of `t` where `cond` is not 0, else that of `f`. `cond` is of an integer dtype, `t` and `f` of any one.
///
/// # Errors
/// `Error::Unsupported` for a condition of floats, `Error::Shape`, `Error::Devices` and `Error::DTypes` for operands of two of
/// them; else as [`unary`](super::unary()).
pub fn where_cond(cond: View<'_>, t: View<'_>, f: View<'_>) -> Result<DynBuffer> {
    let (cond, t, f) = (cond.check("where")?, t.check("where")?, f.check("where")?);
    let mut out = DynBuffer::uninit(cond.buffer().device(), t.buffer().dtype(), cond.numel())?;
    launch::where_cond(&cond, &t, &f, &mut out)?;
    Ok(out)
}
