//! Many elements to one, along chosen dimensions.
//!
//! Results lie in row-major order of the dimensions that stay; whether a reduced one counts as gone or as size 1 is the
//! caller's business. Which value NaN, ties and overflow give stands in `kernels/README.md`.

use crate::hip::launch::reduce::{self as launch, Fold};
use crate::{Buffer, Result, View};

/// The sum over the dimensions `dims`, of the views' dtype: floats are added in f32 (f64 in f64) and rounded once,
/// integers wrap. Of no elements it is 0; over no dimensions a copy.
///
/// # Errors
/// `Error::Invalid` for a dimension that is not there or is named twice; else as [`unary`](super::unary).
pub fn sum(x: View<'_>, dims: &[usize]) -> Result<Buffer> {
    launch::fold(Fold::Sum, &x.check("sum")?, dims)
}

/// Adds to `out`, of one element a result, what [`sum`] would give; the result is rounded after the addition.
///
/// # Errors
/// As [`sum`], and `Error::Invalid` for an `out` of another dtype or length.
pub fn add_sums(x: View<'_>, dims: &[usize], out: &mut Buffer) -> Result<()> {
    launch::add_sums(&x.check("sum")?, dims, out)
}

/// The least element over the dimensions `dims`; NaN when there is one.
///
/// # Errors
/// As [`sum`], and `Error::Invalid` for a view of no elements.
pub fn min(x: View<'_>, dims: &[usize]) -> Result<Buffer> {
    launch::fold(Fold::Min, &x.check("min")?, dims)
}

/// The greatest element over the dimensions `dims`; NaN when there is one.
///
/// # Errors
/// As [`min`].
pub fn max(x: View<'_>, dims: &[usize]) -> Result<Buffer> {
    launch::fold(Fold::Max, &x.check("max")?, dims)
}

/// Where along dimension `dim` the first NaN stands, else the first of the least elements, as a u32.
///
/// # Errors
/// As [`min`], and `Error::Invalid` for a dimension of more than 2^32 - 1 elements.
pub fn argmin(x: View<'_>, dim: usize) -> Result<Buffer> {
    launch::fold(Fold::ArgMin, &x.check("argmin")?, &[dim])
}

/// Where along dimension `dim` the first NaN stands, else the first of the greatest elements, as a u32.
///
/// # Errors
/// As [`argmin`].
pub fn argmax(x: View<'_>, dim: usize) -> Result<Buffer> {
    launch::fold(Fold::ArgMax, &x.check("argmax")?, &[dim])
}
