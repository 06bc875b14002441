//! The windows of a convolution as rows of a matrix, and back: with them a convolution is a matrix product.

use super::window::{Axis, Window, elements};
use crate::hip::launch::conv as launch;
use crate::{DynBuffer, Error, Result, View};

/// The windows of `x` (batch, channels, length) as rows (batch, length', channels, taps), zeros where they reach into
/// the padding. bf16, f16, f32, f64, u8, u32.
///
/// # Errors
/// `Error::Shape` for an `x` of another rank; for windows as [`conv1d`](super::conv1d); else as
/// [`unary`](super::unary()).
pub fn im2col1d(x: View<'_>, taps: usize, window: Window) -> Result<DynBuffer> {
    columns("im2col1d", x, &[taps], window)
}

/// The windows of `x` (batch, channels, height, width) as rows (batch, height', width', channels, taps in y, taps in x).
///
/// # Errors
/// As [`im2col1d`].
pub fn im2col(x: View<'_>, taps: [usize; 2], window: Window) -> Result<DynBuffer> {
    columns("im2col", x, &taps, window)
}

fn columns(op: &'static str, x: View<'_>, taps: &[usize], window: Window) -> Result<DynBuffer> {
    let x = x.check(op)?;
    let (batch, channels, input) = match x.dims() {
        &[batch, channels, ref input @ ..] if input.len() == taps.len() => (batch, channels, input),
        dims => {
            let rank = taps.len() + 2;
            return Err(Error::shape(
                op,
                format!("an input of {dims:?}; it must have {rank} dimensions"),
            ));
        }
    };
    let axes = input
        .iter()
        .zip(taps)
        .map(|(&input, &taps)| Axis::gathered(op, input, taps, window));
    let axes = axes.collect::<Result<Vec<Axis>>>()?;
    let mut dims = vec![batch];
    dims.extend(axes.iter().map(Axis::output));
    dims.push(channels);
    dims.extend(taps);
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    let results = elements(op, &dims)?;
    // Nothing but padding is zeros; the kernel is spared a pointer to nothing.
    let mut out = if x.numel() == 0 {
        DynBuffer::zeros(device, dtype, results)?
    } else {
        DynBuffer::uninit(device, dtype, results)?
    };
    launch::columns(op, &x, &axes, &mut out)?;
    Ok(out)
}

/// The rows `x` (batch, length, channels, taps), contiguous, added up where they overlap:
/// `out[b, c, l stride + t] += x[b, l, c, t]`, as (batch, channels, (length - 1) stride + taps). bf16, f16, f32, f64, and
/// wrapping u8 and u32.
///
/// # Errors
/// `Error::Shape` for an `x` of another rank or of no elements, `Error::NotContiguous`, `Error::Parameter` for a stride or a dilation of 0,
/// `Error::TooLarge` for sizes from 2³¹ on; else as [`unary`](super::unary()).
pub fn col2im1d(x: View<'_>, stride: usize) -> Result<DynBuffer> {
    let op = "col2im1d";
    let x = x.check(op)?;
    let &[batch, length, channels, taps] = x.dims() else {
        let dims = x.dims();
        return Err(Error::shape(
            op,
            format!("an input of {dims:?}; it must have 4 dimensions"),
        ));
    };
    if !x.is_contiguous() {
        return Err(Error::not_contiguous(op, "the rows"));
    }
    let axis = Axis::scattered(op, length, taps, Window::plain(stride), 0)?;
    let results = elements(op, &[batch, channels, axis.output()])?;
    let mut out = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), results)?;
    launch::add_columns(op, &x, axis, &mut out)?;
    Ok(out)
}
