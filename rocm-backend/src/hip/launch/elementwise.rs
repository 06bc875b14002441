//! Element-wise launches, fills and row copies: results in row-major order, one thread a result.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::pieces::Pieces;
use super::turned::{self, SIDE_LEAST};
use super::{Args, BLOCK, Grid, PACK, common_context, layout, layout_in_packs, pack_len};
use crate::hip::context::Context;
use crate::kernel::{Family, Kernel, Unary};
use crate::view::{self, Region, RegionMut, View};
use crate::{DType, DynBuffer, Error, Result, Scalar, module};

/// Runs an element-wise kernel over regions of one shape; its results go to `out`, from element `out_offset` on.
pub(crate) fn map(
    kernel: Kernel,
    leading: &[Scalar],
    inputs: &[Region<'_>],
    out: &mut DynBuffer,
    out_offset: usize,
    trailing: &[Scalar],
) -> Result<()> {
    let name = kernel.name;
    let (before, among, after) = kernel.family.arity();
    let [first, ..] = inputs else {
        return Err(Error::shape(name, "there is no input"));
    };
    if (leading.len(), inputs.len(), trailing.len()) != (before, among, after) {
        return Err(Error::shape(name, "these are another family's arguments"));
    }
    let dtype = first.buffer().dtype();
    let out_dtype = if kernel.family == Family::Compare {
        DType::U8
    } else {
        dtype
    };
    let values = leading.iter().chain(trailing).map(|value| value.dtype());
    for found in inputs.iter().map(|input| input.buffer().dtype()).chain(values) {
        Error::unless_same_dtype(name, dtype, found)?;
    }
    Error::unless_same_dtype(name, out_dtype, out.dtype())?;
    if let Some(other) = inputs.iter().find(|input| input.dims() != first.dims()) {
        return Err(Error::shape(
            name,
            format!(
                "operands of {:?} and {:?}, expected one shape",
                first.dims(),
                other.dims()
            ),
        ));
    }
    let context = common_context(kernel.name, inputs.iter().map(Region::buffer).chain([&*out]))?;
    view::check(kernel.name, out.len(), &[first.numel()], &[1], out_offset)?;

    let function = module::function(&context, kernel, dtype)?;
    if first.numel() == 0 {
        return Ok(());
    }
    if map_turned(&context, kernel, leading, inputs, (out, out_offset), trailing)? {
        return Ok(());
    }
    let copies = turned_copies(&context, kernel, inputs)?;
    if copies.iter().any(Option::is_some) {
        let views = inputs.iter().zip(&copies).map(|(input, copy)| match copy {
            Some(copy) => View::contiguous(copy, input.dims()).check(name),
            None => Ok(*input),
        });
        return map(
            kernel,
            leading,
            &views.collect::<Result<Vec<_>>>()?,
            out,
            out_offset,
            trailing,
        );
    }
    let strides: Vec<&[usize]> = inputs.iter().map(Region::strides).collect();
    let dtypes = [dtype, out_dtype];
    let mut done = 0;
    for piece in Pieces::of_walk(kernel.name, first.dims(), &strides, &context)? {
        let (num_dims, table, in_packs) =
            layout_in_packs(&context, &piece.dims, &strides, pack_len(&dtypes))?;
        let numel = piece.numel();
        let mut args = Args::default();
        args.walk(numel, num_dims, table.as_ref()).scalars(leading);
        for input in inputs {
            args.element(input.buffer(), input.offset() + piece.offset(input.strides()));
        }
        args.element(out, out_offset + done).scalars(trailing);
        let grid = Grid::over_packs(numel, in_packs, &dtypes);
        // SAFETY: the arguments are the family's, checked above to be of the kernel's dtype. Regions lie inside their
        // buffers, and pieces in them; `out` has room for `numel` results of each piece. `table` lives until the launch is
        // submitted.
        unsafe { args.submit(kernel.name, &context, &function, grid) }?;
        done += numel;
    }
    Ok(())
}

/// Computes by tiles where inputs are turned and there is a kernel for it; says whether it did.
fn map_turned(
    context: &Arc<Context>,
    kernel: Kernel,
    leading: &[Scalar],
    inputs: &[Region<'_>],
    out: (&DynBuffer, usize),
    trailing: &[Scalar],
) -> Result<bool> {
    let dtype = inputs.first().map(|input| input.buffer().dtype());
    let Some(dtype) = dtype.filter(|dtype| turned::serves(*dtype) && !is_copy(kernel)) else {
        return Ok(false);
    };
    let name = turned::Name {
        module: kernel.family.module(),
        op: kernel.name,
        dtypes: dtype.suffix(),
    };
    turned::map(context, &name, leading, inputs, out, trailing)
}

/// Copies are tiles' own, of every dtype ([`transpose`]).
fn is_copy(kernel: Kernel) -> bool {
    kernel.name == Unary::Copy.kernel().name
}

/// Copies in row-major order of the inputs whose adjacent elements lie along another dimension than the last one: read element by
/// element, each of them would bring a line of memory. No list where none is.
fn turned_copies(context: &Context, kernel: Kernel, inputs: &[Region<'_>]) -> Result<Vec<Option<DynBuffer>>> {
    let is_few = |input: &Region<'_>| turned::is_few(context, input);
    if is_copy(kernel) || inputs.iter().all(is_few) {
        return Ok(Vec::new());
    }
    let copy = |input: &Region<'_>| {
        // What repeats is read from the caches wherever it lies.
        let repeats = input.strides().contains(&0);
        if is_few(input) || repeats || Swap::of(input.dims(), input.strides()).is_none() {
            return Ok(None);
        }
        let mut out = DynBuffer::uninit(input.buffer().device(), input.buffer().dtype(), input.numel())?;
        Ok(transpose(input, &mut out, 0)?.then_some(out))
    };
    inputs.iter().map(copy).collect()
}

/// A region's elements in row-major order.
pub(crate) fn packed(x: &Region<'_>) -> Result<DynBuffer> {
    let mut out = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), x.numel())?;
    if transpose(x, &mut out, 0)? {
        return Ok(out);
    }
    map(Unary::Copy.kernel(), &[], &[*x], &mut out, 0, &[])?;
    Ok(out)
}

/// Stores `value` in every element of a region.
pub(crate) fn const_set(out: RegionMut<'_>, value: Scalar) -> Result<()> {
    let kernel = Kernel::CONST_SET;
    let RegionMut {
        buffer,
        offset,
        numel,
        ..
    } = out;
    Error::unless_same_dtype(kernel.name, buffer.dtype(), value.dtype())?;
    let context = Arc::clone(buffer.memory().context());
    let function = module::function(&context, kernel, buffer.dtype())?;
    if numel == 0 {
        return Ok(());
    }
    let strides = out.strides.as_slice();
    for piece in Pieces::of_walk(kernel.name, out.dims.as_slice(), &[strides], &context)? {
        let (num_dims, table) = layout(&context, &piece.dims, &[strides])?;
        let mut args = Args::default();
        args.walk(piece.numel(), num_dims, table.as_ref())
            .scalars(&[value])
            .element(buffer, offset + piece.offset(strides));
        let grid = Grid::over_packs(piece.numel(), table.is_none(), &[buffer.dtype()]);
        // SAFETY: the arguments are the family's, of the kernel's dtype; the region lies inside its buffer, and pieces in it.
        // `table` lives until the launch is submitted.
        unsafe { args.submit(kernel.name, &context, &function, grid) }?;
    }
    Ok(())
}

/// How `copy2d` of `kernels/fill.hip` shares rows out: what a thread copies at once, elements of a row that is worth a workgroup, and
/// how many of them that takes at once.
const AT_ONCE: usize = 4;
const LONG_ROW: usize = 1024;
const ROW_PART: usize = 8192;

/// The side of a tile, and the threads that copy it, as `kernels/transpose.h` has them.
const SIDE: usize = 64;
const SWAPPERS: usize = 256;

/// A view whose adjacent elements lie along another dimension than its last one.
#[derive(Debug, PartialEq, Eq)]
struct Swap {
    /// How many of them there are beside each other.
    batches: usize,
    /// The dimension along which elements are adjacent in memory.
    rows: usize,
    /// The last dimension.
    cols: usize,
    /// Distances in the source, of batches and along the last dimension.
    from: [usize; 2],
    /// Distances in the result, of batches and of rows.
    to: [usize; 2],
}

impl Swap {
    /// The view as tiles can copy it; `None` for any other.
    fn of(dims: &[usize], strides: &[usize]) -> Option<Swap> {
        let words = view::layout_table(dims, &[strides])?;
        let words: Vec<usize> = words.iter().map(|&word| word as usize).collect();
        let swap = match words[..] {
            [rows, cols, 1, col] => Swap {
                batches: 1,
                rows,
                cols,
                from: [0, col],
                to: [0, cols],
            },
            [batches, rows, cols, batch, 1, col] => Swap {
                batches,
                rows,
                cols,
                from: [batch, col],
                to: [rows.checked_mul(cols)?, cols],
            },
            [rows, batches, cols, 1, batch, col] => Swap {
                batches,
                rows,
                cols,
                from: [batch, col],
                to: [cols, batches.checked_mul(cols)?],
            },
            _ => return None,
        };
        (swap.rows.min(swap.cols) >= SIDE_LEAST).then_some(swap)
    }
}

/// Copies a view by tiles, if its adjacent elements lie along another dimension than its last one; says whether it did. The results go
/// to `out`, from element `out_offset` on.
pub(crate) fn transpose(source: &Region<'_>, out: &mut DynBuffer, out_offset: usize) -> Result<bool> {
    const KERNEL: &str = "transpose";
    let Some(swap) = Swap::of(source.dims(), source.strides()) else {
        return Ok(false);
    };
    let dtype = out.dtype();
    Error::unless_same_dtype(KERNEL, source.buffer().dtype(), dtype)?;
    let context = common_context(KERNEL, [source.buffer(), &*out].into_iter())?;
    let tiles = swap.batches * swap.rows.div_ceil(SIDE) * swap.cols.div_ceil(SIDE);
    if tiles > context.most() {
        return Ok(false);
    }
    view::check(KERNEL, out.len(), &[source.numel()], &[1], out_offset)?;
    let symbol = format!("{KERNEL}_{}", dtype.suffix());
    let function = module::named(&context, "fill", &symbol, KERNEL, dtype)?;
    let mut args = Args::default();
    for number in [swap.batches, swap.rows, swap.cols] {
        args.size(number);
    }
    for distance in [swap.from, swap.to].concat() {
        args.size(distance);
    }
    args.element(source.buffer(), source.offset())
        .element(out, out_offset);
    let grid = Grid::of(tiles, SWAPPERS).striding();
    // SAFETY: the arguments are the kernel's, of the buffers' dtype. The sizes and distances are those of the region, which lies
    // inside its buffer, and `out` has room for as many elements in row-major order.
    unsafe { args.submit(KERNEL, &context, &function, grid) }?;
    Ok(true)
}

/// Copies the rows of `source`, `from` apart, to those of `out`, `to` apart: both regions have two dimensions, of the same
/// sizes, and adjacent elements in a row.
pub(crate) fn copy2d(source: &Region<'_>, from: usize, out: RegionMut<'_>, to: usize) -> Result<()> {
    let kernel = Kernel::COPY2D;
    let (&[rows, row_len], &[to_rows, to_len]) = (source.dims(), out.dims.as_slice()) else {
        return Err(Error::shape(kernel.name, "the views are not of rows"));
    };
    let (strides, to_strides) = (source.strides(), out.strides.as_slice());
    if (rows, row_len) != (to_rows, to_len) || strides != [from, 1] || to_strides != [to, 1] {
        return Err(Error::shape(kernel.name, "the views are not of as many rows"));
    }
    let RegionMut {
        buffer: target,
        offset,
        numel,
        ..
    } = out;
    Error::unless_same_dtype(kernel.name, source.buffer().dtype(), target.dtype())?;
    let context = common_context(kernel.name, [source.buffer(), &*target].into_iter())?;
    let function = module::function(&context, kernel, target.dtype())?;
    let bytes = target.dtype().size_in_bytes();
    // Whether the kernel will take packs is for it to find out, from the addresses; it strides over any grid.
    let in_packs = [row_len, from, to]
        .iter()
        .all(|count| (count * bytes).is_multiple_of(PACK));
    // As many rows as it numbers the elements of. One row alone, or rows without gaps, it copies as a run, of any length.
    let is_run = from == row_len && to == row_len;
    // Rows that lie too far apart for the kernel are copied one after the other.
    let is_far = [from, to]
        .iter()
        .any(|distance| u32::try_from(*distance).is_err());
    let together = match (is_run, is_far) {
        (true, _) => numel / row_len.max(1),
        (_, true) => 1,
        _ => context.most() / row_len.max(1),
    };
    for piece in Pieces::new(&[rows], 1, together.max(1)).into_iter().flatten() {
        let rows = piece.numel();
        let mut args = Args::default();
        args.element(source.buffer(), source.offset() + piece.offset(&[from]))
            .element(target, offset + piece.offset(&[to]));
        let distances = if rows == 1 { [row_len; 2] } else { [from, to] };
        for number in [rows, row_len].into_iter().chain(distances) {
            let number = u32::try_from(number).map_err(|_| {
                let reason = format!("{number} rows or elements of a row; kernels count in 32 bits");
                Error::too_large(kernel.name, reason)
            })?;
            args.int(number);
        }
        let grid = if rows == 1 || is_run {
            Grid::over_packs(rows * row_len, true, &[target.dtype()])
        } else if in_packs {
            Grid::over_packs(rows * row_len / AT_ONCE, true, &[target.dtype()])
        } else if row_len >= LONG_ROW {
            Grid::of(rows * row_len.div_ceil(ROW_PART), BLOCK).striding()
        } else {
            Grid::over((rows * row_len).div_ceil(AT_ONCE))
        };
        // SAFETY: the arguments are the family's (32-bit numbers in the low halves of their words), and both regions lie inside
        // their buffers, with the strides that the kernel is told.
        unsafe { args.submit(kernel.name, &context, &function, grid) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, ViewMut, driver};

    /// Runs `uneg_f32` from 4 elements to 4 elements, told that there are `told`.
    fn negate(device: &Device, told: usize) -> Result<Vec<f32>> {
        let x = device.upload(&[1.0_f32; 4])?;
        let out = device.zeros::<f32>(4)?;
        let kernel = Unary::Neg.kernel();
        let function = module::function(device.context(), kernel, DType::F32)?;
        let mut args = Args::default();
        args.walk(told, 0, None).element(&x, 0).element(&out, 0);
        // SAFETY: the arguments are the family's. The software device faults before it leaves an allocation, so a
        // number too large is safe there, and only there.
        unsafe { args.submit(kernel.name, device.context(), &function, Grid::over(told)) }?;
        out.download()
    }

    #[test]
    fn tiles_copy_views_whose_last_dimension_is_not_adjacent() {
        let swap = Swap::of(&[64, 32], &[1, 64]).unwrap();
        assert_eq!((swap.batches, swap.rows, swap.cols), (1, 64, 32));
        assert_eq!((swap.from, swap.to), ([0, 64], [0, 32]));
        // [2, 48, 32] of [2, 32, 48]; and [48, 2, 32] of a window of it.
        let swap = Swap::of(&[2, 48, 32], &[1536, 1, 48]).unwrap();
        assert_eq!((swap.from, swap.to), ([1536, 48], [1536, 32]));
        let swap = Swap::of(&[48, 2, 32], &[1, 2000, 48]).unwrap();
        assert_eq!((swap.batches, swap.rows, swap.to), (2, 48, [32, 64]));
        for (dims, strides) in [
            (&[64, 32][..], &[32, 1][..]),
            (&[64, 32], &[64, 1]),
            (&[64, 8], &[1, 64]),
            (&[8, 64], &[1, 8]),
            (&[64, 32], &[0, 1]),
            (&[64, 32], &[2, 128]),
        ] {
            assert_eq!(Swap::of(dims, strides), None, "{dims:?} {strides:?}");
        }
    }

    #[test]
    fn the_distance_of_rows_may_be_anything_where_they_are_copied_alone() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let x: DynBuffer = device.upload(&[1_u8, 2, 3]).unwrap().untyped();
        let mut out: DynBuffer = device.upload(&[9_u8; 4]).unwrap().untyped();
        let far = [1 << 33, 1];
        let to = ViewMut::new(&mut out, &[1, 3], &far);
        crate::ops::copy2d(View::new(&x, &[1, 3], &far), to).unwrap();
        assert_eq!(out.download::<u8>().unwrap(), [1, 2, 3, 9]);
    }

    /// Kernels of candle's that the library launches `const_set_<dtype>` in place of.
    #[test]
    fn the_fill_kernels_of_candle_store_a_value_everywhere_and_nowhere_else() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        for &dtype in Kernel::CONST_SET.dtypes {
            let size = dtype.size_in_bytes();
            let bytes = device.upload(&[0xa5_u8; 100 * 8]).unwrap().untyped();
            let symbol = format!("fill_{}", dtype.suffix());
            let function = module::named(device.context(), "fill", &symbol, "fill", dtype).unwrap();
            let mut args = Args::default();
            let seven = Scalar::from_f64(dtype, 7.0);
            args.element(&bytes, 0).scalars(&[seven]).size(99);
            // SAFETY: the arguments are the kernel's; 99 elements of at most 8 bytes lie in the buffer.
            unsafe { args.submit("fill", device.context(), &function, Grid::over(99)) }.unwrap();
            let all: Vec<u8> = bytes.download().unwrap();
            let wanted = seven.to_kernel_arg()[..size].repeat(99);
            assert_eq!(all[..99 * size], wanted, "{dtype:?}");
            assert!(all[99 * size..].iter().all(|&byte| byte == 0xa5), "{dtype:?}");
        }
    }

    #[test]
    fn a_kernel_that_leaves_its_memory_is_an_error_that_says_where() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        assert_eq!(negate(&device, 4).unwrap(), [-1.0; 4], "within its memory");
        match negate(&device, 5).unwrap_err() {
            Error::DeviceFault(text) => assert!(text.contains("uneg_f32"), "{text}"),
            other => panic!("{other}"),
        }
        assert!(negate(&device, 4).is_ok(), "the software device goes on");
    }
}
