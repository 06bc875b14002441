//! Interpolation of images. How it is computed is not said here.

use super::ops;
use crate::op::batch::leading;
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Larger images from smaller ones.
    pub enum Upsample;

    /// [b, c, l] to [b, c, size]: out[i] = x[floor(i l / size)].
    Nearest1d "upsample_nearest1d" ["size"] (x: Data) on ANY, shape: nearest::<1>, batch: leading::<3>,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// As `upsample_nearest1d` in the last two of four dimensions.
    Nearest2d "upsample_nearest2d" ["height", "width"] (x: Data) on ANY, shape: nearest::<2>, batch: leading::<3>,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// Bilinear interpolation of the last two of four dimensions, edges clamped; corners map to corners if
    /// `align_corners` is 1, pixel centres to pixel centres if it is 0; integers are truncated.
    Bilinear2d "upsample_bilinear2d" ["height", "width", "align_corners"] (x: Data) on ANY, shape: bilinear,
        batch: leading::<3>, grad on F32_F64: "The adjoint of the interpolation.";
    /// As `upsample_bilinear2d` to floor(extent scale); coordinates go by the scale itself unless corners align.
    BilinearScale "upsample_bilinear2d_with_scale" ["scale_h", "scale_w", "align_corners"] (x: Data) on ANY,
        shape: bilinear_scale, batch: leading::<3>;
}

/// The image [b, c, ..] of `DIMS` dimensions with the extents that `extent` makes of each dimension's place and extent.
fn image<const DIMS: usize>(
    call: &Operands<'_>,
    extent: impl Fn(usize, usize) -> Result<usize, String>,
) -> Result<Shapes, String> {
    let x = call.rank(0, 2 + DIMS)?;
    call.require(!x[2..].contains(&0), "the image is not empty")?;
    let mut output = x[..2].to_vec();
    for (d, old) in x[2..].iter().enumerate() {
        output.push(extent(d, *old)?);
    }
    Shapes::of(output)
}

fn nearest<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    image::<DIMS>(call, |d, _| call.positive(d))
}

fn bilinear(call: &Operands<'_>) -> Result<Shapes, String> {
    call.flag(2)?;
    image::<2>(call, |d, _| call.positive(d))
}

fn bilinear_scale(call: &Operands<'_>) -> Result<Shapes, String> {
    call.flag(2)?;
    image::<2>(call, |d, extent| {
        let scaled = (extent as f64 * call.params[d]).floor();
        call.require((1.0..=1e9).contains(&scaled), "something is left of the image")?;
        Ok(scaled as usize)
    })
}
