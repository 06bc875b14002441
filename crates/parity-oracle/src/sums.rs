//! How partial sums are kept. The right answers keep them as the op table says; a test of the judge may ask what an op
//! would give whose kernel does not.

use parity_model::DType;
use parity_model::float::Format;

/// How partial sums are kept. What is not overridden is as the op table says.
pub trait Sums: Sync {
    /// The format to which each partial sum of floats of `dtype` is rounded, in the order of its terms; `None` where sums
    /// are exact, or rounded to the dtype where the op table says so.
    fn accumulator(&self, _dtype: DType) -> Option<Format> {
        None
    }

    /// The sum of integers of `dtype`, not yet wrapped to its width.
    fn add(&self, _dtype: DType, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
}

/// Sums as the op table says.
pub(crate) struct TableSums;

impl Sums for TableSums {}
