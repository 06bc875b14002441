//! Images of another size, larger or smaller.

use super::window::{bounded, elements};
use crate::hip::launch::upsample as launch;
use crate::view::Region;
use crate::{Buffer, Error, Result, View};

/// `x` (batch, channels, length) with `size` elements a row: result `i` is element ⌊`i` length / `size`⌋, computed in f64.
///
/// # Errors
/// `Error::Invalid` for an `x` of another rank, results from rows of no elements, or sizes from 2³¹ on; else as
/// [`unary`](super::unary).
pub fn upsample_nearest1d(x: View<'_>, size: usize) -> Result<Buffer> {
    nearest("upsample_nearest1d", x, &[size])
}

/// `x` (batch, channels, height, width) with `h` rows of `w` elements, chosen as in [`upsample_nearest1d`].
///
/// # Errors
/// As [`upsample_nearest1d`].
pub fn upsample_nearest2d(x: View<'_>, h: usize, w: usize) -> Result<Buffer> {
    nearest("upsample_nearest2d", x, &[h, w])
}

fn nearest(op: &'static str, x: View<'_>, size: &[usize]) -> Result<Buffer> {
    let x = x.check(op)?;
    let mut out = resized(op, &x, size)?;
    launch::nearest(op, &x, size, &mut out)?;
    Ok(out)
}

/// `x` (batch, channels, height, width) with `h` rows of `w` elements, each a mixture of the four next to its place,
/// computed in f64. With `align_corners` the corners of `x` are those of the result; else elements are areas, and results
/// lie as far apart as `scale_h` and `scale_w` (results for one element of `x`) say, or as the sizes do. Integers truncate.
/// Of the same size, the result is `x`.
///
/// # Errors
/// As [`upsample_nearest1d`]; also for a scale that is not a finite number greater than 0.
pub fn upsample_bilinear2d(
    x: View<'_>,
    h: usize,
    w: usize,
    align_corners: bool,
    scale_h: Option<f64>,
    scale_w: Option<f64>,
) -> Result<Buffer> {
    let op = "upsample_bilinear2d";
    let region = x.check(op)?;
    for scale in [scale_h, scale_w].into_iter().flatten() {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::Invalid(format!(
                "{op}: a scale of {scale}; it must be finite and greater than 0"
            )));
        }
    }
    let mut out = resized(op, &region, &[h, w])?;
    if region.dims().ends_with(&[h, w]) {
        super::copy_strided(x, &mut out, 0)?;
    } else {
        launch::bilinear(op, &region, [h, w], align_corners, [scale_h, scale_w], &mut out)?;
    }
    Ok(out)
}

/// Room for `x` with its last dimensions replaced by `size`.
fn resized(op: &str, x: &Region<'_>, size: &[usize]) -> Result<Buffer> {
    let (batch, channels, input) = match x.dims() {
        &[batch, channels, ref input @ ..] if input.len() == size.len() => (batch, channels, input),
        dims => {
            let rank = size.len() + 2;
            return Err(Error::Invalid(format!(
                "{op}: an input of {dims:?}; it must have {rank} dimensions"
            )));
        }
    };
    for &number in input.iter().chain(size) {
        bounded(op, Some(number))?;
    }
    let dims: Vec<usize> = [batch, channels].iter().chain(size).copied().collect();
    let results = elements(op, &dims)?;
    if results > 0 && input.contains(&0) {
        return Err(Error::Invalid(format!(
            "{op}: a result of {dims:?} from images of no elements"
        )));
    }
    Buffer::new(x.buffer().device(), x.buffer().dtype(), results)
}
