//! One number from each window of an image.

use super::window::{Axis, Window, elements};
use crate::hip::launch::conv as launch;
use crate::{DynBuffer, Error, Result, View};

/// The mean of each window of `x` (batch, channels, height, width); `kernel` and `stride` are (height, width). Windows lie
/// inside the image: (batch, channels, (height - kernel) / stride + 1, …). Means of integers are truncated.
///
/// # Errors
/// `Error::Shape` for an `x` of another rank, `Error::Parameter` for a window of no elements or wider than the image and for
/// a stride of 0; else as [`unary`](super::unary()).
pub fn avg_pool2d(x: View<'_>, kernel: (usize, usize), stride: (usize, usize)) -> Result<DynBuffer> {
    pool("avg_pool2d", x, kernel, stride)
}

/// The largest element of each window; a NaN is larger than every number.
///
/// # Errors
/// As [`avg_pool2d`].
pub fn max_pool2d(x: View<'_>, kernel: (usize, usize), stride: (usize, usize)) -> Result<DynBuffer> {
    pool("max_pool2d", x, kernel, stride)
}

fn pool(op: &'static str, x: View<'_>, kernel: (usize, usize), stride: (usize, usize)) -> Result<DynBuffer> {
    let x = x.check(op)?;
    let &[batch, channels, height, width] = x.dims() else {
        let dims = x.dims();
        return Err(Error::shape(
            op,
            format!("an input of {dims:?}; it must have 4 dimensions"),
        ));
    };
    let axes = [
        Axis::gathered(op, height, kernel.0, Window::plain(stride.0))?,
        Axis::gathered(op, width, kernel.1, Window::plain(stride.1))?,
    ];
    let results = elements(op, &[batch, channels, axes[0].output(), axes[1].output()])?;
    let mut out = DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), results)?;
    launch::pool(op, &x, axes, &mut out)?;
    Ok(out)
}
