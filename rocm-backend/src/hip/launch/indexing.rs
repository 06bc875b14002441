//! Launches of the indexing kernels: elements chosen by ids along one dimension.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::elementwise::packed;
use super::pieces::{Piece, Pieces, is_beyond};
use super::{Args, BLOCK, Grid, PACK, common_context, layout, pack_len};
use crate::hip::context::Context;
use crate::hip::module::LoadedKernel;
use crate::hip::reports::Report;
use crate::view::{Region, View};
use crate::{DType, DynBuffer, Error, Result, module};

const MODULE: &str = "indexing";

/// Adjacent elements of a buffer, from element `offset` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) buffer: &'a DynBuffer,
    pub(crate) offset: usize,
}

impl Run<'_> {
    /// From so many elements behind its first one on.
    fn from(self, elements: usize) -> Self {
        Run {
            offset: self.offset + elements,
            ..self
        }
    }
}

/// How many elements there are before, along and after the indexed dimension: `src` in the tensor read, `dst` in the
/// tensor written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexSizes {
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

impl IndexSizes {
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

/// Has a launch look for an id, of `count`, that is neither a position below `size` nor "no element", the greatest id of its dtype.
/// The call that waits for the device next has the error; on the software device it is this one.
pub(crate) fn check_ids(op: &str, ids: Run<'_>, count: usize, size: usize) -> Result<()> {
    require(op, holds(ids, Some(count)))?;
    let context = ids.buffer.memory().context();
    let dtype = ids.buffer.dtype();
    let function = ids_kernel(op, &format!("ids_check_{}", dtype.suffix()), ids.buffer, dtype)?;
    // Reports have 32 bits for the place of an id.
    for first in (0..count).step_by(context.most()) {
        let part = context.most().min(count - first);
        let report = context.report_of(op, size, first)?;
        let mut args = Args::default();
        args.size(part)
            .element(ids.buffer, ids.offset + first)
            .size(size)
            .size(report.address());
        // SAFETY: the arguments are the kernel's; `part` ids from there on lie in their buffer, checked above, and the report is
        // two words that the context keeps.
        unsafe { args.submit("ids_check", context, &function, Grid::over(part)) }?;
        report.end()?;
    }
    Ok(())
}

/// Who looks at ids before they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// Someone did, or none of them can be wrong.
    Before,
    /// The kernel does, and the call that waits for the device next has the error. On the software device it is the call
    /// itself.
    Meanwhile,
}

impl Checked {
    /// Where the kernel reports, at address 0 if it does not.
    fn report<'a>(self, op: &str, context: &'a Context, sizes: IndexSizes) -> Result<Report<'a>> {
        match self {
            Checked::Before => Ok(Report::none(context)),
            Checked::Meanwhile => context.report_of(op, sizes.src, 0),
        }
    }
}

/// Ids that a workgroup takes of a row at once, as `kernels/indexing.hip` has it.
const IDS_TOGETHER: usize = 8192;
/// Ids of a row from which on it is worth a workgroup.
const IDS_LEAST: usize = 128;
/// Bytes of a row of the source that a workgroup brings to LDS at most.
const ROW_MOST: usize = 32768;

// `kernels/indexing.hip` reports no wrong byte of a row that is read where it lies: a row in which a byte can be wrong, of less than 255
// elements of 8 bytes at most, is always brought to LDS.
const _: () = assert!(IDS_LEAST * 2 >= 254 && 254 * 8 <= ROW_MOST);

/// Bytes of LDS for a row of `src` elements of `size` bytes, of which as many are asked for as there are `ids`: at least half of them, or
/// none is brought there.
fn row_in_lds(src: usize, ids: usize, size: usize) -> usize {
    let is_held = src.saturating_mul(size) <= ROW_MOST && ids * 2 >= src;
    // Packs of the row are packs there, whatever the offset of the view.
    if is_held { src * size + PACK } else { 0 }
}

/// A launch of the kernel for elements that ids choose along the last dimension of contiguous tensors.
struct InRows<'a> {
    ids: Run<'a>,
    /// From the ids of a row to those of the next one: 0 where all rows have the same.
    ids_step: usize,
    x: Run<'a>,
    out: (&'a DynBuffer, usize),
    /// Rows, and ids of each.
    sizes: [usize; 2],
    /// Elements of a row of the source.
    src: usize,
    report: usize,
}

impl InRows<'_> {
    /// Rows and ids of a piece of a result, where they are enough for it.
    fn sizes(piece: &Piece) -> Option<[usize; 2]> {
        match piece.dims[..] {
            [rows, ids, 1] if ids >= IDS_LEAST => Some([rows, ids]),
            _ => None,
        }
    }

    fn submit(&self, op: &str, context: &Context) -> Result<()> {
        let (out, offset) = self.out;
        let [rows, ids] = self.sizes;
        let function = kernel(op, "rows_by", self.ids.buffer, out)?;
        let lds = row_in_lds(self.src, ids, out.dtype().size_in_bytes());
        let mut args = Args::default();
        args.size(rows)
            .size(ids)
            .size(self.ids_step)
            .element(self.ids.buffer, self.ids.offset)
            .element(self.x.buffer, self.x.offset)
            .element(out, offset)
            .size(self.report)
            .size(self.src)
            .size(lds);
        let grid = Grid {
            lds,
            ..Grid::in_space([ids.div_ceil(IDS_TOGETHER), rows, 1], BLOCK)
        };
        // SAFETY: the arguments are the kernel's, and it has the LDS that it is told of, enough for a row. `rows` rows of `src` elements
        // lie in `x`, `ids` ids of each row where `ids_step` says, and `out` has room for as many results, which the callers checked; an
        // id beyond `src` reads nothing, and is reported in two words that the context keeps, or nowhere.
        unsafe { args.submit(op, context, &function, grid) }
    }
}

/// `out[l, i, r] = x[l, ids[i], r]`. `sizes.dst` is the number of ids.
pub(crate) fn index_select(
    op: &str,
    x: &Region<'_>,
    ids: Run<'_>,
    out: &mut DynBuffer,
    sizes: IndexSizes,
    checked: Checked,
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
        let x = View::new(&copy, &dims, &strides).check(op)?;
        return index_select(op, &x, ids, out, sizes, checked);
    }
    let report = checked.report(op, &context, sizes)?;
    let (num_dims, table) = layout(&context, x.dims(), &[x.strides()])?;
    let in_packs = table.is_none() && sizes.right.is_multiple_of(pack_len(&[out.dtype()]));
    for piece in sizes.pieces(op, &context)? {
        // Only of a contiguous view there are several.
        let mine = ids.from(piece.offset(&[0, 1]));
        let from = x.offset() + piece.offset(&[sizes.src * sizes.right]);
        let to = piece.offset(&sizes.strides());
        if let (Some(both), None) = (InRows::sizes(&piece), &table) {
            let rows = InRows {
                ids: mine,
                ids_step: 0,
                x: Run {
                    buffer: x.buffer(),
                    offset: from,
                },
                out: (out, to),
                sizes: both,
                src: sizes.src,
                report: report.address(),
            };
            rows.submit(op, &context)?;
            continue;
        }
        let mut args = Args::default();
        args.walk(piece.numel(), num_dims, table.as_ref())
            .element(ids.buffer, mine.offset)
            .element(x.buffer(), from)
            .element(out, to);
        args.size(report.address())
            .size(sizes.src)
            .size(piece.dims[1])
            .size(sizes.right);
        let grid = Grid::over_packs(piece.numel(), in_packs, &[out.dtype()]);
        // SAFETY: the arguments are the kernel's. The view lies in its buffer and has the elements `sizes` say, the ids are
        // there, and `out` has room, all checked above; an id beyond `sizes.src` reads nothing, and is reported in two words that
        // the context keeps, or nowhere. A piece is some of them. `table` lives to the end of this function.
        unsafe { args.submit(op, &context, &function, grid) }?;
    }
    report.end()
}

/// `out[l, i, r] = x[l, ids[l, i, r], r]`. `sizes.dst` is the size of the ids along the dimension.
pub(crate) fn gather(
    op: &str,
    x: Run<'_>,
    ids: Run<'_>,
    out: &mut DynBuffer,
    sizes: IndexSizes,
    checked: Checked,
) -> Result<()> {
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
    let report = checked.report(op, &context, sizes)?;
    for piece in sizes.pieces(op, &context)? {
        let first = piece.offset(&sizes.strides());
        let (mine, from) = (ids.from(first), x.from(piece.offset(&[sizes.src * sizes.right])));
        if let Some(both) = InRows::sizes(&piece) {
            let rows = InRows {
                ids: mine,
                ids_step: both[1],
                x: from,
                out: (out, first),
                sizes: both,
                src: sizes.src,
                report: report.address(),
            };
            rows.submit(op, &context)?;
            continue;
        }
        let mut args = Args::default();
        args.size(piece.numel())
            .element(mine.buffer, mine.offset)
            .element(from.buffer, from.offset)
            .element(out, first);
        args.size(report.address())
            .size(sizes.src)
            .size(piece.dims[1])
            .size(sizes.right);
        let grid = Grid::over(piece.numel());
        // SAFETY: the arguments are the kernel's. Ids, source and result have the elements `sizes` say, checked above, and a
        // piece is some of them; an id beyond `sizes.src` reads nothing, and is reported in two words that the context keeps, or
        // nowhere.
        unsafe { args.submit(op, &context, &function, grid) }?;
    }
    report.end()
}

/// Writes the elements of `src` to `out`, from element `out_offset` on, where their ids say.
pub(crate) fn write(
    op: &str,
    how: Write,
    ids: Run<'_>,
    src: Run<'_>,
    (out, out_offset): (&mut DynBuffer, usize),
    sizes: IndexSizes,
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
fn kernel(op: &str, prefix: &str, ids: &DynBuffer, values: &DynBuffer) -> Result<LoadedKernel> {
    let symbol = format!("{prefix}_{}_{}", ids.dtype().suffix(), values.dtype().suffix());
    ids_kernel(op, &symbol, ids, values.dtype())
}

/// The kernel `symbol`, which exists where `ids` are of a dtype that ids can have.
fn ids_kernel(op: &str, symbol: &str, ids: &DynBuffer, dtype: DType) -> Result<LoadedKernel> {
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
        let sizes = |src, dst| IndexSizes {
            left: 1,
            src,
            dst,
            right: 1,
        };
        let before = || upload(&[7; 4]);
        let is = |out: &DynBuffer, words: &[i64]| assert_eq!(out.download::<i64>().unwrap(), words);

        let mut out = before();
        gather(
            "gather",
            run(&two),
            run(&ids),
            &mut out,
            sizes(2, 4),
            Checked::Before,
        )
        .unwrap();
        is(&out, &[0, 20, 0, 0]);
        let mut out = before();
        let x = two.view().check("index_select").unwrap();
        index_select(
            "index_select",
            &x,
            run(&ids),
            &mut out,
            sizes(2, 4),
            Checked::Before,
        )
        .unwrap();
        is(&out, &[0, 20, 0, 0]);
        for (how, wanted) in [(Write::Set, 2), (Write::Add, 22), (Write::IndexAdd, 22)] {
            let mut out = two.try_clone().unwrap();
            write("write", how, run(&ids), run(&four), (&mut out, 0), sizes(4, 2)).unwrap();
            is(&out, &[10, wanted]);
        }
    }

    /// One thread's ids are wrong, the other's never, and the other waits for the device as often as it can.
    #[test]
    fn threads_that_share_a_software_device_hear_of_their_own_ids_alone() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let x = device.upload(&[10_i64, 20]).unwrap().untyped();
        let call = |id: i64| -> Result<Vec<i64>> {
            let ids = device.upload(&[id])?.untyped();
            let mut out = device.zeros::<i64>(1)?.untyped();
            let [x, ids] = [&x, &ids].map(|buffer| Run { buffer, offset: 0 });
            let sizes = IndexSizes {
                left: 1,
                src: 2,
                dst: 1,
                right: 1,
            };
            gather("gather", x, ids, &mut out, sizes, Checked::Meanwhile)?;
            out.download()
        };
        let calls = |id| move || (0..500).map(|_| call(id)).collect::<Vec<_>>();
        let (wrong, right) = std::thread::scope(|scope| {
            let wrong = scope.spawn(calls(7));
            let right = scope.spawn(calls(1));
            (wrong.join().unwrap(), right.join().unwrap())
        });
        let heard = |result: &Result<_>| matches!(result, Err(Error::Index { index: 7, .. }));
        assert_eq!(wrong.iter().filter(|result| heard(result)).count(), 500);
        assert_eq!(
            right.into_iter().collect::<Result<Vec<_>>>().unwrap(),
            vec![[20]; 500]
        );
    }

    /// What a GPU does, whose launches are not over when they return.
    #[test]
    fn the_call_that_waits_next_has_the_error_of_a_wrong_id_once() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let context = device.context();
        let (ids, x) = (
            device.upload(&IDS).unwrap(),
            device.upload(&[10_i64, 20]).unwrap(),
        );
        let function = module::named(context, MODULE, "gather_i64_i64", "gather", DType::I64).unwrap();
        let launch = |ids_from: usize| {
            let out = device.zeros::<i64>(1).unwrap();
            let report = context.late_report_of_gpu("gather", 2).unwrap();
            let mut args = Args::default();
            args.size(1)
                .element(&ids, ids_from)
                .element(&x, 0)
                .element(&out, 0);
            args.size(report).size(2).size(1).size(1);
            // SAFETY: the arguments are the kernel's; one id, two elements and one result.
            unsafe { args.submit("gather", context, &function, Grid::over(1)) }.unwrap();
            out
        };
        let good = launch(1);
        assert_eq!(
            good.download().unwrap(),
            [20],
            "the control: an id that is a position"
        );
        let waits: [&dyn Fn() -> Result<()>; 3] =
            [&|| good.download().map(drop), &|| device.synchronize(), &|| {
                device.record()?.synchronize()
            }];
        for wait in waits {
            for (from, id) in [(0, -1), (2, 2)] {
                let out = launch(from);
                match wait().unwrap_err() {
                    Error::Index {
                        op,
                        index,
                        position,
                        bound,
                        ..
                    } => assert_eq!((op.as_str(), index, position, bound), ("gather", id, 0, 2)),
                    other => panic!("{other}"),
                }
                assert_eq!(out.download().unwrap(), [0], "said once, and 0 was read");
            }
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
            let sizes = IndexSizes {
                left,
                src,
                dst,
                right,
            };
            let run = |buffer| Run { buffer, offset };
            [
                gather("gather", run(&x), run(&ids), &mut out, sizes, Checked::Before),
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
