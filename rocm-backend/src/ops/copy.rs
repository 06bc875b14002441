//! Elements from one buffer to another, unchanged.

use crate::hip::launch::elementwise::{self as launch, Rows};
use crate::kernel::Kernel;
use crate::{Buffer, Error, Result, View};

/// Writes the elements of `src`, in row-major order, to `dst` from element `dst_offset` on.
///
/// # Errors
/// `Error::Invalid` for two dtypes, two devices, or elements outside a buffer; else as [`unary`](super::unary).
pub fn copy_strided(src: View<'_>, dst: &mut Buffer, dst_offset: usize) -> Result<()> {
    let dtype = src.buffer.dtype();
    let src = src.check("copy_strided")?;
    if src.numel() > 0 && src.is_contiguous() && dst.dtype() == dtype {
        let size = dtype.size_in_bytes();
        let [at, from] = [dst_offset, src.offset()].map(|offset| offset.saturating_mul(size));
        return dst
            .memory_mut()
            .copy_from(at, src.buffer().memory(), from, src.numel() * size);
    }
    launch::map(Kernel::COPY, &[], &[src], dst, dst_offset, &[])
}

/// Copies `d1` rows of `d2` adjacent elements. The first elements of rows lie `src_stride1` and `dst_stride1` apart.
///
/// # Errors
/// `Error::Invalid` for two dtypes, two devices, rows outside a buffer, destination rows that overlap, or a size
/// beyond 32 bits; else as [`unary`](super::unary).
#[expect(
    clippy::too_many_arguments,
    reason = "candle's signature, so that the two read side by side"
)]
pub fn copy2d(
    src: &Buffer,
    dst: &mut Buffer,
    d1: usize,
    d2: usize,
    src_stride1: usize,
    dst_stride1: usize,
    src_offset: usize,
    dst_offset: usize,
) -> Result<()> {
    if d1 > 1 && dst_stride1 < d2 {
        return Err(Error::Invalid(format!(
            "copy2d: rows of {d2} elements, {dst_stride1} apart, overwrite each other"
        )));
    }
    let from = Rows {
        offset: src_offset,
        stride: src_stride1,
    };
    let to = Rows {
        offset: dst_offset,
        stride: dst_stride1,
    };
    launch::copy2d([d1, d2], src, from, dst, to)
}
