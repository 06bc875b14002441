//! Elements chosen by ids along one dimension.
//!
//! Ids are of dtype u8, u32, i16, i32 or i64. The greatest id of its dtype (255, `i64::MAX`) means "no element", as in
//! candle: reading gives 0, writing is left out. Any other id that is no position along the dimension, a negative one
//! among them, is refused before anything is read or written. Finding that out takes a pass over the ids on the device
//! and eight bytes back from it, for which the call waits; it is left out where no id of the dtype can be refused. Where
//! no element would be read or written, ids are not looked at.
//!
//! The result is the same in every run: elements for one place are taken in row-major order of the source, so the last
//! one stays, and sums are rounded to the dtype (integers: wrap) after each addition.

use crate::hip::launch::indexing::{self as launch, Run, Sizes, Write, product};
use crate::view::{self, Region};
use crate::{Buffer, DType, Error, Result, View, ops};

/// For each of the one-dimensional `ids`, that element of `x` along `dim`: `out[l, i, r] = x[l, ids[i], r]`.
///
/// # Errors
/// `Error::Invalid` for an id that is no position, shapes that do not fit, two devices or a view that leaves its
/// buffer; `Error::Unsupported` for ids of a float dtype; `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn index_select(x: View<'_>, ids: View<'_>, dim: usize) -> Result<Buffer> {
    const OP: &str = "index_select";
    let (x, ids) = (x.check(OP)?, ids.check(OP)?);
    let &[count] = ids.dims() else {
        return Err(wrong(
            OP,
            &format!("ids of shape {:?}, expected one dimension", ids.dims()),
        ));
    };
    let sizes = sizes(OP, dim, x.dims(), count)?;
    let numel = sizes.written().ok_or_else(|| uncounted(OP))?;
    let mut out = Buffer::new(x.buffer().device(), x.buffer().dtype(), numel)?;
    let ids = Dense::of(ids)?;
    if !out.is_empty() {
        ids.check(OP, count, sizes.src)?;
    }
    launch::index_select(OP, &x, ids.run(), &mut out, sizes)?;
    Ok(out)
}

/// For each of `ids`, that element of `x` along `dim`: `out[l, i, r] = x[l, ids[l, i, r], r]`. The result has the shape of
/// `ids`, which in the other dimensions may be smaller than `x`: those of its elements are then not reached.
///
/// # Errors
/// As [`index_select`].
pub fn gather(x: View<'_>, ids: View<'_>, dim: usize) -> Result<Buffer> {
    const OP: &str = "gather";
    let fits =
        x.dims.len() == ids.dims.len() && (0..x.dims.len()).all(|d| d == dim || ids.dims[d] <= x.dims[d]);
    if !fits {
        return Err(wrong(
            OP,
            &format!(
                "ids of shape {:?} for a tensor of shape {:?} along dimension {dim}",
                ids.dims, x.dims
            ),
        ));
    }
    let reached: Vec<usize> = (0..x.dims.len())
        .map(|d| if d == dim { x.dims[d] } else { ids.dims[d] })
        .collect();
    x.check(OP)?;
    let reached = View { dims: &reached, ..x };
    let (x, ids) = (reached.check(OP)?, ids.check(OP)?);
    let sizes = sizes(OP, dim, x.dims(), ids.dims().get(dim).copied().unwrap_or(0))?;
    let mut out = Buffer::new(x.buffer().device(), x.buffer().dtype(), ids.numel())?;
    let (x, ids) = (Dense::of(x)?, Dense::of(ids)?);
    ids.check(OP, out.len(), sizes.src)?;
    launch::gather(OP, x.run(), ids.run(), &mut out, sizes)?;
    Ok(out)
}

/// A contiguous tensor in a buffer, to be changed in place.
#[derive(Debug)]
pub struct Target<'a> {
    /// The buffer.
    pub buffer: &'a mut Buffer,
    /// The sizes, outermost first.
    pub dims: &'a [usize],
    /// For each dimension, how far apart neighbours lie, in elements: those of a contiguous tensor.
    pub strides: &'a [usize],
    /// Where the first element lies.
    pub offset: usize,
}

/// Stores each element of `src` where its id says: `dst[l, ids[l, i, r], r] = src[l, i, r]`. `ids` and `src` have one
/// shape, which is that of `dst` but along `dim`.
///
/// # Errors
/// As [`index_select`]; also for a `dst` that is not contiguous. `dst` then is as before.
pub fn scatter_set(dst: Target<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    scatter("scatter_set", Write::Set, dst, ids, src, dim)
}

/// Adds each element of `src` where its id says: `dst[l, ids[l, i, r], r] += src[l, i, r]`. Shapes as for [`scatter_set`].
///
/// # Errors
/// As [`scatter_set`].
pub fn scatter_add_set(dst: Target<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    scatter("scatter_add_set", Write::Add, dst, ids, src, dim)
}

/// `x` with the elements of `src` added where the one-dimensional `ids` say: `out[l, ids[i], r] += src[l, i, r]`. `src` has
/// the shape of `x`, but along `dim` as many elements as there are ids.
///
/// # Errors
/// As [`index_select`].
pub fn index_add(x: View<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<Buffer> {
    const OP: &str = "index_add";
    let (x, ids, src) = (x.check(OP)?, ids.check(OP)?, src.check(OP)?);
    let &[count] = ids.dims() else {
        return Err(wrong(
            OP,
            &format!("ids of shape {:?}, expected one dimension", ids.dims()),
        ));
    };
    let sizes = source_sizes(OP, dim, x.dims(), src)?;
    if sizes.src != count {
        return Err(wrong(
            OP,
            &format!("{count} ids for {} elements of the source", sizes.src),
        ));
    }
    same_dtype(OP, x.buffer(), src.buffer())?;
    let (ids, src) = (Dense::of(ids)?, Dense::of(src)?);
    if sizes.left > 0 && sizes.right > 0 {
        ids.check(OP, count, sizes.dst)?;
    }
    let mut out = copy_of(x)?;
    launch::write(OP, Write::IndexAdd, ids.run(), src.run(), (&mut out, 0), sizes)?;
    Ok(out)
}

fn scatter(op: &str, how: Write, dst: Target<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    let (ids, src) = (ids.check(op)?, src.check(op)?);
    let numel = view::check(op, dst.buffer.len(), dst.dims, dst.strides, dst.offset)?;
    if numel > 0 && view::layout_table(dst.dims, &[dst.strides]).is_some() {
        return Err(wrong(
            op,
            &format!(
                "a target of shape {:?} with strides {:?}, expected a contiguous one",
                dst.dims, dst.strides
            ),
        ));
    }
    if ids.dims() != src.dims() {
        return Err(wrong(
            op,
            &format!(
                "ids of shape {:?} for a source of shape {:?}",
                ids.dims(),
                src.dims()
            ),
        ));
    }
    let sizes = source_sizes(op, dim, dst.dims, src)?;
    same_dtype(op, dst.buffer, src.buffer())?;
    let count = src.numel();
    let (ids, src) = (Dense::of(ids)?, Dense::of(src)?);
    ids.check(op, count, sizes.dst)?;
    launch::write(op, how, ids.run(), src.run(), (dst.buffer, dst.offset), sizes)
}

/// A tensor whose elements lie side by side: where it is, or as a copy.
enum Dense<'a> {
    There(Run<'a>),
    Copied(Buffer),
}

impl<'a> Dense<'a> {
    fn of(x: Region<'a>) -> Result<Dense<'a>> {
        if x.is_contiguous() || x.numel() == 0 {
            return Ok(Dense::There(Run {
                buffer: x.buffer(),
                offset: x.offset(),
            }));
        }
        copy_of(x).map(Dense::Copied)
    }

    fn run(&self) -> Run<'_> {
        match self {
            Dense::There(run) => *run,
            Dense::Copied(buffer) => Run { buffer, offset: 0 },
        }
    }

    /// Refuses `count` ids of which one is neither a position below `size` nor "no element".
    fn check(&self, op: &str, count: usize, size: usize) -> Result<()> {
        let ids = self.run();
        let greatest = match ids.buffer.dtype() {
            DType::U8 => Some(u64::from(u8::MAX)),
            DType::U32 => Some(u64::from(u32::MAX)),
            _ => None, // negative ids are always to be refused
        };
        if count == 0 || greatest.is_some_and(|greatest| size as u64 >= greatest) {
            return Ok(());
        }
        let Some(first) = launch::first_outside(op, ids, count, size)? else {
            return Ok(());
        };
        let id = View {
            buffer: ids.buffer,
            dims: &[1],
            strides: &[1],
            offset: ids.offset + first,
        };
        let id = copy_of(id.check(op)?)?;
        Err(wrong(
            op,
            &format!(
                "id {} at position {first} of the ids is outside a dimension of {size}",
                id_value(id.dtype(), &id.download()?)
            ),
        ))
    }
}

/// One id from its bytes.
fn id_value(dtype: DType, bytes: &[u8]) -> i64 {
    let is_negative = !matches!(dtype, DType::U8 | DType::U32) && bytes.last().is_some_and(|&top| top > 0x7f);
    let mut wide = if is_negative { [0xff; 8] } else { [0; 8] };
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    i64::from_le_bytes(wide)
}

fn copy_of(x: Region<'_>) -> Result<Buffer> {
    let mut copy = Buffer::new(x.buffer().device(), x.buffer().dtype(), x.numel())?;
    let view = View {
        buffer: x.buffer(),
        dims: x.dims(),
        strides: x.strides(),
        offset: x.offset(),
    };
    ops::copy_strided(view, &mut copy, 0)?;
    Ok(copy)
}

fn wrong(op: &str, what: &str) -> Error {
    Error::Invalid(format!("{op}: {what}"))
}

fn same_dtype(op: &str, dst: &Buffer, src: &Buffer) -> Result<()> {
    if dst.dtype() == src.dtype() {
        return Ok(());
    }
    Err(wrong(
        op,
        &format!("a source of {} for a target of {}", src.dtype(), dst.dtype()),
    ))
}

/// The sizes around `dim` of a tensor of shape `dims` that is read, with a result that has `dst` elements along it.
fn sizes(op: &str, dim: usize, dims: &[usize], dst: usize) -> Result<Sizes> {
    let &src = dims
        .get(dim)
        .ok_or_else(|| wrong(op, &format!("there is no dimension {dim} in the shape {dims:?}")))?;
    let (left, right) = product(&dims[..dim])
        .zip(product(&dims[dim + 1..]))
        .ok_or_else(|| uncounted(op))?;
    Ok(Sizes {
        left,
        src,
        dst,
        right,
    })
}

/// The sizes for writing `src` to a tensor of shape `dims`.
fn source_sizes(op: &str, dim: usize, dims: &[usize], src: Region<'_>) -> Result<Sizes> {
    let fits =
        dims.len() == src.dims().len() && (0..dims.len()).all(|d| d == dim || dims[d] == src.dims()[d]);
    if !fits {
        return Err(wrong(
            op,
            &format!(
                "a source of shape {:?} for a tensor of shape {dims:?} along dimension {dim}",
                src.dims()
            ),
        ));
    }
    let &dst = dims
        .get(dim)
        .ok_or_else(|| wrong(op, &format!("there is no dimension {dim} in the shape {dims:?}")))?;
    sizes(op, dim, src.dims(), dst)
}

fn uncounted(op: &str) -> Error {
    wrong(op, "there are more elements than can be counted")
}
