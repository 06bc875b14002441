//! Elements from one buffer to another, unchanged.

use crate::hip::launch::elementwise as launch;
use crate::kernel::Unary;
use crate::view::{Region, RegionMut};
use crate::{Error, Result, View, ViewMut};

/// Writes the elements of `src`, in row-major order, to those of `dst`, which are as many and contiguous.
///
/// # Errors
/// `Error::Shape` for another number of elements, `Error::NotContiguous`, `Error::DTypes` and `Error::Devices`; else as
/// [`unary`](super::unary()).
pub fn copy(src: View<'_>, dst: ViewMut<'_>) -> Result<()> {
    const OP: &str = "copy";
    let (src, dst) = (src.check(OP)?, dst.check(OP)?);
    if dst.numel != src.numel() {
        return Err(Error::shape(
            OP,
            format!("{} elements to a view of {}", src.numel(), dst.numel),
        ));
    }
    if dst.numel > 0 && !dst.is_contiguous() {
        return Err(Error::not_contiguous(OP, "the destination"));
    }
    let dtype = src.buffer().dtype();
    if src.numel() > 0 && src.is_contiguous() && dst.buffer.dtype() == dtype {
        let size = dtype.size_in_bytes();
        let [at, from] = [dst.offset, src.offset()].map(|offset| offset.saturating_mul(size));
        return dst
            .buffer
            .memory_mut()
            .copy_from(at, src.buffer().memory(), from, src.numel() * size);
    }
    if launch::transpose(&src, dst.buffer, dst.offset)? {
        return Ok(());
    }
    launch::map(Unary::Copy.kernel(), &[], &[src], dst.buffer, dst.offset, &[])
}

/// Copies rows of adjacent elements: two dimensions, of the same sizes in `src` and `dst`, whose strides are a row's and 1.
///
/// # Errors
/// `Error::Shape` for other views and for destination rows that overlap, `Error::DTypes`, `Error::Devices`,
/// `Error::TooLarge` for more rows, or more elements of a row, than 32 bits count; else as [`unary`](super::unary()).
pub fn copy2d(src: View<'_>, dst: ViewMut<'_>) -> Result<()> {
    const OP: &str = "copy2d";
    let (src, dst) = (src.check(OP)?, dst.check(OP)?);
    let (from, to) = (rows(&src), rows_mut(&dst));
    let (Some((dims, from)), Some((dims_to, to))) = (from, to) else {
        return Err(Error::shape(OP, "a view is not of rows of adjacent elements"));
    };
    if dims != dims_to {
        return Err(Error::shape(
            OP,
            format!("{dims:?} elements to a view of {dims_to:?}"),
        ));
    }
    let [count, len] = dims;
    if count > 1 && to < len {
        return Err(Error::shape(
            OP,
            format!("rows of {len} elements, {to} apart, overwrite each other"),
        ));
    }
    launch::copy2d(&src, from, dst, to)
}

/// Sizes, and the distance of rows.
fn rows(view: &Region<'_>) -> Option<([usize; 2], usize)> {
    row_stride(view.dims(), view.strides())
}

fn rows_mut(view: &RegionMut<'_>) -> Option<([usize; 2], usize)> {
    row_stride(view.dims.as_slice(), view.strides.as_slice())
}

fn row_stride(dims: &[usize], strides: &[usize]) -> Option<([usize; 2], usize)> {
    match (dims, strides) {
        (&[count, len], &[row, 1]) => Some(([count, len], row)),
        _ => None,
    }
}
