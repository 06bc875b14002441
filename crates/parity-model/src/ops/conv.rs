//! Convolutions and their transposes. How they are computed is not said here.

use super::ops;

ops! {
    /// Convolutions: cross-correlations of an input with a kernel, and their transposes.
    pub enum Conv;

    /// [b, c, l] with [o, c / groups, k], accumulated in f32 at least and rounded once.
    Conv1d "conv1d" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on CONVOLVED,
        grad on F32_F64: "The adjoint of the convolution by either argument.";
    /// [b, c, l] with [c, o / groups, k], accumulated in f32 at least and rounded once; integers wrap.
    ConvTranspose1d "conv_transpose1d" ["padding", "output_padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on ANY,
        grad on F32_F64: "The adjoint of the transposed convolution by either argument.";
    /// [b, c, h, w] with [o, c / groups, kh, kw], accumulated in f32 at least and rounded once.
    Conv2d "conv2d" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on CONVOLVED,
        grad on F32_F64: "As `grad_conv1d`.";
    /// [b, c, h, w] with [c, o, kh, kw], accumulated in f32 at least and rounded once; integers wrap.
    ConvTranspose2d "conv_transpose2d" ["padding", "output_padding", "stride", "dilation"] (x: Data, kernel: Data) on ANY,
        grad on F32_F64: "As `grad_conv_transpose1d`.";
}
