//! Convolutions. Groups are the caller's: one call a group.

use super::window::{Axis, Window, elements};
use crate::hip::launch::conv as launch;
use crate::{DynBuffer, Error, Result, View};

/// The convolution of `x` (batch, `c_in`, length) with `kernel` (`c_out`, `c_in`, taps), as (batch, `c_out`, length'):
/// `out[b, o, l] = Σ x[b, i, l stride + t dilation - padding] kernel[o, i, t]`, where the input lies between `padding`
/// zeros. bf16, f16, f32, f64, and wrapping u8 and u32.
///
/// # Errors
/// `Error::Shape`, `Error::DTypes` and `Error::Devices` for operands that do not fit together, `Error::Parameter` for a kernel
/// that is wider than the padded input and for a stride or a dilation of 0, `Error::TooLarge` for sizes from 2³¹ on; else as
/// [`unary`](super::unary()).
pub fn conv1d(x: View<'_>, kernel: View<'_>, window: Window) -> Result<DynBuffer> {
    convolve("conv1d", x, kernel, 1, window, None)
}

/// The same in two dimensions: `x` (batch, `c_in`, height, width), `kernel` (`c_out`, `c_in`, taps in y, taps in x), the
/// result (batch, `c_out`, height', width'); padding, stride and dilation are those of both.
///
/// # Errors
/// As [`conv1d`].
pub fn conv2d(x: View<'_>, kernel: View<'_>, window: Window) -> Result<DynBuffer> {
    convolve("conv2d", x, kernel, 2, window, None)
}

/// The transposed convolution of `x` (batch, `c_in`, length) with `kernel` (`c_in`, `c_out`, taps): each element of `x`
/// is added, times the kernel, to the result (batch, `c_out`, length') at `l stride + t dilation - padding`, where the
/// result has such an element. It is `output_padding` longer at its end than the kernel reaches. All dtypes.
///
/// # Errors
/// As [`conv1d`]; also for an input of no elements, and a padding that takes more than the whole result.
pub fn conv_transpose1d(
    x: View<'_>,
    kernel: View<'_>,
    window: Window,
    output_padding: usize,
) -> Result<DynBuffer> {
    convolve("conv_transpose1d", x, kernel, 1, window, Some(output_padding))
}

/// The same in two dimensions: `x` (batch, `c_in`, height, width), `kernel` (`c_in`, `c_out`, taps in y, taps in x).
///
/// # Errors
/// As [`conv_transpose1d`].
pub fn conv_transpose2d(
    x: View<'_>,
    kernel: View<'_>,
    window: Window,
    output_padding: usize,
) -> Result<DynBuffer> {
    convolve("conv_transpose2d", x, kernel, 2, window, Some(output_padding))
}

/// Both directions, over `spatial` dimensions; transposed if there is an output padding.
fn convolve(
    op: &'static str,
    x: View<'_>,
    kernel: View<'_>,
    spatial: usize,
    window: Window,
    output_padding: Option<usize>,
) -> Result<DynBuffer> {
    let (x, kernel) = (x.check(op)?, kernel.check(op)?);
    let mismatch = |what: &str| {
        Error::shape(
            op,
            format!(
                "an input of {:?} and a kernel of {:?} {what}",
                x.dims(),
                kernel.dims()
            ),
        )
    };
    let (&[batch, c_in, ref input @ ..], &[first, second, ref taps @ ..]) = (x.dims(), kernel.dims()) else {
        return Err(mismatch("have too few dimensions"));
    };
    if input.len() != spatial || taps.len() != spatial {
        return Err(mismatch(&format!("must have {} dimensions each", spatial + 2)));
    }
    let (kernel_in, c_out) = match output_padding {
        Some(_) => (first, second),
        None => (second, first),
    };
    if c_in != kernel_in {
        return Err(mismatch("differ in their input channels"));
    }
    let axes = input
        .iter()
        .zip(taps)
        .map(|(&input, &taps)| match output_padding {
            Some(extra) => Axis::scattered(op, input, taps, window, extra),
            None => Axis::gathered(op, input, taps, window),
        });
    let axes = axes.collect::<Result<Vec<Axis>>>()?;
    let mut dims = vec![batch, c_out];
    dims.extend(axes.iter().map(Axis::output));
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    let results = elements(op, &dims)?;
    // A sum over nothing is 0; the kernel is spared pointers to nothing.
    let mut out = if x.numel() == 0 || kernel.numel() == 0 {
        DynBuffer::zeros(device, dtype, results)?
    } else {
        DynBuffer::uninit(device, dtype, results)?
    };
    launch::convolve(op, &x, &kernel, &axes, output_padding, &mut out)?;
    Ok(out)
}
