//! One value, everywhere.

use crate::hip::launch::elementwise as launch;
use crate::{Result, Scalar, ViewMut};

/// Stores `value` in every element of `dst`; the rest of its buffer stays as it is.
///
/// # Errors
/// `Error::DTypes` for a value of another dtype; else as [`unary`](super::unary()).
pub fn fill(dst: ViewMut<'_>, value: impl Into<Scalar>) -> Result<()> {
    launch::const_set(dst.check("const_set")?, value.into())
}
