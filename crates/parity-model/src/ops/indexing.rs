//! Reads and writes at ids. How they are computed is not said here.

use super::ops;
use crate::op::batch::{Cut, beside};
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Reads and writes at positions that a tensor of ids names. The largest number of the ids' dtype names no element, unless there
    /// is one of that number: it is read as zero and not written.
    pub enum Indexing;

    /// The slices of the first argument along the dimension that a list of ids names.
    IndexSelect "index_select" ["dim"] (x: Data, ids: Index) on ANY, shape: index_select, batch: selected,
        grad on F32_F64: "The sum of w of the slices that the id named.";
    /// out[..i..] = x[..ids[..i..]..] along the dimension.
    Gather "gather" ["dim"] (x: Data, ids: Index) on ANY, shape: gather, batch: beside::<0>,
        grad on F32_F64: "The sum of w of the elements that the id named.";
    /// A copy of the first argument with out[..ids[..i..]..] = src[..i..] along the dimension; the last of equal ids
    /// stays.
    Scatter "scatter" ["dim"] (x: Data, ids: Index, source: Data) on ANY, shape: scatter, batch: beside::<0>,
        grad on F32_F64: "w where the element is still there: 0 where it was written over.";
    /// As `scatter`, adding in order of the source, each sum rounded to the dtype: no other precision is documented for half floats,
    /// neither by candle nor by PyTorch.
    ScatterAdd "scatter_add" ["dim"] (x: Data, ids: Index, source: Data) on ANY, shape: scatter,
        batch: beside::<0>, terms: Ordered,
        grad on F32_F64: "w by the first, w of the place it was added to by the source.";
    /// A copy of the first argument to whose slices along the dimension those of the source are added, in order, each
    /// sum rounded to the dtype, as in `scatter_add`.
    IndexAdd "index_add" ["dim"] (x: Data, ids: Index, source: Data) on ANY, shape: index_add, batch: added, terms: Ordered,
        grad on F32_F64: "w by the first, w of the slice it was added to by the source.";
    /// As `scatter`, in place.
    ScatterSet "scatter_set" ["dim"] (x: Data, ids: Index, source: Data) on ANY, shape: scatter, batch: beside::<0>;
    /// As `scatter_add`, in place.
    ScatterAddSet "scatter_add_set" ["dim"] (x: Data, ids: Index, source: Data) on ANY, shape: scatter,
        batch: beside::<0>, terms: Ordered;
}

/// The output, where every id points at something along the dimension.
fn pointing(call: &Operands<'_>, dim: usize, output: Vec<usize>) -> Result<Shapes, String> {
    let (extent, ids) = (call.shapes[0][dim], call.shapes[1].iter().product::<usize>());
    call.require(ids == 0 || extent > 0, "ids need something to point at")?;
    Ok(Shapes {
        output,
        bound: Some(extent),
    })
}

fn index_select(call: &Operands<'_>) -> Result<Shapes, String> {
    let dim = call.dim(0)?;
    let count = call.rank(1, 1)?[0];
    pointing(call, dim, call.with_extent(dim, count))
}

fn gather(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, x, ids) = (call.dim(0)?, call.shapes[0], call.shapes[1]);
    let below = ids.len() == x.len() && (0..x.len()).all(|d| d == dim || ids[d] <= x[d]);
    call.require(
        below,
        "ids have the rank of x and are no longer in other dimensions",
    )?;
    pointing(call, dim, ids.to_vec())
}

fn scatter(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, x, ids) = (call.dim(0)?, call.shapes[0], call.shapes[1]);
    call.require(call.shapes[2] == ids, "ids and source have one shape")?;
    let alike = ids.len() == x.len() && call.with_extent(dim, ids[dim]) == ids;
    call.require(alike, "ids and x differ along the dimension only")?;
    pointing(call, dim, x.to_vec())
}

fn index_add(call: &Operands<'_>) -> Result<Shapes, String> {
    let dim = call.dim(0)?;
    let source = call.with_extent(dim, call.rank(1, 1)?[0]);
    call.require(
        call.shapes[2] == source,
        "the source is as x, with one slice an id",
    )?;
    pointing(call, dim, call.shapes[0].to_vec())
}

/// Beside the dimension; of a single dimension, the ids are the batch.
fn selected(call: &Operands<'_>) -> Option<Cut> {
    let other = call.other_than(call.whole(0).ok()?);
    Some(other.map_or((vec![None, Some(0)], 0), |d| (vec![Some(d), None], d)))
}

/// Beside the dimension, with all ids for either part.
fn added(call: &Operands<'_>) -> Option<Cut> {
    let other = call.other_than(call.whole(0).ok()?)?;
    Some((vec![Some(other), None, Some(other)], other))
}
