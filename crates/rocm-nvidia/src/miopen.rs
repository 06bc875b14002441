//! MIOpen's entry points over cuDNN: convolutions in immediate mode and means of windows, of packed images (batch, channels, height, width)
//! of f32, f16 and bf16.
//!
//! A solution is an algorithm of cuDNN's, in the order in which its heuristics expect them to be fast, and its number is the algorithm's
//! plus one. Those that sum in a fixed order over the pixels and weights of a result are offered. Winograd's and Fourier's are not: they
//! add up pixels and weights before they multiply, so that one infinite pixel makes NaN of results that do not see it. f32 is not
//! rounded to TF32; sums of 16-bit floats are taken in f32.
//!
//! Not here, and `miopenStatusNotImplemented`: gradients by the input, in which cuDNN multiplies weights with zeros between and around the
//! pixels, so that one NaN among the weights makes NaN of results that do not see it (an H200, cuDNN 9); the largest of windows; other
//! dtypes; the transposed mode of a descriptor.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers, and cuDNN takes them; entry.rs says what is relied on"
)]
#![expect(non_snake_case, reason = "the functions have the names of MIOpen's")]

mod convolution;
mod objects;

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;

use rocm_rs::miopen::bindings::{
    self as declared, miopenAcceleratorQueue_t, miopenConvSolution_t, miopenConvolutionDescriptor_t,
    miopenConvolutionMode_t, miopenDataType_t, miopenHandle_t, miopenPoolingDescriptor_t,
    miopenPoolingMode_t, miopenStatus_t, miopenTensorDescriptor_t,
};

use convolution::Problem;
use objects::{Object, Raw, bound, create, object, objects, take, tensor};

use crate::cuda::Handle;
use crate::cudnn::{self, Cudnn};
use crate::library::{self, EntryResult as Result, Status, call};
use crate::{entry, error};

const SUCCESS: miopenStatus_t = declared::miopenStatus_t_miopenStatusSuccess;
const NOT_INITIALIZED: miopenStatus_t = declared::miopenStatus_t_miopenStatusNotInitialized;
const BAD_PARAMETER: miopenStatus_t = declared::miopenStatus_t_miopenStatusBadParm;
const ALLOC_FAILED: miopenStatus_t = declared::miopenStatus_t_miopenStatusAllocFailed;
const INTERNAL_ERROR: miopenStatus_t = declared::miopenStatus_t_miopenStatusInternalError;
const NOT_IMPLEMENTED: miopenStatus_t = declared::miopenStatus_t_miopenStatusNotImplemented;
const UNKNOWN_ERROR: miopenStatus_t = declared::miopenStatus_t_miopenStatusUnknownError;
const UNSUPPORTED: miopenStatus_t = declared::miopenStatus_t_miopenStatusUnsupportedOp;

fn guard(body: impl FnOnce() -> Result) -> miopenStatus_t {
    library::guard(INTERNAL_ERROR, body)
}

/// `Ok` for success; else MIOpen's status, with cuDNN's number kept for whoever asks. cuDNN 9 has ranges of numbers, 8 has single ones.
fn done(call: &str, status: Status) -> Result {
    if status == cudnn::SUCCESS {
        return Ok(());
    }
    error::keep(format!("{call}: cudnnStatus_t {status}"));
    Err(match status {
        1 | 1001..=1999 => NOT_INITIALIZED,
        2 => ALLOC_FAILED,
        3 | 5 | 7 | 2000..=2999 => BAD_PARAMETER,
        6 | 9 | 15 | 3000..=3999 => UNSUPPORTED,
        _ => INTERNAL_ERROR,
    })
}

fn of_hip(code: entry::Code) -> miopenStatus_t {
    match code {
        entry::OUT_OF_MEMORY => ALLOC_FAILED,
        _ => INTERNAL_ERROR,
    }
}

fn library() -> Result<&'static Cudnn> {
    cudnn::loaded().ok_or(NOT_INITIALIZED)
}

/// A new object of cuDNN's: `made!(library.cudnnCreateTensorDescriptor)`.
macro_rules! made {
    ($library:ident.$name:ident) => {{
        let mut raw: Handle = ptr::null_mut();
        // SAFETY: `raw` is a live object to be written.
        unsafe { call!($library.$name(&raw mut raw)) }.map(|()| Raw(raw))
    }};
}

/// `cudnnDataType_t` of a dtype that is served.
fn datatype(datatype: miopenDataType_t) -> Result<c_uint> {
    match datatype {
        declared::miopenDataType_t_miopenFloat => Ok(cudnn::FLOAT),
        declared::miopenDataType_t_miopenHalf => Ok(cudnn::HALF),
        declared::miopenDataType_t_miopenBFloat16 => Ok(cudnn::BFLOAT16),
        _ => Err(NOT_IMPLEMENTED),
    }
}

library::entries! {
    fn miopenCreateWithStream(handle: *mut miopenHandle_t, stream: miopenAcceleratorQueue_t) -> miopenStatus_t {
        guard(|| {
            let new = |library: &'static Cudnn| {
                let device = entry::current();
                entry::bound_to(device).map_err(of_hip)?;
                let raw = made!(library.cudnnCreate)?;
                // SAFETY: a living handle; HIP's contract on the stream.
                unsafe { call!(library.cudnnSetStream(raw.0, stream.cast())) }?;
                Ok(Object::Library(raw, device))
            };
            // SAFETY: MIOpen's contract on out-pointers.
            unsafe { create(handle, new) }
        })
    }

    fn miopenDestroy(handle: miopenHandle_t) -> miopenStatus_t {
        guard(|| {
            let (library, raw) = bound(handle)?;
            take(handle, |object| matches!(object, Object::Library(..)))?;
            // SAFETY: a living handle, which nobody finds any more.
            unsafe { call!(library.cudnnDestroy(raw)) }
        })
    }

    fn miopenGetErrorString(status: miopenStatus_t) -> *const c_char {
        let name = match status {
            SUCCESS => c"miopenStatusSuccess",
            NOT_INITIALIZED => c"miopenStatusNotInitialized",
            BAD_PARAMETER => c"miopenStatusBadParm",
            ALLOC_FAILED => c"miopenStatusAllocFailed",
            INTERNAL_ERROR => c"miopenStatusInternalError",
            NOT_IMPLEMENTED => c"miopenStatusNotImplemented",
            UNKNOWN_ERROR => c"miopenStatusUnknownError",
            UNSUPPORTED => c"miopenStatusUnsupportedOp",
            _ => c"a status that MIOpen over cuDNN does not have",
        };
        name.as_ptr()
    }

    fn miopenCreateTensorDescriptor(tensor: *mut miopenTensorDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let new = |library: &'static Cudnn| Ok(Object::Tensor {
                images: made!(library.cudnnCreateTensorDescriptor)?,
                weights: made!(library.cudnnCreateFilterDescriptor)?,
                dtype: None,
            });
            // SAFETY: MIOpen's contract on out-pointers.
            unsafe { create(tensor, new) }
        })
    }

    fn miopenSet4dTensorDescriptor(
        tensor: miopenTensorDescriptor_t, dtype: miopenDataType_t, n: c_int, c: c_int, h: c_int, w: c_int,
    ) -> miopenStatus_t {
        guard(|| {
            let (library, dtype) = (library()?, datatype(dtype)?);
            let Object::Tensor { images, weights, .. } = object(tensor)? else {
                return Err(BAD_PARAMETER);
            };
            // SAFETY: a living descriptor and numbers.
            unsafe { call!(library.cudnnSetTensor4dDescriptor(images.0, cudnn::NCHW, dtype, n, c, h, w)) }?;
            // SAFETY: as above.
            unsafe { call!(library.cudnnSetFilter4dDescriptor(weights.0, dtype, cudnn::NCHW, n, c, h, w)) }?;
            let set = Object::Tensor { images, weights, dtype: Some(dtype) };
            objects().living.insert(tensor.addr(), set);
            Ok(())
        })
    }

    fn miopenDestroyTensorDescriptor(tensor: miopenTensorDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            let Object::Tensor { images, weights, .. } = take(tensor, |object| matches!(object, Object::Tensor { .. }))? else {
                return Err(INTERNAL_ERROR);
            };
            // SAFETY: living descriptors, which nobody finds any more.
            let destroyed = unsafe { call!(library.cudnnDestroyTensorDescriptor(images.0)) };
            // SAFETY: as above.
            destroyed.and(unsafe { call!(library.cudnnDestroyFilterDescriptor(weights.0)) })
        })
    }

    fn miopenCreateConvolutionDescriptor(convolution: *mut miopenConvolutionDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let new = |library: &'static Cudnn| Ok(Object::Convolution {
                exact: made!(library.cudnnCreateConvolutionDescriptor)?,
                halves: made!(library.cudnnCreateConvolutionDescriptor)?,
            });
            // SAFETY: MIOpen's contract on out-pointers.
            unsafe { create(convolution, new) }
        })
    }

    fn miopenInitConvolutionDescriptor(
        convolution: miopenConvolutionDescriptor_t, mode: miopenConvolutionMode_t, pad_h: c_int, pad_w: c_int,
        stride_h: c_int, stride_w: c_int, dilation_h: c_int, dilation_w: c_int,
    ) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            if mode != declared::miopenConvolutionMode_t_miopenConvolution {
                return Err(NOT_IMPLEMENTED);
            }
            let Object::Convolution { exact, halves } = object(convolution)? else {
                return Err(BAD_PARAMETER);
            };
            for (Raw(raw), math) in [(exact, cudnn::FMA_MATH), (halves, cudnn::TENSOR_OP_MATH)] {
                // SAFETY: a living descriptor and numbers; sums are of f32 in both.
                unsafe {
                    call!(library.cudnnSetConvolution2dDescriptor(
                        raw, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, cudnn::CROSS_CORRELATION,
                        cudnn::FLOAT,
                    ))
                }?;
                // SAFETY: as above.
                unsafe { call!(library.cudnnSetConvolutionMathType(raw, math)) }?;
            }
            Ok(())
        })
    }

    fn miopenSetConvolutionGroupCount(convolution: miopenConvolutionDescriptor_t, groups: c_int) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            let Object::Convolution { exact, halves } = object(convolution)? else {
                return Err(BAD_PARAMETER);
            };
            for Raw(raw) in [exact, halves] {
                // SAFETY: a living descriptor and a number.
                unsafe { call!(library.cudnnSetConvolutionGroupCount(raw, groups)) }?;
            }
            Ok(())
        })
    }

    fn miopenDestroyConvolutionDescriptor(convolution: miopenConvolutionDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            let taken = take(convolution, |object| matches!(object, Object::Convolution { .. }))?;
            let Object::Convolution { exact, halves } = taken else {
                return Err(INTERNAL_ERROR);
            };
            // SAFETY: living descriptors, which nobody finds any more.
            let destroyed = unsafe { call!(library.cudnnDestroyConvolutionDescriptor(exact.0)) };
            // SAFETY: as above.
            destroyed.and(unsafe { call!(library.cudnnDestroyConvolutionDescriptor(halves.0)) })
        })
    }

    fn miopenConvolutionForwardGetSolution(
        handle: miopenHandle_t, weights: miopenTensorDescriptor_t, from: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, to: miopenTensorDescriptor_t, room: usize, count: *mut usize,
        solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t {
        let problem = Problem { handle, from, weights, convolution, to };
        // SAFETY: MIOpen's contract on out-pointers.
        guard(|| unsafe { problem.offer(room, count, solutions) })
    }

    fn miopenConvolutionForwardCompileSolution(
        handle: miopenHandle_t, weights: miopenTensorDescriptor_t, from: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, to: miopenTensorDescriptor_t, solution: u64,
    ) -> miopenStatus_t {
        guard(|| Problem { handle, from, weights, convolution, to }.check(solution))
    }

    fn miopenConvolutionForwardImmediate(
        handle: miopenHandle_t, weights: miopenTensorDescriptor_t, w: *const c_void, from: miopenTensorDescriptor_t,
        x: *const c_void, convolution: miopenConvolutionDescriptor_t, to: miopenTensorDescriptor_t, y: *mut c_void,
        workspace: *mut c_void, room: usize, solution: u64,
    ) -> miopenStatus_t {
        let problem = Problem { handle, from, weights, convolution, to };
        // SAFETY: MIOpen's contract on addresses.
        guard(|| unsafe { problem.run([x, w], y, (workspace, room), solution) })
    }

    fn miopenConvolutionBackwardDataGetSolution(
        _handle: miopenHandle_t, _from: miopenTensorDescriptor_t, _weights: miopenTensorDescriptor_t,
        _convolution: miopenConvolutionDescriptor_t, _to: miopenTensorDescriptor_t, _room: usize, _count: *mut usize,
        _solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t {
        NOT_IMPLEMENTED
    }

    fn miopenConvolutionBackwardDataCompileSolution(
        _handle: miopenHandle_t, _from: miopenTensorDescriptor_t, _weights: miopenTensorDescriptor_t,
        _convolution: miopenConvolutionDescriptor_t, _to: miopenTensorDescriptor_t, _solution: u64,
    ) -> miopenStatus_t {
        NOT_IMPLEMENTED
    }

    fn miopenConvolutionBackwardDataImmediate(
        _handle: miopenHandle_t, _from: miopenTensorDescriptor_t, _dy: *const c_void, _weights: miopenTensorDescriptor_t,
        _w: *const c_void, _convolution: miopenConvolutionDescriptor_t, _to: miopenTensorDescriptor_t, _dx: *mut c_void,
        _workspace: *mut c_void, _room: usize, _solution: u64,
    ) -> miopenStatus_t {
        NOT_IMPLEMENTED
    }

    fn miopenCreatePoolingDescriptor(pooling: *mut miopenPoolingDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let new = |library: &'static Cudnn| made!(library.cudnnCreatePoolingDescriptor).map(Object::Pooling);
            // SAFETY: MIOpen's contract on out-pointers.
            unsafe { create(pooling, new) }
        })
    }

    fn miopenSet2dPoolingDescriptor(
        pooling: miopenPoolingDescriptor_t, mode: miopenPoolingMode_t, height: c_int, width: c_int, pad_h: c_int,
        pad_w: c_int, stride_h: c_int, stride_w: c_int,
    ) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            if mode != declared::miopenPoolingMode_t_miopenPoolingAverage {
                return Err(NOT_IMPLEMENTED);
            }
            let Object::Pooling(Raw(raw)) = object(pooling)? else {
                return Err(BAD_PARAMETER);
            };
            // SAFETY: a living descriptor and numbers.
            unsafe {
                call!(library.cudnnSetPooling2dDescriptor(
                    raw, cudnn::AVERAGE_WITHOUT_PADDING, cudnn::PROPAGATE_NAN, height, width, pad_h, pad_w, stride_h,
                    stride_w,
                ))
            }
        })
    }

    fn miopenDestroyPoolingDescriptor(pooling: miopenPoolingDescriptor_t) -> miopenStatus_t {
        guard(|| {
            let library = library()?;
            let Object::Pooling(Raw(raw)) = take(pooling, |object| matches!(object, Object::Pooling(_)))? else {
                return Err(INTERNAL_ERROR);
            };
            // SAFETY: a living descriptor, which nobody finds any more.
            unsafe { call!(library.cudnnDestroyPoolingDescriptor(raw)) }
        })
    }

    fn miopenPoolingForward(
        handle: miopenHandle_t, pooling: miopenPoolingDescriptor_t, alpha: *const c_void,
        from: miopenTensorDescriptor_t, x: *const c_void, beta: *const c_void, to: miopenTensorDescriptor_t,
        y: *mut c_void, do_backward: bool, _workspace: *mut c_void, _room: usize,
    ) -> miopenStatus_t {
        guard(|| {
            let (library, raw) = bound(handle)?;
            let Object::Pooling(Raw(of_windows)) = object(pooling)? else {
                return Err(BAD_PARAMETER);
            };
            let ((from, _, dtype), (to, _, of_results)) = (tensor(from)?, tensor(to)?);
            if dtype != of_results || do_backward {
                return Err(NOT_IMPLEMENTED);
            }
            // SAFETY: living objects; MIOpen's contract on scalars, which are of f32, and on addresses is cuDNN's too.
            unsafe { call!(library.cudnnPoolingForward(raw, of_windows, alpha, from, x, beta, to, y)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_of_cudnn_becomes_a_success() {
        assert_eq!(done("cudnnCreate", 0), Ok(()));
        for status in (1..20).chain(1000..6000) {
            let told = done("cudnnCreate", status);
            assert!(told.is_err_and(|code| code != SUCCESS), "{status}");
            assert_eq!(
                error::take_detail().unwrap(),
                format!("cudnnCreate: cudnnStatus_t {status}")
            );
        }
        // CUDNN_STATUS_NOT_SUPPORTED of 8 and of 9: the caller's own kernels compute.
        assert_eq!(
            [9, 3000].map(|status| done("cudnnCreate", status)),
            [Err(UNSUPPORTED); 2]
        );
    }

    #[test]
    fn dtypes_are_those_of_nvidia() {
        // "cuDNN API Reference", cudnnDataType_t.
        let of = |dtype| datatype(dtype);
        assert_eq!([1, 0, 5].map(of), [Ok(0), Ok(2), Ok(9)]);
        assert_eq!([2, 6].map(of), [Err(NOT_IMPLEMENTED); 2]);
    }
}
