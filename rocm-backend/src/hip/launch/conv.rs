//! Launches what slides windows over images: convolutions, their columns, poolings. On NVIDIA's GPUs the matrix cores take what f32
//! they are faster with. MIOpen serves what it can take of the rest where it is there, rocBLAS what is worth it, this crate's kernels
//! what is left. Sizes are checked already: an
//! [`Axis`] holds no others.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

mod miopen;
mod nvidia;
mod plan;
mod rocblas;

use super::pieces::Pieces;
use super::{Args, BLOCK, Grid, common_context, table};
use crate::hip::context::Context;
use crate::ops::window::Axis;
use crate::trace::Level;
use crate::view::{self, Region};
use crate::{DType, DriverKind, DynBuffer, Error, Result, module};

/// The module, a file of `kernels/`.
pub(super) const MODULE: &str = "conv";
/// Channels of the result that a thread of a convolution sums at once, as `convolve.h` has it.
const CHANNELS_AT_ONCE: usize = 4;
/// Threads that a workgroup of a convolution is a multiple of: the lanes of a wave on every AMD GPU.
const LANES: usize = 64;

/// What `op` needs to be launched on `x`: its shape fits `axes` and `out` holds `results`.
fn check_sizes(op: &str, x: &Region<'_>, axes: &[Axis], results: usize, out: &DynBuffer) -> Result<()> {
    let input = x.dims().get(2..).unwrap_or_default();
    if !input.iter().copied().eq(axes.iter().map(Axis::input)) {
        return Err(Error::shape(op, "axes of other sizes than the input's"));
    }
    view::check(op, out.len(), &[results], &[1], 0).map(drop)
}

/// Workgroups for the images of a convolution: each takes some pixels of one image and some channels of the result.
fn tiles(op: &str, batch: usize, c_out: usize, pixels: usize) -> Result<Grid> {
    let threads = pixels.clamp(1, BLOCK).next_multiple_of(LANES).min(BLOCK);
    let countable = |n: &usize| *n <= u32::MAX as usize;
    let tiles = Some(pixels)
        .filter(countable)
        .and_then(|pixels| {
            pixels
                .div_ceil(threads)
                .checked_mul(c_out.div_ceil(CHANNELS_AT_ONCE))
        })
        .and_then(|tiles| tiles.checked_mul(batch))
        .filter(countable);
    let tiles = tiles.ok_or_else(|| {
        Error::too_large(
            op,
            format!(
                "{batch} times {c_out} images of {pixels} elements are more than its kernel counts in 32 bits"
            ),
        )
    })?;
    Ok(Grid::of(tiles, threads).striding())
}

/// Whether MIOpen is asked before rocBLAS. Over NVIDIA's driver that is cuDNN, and cuBLAS with unfolded windows. Of two runs on an H200 cuBLAS
/// had the shorter times (conv2d of f16 91 and 122 µs, conv1d 93 and 138, of f32 638 and 682), but for images of f32 (447 and 391).
fn miopen_is_first(context: &Context, dtype: DType, axes: &[Axis]) -> bool {
    context.info().driver().kind() != DriverKind::Nvidia || (dtype == DType::F32 && axes.len() == 2)
}

/// The convolution of `x` with `kernel` along `axes`, transposed if there is an output padding. With an operand of no
/// elements nothing is launched: `out` holds its zeros already.
pub(crate) fn convolve(
    op: &'static str,
    x: &Region<'_>,
    kernel: &Region<'_>,
    axes: &[Axis],
    output_padding: Option<usize>,
    out: &mut DynBuffer,
) -> Result<()> {
    let dtype = out.dtype();
    for operand in [x, kernel] {
        Error::unless_same_dtype(op, dtype, operand.buffer().dtype())?;
    }
    let invalid = || Error::shape(op, "the operands do not fit the axes");
    let (&[batch, ..], &[first, second, ..]) = (x.dims(), kernel.dims()) else {
        return Err(invalid());
    };
    let c_out = if output_padding.is_some() { second } else { first };
    let taps = kernel.dims().get(2..).unwrap_or_default();
    if !taps.iter().copied().eq(axes.iter().map(Axis::taps)) {
        return Err(invalid());
    }
    let pixels = axes
        .iter()
        .try_fold(1_usize, |n, axis| n.checked_mul(axis.output()))
        .ok_or_else(invalid)?;
    let results = pixels
        .checked_mul(c_out)
        .and_then(|results| results.checked_mul(batch))
        .ok_or_else(invalid)?;
    check_sizes(op, x, axes, results, out)?;
    let context = common_context(op, [x.buffer(), kernel.buffer(), &*out].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{op}_{}", dtype.suffix()), op, dtype)?;
    let Some(slide) = axes.first().map(Axis::slide) else {
        return Err(invalid());
    };
    if results == 0 || x.numel() == 0 || kernel.numel() == 0 {
        return Ok(());
    }
    if output_padding.is_none() && nvidia::convolve(op, &context, x, kernel, axes, out)? {
        return Ok(());
    }
    let is_first = miopen_is_first(&context, dtype, axes);
    if is_first && miopen::convolve(op, &context, x, kernel, axes, output_padding.is_some(), out)? {
        return Ok(());
    }
    if output_padding.is_none() && rocblas::convolve(op, &context, x, kernel, axes, out)? {
        return Ok(());
    }
    if !is_first && miopen::convolve(op, &context, x, kernel, axes, output_padding.is_some(), out)? {
        return Ok(());
    }
    let grid = tiles(op, batch, c_out, pixels)?;
    let info = table(
        &context,
        &[x.dims(), x.strides(), kernel.dims(), kernel.strides()],
        &[],
        &[],
    )?;
    let mut args = Args::default();
    args.size(x.numel());
    for axis in axes.iter().rev() {
        args.size(axis.output());
    }
    args.size(slide.stride).size(slide.padding);
    if let Some(extra) = output_padding {
        args.size(extra);
    }
    args.size(slide.dilation)
        .table(Some(&info))
        .element(x.buffer(), x.offset())
        .element(kernel.buffer(), kernel.offset())
        .element(out, 0);
    // SAFETY: `<op>_<dtype>(src_numel, w_out, [h_out,] stride, padding, [out_padding,] dilation, info, src, kernel, dst)`
    // is of the buffers' dtype. The kernel reads elements of the two regions only, as their own sizes and strides have
    // them, and `out` has room for the results. `info` lives to the end of this function.
    unsafe { args.submit(op, &context, &function, grid) }?;
    context
        .ledger()
        .add(op, op, Level::of_kernels(context.info().driver()));
    Ok(())
}

/// The windows of `x` along `axes` as rows of `out`; of an `x` of no elements nothing is launched: `out` holds its zeros
/// already.
pub(crate) fn columns(op: &'static str, x: &Region<'_>, axes: &[Axis], out: &mut DynBuffer) -> Result<()> {
    let dtype = out.dtype();
    let invalid = || Error::shape(op, "the operands do not fit the axes");
    let (&[batch, channels, ..], Some(slide)) = (x.dims(), axes.first().map(Axis::slide)) else {
        return Err(invalid());
    };
    // One thread a window and channel in one dimension, an element in two, as candle's kernels have it.
    let windows = axes.iter().map(Axis::output).chain([batch, channels]);
    let windows = windows
        .clone()
        .try_fold(1_usize, usize::checked_mul)
        .ok_or_else(invalid)?;
    let taps = axes.iter().map(Axis::taps);
    let results = taps
        .clone()
        .try_fold(windows, usize::checked_mul)
        .ok_or_else(invalid)?;
    Error::unless_same_dtype(op, dtype, x.buffer().dtype())?;
    check_sizes(op, x, axes, results, out)?;
    let context = common_context(op, [x.buffer(), &*out].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{op}_{}", dtype.suffix()), op, dtype)?;
    if results == 0 || x.numel() == 0 {
        return Ok(());
    }
    let threads = if axes.len() == 1 { windows } else { results };
    // In the order in which the kernels divide.
    let mut divided = vec![channels];
    divided.extend(axes.iter().rev().map(Axis::output));
    if axes.len() == 2 {
        divided.splice(0..0, axes.iter().rev().map(Axis::taps));
    }
    for piece in Pieces::of(op, &[batch, threads / batch], 1, &context)? {
        let dims = [&[piece.dims[0]], &x.dims()[1..]].concat();
        let info = table(&context, &[&dims, x.strides()], &divided, &[])?;
        let mut args = Args::default();
        args.size(piece.numel());
        for number in axes.iter().map(Axis::output).chain(taps.clone()) {
            args.size(number);
        }
        args.size(slide.stride)
            .size(slide.padding)
            .size(slide.dilation)
            .table(Some(&info))
            .element(x.buffer(), x.offset() + piece.offset(x.strides()))
            .element(out, piece.offset(&[results / batch]));
        // SAFETY: `im2col1d_<dtype>(windows, l_out, l_k, stride, padding, dilation, info, src, dst)` and
        // `im2col_<dtype>(dst_numel, h_out, w_out, h_k, w_k, stride, …)` are of the buffers' dtype. The kernel reads elements
        // of the region only, and `out` has room for the results. `info` lives until the launch is submitted.
        unsafe { args.submit(op, &context, &function, Grid::over(piece.numel())) }?;
    }
    Ok(())
}

/// The rows of the contiguous `x` (batch, length, channels, taps) added up along `axis`.
pub(crate) fn add_columns(op: &'static str, x: &Region<'_>, axis: Axis, out: &mut DynBuffer) -> Result<()> {
    let dtype = out.dtype();
    let &[batch, length, channels, taps] = x.dims() else {
        return Err(Error::shape(op, "the operands do not fit the axis"));
    };
    let fits =
        (axis.input(), axis.taps()) == (length, taps) && x.is_contiguous() && x.buffer().dtype() == dtype;
    let results = batch
        .checked_mul(channels)
        .and_then(|n| n.checked_mul(axis.output()));
    let Some(results) = results.filter(|_| fits) else {
        return Err(Error::shape(op, "the operands do not fit the axis"));
    };
    view::check(op, out.len(), &[results], &[1], 0)?;
    let context = common_context(op, [x.buffer(), &*out].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{op}_{}", dtype.suffix()), op, dtype)?;
    let of_batch = channels.saturating_mul(axis.output());
    for piece in Pieces::of(op, &[batch, of_batch], 1, &context)? {
        let mut args = Args::default();
        for number in [
            piece.numel(),
            axis.output(),
            length,
            channels,
            taps,
            axis.slide().stride,
        ] {
            args.size(number);
        }
        let first = piece.offset(&[length.saturating_mul(channels).saturating_mul(taps)]);
        args.element(x.buffer(), x.offset() + first)
            .element(out, piece.offset(&[of_batch]));
        // SAFETY: `col2im1d_<dtype>(dst_numel, l_out, l_in, c_out, k_size, stride, src, dst)` is of the buffers' dtype; `src`
        // is contiguous and of these sizes, `out` has room for the results, and a piece is some of the batch.
        unsafe { args.submit(op, &context, &function, Grid::over(piece.numel())) }?;
    }
    Ok(())
}

/// One number from each window of `x`, which slides along height and width.
pub(crate) fn pool(op: &'static str, x: &Region<'_>, axes: [Axis; 2], out: &mut DynBuffer) -> Result<()> {
    let dtype = out.dtype();
    let &[batch, channels, ..] = x.dims() else {
        return Err(Error::shape(op, "the operands do not fit the axes"));
    };
    let sizes = [batch, channels, axes[0].output(), axes[1].output()];
    let results = sizes.into_iter().try_fold(1_usize, usize::checked_mul);
    let Some(results) = results.filter(|_| x.buffer().dtype() == dtype) else {
        return Err(Error::shape(op, "the operands do not fit the axes"));
    };
    check_sizes(op, x, &axes, results, out)?;
    let context = common_context(op, [x.buffer(), &*out].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{op}_{}", dtype.suffix()), op, dtype)?;
    if results > 0 && miopen::average(op, &context, x, axes, out)? {
        return Ok(());
    }
    let taps = axes.each_ref().map(Axis::taps);
    // Both are less than 2^31.
    let count = view::wide_divisor(taps[0].saturating_mul(taps[1]));
    let [_, _, height, width] = sizes;
    let image = height.saturating_mul(width);
    for piece in Pieces::of(op, &[batch, channels, image], 2, &context)? {
        let dims = [&piece.dims[..2], &x.dims()[2..]].concat();
        let divided = [width, height, piece.dims[1]];
        let info = table(&context, &[&dims, x.strides()], &divided, &count)?;
        let mut args = Args::default();
        args.size(x.numel());
        for number in taps
            .into_iter()
            .chain(axes.iter().map(|axis| axis.slide().stride))
        {
            args.size(number);
        }
        args.table(Some(&info))
            .element(x.buffer(), x.offset() + piece.offset(x.strides()))
            .element(out, piece.offset(&[channels.saturating_mul(image), image]));
        // SAFETY: `<op>_<dtype>(src_numel, h_k, w_k, h_stride, w_stride, info, src, dst)` is of the buffers' dtype. Windows lie
        // inside the region, and `out` has room for the results. `info` lives until the launch is submitted.
        unsafe { args.submit(op, &context, &function, Grid::over(piece.numel())) }?;
    }
    context
        .ledger()
        .add(op, op, Level::of_kernels(context.info().driver()));
    Ok(())
}
