//! The calls of pooling over windows. The macro is [`super::candle`].

use parity_model::op::Pool;

use super::candle;

candle! {
    fn row(Pool) {
        Pool::AvgPool2d => |x; kh: usize, kw: usize, sh: usize, sw: usize|
            x.avg_pool2d_with_stride((kh, kw), (sh, sw))?;
        Pool::MaxPool2d => |x; kh: usize, kw: usize, sh: usize, sw: usize|
            x.max_pool2d_with_stride((kh, kw), (sh, sw))?;
    }
}
