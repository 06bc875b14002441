//! The calls of upsampling. The macro is [`super::candle`].

use parity_model::op::Upsample;

use super::candle;

candle! {
    fn row(Upsample) {
        Upsample::Nearest1d => |x; size: usize| x.upsample_nearest1d(size)?;
        Upsample::Nearest2d => |x; height: usize, width: usize| x.upsample_nearest2d(height, width)?;
        Upsample::Bilinear2d => |x; height: usize, width: usize, align_corners: bool|
            x.upsample_bilinear2d(height, width, align_corners)?;
        Upsample::BilinearScale => |x; height: f64, width: f64, align_corners: bool|
            x.upsample_bilinear2d_with_scale(height, width, align_corners)?;
    }
}
