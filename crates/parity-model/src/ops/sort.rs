//! Sorting. How it is done is not said here.

use super::ops;
use crate::op::batch::leading;

ops! {
    /// Sorting along the last dimension: stable, with NaN above every number.
    pub enum Sort;

    /// The indices that sort, ascending.
    ArgSortAsc "argsort_asc" (x: Data) on ANY -> U32, shape: |call| call.fit("[.., n] -> [.., n]"), batch: leading::<2>;
    /// The indices that sort, descending.
    ArgSortDesc "argsort_desc" (x: Data) on ANY -> U32, shape: |call| call.fit("[.., n] -> [.., n]"),
        batch: leading::<2>;
    /// The elements, ascending.
    SortAsc "sort_asc" (x: Data) on ANY, shape: |call| call.fit("[.., n] -> [.., n]"), batch: leading::<2>;
    /// The elements, descending.
    SortDesc "sort_desc" (x: Data) on ANY, shape: |call| call.fit("[.., n] -> [.., n]"), batch: leading::<2>;
}
