//! One value, everywhere.

use crate::hip::launch::elementwise as launch;
use crate::{Buffer, Result, Scalar};

/// Stores `value` in every element of a view of `dst`; the rest of `dst` stays as it is.
///
/// # Errors
/// `Error::Invalid` for a value of another dtype or a view that leaves `dst`; else as [`unary`](super::unary).
pub fn fill(dst: &mut Buffer, dims: &[usize], strides: &[usize], offset: usize, value: Scalar) -> Result<()> {
    launch::const_set(dst, dims, strides, offset, value)
}
