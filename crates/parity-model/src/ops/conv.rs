//! Convolutions and their transposes. How they are computed is not said here.

use super::ops;
use crate::op::batch::leading;
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Convolutions: cross-correlations of an input with a kernel, and their transposes.
    pub enum Conv;

    /// [b, c, l] with [o, c / groups, k], accumulated in f32 at least and rounded once.
    Conv1d "conv1d" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on CONVOLVED, shape: conv::<1>,
        batch: leading::<3>, terms: Unordered, grad on F32_F64: "The adjoint of the convolution by either argument.";
    /// [b, c, l] with [c, o / groups, k], accumulated in f32 at least and rounded once; integers wrap.
    ConvTranspose1d "conv_transpose1d" ["padding", "output_padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on ANY,
        shape: conv_transpose::<1>, batch: leading::<3>, terms: Unordered,
        grad on F32_F64: "The adjoint of the transposed convolution by either argument.";
    /// [b, c, h, w] with [o, c / groups, kh, kw], accumulated in f32 at least and rounded once.
    Conv2d "conv2d" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data) on CONVOLVED, shape: conv::<2>,
        batch: leading::<3>, terms: Unordered, grad on F32_F64: "As `grad_conv1d`.";
    /// [b, c, h, w] with [c, o, kh, kw], accumulated in f32 at least and rounded once; integers wrap.
    ConvTranspose2d "conv_transpose2d" ["padding", "output_padding", "stride", "dilation"] (x: Data, kernel: Data) on ANY,
        shape: conv_transpose::<2>, batch: leading::<3>, terms: Unordered, grad on F32_F64: "As `grad_conv_transpose1d`.";
}

/// What a convolution over `DIMS` dimensions gives. Its parameters are padding, stride, dilation and groups.
pub(super) fn conv<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    call.rank(0, 2 + DIMS)?;
    let kernel = call.rank(1, 2 + DIMS)?;
    let (padding, stride, dilation) = (call.whole(0)?, call.positive(1)?, call.positive(2)?);
    let groups = call.positive(3)?;
    channels(call, kernel[1] * groups, kernel[0], groups)?;
    extents(call, kernel[0], |extent, kernel| {
        let room = (extent + 2 * padding).checked_sub(dilation * (kernel - 1) + 1)?;
        Some(room / stride + 1)
    })
}

/// What a transposed convolution over `DIMS` dimensions gives. Its parameters are padding, padding of the output, stride,
/// dilation and, where candle has them, groups.
pub(super) fn conv_transpose<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    call.rank(0, 2 + DIMS)?;
    let kernel = call.rank(1, 2 + DIMS)?;
    let (padding, output_padding) = (call.whole(0)?, call.whole(1)?);
    let (stride, dilation) = (call.positive(2)?, call.positive(3)?);
    let groups = if call.params.len() > 4 {
        call.positive(4)?
    } else {
        1
    };
    let out_channels = kernel[1] * groups;
    channels(call, kernel[0], out_channels, groups)?;
    extents(call, out_channels, |extent, kernel| {
        let reach = dilation * (kernel - 1);
        ((extent - 1) * stride + reach + output_padding + 1).checked_sub(2 * padding)
    })
}

fn channels(call: &Operands<'_>, of_kernel: usize, output: usize, groups: usize) -> Result<(), String> {
    let own = call.shapes[0][1];
    call.require(
        own == of_kernel && own.is_multiple_of(groups),
        "the channels of input and kernel agree",
    )?;
    call.require(
        output.is_multiple_of(groups),
        "the groups divide the output's channels",
    )
}

/// The output with `channels`, each further extent made of those of the input and the kernel.
fn extents(
    call: &Operands<'_>,
    channels: usize,
    extent: impl Fn(usize, usize) -> Option<usize>,
) -> Result<Shapes, String> {
    let (x, kernel) = (call.shapes[0], call.shapes[1]);
    let mut output = vec![x[0], channels];
    for (x, kernel) in x[2..].iter().zip(&kernel[2..]) {
        call.require(*x > 0 && *kernel > 0, "input and kernel have no empty dimension")?;
        let extent = extent(*x, *kernel).filter(|extent| *extent > 0);
        output.push(extent.ok_or_else(|| call.mismatch("the kernel fits into the padded input"))?);
    }
    Shapes::of(output)
}
