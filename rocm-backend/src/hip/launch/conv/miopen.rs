//! Which convolutions and poolings MIOpen can take as they lie, and how they look to it: packed images in two dimensions,
//! of f32, f16 and bf16. One dimension is an image of height 1; a transposed convolution is the gradient of one.
//!
//! The largest of windows is not handed over: MIOpen's documents do not say what becomes of a NaN.
#![expect(unsafe_code, reason = "calls MIOpen with the addresses of tensors")]

use std::ffi::c_int;
use std::sync::Arc;

use crate::hip::context::Context;
use crate::hip::miopen::{BACKWARD, FORWARD, Means, POOLING, Problem};
use crate::libraries::computing;
use crate::ops::window::Axis;
use crate::trace::Level;
use crate::view::Region;
use crate::{DType, DynBuffer, Library, Result};

/// Computes the convolution by MIOpen, if that is there and takes it; says whether.
pub(super) fn convolve(
    op: &'static str,
    context: &Arc<Context>,
    x: &Region<'_>,
    kernel: &Region<'_>,
    axes: &[Axis],
    is_transposed: bool,
    out: &mut DynBuffer,
) -> Result<bool> {
    let driver = context.info().driver();
    let Some(problem) = problem(x, kernel, axes, is_transposed) else {
        return Ok(false);
    };
    if matches!(driver.miopen(), Library::Absent(_)) {
        return Ok(false);
    }
    let addresses = [address(x), address(kernel), out.memory().block().address()];
    // SAFETY: both operands are packed and of the problem's sizes, and lie inside their buffers; `out` has room for the
    // results (the caller checked it) and is borrowed mutably. The handle's stream is the context's.
    let done = context.with_miopen(|handle| unsafe { handle.convolve(context, &problem, addresses) })?;
    if done {
        let by = computing(if is_transposed { BACKWARD } else { FORWARD }, driver);
        context.ledger().add(op, by, Level::of(driver));
        context.ledger().trace(&Arc::from(by), None, Level::of(driver));
    }
    Ok(done)
}

/// Computes the means of windows by MIOpen, if that is there and takes them; says whether.
pub(super) fn average(
    op: &'static str,
    context: &Arc<Context>,
    x: &Region<'_>,
    axes: [Axis; 2],
    out: &mut DynBuffer,
) -> Result<bool> {
    let driver = context.info().driver();
    // MIOpen's poolings are of f32 and f16.
    let is_taken = op == "avg_pool2d" && matches!(out.dtype(), DType::F32 | DType::F16) && x.is_contiguous();
    let Some(means) = means(x, axes).filter(|_| is_taken) else {
        return Ok(false);
    };
    if matches!(driver.miopen(), Library::Absent(_)) {
        return Ok(false);
    }
    let (input, output) = (address(x), out.memory().block().address());
    // SAFETY: as above.
    let done = context.with_miopen(|handle| unsafe { handle.average(&means, input, output) })?;
    if done {
        let by = computing(POOLING, driver);
        context.ledger().add(op, by, Level::of(driver));
        context.ledger().trace(&Arc::from(by), None, Level::of(driver));
    }
    Ok(done)
}

fn address(region: &Region<'_>) -> usize {
    let buffer = region.buffer();
    buffer.memory().block().address() + region.offset() * buffer.dtype().size_in_bytes()
}

/// A size as MIOpen counts it.
fn size(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

/// `lead`, then `last` as height and width; one dimension is an image of height 1.
fn image(lead: [usize; 2], last: &[usize]) -> Option<[c_int; 4]> {
    let (height, width) = match *last {
        [width] => (1, width),
        [height, width] => (height, width),
        _ => return None,
    };
    Some([size(lead[0])?, size(lead[1])?, size(height)?, size(width)?])
}

fn problem(x: &Region<'_>, kernel: &Region<'_>, axes: &[Axis], is_transposed: bool) -> Option<Problem> {
    let dtype = x.buffer().dtype();
    let is_taken = matches!(dtype, DType::F32 | DType::F16 | DType::BF16);
    if !is_taken || !x.is_contiguous() || !kernel.is_contiguous() {
        return None;
    }
    let (&[batch, c_in, ref spatial @ ..], &[first, second, ref taps @ ..]) = (x.dims(), kernel.dims())
    else {
        return None;
    };
    let slide = axes.first()?.slide();
    // A gradient has the sizes from which the convolution comes back to its input, and no other.
    let comes_back = |axis: &Axis| {
        let reach = slide.dilation * (axis.taps() - 1) + 1;
        let room = (axis.output() + 2 * slide.padding).checked_sub(reach);
        room.is_some_and(|room| room / slide.stride + 1 == axis.input())
    };
    if is_transposed && !axes.iter().all(comes_back) {
        return None;
    }
    let outputs: Vec<usize> = axes.iter().map(Axis::output).collect();
    let c_out = if is_transposed { second } else { first };
    let pair = |n: usize, of_one: c_int| {
        let n = size(n)?;
        Some(if axes.len() == 1 { [of_one, n] } else { [n, n] })
    };
    Some(Problem {
        dtype,
        is_backward: is_transposed,
        input: image([batch, c_in], spatial)?,
        kernel: image([first, second], taps)?,
        output: image([batch, c_out], &outputs)?,
        padding: pair(slide.padding, 0)?,
        stride: pair(slide.stride, 1)?,
        dilation: pair(slide.dilation, 1).filter(|dilation| !dilation.contains(&0))?,
    })
}

fn means(x: &Region<'_>, axes: [Axis; 2]) -> Option<Means> {
    let &[batch, channels, height, width] = x.dims() else {
        return None;
    };
    let pair = |f: fn(&Axis) -> usize| Some([size(f(&axes[0]))?, size(f(&axes[1]))?]);
    Some(Means {
        dtype: x.buffer().dtype(),
        input: image([batch, channels], &[height, width])?,
        output: image([batch, channels], &axes.map(|axis| axis.output()))?,
        window: pair(Axis::taps)?,
        stride: pair(|axis| axis.slide().stride)?,
    })
}
