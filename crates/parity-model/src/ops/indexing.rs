//! Reads and writes at ids. How they are computed is not said here.

use super::ops;

ops! {
    /// Reads and writes at positions that a tensor of ids names.
    pub enum Indexing;

    /// The slices of the first argument along the dimension that a list of ids names.
    IndexSelect "index_select" ["dim"] (x: Data, ids: Index) on ANY,
        grad on F32_F64: "The sum of w of the slices that the id named.";
    /// out[..i..] = x[..ids[..i..]..] along the dimension.
    Gather "gather" ["dim"] (x: Data, ids: Index) on ANY,
        grad on F32_F64: "The sum of w of the elements that the id named.";
    /// A copy of the first argument with out[..ids[..i..]..] = src[..i..] along the dimension; the last of
    /// equal ids stays.
    Scatter "scatter" ["dim"] (x: Data, ids: Index, source: Data) on ANY,
        grad on F32_F64: "w where the element is still there: 0 where it was written over.";
    /// As `scatter`, adding in order of the source, each sum rounded to the dtype.
    ScatterAdd "scatter_add" ["dim"] (x: Data, ids: Index, source: Data) on ANY,
        grad on F32_F64: "w by the first, w of the place it was added to by the source.";
    /// A copy of the first argument to whose slices along the dimension those of the source are added, in
    /// order, each sum rounded to the dtype.
    IndexAdd "index_add" ["dim"] (x: Data, ids: Index, source: Data) on ANY,
        grad on F32_F64: "w by the first, w of the slice it was added to by the source.";
    /// As `scatter`, in place.
    ScatterSet "scatter_set" ["dim"] (x: Data, ids: Index, source: Data) on ANY;
    /// As `scatter_add`, in place.
    ScatterAddSet "scatter_add_set" ["dim"] (x: Data, ids: Index, source: Data) on ANY;
}
