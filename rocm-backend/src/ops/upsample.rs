//! Images of another size, larger or smaller.

use super::window::{bounded, elements};
use crate::hip::launch::upsample as launch;
use crate::view::Region;
use crate::{DynBuffer, Error, Result, View};

/// `x` (batch, channels, length) with `size` elements a row: result `i` is element ⌊`i` length / `size`⌋. candle computes it in f64, and may miss it by one.
///
/// # Errors
/// `Error::Shape` for an `x` of another rank and for results from rows of no elements, `Error::TooLarge` for sizes from 2³¹
/// on; else as [`unary`](super::unary()).
pub fn upsample_nearest1d(x: View<'_>, size: usize) -> Result<DynBuffer> {
    nearest("upsample_nearest1d", x, &[size])
}

/// `x` (batch, channels, height, width) with `h` rows of `w` elements, chosen as in [`upsample_nearest1d`].
///
/// # Errors
/// As [`upsample_nearest1d`].
pub fn upsample_nearest2d(x: View<'_>, h: usize, w: usize) -> Result<DynBuffer> {
    nearest("upsample_nearest2d", x, &[h, w])
}

fn nearest(op: &'static str, x: View<'_>, size: &[usize]) -> Result<DynBuffer> {
    let x = x.check(op)?;
    let mut out = resized(op, &x, size)?;
    launch::nearest(op, &x, size, &mut out)?;
    Ok(out)
}

/// How an image is resized by mixing neighbours.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bilinear {
    /// The result's height and width.
    pub size: [usize; 2],
    /// Whether the corners of the image are those of the result; else elements are areas.
    pub align_corners: bool,
    /// Results for one element of the image, down and across; none for what the sizes say. Corners that are aligned leave
    /// them unused.
    pub scale: [Option<f64>; 2],
}

/// `x` (batch, channels, height, width) in another size, each result a mixture of the four elements next to its place,
/// computed in f64. Integers truncate. Of the same size, the result is `x`.
///
/// # Errors
/// As [`upsample_nearest1d`]; `Error::Parameter` for a scale that is not a finite number greater than 0.
pub fn upsample_bilinear2d(x: View<'_>, how: Bilinear) -> Result<DynBuffer> {
    let op = "upsample_bilinear2d";
    let region = x.check(op)?;
    for scale in how.scale.into_iter().flatten() {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::parameter(
                op,
                format!("a scale of {scale}; it must be finite and greater than 0"),
            ));
        }
    }
    let mut out = resized(op, &region, &how.size)?;
    if region.dims().ends_with(&how.size) {
        super::copy(x, out.view_mut())?;
    } else {
        launch::bilinear(op, &region, how.size, how.align_corners, how.scale, &mut out)?;
    }
    Ok(out)
}

/// Room for `x` with its last dimensions replaced by `size`.
fn resized(op: &str, x: &Region<'_>, size: &[usize]) -> Result<DynBuffer> {
    let (batch, channels, input) = match x.dims() {
        &[batch, channels, ref input @ ..] if input.len() == size.len() => (batch, channels, input),
        dims => {
            let rank = size.len() + 2;
            return Err(Error::shape(
                op,
                format!("an input of {dims:?}; it must have {rank} dimensions"),
            ));
        }
    };
    for &number in input.iter().chain(size) {
        bounded(op, Some(number))?;
    }
    let dims: Vec<usize> = [batch, channels].iter().chain(size).copied().collect();
    let results = elements(op, &dims)?;
    if results > 0 && input.contains(&0) {
        return Err(Error::shape(
            op,
            format!("a result of {dims:?} from images of no elements"),
        ));
    }
    DynBuffer::uninit(x.buffer().device(), x.buffer().dtype(), results)
}
