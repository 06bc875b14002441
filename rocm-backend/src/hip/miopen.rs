//! MIOpen behind safe types: convolutions in immediate mode, which benchmarks nothing, and means of windows.
//!
//! For each problem the library is asked once which of its solutions is best; the answer is kept with the descriptors. A
//! problem that it has no solution for is kept as such, and left to this crate's kernels. So are transposed
//! convolutions of f16 and bf16 for which it has products of matrices alone: where taps add up, its results are further from the sum than
//! one rounding, as if each tap's sum were rounded.
#![expect(unsafe_code, reason = "calls MIOpen")]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use rocm_rs::miopen::bindings::{self, miopenDataType_t, miopenStatus_t};

use super::context::Context;
use super::memory::DeviceMemory;
use super::status::{check_library, static_text};
use super::stream::Stream;
use crate::{DType, Result};

/// The functions that compute, by their names.
pub(crate) const FORWARD: &str = "miopenConvolutionForwardImmediate";
pub(crate) const BACKWARD: &str = "miopenConvolutionBackwardDataImmediate";
pub(crate) const POOLING: &str = "miopenPoolingForward";

/// An MIOpen handle whose work goes to one stream, and the plans made so far.
pub(crate) struct MiopenHandle {
    // Dropped in this order.
    plans: BTreeMap<Problem, Option<ConvolutionPlan>>,
    raw: Raw,
}

/// A convolution of packed tensors (batch, channels, height, width), or the gradient of one by its input: what a transposed
/// convolution is. The kernel is (channels of the result, channels, taps) of the convolution, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) dtype: DType,
    pub(crate) is_backward: bool,
    pub(crate) input: [c_int; 4],
    pub(crate) kernel: [c_int; 4],
    pub(crate) output: [c_int; 4],
    /// In y and x, as the next two.
    pub(crate) padding: [c_int; 2],
    pub(crate) stride: [c_int; 2],
    pub(crate) dilation: [c_int; 2],
}

/// Solutions that MIOpen is asked for where the first may not do.
const SOLUTIONS: usize = 16;

impl Problem {
    /// Whether several taps of a transposed convolution add up to one result, in a dtype of 16 bits.
    fn adds_taps(&self) -> bool {
        let [_, _, taps @ ..] = self.kernel;
        let axes = taps.into_iter().zip(self.stride).zip(self.dilation);
        let meet = |((taps, stride), dilation): ((c_int, c_int), c_int)| {
            taps > 1 && (dilation != 1 || taps > stride)
        };
        self.is_backward && matches!(self.dtype, DType::F16 | DType::BF16) && axes.into_iter().any(meet)
    }
}

/// How a problem is solved.
struct ConvolutionPlan {
    tensors: [Tensor; 3],
    convolution: Convolution,
    solution: u64,
    workspace: usize,
}

/// Means of windows without padding, of packed tensors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means {
    pub(crate) dtype: DType,
    pub(crate) input: [c_int; 4],
    pub(crate) output: [c_int; 4],
    pub(crate) window: [c_int; 2],
    pub(crate) stride: [c_int; 2],
}

/// An owned handle or descriptor: its constructor, its destructor, and nothing between.
macro_rules! owned {
    ($($(#[$doc:meta])* $name:ident, $raw:ident, $create:ident, $destroy:ident;)*) => {$(
        $(#[$doc])*
        struct $name(bindings::$raw);

        // SAFETY: MIOpen ties none of these to a thread; one thread at a time uses one, under the context's lock.
        unsafe impl Send for $name {}

        impl $name {
            fn create() -> Result<$name> {
                let mut raw = std::ptr::null_mut();
                // SAFETY: `raw` is a live handle to be written.
                check(stringify!($create), unsafe { bindings::$create(&raw mut raw) })?;
                Ok($name(raw))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made by MIOpen and destroyed only here. A failure leaves nothing to do.
                let _ = unsafe { bindings::$destroy(self.0) };
            }
        }
    )*};
}

owned! {
    /// Sizes and dtype of a packed tensor.
    Tensor, miopenTensorDescriptor_t, miopenCreateTensorDescriptor, miopenDestroyTensorDescriptor;
    /// How a kernel is laid on its input.
    Convolution, miopenConvolutionDescriptor_t, miopenCreateConvolutionDescriptor, miopenDestroyConvolutionDescriptor;
    /// How a window is laid on its input.
    Pooling, miopenPoolingDescriptor_t, miopenCreatePoolingDescriptor, miopenDestroyPoolingDescriptor;
}

struct Raw(bindings::miopenHandle_t);

// SAFETY: as the descriptors.
unsafe impl Send for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: made by miopenCreateWithStream and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { bindings::miopenDestroy(self.0) };
    }
}

impl Tensor {
    fn new(dtype: miopenDataType_t, [n, c, h, w]: [c_int; 4]) -> Result<Tensor> {
        let tensor = Tensor::create()?;
        // SAFETY: the descriptor lives; the rest are numbers.
        check("miopenSet4dTensorDescriptor", unsafe {
            bindings::miopenSet4dTensorDescriptor(tensor.0, dtype, n, c, h, w)
        })?;
        Ok(tensor)
    }
}

impl Convolution {
    fn new(problem: &Problem) -> Result<Convolution> {
        let convolution = Convolution::create()?;
        let ([pad_h, pad_w], [stride_h, stride_w], [dilation_h, dilation_w]) =
            (problem.padding, problem.stride, problem.dilation);
        // SAFETY: the descriptor lives; the rest are numbers.
        check("miopenInitConvolutionDescriptor", unsafe {
            bindings::miopenInitConvolutionDescriptor(
                convolution.0,
                bindings::miopenConvolutionMode_t_miopenConvolution,
                pad_h,
                pad_w,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
            )
        })?;
        Ok(convolution)
    }
}

impl MiopenHandle {
    /// A handle for `stream` on this thread's device.
    pub(crate) fn new(stream: &Stream) -> Result<MiopenHandle> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written, and the stream outlives it in its context.
        check("miopenCreateWithStream", unsafe {
            bindings::miopenCreateWithStream(&raw mut raw, stream.raw().cast())
        })?;
        Ok(MiopenHandle {
            plans: BTreeMap::new(),
            raw: Raw(raw),
        })
    }

    /// Computes `problem` from `input` and `kernel` to `output`. False where MIOpen has no solution: nothing was done.
    ///
    /// # Safety
    /// Packed tensors of the problem's sizes and dtype lie at the three addresses, in memory of the handle's device, and
    /// nobody else uses the result while the stream gets to it.
    pub(crate) unsafe fn convolve(
        &mut self,
        context: &Arc<Context>,
        problem: &Problem,
        [input, kernel, output]: [usize; 3],
    ) -> Result<bool> {
        if !self.plans.contains_key(problem) {
            let plan = ConvolutionPlan::new(&self.raw, problem)?;
            self.plans.insert(*problem, plan);
        }
        let Some(Some(plan)) = self.plans.get(problem) else {
            return Ok(false);
        };
        // Given back at the end of this function: work that gets it next runs after this call.
        let workspace = DeviceMemory::new(context, plan.workspace)?;
        let [input, kernel] = [input, kernel].map(std::ptr::without_provenance::<c_void>);
        let output = std::ptr::without_provenance_mut(output);
        let room = std::ptr::without_provenance_mut(workspace.block().address());
        let [x, w, y] = &plan.tensors;
        // SAFETY: handle and descriptors live and are the problem's; the workspace is as long as the solution asked for.
        // The rest is the caller's promise.
        let status = unsafe {
            match problem.is_backward {
                false => bindings::miopenConvolutionForwardImmediate(
                    self.raw.0,
                    w.0,
                    kernel,
                    x.0,
                    input,
                    plan.convolution.0,
                    y.0,
                    output,
                    room,
                    workspace.len(),
                    plan.solution,
                ),
                true => bindings::miopenConvolutionBackwardDataImmediate(
                    self.raw.0,
                    x.0,
                    input,
                    w.0,
                    kernel,
                    plan.convolution.0,
                    y.0,
                    output,
                    room,
                    workspace.len(),
                    plan.solution,
                ),
            }
        };
        let done = accepted(if problem.is_backward { BACKWARD } else { FORWARD }, status)?;
        if !done {
            self.plans.insert(*problem, None);
        }
        Ok(done)
    }

    /// Computes `means` from `input` to `output`. False where MIOpen refuses: nothing was done.
    ///
    /// # Safety
    /// As [`MiopenHandle::convolve`].
    pub(crate) unsafe fn average(&mut self, means: &Means, input: usize, output: usize) -> Result<bool> {
        let Some(dtype) = datatype(means.dtype) else {
            return Ok(false);
        };
        let (x, y) = (
            Tensor::new(dtype, means.input)?,
            Tensor::new(dtype, means.output)?,
        );
        let pooling = Pooling::create()?;
        let ([window_h, window_w], [stride_h, stride_w]) = (means.window, means.stride);
        // SAFETY: the descriptor lives; the rest are numbers.
        let status = unsafe {
            bindings::miopenSet2dPoolingDescriptor(
                pooling.0,
                bindings::miopenPoolingMode_t_miopenPoolingAverage,
                window_h,
                window_w,
                0,
                0,
                stride_h,
                stride_w,
            )
        };
        if !accepted("miopenSet2dPoolingDescriptor", status)? {
            return Ok(false);
        }
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: handle and descriptors live; the scalars are floats on the host, as MIOpen has them for every dtype;
        // without a backward pass there is no workspace. The rest is the caller's promise.
        let status = unsafe {
            bindings::miopenPoolingForward(
                self.raw.0,
                pooling.0,
                (&raw const one).cast(),
                x.0,
                std::ptr::without_provenance(input),
                (&raw const zero).cast(),
                y.0,
                std::ptr::without_provenance_mut(output),
                false,
                std::ptr::null_mut(),
                0,
            )
        };
        accepted(POOLING, status)
    }
}

impl ConvolutionPlan {
    /// The best solution for `problem`, compiled; `None` if the library has none.
    fn new(handle: &Raw, problem: &Problem) -> Result<Option<ConvolutionPlan>> {
        let Some(dtype) = datatype(problem.dtype) else {
            return Ok(None);
        };
        let tensors = [
            Tensor::new(dtype, problem.input)?,
            Tensor::new(dtype, problem.kernel)?,
            Tensor::new(dtype, problem.output)?,
        ];
        let convolution = Convolution::new(problem)?;
        let [x, w, y] = &tensors;
        let (mut found, adds_taps) = (0, problem.adds_taps());
        let room = if adds_taps { SOLUTIONS } else { 1 };
        // SAFETY: C structs of numbers, for which zero is a value.
        let mut solutions: [bindings::miopenConvSolution_t; SOLUTIONS] = unsafe { std::mem::zeroed() };
        // SAFETY: handle and descriptors live; there is room for the solutions that are asked for. MIOpen lists the
        // fastest first.
        let status = unsafe {
            match problem.is_backward {
                false => bindings::miopenConvolutionForwardGetSolution(
                    handle.0,
                    w.0,
                    x.0,
                    convolution.0,
                    y.0,
                    room,
                    &raw mut found,
                    solutions.as_mut_ptr(),
                ),
                true => bindings::miopenConvolutionBackwardDataGetSolution(
                    handle.0,
                    x.0,
                    w.0,
                    convolution.0,
                    y.0,
                    room,
                    &raw mut found,
                    solutions.as_mut_ptr(),
                ),
            }
        };
        if !accepted("miopenConvolution…GetSolution", status)? {
            return Ok(None);
        }
        let will_do = |solution: &&bindings::miopenConvSolution_t| {
            !adds_taps || solution.algorithm != bindings::miopenConvAlgorithm_t_miopenConvolutionAlgoGEMM
        };
        let Some(best) = solutions.iter().take(found.min(room)).find(will_do) else {
            return Ok(None);
        };
        let solution = best.solution_id;
        // SAFETY: as above.
        let status = unsafe {
            match problem.is_backward {
                false => bindings::miopenConvolutionForwardCompileSolution(
                    handle.0,
                    w.0,
                    x.0,
                    convolution.0,
                    y.0,
                    solution,
                ),
                true => bindings::miopenConvolutionBackwardDataCompileSolution(
                    handle.0,
                    x.0,
                    w.0,
                    convolution.0,
                    y.0,
                    solution,
                ),
            }
        };
        if !accepted("miopenConvolution…CompileSolution", status)? {
            return Ok(None);
        }
        Ok(Some(ConvolutionPlan {
            tensors,
            convolution,
            solution,
            workspace: best.workspace_size,
        }))
    }
}

/// MIOpen's name for a dtype that it convolves in immediate mode; it has no f64 there.
fn datatype(dtype: DType) -> Option<miopenDataType_t> {
    match dtype {
        DType::F16 => Some(bindings::miopenDataType_t_miopenHalf),
        DType::BF16 => Some(bindings::miopenDataType_t_miopenBFloat16),
        DType::F32 => Some(bindings::miopenDataType_t_miopenFloat),
        _ => None,
    }
}

/// Whether MIOpen did what was asked, or refused it as something it does not do. An unknown error is what it answers where it could not
/// compile its own kernel; a device that is lost fails the next call.
fn accepted(call: &'static str, status: miopenStatus_t) -> Result<bool> {
    match status {
        bindings::miopenStatus_t_miopenStatusNotImplemented
        | bindings::miopenStatus_t_miopenStatusUnsupportedOp
        | bindings::miopenStatus_t_miopenStatusUnknownError => Ok(false),
        status => check(call, status).map(|()| true),
    }
}

/// `Ok` for success; else the error of the C function `call`.
fn check(call: &'static str, status: miopenStatus_t) -> Result<()> {
    check_library("MIOpen", call, status, || {
        // SAFETY: the function takes any number and returns a static C string.
        static_text(unsafe { bindings::miopenGetErrorString(status) })
    })
}
