//! Interpolation of images. How it is computed is not said here.

use super::ops;

ops! {
    /// Larger images from smaller ones.
    pub enum Upsample;

    /// [b, c, l] to [b, c, size]: out[i] = x[floor(i l / size)].
    Nearest1d "upsample_nearest1d" ["size"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// As `upsample_nearest1d` in the last two of four dimensions.
    Nearest2d "upsample_nearest2d" ["height", "width"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// Bilinear interpolation of the last two of four dimensions, edges clamped; corners map to corners if
    /// `align_corners` is 1, pixel centres to pixel centres if it is 0; integers are truncated.
    Bilinear2d "upsample_bilinear2d" ["height", "width", "align_corners"] (x: Data) on ANY,
        grad on F32_F64: "The adjoint of the interpolation.";
    /// As `upsample_bilinear2d` to floor(extent scale); coordinates go by the scale itself unless corners
    /// align.
    BilinearScale "upsample_bilinear2d_with_scale" ["scale_h", "scale_w", "align_corners"] (x: Data) on ANY;
}
