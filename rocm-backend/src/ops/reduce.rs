//! Many elements to one, along chosen dimensions.
//!
//! Results lie in row-major order of the dimensions that stay; whether a reduced one counts as gone or as size 1 is up to
//! the caller. Which value NaN, ties and overflow give is in `kernels/README.md`.

use crate::hip::launch::reduce as launch;
use crate::kernel::Reduce;
use crate::{DynBuffer, Result, View};

/// What the elements along the dimensions `dims` become; over no dimensions, each stays as it is.
///
/// # Errors
/// `Error::Shape` for a dimension that is not there or is named twice, and for no elements where `op` needs one;
/// `Error::TooLarge` for places beyond 32 bits; else as [`unary`](super::unary()).
pub fn reduce(op: Reduce, x: View<'_>, dims: &[usize]) -> Result<DynBuffer> {
    launch::fold(op, &x.check(op.name())?, dims)
}

/// Adds to `out`, of one element a result, what [`Reduce::Sum`] would give; the result is rounded after the addition.
///
/// # Errors
/// As [`reduce`]; `Error::Length` for an `out` of another length, `Error::DTypes` for one of another dtype.
pub fn add_sums(x: View<'_>, dims: &[usize], out: &mut DynBuffer) -> Result<()> {
    launch::add_sums(&x.check("sum")?, dims, out)
}
