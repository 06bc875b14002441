//! Launches of the indexing kernels: elements chosen by ids along one dimension.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::elementwise::packed;
use super::pieces::{Piece, Pieces, is_beyond};
use super::{Args, Grid, common_context, layout, pack_len};
use crate::hip::context::Context;
use crate::hip::module::Function;
use crate::view::{Region, View};
use crate::{DType, DynBuffer, Error, Result, module};

const MODULE: &str = "indexing";

/// Adjacent elements of a buffer, from element `offset` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) buffer: &'a DynBuffer,
    pub(crate) offset: usize,
}

/// How many elements there are before, along and after the indexed dimension: `src` in the tensor read, `dst` in the
/// tensor written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) left: usize,
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) right: usize,
}

/// Which kernel writes by ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// The last of several elements stays.
    Set,
    /// Elements add up; an id for each element.
    Add,
    /// Elements add up; an id for each place along the dimension.
    IndexAdd,
}

impl Write {
    fn prefix(self) -> &'static str {
        match self {
            Write::Set => "s",
            Write::Add => "sa",
            Write::IndexAdd => "ia",
        }
    }
}

impl Sizes {
    /// Elements of the tensor read.
    pub(crate) fn read(&self) -> Option<usize> {
        product(&[self.left, self.src, self.right])
    }

    /// Elements of the tensor written.
    pub(crate) fn written(&self) -> Option<usize> {
        product(&[self.left, self.dst, self.right])
    }

    /// The launches that write the tensor written, element by element; they divide what is before and along the dimension.
    fn pieces(&self, op: &str, context: &Context) -> Result<impl Iterator<Item = Piece>> {
        let dims = [self.left, self.dst, self.right];
        Ok(Pieces::of(op, &dims, 2, context)?.collect::<Vec<_>>().into_iter())
    }

    /// Of the tensor written, before and along the dimension.
    fn strides(&self) -> [usize; 2] {
        [self.dst.saturating_mul(self.right), self.right]
    }
}

/// The product of sizes, if it can be counted. A zero among them makes it 0, whatever the others are.
pub(crate) fn product(sizes: &[usize]) -> Option<usize> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1_usize, |n, &size| n.checked_mul(size))
}

/// Whether `count` elements are there, from the run's first one on.
fn holds(run: Run<'_>, count: Option<usize>) -> bool {
    count.is_some_and(|count| {
        count == 0
            || run
                .offset
                .checked_add(count)
                .is_some_and(|end| end <= run.buffer.len())
    })
}

fn require(op: &str, inside: bool) -> Result<()> {
    inside
        .then_some(())
        .ok_or_else(|| Error::shape(op, "the sizes reach outside a buffer"))
}

/// Finds the first of `count` ids that is neither a position below `size` nor "no element", the greatest id of its
/// dtype. Waits for the device.
pub(crate) fn first_outside(op: &str, ids: Run<'_>, count: usize, size: usize) -> Result<Option<usize>> {
    require(op, holds(ids, Some(count)))?;
    let dtype = ids.buffer.dtype();
    let device = ids.buffer.device();
    let function = ids_kernel(op, &format!("ids_check_{dtype}"), ids.buffer, dtype)?;
    let rest = device.zeros::<i64>(1)?;
    let mut args = Args::default();
    args.size(count)
        .element(ids.buffer, ids.offset)
        .size(size)
        .element(&rest, 0);
    // SAFETY: the arguments are the kernel's; `count` ids lie in their buffer, checked above, and `rest` is one u64.
    unsafe { args.submit("ids_check", device.context(), &function, Grid::over(count)) }?;
    // How many ids are left from the first wrong one on.
    match rest.download()?[..] {
        [rest] if rest > 0 => Ok(usize::try_from(rest)
            .ok()
            .and_then(|rest| count.checked_sub(rest))),
        _ => Ok(None),
    }
}

/// `out[l, i, r] = x[l, ids[i], r]`. `sizes.dst` is the number of ids.
pub(crate) fn index_select(
    op: &str,
    x: &Region<'_>,
    ids: Run<'_>,
    out: &mut DynBuffer,
    sizes: Sizes,
) -> Result<()> {
    let inside = holds(ids, Some(sizes.dst))
        && sizes.read() == Some(x.numel())
        && sizes.written() == Some(out.len())
        && x.buffer().dtype() == out.dtype();
    require(op, inside)?;
    let context = common_context(op, [x.buffer(), ids.buffer, &*out].into_iter())?;
    let function = kernel(op, "is", ids.buffer, out)?;
    if out.is_empty() {
        return Ok(());
    }
    if is_beyond(&context, x, x.numel().max(out.len())) {
        let copy = packed(x)?;
        let (dims, strides) = ([copy.len()], [1]);
        return index_select(op, &View::new(&copy, &dims, &strides).check(op)?, ids, out, sizes);
    }
    let (num_dims, table) = layout(&context, x.dims(), &[x.strides()])?;
    let dtypes = [out.dtype()];
    let in_packs = table.is_none() && sizes.right.is_multiple_of(pack_len(&dtypes));
    for piece in sizes.pieces(op, &context)? {
        let mut args = Args::default();
        // Only of a contiguous view there are several.
        args.walk(piece.numel(), num_dims, table.as_ref())
            .element(ids.buffer, ids.offset + piece.offset(&[0, 1]))
            .element(x.buffer(), x.offset() + piece.offset(&[sizes.src * sizes.right]))
            .element(out, piece.offset(&sizes.strides()));
        args.size(piece.dims[0])
            .size(sizes.src)
            .size(piece.dims[1])
            .size(sizes.right);
        let grid = Grid::over_packs(piece.numel(), in_packs, &dtypes);
        // SAFETY: the arguments are the kernel's. The view lies in its buffer and has the elements `sizes` say, the ids are
        // there, and `out` has room, all checked above; an id beyond `sizes.src` reads nothing. A piece is some of them. `table`
        // lives to the end of this function.
        unsafe { args.submit(op, &context, &function, grid) }?;
    }
    Ok(())
}

/// `out[l, i, r] = x[l, ids[l, i, r], r]`. `sizes.dst` is the size of the ids along the dimension.
pub(crate) fn gather(op: &str, x: Run<'_>, ids: Run<'_>, out: &mut DynBuffer, sizes: Sizes) -> Result<()> {
    let inside = holds(ids, sizes.written())
        && holds(x, sizes.read())
        && sizes.written() == Some(out.len())
        && x.buffer.dtype() == out.dtype();
    require(op, inside)?;
    let context = common_context(op, [x.buffer, ids.buffer, &*out].into_iter())?;
    let function = kernel(op, "gather", ids.buffer, out)?;
    if out.is_empty() {
        return Ok(());
    }
    for piece in sizes.pieces(op, &context)? {
        let first = piece.offset(&sizes.strides());
        let mut args = Args::default();
        args.size(piece.numel())
            .element(ids.buffer, ids.offset + first)
            .element(x.buffer, x.offset + piece.offset(&[sizes.src * sizes.right]))
            .element(out, first);
        args.size(piece.dims[0])
            .size(sizes.src)
            .size(piece.dims[1])
            .size(sizes.right);
        // SAFETY: the arguments are the kernel's. Ids, source and result have the elements `sizes` say, checked above, and a
        // piece is some of them; an id beyond `sizes.src` reads nothing.
        unsafe { args.submit(op, &context, &function, Grid::over(piece.numel())) }?;
    }
    Ok(())
}

/// Writes the elements of `src` to `out`, from element `out_offset` on, where their ids say.
pub(crate) fn write(
    op: &str,
    how: Write,
    ids: Run<'_>,
    src: Run<'_>,
    (out, out_offset): (&mut DynBuffer, usize),
    sizes: Sizes,
) -> Result<()> {
    let ids_count = match how {
        Write::Set | Write::Add => sizes.read(),
        Write::IndexAdd => Some(sizes.src),
    };
    let target = Run {
        buffer: out,
        offset: out_offset,
    };
    let inside = holds(ids, ids_count)
        && holds(src, sizes.read())
        && holds(target, sizes.written())
        && src.buffer.dtype() == out.dtype();
    require(op, inside)?;
    let context = common_context(op, [ids.buffer, src.buffer, &*out].into_iter())?;
    let function = kernel(op, how.prefix(), ids.buffer, out)?;
    if sizes.read() == Some(0) || sizes.dst == 0 {
        return Ok(());
    }
    // A thread a column, which are what is numbered.
    for piece in Pieces::of(op, &[sizes.left, sizes.right], 1, &context)? {
        let first = piece.offset(&[sizes.src * sizes.right]);
        let mut args = Args::default();
        if how == Write::IndexAdd {
            args.element(ids.buffer, ids.offset).size(sizes.src);
        } else {
            args.element(ids.buffer, ids.offset + first);
        }
        args.element(src.buffer, src.offset + first)
            .element(out, out_offset + piece.offset(&[sizes.dst * sizes.right]))
            .size(piece.dims[0])
            .size(sizes.src)
            .size(sizes.dst)
            .size(sizes.right);
        // SAFETY: the arguments are the kernel's. Ids, source and target have the elements `sizes` say, checked above, and a
        // piece is some of them; an id beyond `sizes.dst` writes nothing. `out` is borrowed mutably, so neither ids nor source
        // share its memory.
        unsafe { args.submit(op, &context, &function, Grid::over(piece.numel())) }?;
    }
    Ok(())
}

/// The kernel `<prefix>_<id>_<dtype>`.
fn kernel(op: &str, prefix: &str, ids: &DynBuffer, values: &DynBuffer) -> Result<Function> {
    let symbol = format!("{prefix}_{}_{}", ids.dtype(), values.dtype());
    ids_kernel(op, &symbol, ids, values.dtype())
}

/// The kernel `symbol`, which exists where `ids` are of a dtype that ids can have.
fn ids_kernel(op: &str, symbol: &str, ids: &DynBuffer, dtype: DType) -> Result<Function> {
    match ids.dtype() {
        DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 => {
            module::named(ids.memory().context(), MODULE, symbol, op, dtype)
        }
        float => Err(Error::Unsupported {
            op: format!("{op} by ids"),
            dtype: float,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, driver};

    /// Ids on both sides of a dimension of two; 1 is in it.
    const IDS: [i64; 4] = [-1, 1, 2, i64::MAX - 1];

    #[test]
    fn kernels_touch_no_memory_by_an_id_outside_even_if_nobody_checked() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let upload = |words: &[i64]| device.upload(words).unwrap().untyped();
        let ids = upload(&IDS);
        let [two, four] = [&[10, 20][..], &[1, 2, 3, 4]].map(upload);
        let run = |buffer| Run { buffer, offset: 0 };
        let sizes = |src, dst| Sizes {
            left: 1,
            src,
            dst,
            right: 1,
        };
        let before = || upload(&[7; 4]);
        let is = |out: &DynBuffer, words: &[i64]| assert_eq!(out.download::<i64>().unwrap(), words);

        let mut out = before();
        gather("gather", run(&two), run(&ids), &mut out, sizes(2, 4)).unwrap();
        is(&out, &[7, 20, 7, 7]);
        let mut out = before();
        let x = two.view().check("index_select").unwrap();
        index_select("index_select", &x, run(&ids), &mut out, sizes(2, 4)).unwrap();
        is(&out, &[7, 20, 7, 7]);
        for (how, wanted) in [(Write::Set, 2), (Write::Add, 22), (Write::IndexAdd, 22)] {
            let mut out = two.try_clone().unwrap();
            write("write", how, run(&ids), run(&four), (&mut out, 0), sizes(4, 2)).unwrap();
            is(&out, &[10, wanted]);
        }
    }

    #[test]
    fn sizes_that_leave_a_buffer_are_refused() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let (ids, x) = (
            device.zeros::<u32>(4).unwrap().untyped(),
            device.zeros::<f32>(4).unwrap().untyped(),
        );
        let attempt = |src, dst, offset| {
            let mut out = device.zeros::<f32>(4).unwrap().untyped();
            let (left, right) = (1, 2);
            let sizes = Sizes {
                left,
                src,
                dst,
                right,
            };
            let run = |buffer| Run { buffer, offset };
            [
                gather("gather", run(&x), run(&ids), &mut out, sizes),
                write("write", Write::Set, run(&ids), run(&x), (&mut out, offset), sizes),
            ]
            .map(|answer| answer.is_ok())
        };
        assert_eq!(attempt(2, 2, 0), [true; 2]);
        assert_eq!(attempt(3, 2, 0), [false; 2]);
        assert_eq!(attempt(2, 3, 0), [false; 2]);
        assert_eq!(attempt(2, 2, 1), [false; 2]);
        assert_eq!(attempt(usize::MAX, 2, 0), [false; 2]);
        assert_eq!(attempt(2, 2, usize::MAX), [false; 2]);
    }
}
