//! The calls of convolutions. The macro is [`super::candle`].

use parity_model::op::Conv;

use super::candle;

candle! {
    fn row(Conv) {
        Conv::Conv1d => |x, kernel; padding: usize, stride: usize, dilation: usize, groups: usize|
            x.conv1d(&kernel, padding, stride, dilation, groups)?;
        Conv::ConvTranspose1d =>
            |x, kernel; padding: usize, output_padding: usize, stride: usize, dilation: usize, groups: usize|
            x.conv_transpose1d(&kernel, padding, output_padding, stride, dilation, groups)?;
        Conv::Conv2d => |x, kernel; padding: usize, stride: usize, dilation: usize, groups: usize|
            x.conv2d(&kernel, padding, stride, dilation, groups)?;
        Conv::ConvTranspose2d =>
            |x, kernel; padding: usize, output_padding: usize, stride: usize, dilation: usize|
            x.conv_transpose2d(&kernel, padding, output_padding, stride, dilation)?;
    }
}
