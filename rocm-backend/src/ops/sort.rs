//! The order of the elements of rows.

use crate::hip::launch::sort as launch;
use crate::{Buffer, DType, Result, View};

/// For each row of `x`, along the last dimension, the positions of its elements in ascending (`asc`) or descending
/// order, as u32. Equal elements keep their order, −0 equals +0, and a NaN is greater than every number: the last in
/// ascending order, the first in descending.
///
/// # Errors
/// `Error::Invalid` for rows that are not contiguous or longer than `i32::MAX`, or a tensor without dimensions; else as
/// [`unary`](super::unary).
pub fn argsort(x: View<'_>, asc: bool) -> Result<Buffer> {
    let x = x.check("argsort")?;
    let mut order = Buffer::new(x.buffer().device(), DType::U32, x.numel())?;
    launch::argsort(x, asc, &mut order)?;
    Ok(order)
}
