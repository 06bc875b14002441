//! Reductions: launches of a workgroup, or a thread, a row.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

mod threads;

use std::sync::Arc;

use super::elementwise::packed;
use super::pieces::is_beyond;
use super::{Args, Grid, PACK, common_context, for_device, layout, table};
use crate::hip::context::Context;
use crate::kernel::Reduce;
use crate::view::{self, Region, View};
use crate::{DType, DynBuffer, Error, Result, module};
pub(super) use threads::{Crowds, MOST, held, row_grid, rows_together, short, whole_packs, workgroup};

const MODULE: &str = "reduce";
/// Of reductions in parts, and of columns.
const PARTS: &str = "reduce_parts";
const COLUMNS: &str = "reduce_columns";
/// Rows of at most this many elements are summed by a thread each, unless they are contiguous packs.
const SMALL: usize = 32;

/// A view with the dimensions that are reduced put last.
struct Rows {
    dims: Vec<usize>,
    strides: Vec<usize>,
    count: usize,
    per_row: usize,
}

impl Rows {
    fn of(op: &str, x: &Region<'_>, reduced: &[usize]) -> Result<Rows> {
        let rank = x.dims().len();
        let mut last = reduced.to_vec();
        last.sort_unstable();
        last.dedup();
        if last.len() < reduced.len() || last.last().is_some_and(|&dim| dim >= rank) {
            return Err(Error::shape(
                op,
                format!(
                    "dimensions {reduced:?} of a tensor of {rank} dimensions; expected different ones below {rank}"
                ),
            ));
        }
        let kept: Vec<usize> = (0..rank).filter(|dim| !last.contains(dim)).collect();
        let size = |dims: &[usize]| {
            let sizes = dims.iter().map(|&dim| x.dims()[dim]);
            if sizes.clone().any(|size| size == 0) {
                return Some(0);
            }
            sizes.into_iter().try_fold(1_usize, |n, size| n.checked_mul(size))
        };
        let (Some(count), Some(per_row)) = (size(&kept), size(&last)) else {
            return Err(Error::uncountable(op, x.dims()));
        };
        let order = || kept.iter().chain(&last);
        Ok(Rows {
            dims: order().map(|&dim| x.dims()[dim]).collect(),
            strides: order().map(|&dim| x.strides()[dim]).collect(),
            count,
            per_row,
        })
    }

    /// The rows one after the other, where they lie apart and have more elements than kernels number.
    fn copied(&self, op: &str, x: &Region<'_>, context: &Context) -> Result<Option<DynBuffer>> {
        let rows = View::new(x.buffer(), &self.dims, &self.strides)
            .at(x.offset())
            .check(op)?;
        is_beyond(context, &rows, rows.numel())
            .then(|| packed(&rows))
            .transpose()
    }
}

/// Reduces `x` over the dimensions `reduced`; one result for each place in the others, in row-major order.
pub(crate) fn fold(op: Reduce, x: &Region<'_>, reduced: &[usize]) -> Result<DynBuffer> {
    let kernel = op.name();
    let rows = Rows::of(kernel, x, reduced)?;
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    op.kernel().supports(dtype)?;
    let context = common_context(kernel, [x.buffer()].into_iter())?;
    let is_whole = (rows.per_row * dtype.size_in_bytes()).is_multiple_of(PACK);
    let is_run = is_whole && view::is_run(&rows.dims, &rows.strides);
    let is_small = op == Reduce::Sum && rows.per_row <= SMALL && !is_run;
    let short = short(x, rows.per_row).filter(|_| is_run && op == Reduce::Sum);
    let name = match short {
        Some(_) => "sum_short",
        None if is_small => "fast_sum_small",
        None => kernel,
    };
    let symbol = [name, "_", dtype.suffix()].concat();
    let function = module::named(&context, MODULE, &symbol, kernel, dtype)?;
    if x.numel() == 0 {
        return match op {
            Reduce::Sum => DynBuffer::zeros(device, dtype, rows.count),
            Reduce::Max | Reduce::Min | Reduce::ArgMax | Reduce::ArgMin => Err(Error::shape(
                kernel,
                format!("{:?} has no element to choose", x.dims()),
            )),
        };
    }
    if op.is_place() && u32::try_from(rows.per_row).is_err() {
        let reason = format!("{} places; they are counted in 32 bits", rows.per_row);
        return Err(Error::too_large(kernel, reason));
    }

    let out_dtype = if op.is_place() { DType::U32 } else { dtype };
    let mut out = DynBuffer::uninit(device, out_dtype, rows.count)?;
    if let Some(threads) = short {
        let together = rows_together(rows.count, threads);
        let groups = rows.count.div_ceil(together);
        let mut args = Args::default();
        args.size(x.numel())
            .size(rows.per_row)
            .element(x.buffer(), x.offset())
            .element(&out, 0);
        // SAFETY: the arguments are the kernel's, for the dtype of `x` and of `out`. The region is contiguous rows of as many whole
        // packs as `short` says, and lies inside its buffer; `out` has room for one result a row.
        unsafe {
            args.submit(
                name,
                &context,
                &function,
                row_grid(groups, threads, together).striding(),
            )
        }?;
        return Ok(out);
    }
    let sizes = for_device(&context, &Sizes::CARD, &Sizes::TESTED);
    if let (Some(name), Some(cut)) = (parts_name(op), Cut::of(&rows, dtype, sizes)) {
        fold_cut(op, name, &cut, x, &mut out)?;
        return Ok(out);
    }
    if let Some(copy) = rows.copied(kernel, x, &context)? {
        let (dims, strides) = ([rows.count, rows.per_row], [rows.per_row, 1]);
        return fold(op, &View::new(&copy, &dims, &strides).check(kernel)?, &[1]);
    }
    let (num_dims, table) = layout(&context, &rows.dims, &[&rows.strides])?;
    let (first, grid) = if is_small {
        (rows.count, Grid::over(rows.count))
    } else {
        let threads = workgroup(rows.count, rows.per_row, dtype, held(dtype), Crowds::of(&context));
        let together = rows_together(rows.count, threads);
        let groups = rows.count.div_ceil(together);
        (x.numel(), row_grid(groups, threads, together).striding())
    };
    let mut args = Args::default();
    args.size(first)
        .size(rows.per_row)
        .size(num_dims)
        .table(table.as_ref())
        .element(x.buffer(), x.offset())
        .element(&out, 0);
    // SAFETY: the arguments are the kernel's, for the dtype of `x` and of `out`. The region lies inside its buffer, in
    // whatever order its dimensions are walked; `out` has room for one result a row. No row is empty. `table` lives
    // to the end of this function.
    unsafe { args.submit(kernel, &context, &function, grid) }?;
    Ok(out)
}

/// Workgroups that fill any card, with more than one for each place that a workgroup has.
const MANY: usize = 2048;
/// The same of columns, whose workgroups each leave results for the next launch to join.
const MANY_COLUMNS: usize = 1024;
/// Threads of a part of a row at most: of larger workgroups fewer share a processor, and less is read while one of them folds.
const PART_MOST: usize = 256;
/// Threads beside each other and rows at once of a workgroup that reduces columns, as `kernels/reduce_parts.h` has them.
const LANES: usize = 32;
const DEPTH: usize = 8;
/// Rows of a part of columns: enough that its result is worth storing, and at most so many that a thread adds 64 terms.
const ROWS_LEAST: usize = 64;
const ROWS_MOST: usize = 64 * DEPTH;

/// From which sizes on a reduction is cut into parts.
struct Sizes {
    /// Rows that are cut are longer than this: a shorter one takes a workgroup less time than a second launch.
    long: usize,
    /// A part of a row has as many elements at least.
    part_least: usize,
    /// Rows are cut into about as many parts.
    parts: usize,
    /// Elements up to which columns are one part each: of so few a second launch would take longer than the first.
    few: usize,
}

impl Sizes {
    const CARD: Sizes = Sizes {
        long: 1 << 16,
        part_least: 1 << 12,
        parts: MANY,
        few: 1 << 17,
    };
    const TESTED: Sizes = Sizes {
        long: 1 << 16,
        part_least: 1 << 12,
        // Few, so that a thread has as many packs of a part of a long row as it has on a card, where parts are of millions of elements.
        parts: 16,
        few: 1 << 13,
    };
}

/// A reduction in parts: each of a workgroup, and a launch that joins them.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// Few long contiguous rows, in parts of `chunk` elements.
    Rows {
        rows: usize,
        per_row: usize,
        chunk: usize,
    },
    /// Adjacent columns, in parts of `chunk` rows.
    Columns {
        outer: usize,
        inner: usize,
        per_row: usize,
        outer_stride: usize,
        row_stride: usize,
        chunk: usize,
        /// Columns a thread.
        width: usize,
    },
}

impl Cut {
    /// How rows of `dtype` are cut; `None` where a workgroup a row serves as well.
    fn of(rows: &Rows, dtype: DType, sizes: &Sizes) -> Option<Cut> {
        let Rows { count, per_row, .. } = *rows;
        let Some(words) = view::layout_table(&rows.dims, &[&rows.strides]) else {
            let chunk = (count * per_row)
                .div_ceil(sizes.parts)
                .max(sizes.part_least)
                .next_power_of_two();
            let is_long = per_row > sizes.long && count * 4 <= MANY && chunk < per_row;
            return is_long.then_some(Cut::Rows {
                rows: count,
                per_row,
                chunk,
            });
        };
        let words: Vec<usize> = words.iter().map(|&word| word as usize).collect();
        let (outer, inner, outer_stride, row_stride) = match words[..] {
            [inner, last, 1, row] if last == per_row => (1, inner, 0, row),
            [outer, inner, last, block, 1, row] if last == per_row => (outer, inner, block, row),
            _ => return None,
        };
        if inner < LANES || per_row < DEPTH {
            return None;
        }
        if per_row <= ROWS_MOST && outer * inner * per_row <= sizes.few {
            return Some(Cut::Columns {
                outer,
                inner,
                per_row,
                outer_stride,
                row_stride,
                chunk: per_row,
                width: 1,
            });
        }
        // As if columns were taken four a thread; of wider packs there are fewer tiles, and still more than enough of them.
        let tiles = outer * inner.div_ceil(LANES * 4);
        let chunk = (per_row * tiles / MANY_COLUMNS)
            .clamp(ROWS_LEAST, ROWS_MOST)
            .next_multiple_of(DEPTH);
        let pack = PACK / dtype.size_in_bytes();
        let is_packed = inner.is_multiple_of(pack) && inner >= LANES * pack;
        Some(Cut::Columns {
            outer,
            inner,
            per_row,
            outer_stride,
            row_stride,
            chunk,
            width: if is_packed { pack } else { 1 },
        })
    }
}

/// What kernels call a reduction that is taken in parts; `None` for one without such kernels, which takes a workgroup a row.
fn parts_name(op: Reduce) -> Option<&'static str> {
    match op {
        Reduce::Sum => Some("sum"),
        Reduce::Max => Some("max"),
        Reduce::Min => Some("min"),
        Reduce::ArgMax => Some("argmax"),
        Reduce::ArgMin => Some("argmin"),
    }
}

/// Reduces `x` part by part by the kernels of `op_name`, and joins the parts in `out`, which has room for the results.
fn fold_cut(op: Reduce, op_name: &str, cut: &Cut, x: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    let context = common_context(op_name, [x.buffer(), &*out].into_iter())?;
    let named = |kind: &str| {
        let kernel = format!("{kind}_{op_name}");
        let function = module::named(
            &context,
            if kind == "columns" { COLUMNS } else { PARTS },
            &format!("{kernel}_{}", dtype.suffix()),
            &kernel,
            dtype,
        );
        function.map(|function| (kernel, function))
    };
    let (results, per_row, chunk) = match *cut {
        Cut::Rows { rows, per_row, chunk } => (rows, per_row, chunk),
        Cut::Columns {
            outer,
            inner,
            per_row,
            chunk,
            ..
        } => (outer * inner, per_row, chunk),
    };
    let parts = per_row.div_ceil(chunk);
    // Eight bytes hold the type that any dtype is computed in, and with its place any dtype of four.
    let words = if op.is_place() && dtype.size_in_bytes() == 8 {
        2
    } else {
        1
    };
    let is_one_part = parts == 1 && matches!(cut, Cut::Columns { .. });
    let scratch = DynBuffer::uninit(
        device,
        DType::I64,
        if is_one_part { 0 } else { results * parts * words },
    )?;
    let mut args = Args::default();
    let (kind, grid) = match *cut {
        Cut::Rows { rows, per_row, chunk } => {
            args.size(rows).size(per_row).size(parts).size(chunk);
            let threads = workgroup(MANY, chunk, dtype, held(dtype), Crowds::CARD).min(PART_MOST);
            ("parts", Grid::in_space([parts, rows, 1], threads))
        }
        Cut::Columns {
            outer,
            inner,
            per_row,
            outer_stride,
            row_stride,
            chunk,
            width,
        } => {
            for number in [
                outer,
                inner,
                per_row,
                outer_stride,
                row_stride,
                parts,
                chunk,
                width,
            ] {
                args.size(number);
            }
            let groups = [inner.div_ceil(LANES * width), parts, outer];
            ("columns", Grid::in_space(groups, LANES * DEPTH))
        }
    };
    args.element(x.buffer(), x.offset()).element(&scratch, 0);
    if matches!(cut, Cut::Columns { .. }) {
        args.element(out, 0);
    }
    let (kernel, function) = named(kind)?;
    // SAFETY: the arguments are the kernel's, for the dtype of `x`. What it reads is the region, which lies inside its buffer; it
    // writes a value for each part of each result, which `scratch` has room for, or of one part the results, which `out` has.
    unsafe { args.submit(&kernel, &context, &function, grid) }?;
    if is_one_part {
        return Ok(());
    }
    let mut args = Args::default();
    args.size(results)
        .size(parts)
        .element(&scratch, 0)
        .element(out, 0);
    let threads = workgroup(results, parts, DType::F64, held(DType::F64), Crowds::of(&context));
    let together = rows_together(results, threads);
    let groups = results.div_ceil(together);
    let (kernel, function) = named("join")?;
    // SAFETY: the arguments are the kernel's. The launch before it has written every part, and `out` has room for the results. The
    // stream keeps the scratch's memory until then.
    unsafe {
        args.submit(
            &kernel,
            &context,
            &function,
            row_grid(groups, threads, together).striding(),
        )
    }
}

/// Adds to `out` the sums of `x` over the dimensions `reduced`, a thread a result.
pub(crate) fn add_sums(x: &Region<'_>, reduced: &[usize], out: &mut DynBuffer) -> Result<()> {
    const KERNEL: &str = "sum";
    let rows = Rows::of(KERNEL, x, reduced)?;
    let dtype = x.buffer().dtype();
    Error::unless_same_dtype(KERNEL, dtype, out.dtype())?;
    if out.len() != rows.count {
        return Err(Error::Length {
            what: format!("{KERNEL}: results"),
            expected: rows.count,
            found: out.len(),
        });
    }
    let context = common_context(KERNEL, [x.buffer(), &*out].into_iter())?;
    let function = module::named(
        &context,
        MODULE,
        &format!("{KERNEL}_{}", dtype.suffix()),
        KERNEL,
        dtype,
    )?;
    if x.numel() == 0 {
        return Ok(());
    }
    if x.numel() > context.most() {
        let reason = format!("{} elements; its kernel counts {}", x.numel(), context.most());
        return Err(Error::too_large(KERNEL, reason));
    }
    // One dimension more, of size 1, so that the table is never empty.
    let (dims, strides) = (
        [&[1], &rows.dims[..]].concat(),
        [&[0], &rows.strides[..]].concat(),
    );
    let table = table(&context, &[&dims, &strides], &dims, &[])?;
    let mut args = Args::default();
    args.size(x.numel())
        .size(dims.len())
        .size(reduced.len())
        .table(Some(&table))
        .element(x.buffer(), x.offset())
        .element(out, 0);
    // SAFETY: the arguments are the kernel's, for the dtype of `x` and of `out`, which has room for one sum a row. The
    // table holds what the kernel reads from it, and lives to the end of this function. The region lies inside its
    // buffer.
    unsafe { args.submit(KERNEL, &Arc::clone(&context), &function, Grid::over(rows.count)) }
}

#[cfg(test)]
mod tests {
    use super::threads::SHORT;
    use super::*;

    /// `fold_held` and `fold_parts` of the kernels count on it: no wave of a GPU has more than 64 threads.
    #[test]
    fn rows_of_one_pack_a_thread_and_parts_fill_the_waves_of_any_gpu() {
        const WAVE: usize = 64;
        for &dtype in DType::ALL {
            let pack = PACK / dtype.size_in_bytes();
            for crowds in [Crowds::CARD, Crowds::TESTED] {
                for (rows, packs) in [
                    (1, SHORT + 1),
                    (39, 64),
                    (255, 500),
                    (3000, SHORT + 1),
                    (3000, 8000),
                ] {
                    let threads = workgroup(rows, packs * pack, dtype, held(dtype), crowds);
                    assert!(
                        packs > threads || threads >= WAVE,
                        "{rows} rows of {packs} packs of {dtype}"
                    );
                }
            }
            for sizes in [&Sizes::CARD, &Sizes::TESTED] {
                let threads = workgroup(MANY, sizes.part_least, dtype, held(dtype), Crowds::CARD);
                assert!(threads >= WAVE, "parts of {dtype}: {threads}");
            }
        }
    }

    fn cut(dims: &[usize], strides: &[usize], per_row: usize) -> Option<Cut> {
        let rows = Rows {
            dims: dims.to_vec(),
            strides: strides.to_vec(),
            count: dims.iter().product::<usize>() / per_row,
            per_row,
        };
        Cut::of(&rows, DType::F16, &Sizes::CARD)
    }

    #[test]
    fn few_long_rows_and_adjacent_columns_are_cut() {
        let rows = cut(&[1 << 26], &[1], 1 << 26);
        assert_eq!(
            rows,
            Some(Cut::Rows {
                rows: 1,
                per_row: 1 << 26,
                chunk: 1 << 15
            })
        );
        let columns = |outer, inner, per_row, outer_stride, row_stride, chunk, width| {
            Some(Cut::Columns {
                outer,
                inner,
                per_row,
                outer_stride,
                row_stride,
                chunk,
                width,
            })
        };
        // The sum over dimension 0 of [8192, 8192], and over the middle one of [64, 1024, 1024].
        assert_eq!(
            cut(&[8192, 8192], &[1, 8192], 8192),
            columns(1, 8192, 8192, 0, 8192, 512, 8)
        );
        let middle = cut(&[64, 1024, 1024], &[1 << 20, 1, 1024], 1024);
        assert_eq!(middle, columns(64, 1024, 1024, 1 << 20, 1024, 512, 8));
        // Few elements are one part, columns of no whole packs one a thread.
        assert_eq!(
            cut(&[256, 256], &[1, 256], 256),
            columns(1, 256, 256, 0, 256, 256, 1)
        );
        assert_eq!(
            cut(&[1001, 1024], &[1, 1001], 1024),
            columns(1, 1001, 1024, 0, 1001, 64, 1)
        );
    }

    #[test]
    fn other_rows_are_not_cut() {
        for (dims, strides, per_row) in [
            (&[8192, 8192][..], &[8192, 1][..], 8192),
            (&[1000], &[1], 1000),
            (&[8, 8192], &[1, 8], 8192),
            (&[8192, 4], &[1, 8192], 4),
            (&[8192, 8192], &[2, 16384], 8192),
        ] {
            assert_eq!(cut(dims, strides, per_row), None, "{dims:?} {strides:?}");
        }
    }
}
