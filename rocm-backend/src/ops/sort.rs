//! The order of the elements of rows.

use crate::hip::launch::sort as launch;
use crate::{DType, DynBuffer, Result, View};

/// For each row of `x`, along the last dimension, the positions of its elements in ascending (`asc`) or descending
/// order, as u32. Equal elements keep their order, −0 equals +0, and a NaN is greater than every number: the last in
/// ascending order, the first in descending.
///
/// # Errors
/// `Error::NotContiguous` for such rows, `Error::TooLarge` for rows longer than `i32::MAX`, `Error::Shape` for a tensor without
/// dimensions; else as [`unary`](super::unary()).
pub fn argsort(x: View<'_>, asc: bool) -> Result<DynBuffer> {
    let x = x.check("argsort")?;
    let mut order = DynBuffer::uninit(x.buffer().device(), DType::U32, x.numel())?;
    launch::argsort(x, asc, &mut order)?;
    Ok(order)
}
