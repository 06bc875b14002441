//! Reductions: launches of a workgroup, or a thread, a row.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::{Args, Grid, MAX_GRID, PACK, common_context, layout, table};
use crate::kernel::Reduce;
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, module};

const MODULE: &str = "reduce";
/// Rows of at most this many elements are summed by a thread each.
const SMALL: usize = 32;

/// Threads of the workgroup that works on a row of `terms` elements of `dtype`: a power of two, as the kernels want it,
/// with some terms for each thread, a pack of them at least.
pub(super) fn workgroup(terms: usize, dtype: DType) -> usize {
    let each = (PACK / dtype.size_in_bytes()).max(4);
    terms.div_ceil(each).clamp(32, 1024).next_power_of_two()
}

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
}

/// Reduces `x` over the dimensions `reduced`; one result for each place in the others, in row-major order.
pub(crate) fn fold(op: Reduce, x: &Region<'_>, reduced: &[usize]) -> Result<DynBuffer> {
    let kernel = op.name();
    let rows = Rows::of(kernel, x, reduced)?;
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    op.kernel().supports(dtype)?;
    let context = common_context(kernel, [x.buffer()].into_iter())?;
    let is_small = op == Reduce::Sum && rows.per_row <= SMALL;
    let symbol = format!(
        "{kernel}{}_{}",
        if is_small { "_small" } else { "" },
        dtype.suffix()
    );
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
    let out = DynBuffer::uninit(device, out_dtype, rows.count)?;
    let (num_dims, table) = layout(&context, &rows.dims, &[&rows.strides])?;
    let (first, grid) = if is_small {
        (rows.count, Grid::over(rows.count))
    } else {
        let grid = Grid::of(rows.count.min(MAX_GRID), workgroup(rows.per_row, dtype));
        (x.numel(), grid)
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
    let mut dims = reduced.to_vec();
    dims.sort_unstable();
    let sizes: Vec<usize> = dims.iter().map(|&dim| x.dims()[dim]).collect();
    // Products of sizes that are factors of `numel`: none overflows.
    let skips: Vec<usize> = dims
        .iter()
        .map(|&dim| x.dims()[dim + 1..].iter().product())
        .collect();
    // One dimension more, of size 1, so that the table is never empty.
    let (all_dims, all_strides) = ([x.dims(), &[1]].concat(), [x.strides(), &[1]].concat());
    let table = table(&context, &[&all_dims, &all_strides, &sizes, &skips])?;
    let mut args = Args::default();
    args.size(x.numel())
        .size(all_dims.len())
        .size(dims.len())
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
    use super::*;

    #[test]
    fn a_workgroup_is_a_power_of_two_that_a_kernel_has_room_for() {
        for terms in [1, 31, 128, 129, 1000, 4096, 4097, usize::MAX] {
            for dtype in [DType::U8, DType::F64] {
                let threads = workgroup(terms, dtype);
                assert!(threads.is_power_of_two(), "{terms}: {threads}");
                assert!((32..=1024).contains(&threads), "{terms}: {threads}");
            }
        }
        assert_eq!(workgroup(129, DType::F32), 64);
        assert_eq!(workgroup(1025, DType::F16), 256);
    }
}
