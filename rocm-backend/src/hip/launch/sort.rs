//! Launches the sorting of rows: first of chunks that fit LDS, then of ever longer runs of a row.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::ops::Range;

use super::pieces::Pieces;
use super::{Args, Grid, common_context};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, module};

const MODULE: &str = "sort";
/// The name in errors.
const OP: &str = "argsort";
/// Elements that one workgroup sorts at most: with their columns 24 KiB of LDS in the largest dtypes, so that two
/// workgroups share a compute unit.
const CHUNK: usize = 2048;
/// Workgroups of a launch; HIP wants grid times block below 2^32.
const MAX_GROUPS: usize = 1 << 22;
/// Threads of a workgroup; each orders a pair of columns in a step, or several.
const MIN_THREADS: usize = 64;
const MAX_THREADS: usize = 256;
/// Kernels count columns in an `int`.
const MAX_COLUMNS: usize = i32::MAX as usize;

/// Contiguous rows, not empty, and the kernels that sort them.
#[derive(Clone, Copy)]
struct SortRows<'a> {
    x: Region<'a>,
    columns: usize,
    sort: &'static str,
    merge: &'static str,
}

/// Writes to `order`, for each row of `x` along its last dimension, the columns of its elements in order.
pub(crate) fn argsort(x: Region<'_>, ascending: bool, order: &mut DynBuffer) -> Result<()> {
    let rows = SortRows::new(x, ascending)?;
    Error::unless_same_dtype(OP, DType::U32, order.dtype())?;
    if order.len() != x.numel() {
        return Err(Error::shape(OP, "there is not one place for each element"));
    }
    if x.numel() == 0 {
        return Ok(());
    }
    let mut run = rows.columns.next_power_of_two().min(CHUNK);
    sort_chunks(rows, run, order)?;
    if run < rows.columns {
        let mut merged = DynBuffer::uninit(order.device(), DType::U32, order.len())?;
        while run < rows.columns {
            merge(rows, run, order, &mut merged)?;
            std::mem::swap(order, &mut merged);
            run *= 2;
        }
    }
    Ok(())
}

impl<'a> SortRows<'a> {
    fn new(x: Region<'a>, ascending: bool) -> Result<SortRows<'a>> {
        let (sort, merge) = if ascending {
            ("asort_asc", "asort_merge_asc")
        } else {
            ("asort_desc", "asort_merge_desc")
        };
        match *x.dims() {
            [] => Err(Error::shape(
                OP,
                "a tensor without dimensions has no rows to sort",
            )),
            _ if x.numel() > 0 && !x.is_contiguous() => Err(Error::not_contiguous(OP, "the rows")),
            [.., columns] if columns > MAX_COLUMNS => Err(Error::too_large(
                OP,
                format!("a row of {columns} elements; kernels count {MAX_COLUMNS} at most"),
            )),
            [.., columns] => Ok(SortRows {
                x,
                columns,
                sort,
                merge,
            }),
        }
    }
}

/// Rows for one launch after another, each of at most [`MAX_GROUPS`] workgroups, of which a row takes `groups`.
fn batches(rows: usize, groups: usize) -> impl Iterator<Item = Range<usize>> {
    let batch = (MAX_GROUPS / groups).max(1);
    (0..rows)
        .step_by(batch)
        .map(move |first| first..(first + batch).min(rows))
}

/// Sorts chunks of `width` columns, a power of two: each a run of `order`, one element of `x` a place.
fn sort_chunks(rows: SortRows<'_>, width: usize, order: &mut DynBuffer) -> Result<()> {
    let (x, columns) = (rows.x, rows.columns);
    let dtype = x.buffer().dtype();
    let context = common_context(rows.sort, [x.buffer(), &*order].into_iter())?;
    let function = module::named(
        &context,
        MODULE,
        &format!("{}_{}", rows.sort, dtype.suffix()),
        rows.sort,
        dtype,
    )?;

    let key = dtype.size_in_bytes().max(size_of::<u32>());
    let groups = columns.div_ceil(width);
    for batch in batches(x.numel() / columns, groups) {
        let grid = Grid {
            lds: width * (key + size_of::<u32>()),
            ..Grid::of(batch.len() * groups, (width / 2).clamp(MIN_THREADS, MAX_THREADS))
        };
        let first = batch.start * columns;
        let mut args = Args::default();
        args.element(x.buffer(), x.offset() + first)
            .element(order, first)
            .int(columns as u32)
            .int(width as u32);
        // SAFETY: `asort_<order>_<dtype>(x, dst, ncols, ncols_pad)` of the buffer's dtype stays inside the batch's rows,
        // for which it gets a workgroup a chunk. They lie in `x`, whose view was checked, and `order` is as long as `x`.
        // `columns` and `width` fit `int`. The kernel's LDS is a key and a column for each of `width`.
        unsafe { args.submit(rows.sort, &context, &function, grid) }?;
    }
    Ok(())
}

/// Makes one run in `to` of every two neighbouring runs of `run` columns in `from`. `run` is a power of two.
fn merge(rows: SortRows<'_>, run: usize, from: &DynBuffer, to: &mut DynBuffer) -> Result<()> {
    let x = rows.x;
    let dtype = x.buffer().dtype();
    let context = common_context(rows.merge, [x.buffer(), from, &*to].into_iter())?;
    let function = module::named(
        &context,
        MODULE,
        &format!("{}_{}", rows.merge, dtype.suffix()),
        rows.merge,
        dtype,
    )?;
    let dims = [x.numel() / rows.columns, rows.columns];
    for piece in Pieces::of(rows.merge, &dims, 1, &context)? {
        let first = piece.offset(&[rows.columns]);
        let mut args = Args::default();
        args.element(x.buffer(), x.offset() + first)
            .element(from, first)
            .element(to, first)
            .size(piece.numel())
            .int(rows.columns as u32)
            .int(run as u32);
        // SAFETY: `asort_merge_<order>_<dtype>(x, from, to, numel, ncols, run)` of the buffer's dtype reads `x` at the columns
        // it finds in `from`, which only this file's kernels wrote: each is below `ncols`. `from` and `to` are as long as
        // `x`, and a piece is whole rows. A rank is below `ncols` whatever the elements are.
        unsafe { args.submit(rows.merge, &context, &function, Grid::over(piece.numel())) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_every_row_once_within_the_limit_of_a_launch() {
        for (rows, groups) in [
            (1, 1),
            (MAX_GROUPS, 1),
            (MAX_GROUPS + 1, 1),
            (3 * MAX_GROUPS, 2),
            (7, MAX_GROUPS),
            (2, MAX_GROUPS / 2 + 1),
        ] {
            let mut next = 0;
            for batch in batches(rows, groups) {
                assert_eq!(batch.start, next, "{rows} rows of {groups}");
                assert!(
                    !batch.is_empty() && batch.len() * groups <= MAX_GROUPS,
                    "{batch:?} of {groups}"
                );
                next = batch.end;
            }
            assert_eq!(next, rows, "{rows} rows of {groups}");
        }
    }

    #[test]
    fn the_longest_row_fits_one_launch() {
        assert!(MAX_COLUMNS.div_ceil(CHUNK) <= MAX_GROUPS);
    }
}
