//! Elements chosen by ids along one dimension.
//!
//! Ids are of dtype u8, u32, i16, i32 or i64. The greatest id of its dtype (255, `i64::MAX`) means "no element" where it is not a
//! position in the dimension: reading gives 0, writing is left out. (candle's CPU and CUDA take it for "no element" where it is a
//! position, too, as 255 is in u8 for 256 rows.) Any other id that is not a position in the dimension, a negative
//! one included, is refused, and nothing waits for that: what reads by ids ([`index_select`], [`gather`]) reads 0 by such an id, what
//! writes by ids leaves it out, and the error comes from the call that waits for the device next, a download or
//! [`Device::synchronize`](crate::Device::synchronize). On the software device, whose launches are over when they return, it comes from
//! the call itself, and what writes by ids has then written nothing. Ids are not looked at where none of the dtype can be refused, nor
//! where no element would be read or written.
//!
//! The result is the same in every run: elements for one place are taken in row-major order of the source, so the last
//! one stays, and sums are rounded to the dtype (integers: wrap) after each addition.

use crate::hip::launch::indexing::{self as launch, Checked, IndexSizes, Run, Write, product};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, View, ViewMut, ops};

/// For each of the one-dimensional `ids`, that element of `x` along `dim`: `out[l, i, r] = x[l, ids[i], r]`.
///
/// # Errors
/// `Error::Index` for an id that is not a position, perhaps of a later call, as above; `Error::Shape` for shapes that do not
/// fit, `Error::Devices`, `Error::View` for a view that leaves its buffer; `Error::Unsupported` for ids of a float dtype;
/// `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn index_select(x: View<'_>, ids: View<'_>, dim: usize) -> Result<DynBuffer> {
    const OP: &str = "index_select";
    let (x, ids) = (x.check(OP)?, ids.check(OP)?);
    let &[count] = ids.dims() else {
        return Err(Error::shape(
            OP,
            format!("ids of shape {:?}, expected one dimension", ids.dims()),
        ));
    };
    let sizes = sizes(OP, dim, x.dims(), count)?;
    let numel = sizes.written().ok_or_else(|| uncounted(OP))?;
    let mut out = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), numel)?;
    let ids = Dense::of(ids)?;
    let checked = ids.checked(OP, count, sizes)?;
    launch::index_select(OP, &x, ids.run(), &mut out, sizes, checked)?;
    Ok(out)
}

/// For each of `ids`, that element of `x` along `dim`: `out[l, i, r] = x[l, ids[l, i, r], r]`. The result has the shape of
/// `ids`, which in the other dimensions may be smaller than `x`: those of its elements are then not reached.
///
/// # Errors
/// As [`index_select`].
pub fn gather(x: View<'_>, ids: View<'_>, dim: usize) -> Result<DynBuffer> {
    const OP: &str = "gather";
    let fits = x.dims().len() == ids.dims().len()
        && (0..x.dims().len()).all(|d| d == dim || ids.dims()[d] <= x.dims()[d]);
    if !fits {
        return Err(Error::shape(
            OP,
            format!(
                "ids of shape {:?} for a tensor of shape {:?} along dimension {dim}",
                ids.dims(),
                x.dims()
            ),
        ));
    }
    let reached: Vec<usize> = (0..x.dims().len())
        .map(|d| if d == dim { x.dims()[d] } else { ids.dims()[d] })
        .collect();
    let all = x.check(OP)?;
    let reached = View::new(x.buffer(), &reached, all.strides()).at(all.offset());
    let (x, ids) = (reached.check(OP)?, ids.check(OP)?);
    let sizes = sizes(OP, dim, x.dims(), ids.dims().get(dim).copied().unwrap_or(0))?;
    let mut out = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), ids.numel())?;
    let (x, ids) = (Dense::of(x)?, Dense::of(ids)?);
    let checked = ids.checked(OP, out.len(), sizes)?;
    launch::gather(OP, x.run(), ids.run(), &mut out, sizes, checked)?;
    Ok(out)
}

/// Stores each element of `src` where its id says: `dst[l, ids[l, i, r], r] = src[l, i, r]`. `ids` and `src` have one
/// shape, which is that of `dst` but along `dim`.
///
/// # Errors
/// As [`index_select`]; `Error::NotContiguous` for such a `dst`.
pub fn scatter_set(dst: ViewMut<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    scatter("scatter_set", Write::Set, dst, ids, src, dim)
}

/// Adds each element of `src` where its id says: `dst[l, ids[l, i, r], r] += src[l, i, r]`. Shapes as for [`scatter_set`].
///
/// # Errors
/// As [`scatter_set`].
pub fn scatter_add_set(dst: ViewMut<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    scatter("scatter_add_set", Write::Add, dst, ids, src, dim)
}

/// `x` with the elements of `src` added where the one-dimensional `ids` say: `out[l, ids[i], r] += src[l, i, r]`. `src` has
/// the shape of `x`, but along `dim` as many elements as there are ids.
///
/// # Errors
/// As [`index_select`].
pub fn index_add(x: View<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<DynBuffer> {
    const OP: &str = "index_add";
    let (x, ids, src) = (x.check(OP)?, ids.check(OP)?, src.check(OP)?);
    let &[count] = ids.dims() else {
        return Err(Error::shape(
            OP,
            format!("ids of shape {:?}, expected one dimension", ids.dims()),
        ));
    };
    let sizes = source_sizes(OP, dim, x.dims(), src)?;
    if sizes.src != count {
        return Err(Error::shape(
            OP,
            format!("{count} ids for {} elements of the source", sizes.src),
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

fn scatter(op: &str, how: Write, dst: ViewMut<'_>, ids: View<'_>, src: View<'_>, dim: usize) -> Result<()> {
    let (ids, src) = (ids.check(op)?, src.check(op)?);
    let dst = dst.check(op)?;
    if dst.numel > 0 && !dst.is_contiguous() {
        return Err(Error::not_contiguous(op, "the target"));
    }
    if ids.dims() != src.dims() {
        return Err(Error::shape(
            op,
            format!(
                "ids of shape {:?} for a source of shape {:?}",
                ids.dims(),
                src.dims()
            ),
        ));
    }
    let sizes = source_sizes(op, dim, dst.dims.as_slice(), src)?;
    same_dtype(op, dst.buffer, src.buffer())?;
    let count = src.numel();
    let (ids, src) = (Dense::of(ids)?, Dense::of(src)?);
    ids.check(op, count, sizes.dst)?;
    launch::write(op, how, ids.run(), src.run(), (dst.buffer, dst.offset), sizes)
}

/// A tensor whose elements lie side by side: where it is, or as a copy.
pub(crate) enum Dense<'a> {
    There(Run<'a>),
    Copied(DynBuffer),
}

impl<'a> Dense<'a> {
    pub(crate) fn of(x: Region<'a>) -> Result<Dense<'a>> {
        if x.is_contiguous() || x.numel() == 0 {
            return Ok(Dense::There(Run {
                buffer: x.buffer(),
                offset: x.offset(),
            }));
        }
        copy_of(x).map(Dense::Copied)
    }

    pub(crate) fn run(&self) -> Run<'_> {
        match self {
            Dense::There(run) => *run,
            Dense::Copied(buffer) => Run { buffer, offset: 0 },
        }
    }

    /// Whether an id of the dtype can be neither a position below `size` nor "no element".
    fn can_be_wrong(&self, size: usize) -> bool {
        let greatest = match self.run().buffer.dtype() {
            DType::U8 => u64::from(u8::MAX),
            DType::U32 => u64::from(u32::MAX),
            _ => return true, // negative ids are always to be refused
        };
        (size as u64) < greatest
    }

    /// Who looks at `count` ids that choose what is read: the kernel, if it numbers them in one launch.
    fn checked(&self, op: &str, count: usize, sizes: IndexSizes) -> Result<Checked> {
        let is_read = sizes.written().is_some_and(|results| results > 0);
        if !is_read || !self.can_be_wrong(sizes.src) {
            return Ok(Checked::Before);
        }
        let context = self.run().buffer.device().context();
        if sizes.written().is_some_and(|results| results <= context.most()) {
            return Ok(Checked::Meanwhile);
        }
        self.check(op, count, sizes.src)?;
        Ok(Checked::Before)
    }

    /// Refuses `count` ids of which one is neither a position below `size` nor "no element".
    fn check(&self, op: &str, count: usize, size: usize) -> Result<()> {
        let ids = self.run();
        if count == 0 || !self.can_be_wrong(size) {
            return Ok(());
        }
        launch::check_ids(op, ids, count, size)
    }
}

fn copy_of(x: Region<'_>) -> Result<DynBuffer> {
    let mut copy = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), x.numel())?;
    let view = View::new(x.buffer(), x.dims(), x.strides()).at(x.offset());
    ops::copy(view, copy.view_mut())?;
    Ok(copy)
}

fn same_dtype(op: &str, dst: &DynBuffer, src: &DynBuffer) -> Result<()> {
    Error::unless_same_dtype(op, dst.dtype(), src.dtype())
}

/// The sizes around `dim` of a tensor of shape `dims` that is read, with a result that has `dst` elements along it.
fn sizes(op: &str, dim: usize, dims: &[usize], dst: usize) -> Result<IndexSizes> {
    let &src = dims
        .get(dim)
        .ok_or_else(|| Error::shape(op, format!("there is no dimension {dim} in the shape {dims:?}")))?;
    let (left, right) = product(&dims[..dim])
        .zip(product(&dims[dim + 1..]))
        .ok_or_else(|| uncounted(op))?;
    Ok(IndexSizes {
        left,
        src,
        dst,
        right,
    })
}

/// The sizes for writing `src` to a tensor of shape `dims`.
fn source_sizes(op: &str, dim: usize, dims: &[usize], src: Region<'_>) -> Result<IndexSizes> {
    let fits =
        dims.len() == src.dims().len() && (0..dims.len()).all(|d| d == dim || dims[d] == src.dims()[d]);
    if !fits {
        return Err(Error::shape(
            op,
            format!(
                "a source of shape {:?} for a tensor of shape {dims:?} along dimension {dim}",
                src.dims()
            ),
        ));
    }
    let &dst = dims
        .get(dim)
        .ok_or_else(|| Error::shape(op, format!("there is no dimension {dim} in the shape {dims:?}")))?;
    sizes(op, dim, src.dims(), dst)
}

fn uncounted(op: &str) -> Error {
    Error::too_large(op, "there are more elements than can be counted")
}
