//! Sorting. How it is done is not said here.

use super::ops;

ops! {
    /// Sorting along the last dimension: stable, with NaN above every number.
    pub enum Sort;

    /// The indices that sort, ascending.
    ArgSortAsc "argsort_asc" (x: Data) on ANY -> U32;
    /// The indices that sort, descending.
    ArgSortDesc "argsort_desc" (x: Data) on ANY -> U32;
    /// The elements, ascending.
    SortAsc "sort_asc" (x: Data) on ANY;
    /// The elements, descending.
    SortDesc "sort_desc" (x: Data) on ANY;
}
