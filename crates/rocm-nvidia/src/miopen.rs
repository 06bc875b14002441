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

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rocm_rs::miopen::bindings::{
    self as declared, miopenAcceleratorQueue_t, miopenConvSolution_t, miopenConvolutionDescriptor_t,
    miopenConvolutionMode_t, miopenDataType_t, miopenHandle_t, miopenPoolingDescriptor_t,
    miopenPoolingMode_t, miopenStatus_t, miopenTensorDescriptor_t,
};

use crate::cuda::Handle;
use crate::cudnn::{self, Cudnn, Offer};
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

/// What a handle of MIOpen's names.
#[derive(Clone, Copy, Debug)]
enum Object {
    /// cuDNN's handle and its device.
    Library(Raw, c_int),
    /// cuDNN has descriptors for images and others for weights; one of MIOpen's may become either. And the dtype, once it is set.
    Tensor {
        images: Raw,
        weights: Raw,
        dtype: Option<c_uint>,
    },
    /// For f32, and for dtypes of 16 bits.
    Convolution {
        exact: Raw,
        halves: Raw,
    },
    Pooling(Raw),
}

/// An object of cuDNN's.
#[derive(Clone, Copy, Debug)]
struct Raw(Handle);

// SAFETY: cuDNN ties none of its objects to a thread; MIOpen's contract is that one thread at a time uses one.
unsafe impl Send for Raw {}

/// The living objects by their numbers, which are their addresses for C.
struct Objects {
    living: BTreeMap<usize, Object>,
    made: usize,
}

static OBJECTS: Mutex<Objects> = Mutex::new(Objects {
    living: BTreeMap::new(),
    made: 0,
});

fn objects() -> MutexGuard<'static, Objects> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a new object, which is never given again.
fn insert(object: Object) -> usize {
    let mut objects = objects();
    objects.made += 16;
    let number = objects.made;
    objects.living.insert(number, object);
    number
}

fn object<T>(of: *mut T) -> Result<Object> {
    objects().living.get(&of.addr()).copied().ok_or(BAD_PARAMETER)
}

/// Takes an object that `is_it` from the living ones.
fn take<T>(of: *mut T, is_it: impl FnOnce(&Object) -> bool) -> Result<Object> {
    let mut objects = objects();
    match objects.living.get(&of.addr()) {
        Some(object) if is_it(object) => objects.living.remove(&of.addr()).ok_or(INTERNAL_ERROR),
        _ => Err(BAD_PARAMETER),
    }
}

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

/// cuDNN and the handle as it takes it, with the context of the handle's device as the thread's.
fn bound(handle: miopenHandle_t) -> Result<(&'static Cudnn, Handle)> {
    let library = library()?;
    let Object::Library(Raw(raw), device) = object(handle)? else {
        return Err(BAD_PARAMETER);
    };
    entry::bound_to(device).map_err(of_hip)?;
    Ok((library, raw))
}

/// A tensor's descriptors as images and as weights, and its dtype.
fn tensor(of: miopenTensorDescriptor_t) -> Result<(Handle, Handle, c_uint)> {
    match object(of)? {
        Object::Tensor {
            images: Raw(images),
            weights: Raw(weights),
            dtype: Some(dtype),
        } => Ok((images, weights, dtype)),
        _ => Err(BAD_PARAMETER),
    }
}

/// How a convolution of such elements is described.
fn convolution(of: miopenConvolutionDescriptor_t, dtype: c_uint) -> Result<Handle> {
    let Object::Convolution {
        exact: Raw(exact),
        halves: Raw(halves),
    } = object(of)?
    else {
        return Err(BAD_PARAMETER);
    };
    Ok(if dtype == cudnn::FLOAT { exact } else { halves })
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

/// What MIOpen calls an algorithm of `cudnnConvolutionFwdAlgo_t`; none where it is not offered.
fn kind(algorithm: c_uint) -> Option<c_uint> {
    match algorithm {
        // IMPLICIT_GEMM, IMPLICIT_PRECOMP_GEMM.
        0 | 1 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoImplicitGEMM),
        2 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoGEMM),
        3 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoDirect),
        _ => None,
    }
}

/// The algorithm of a solution that was offered.
fn algorithm(solution: u64) -> Result<c_uint> {
    let algorithm = solution.checked_sub(1).and_then(|n| c_uint::try_from(n).ok());
    algorithm
        .filter(|&algorithm| kind(algorithm).is_some())
        .ok_or(BAD_PARAMETER)
}

/// Those of cuDNN's offers that keep to what the head of this file says.
fn acceptable(offers: &[Offer]) -> impl Iterator<Item = miopenConvSolution_t> {
    offers.iter().filter_map(|offer| {
        let is_good = offer.status == cudnn::SUCCESS && offer.determinism == cudnn::DETERMINISTIC;
        Some(miopenConvSolution_t {
            time: offer.time,
            workspace_size: offer.memory,
            solution_id: u64::from(offer.algorithm) + 1,
            algorithm: kind(offer.algorithm).filter(|_| is_good)?,
        })
    })
}

/// The offers that cuDNN is asked for: it has no more algorithms.
const OFFERS: usize = 16;

/// Descriptors of a convolution: what goes in, the weights, what comes out, and how they are laid on one another.
#[derive(Clone, Copy)]
struct Problem {
    handle: miopenHandle_t,
    from: miopenTensorDescriptor_t,
    weights: miopenTensorDescriptor_t,
    convolution: miopenConvolutionDescriptor_t,
    to: miopenTensorDescriptor_t,
}

impl Problem {
    /// cuDNN, its handle, and its descriptors of what goes in, weights, convolution and what comes out.
    fn parts(&self) -> Result<(&'static Cudnn, Handle, [Handle; 4])> {
        let (library, raw) = bound(self.handle)?;
        let (from, _, dtype) = tensor(self.from)?;
        let (_, weights, of_weights) = tensor(self.weights)?;
        let (to, _, of_results) = tensor(self.to)?;
        if of_weights != dtype || of_results != dtype {
            return Err(BAD_PARAMETER);
        }
        Ok((
            library,
            raw,
            [from, weights, convolution(self.convolution, dtype)?, to],
        ))
    }

    /// Writes at most `room` solutions, and how many they are.
    ///
    /// # Safety
    /// `count` is null or writable, and `solutions` null or room for so many.
    unsafe fn offer(&self, room: usize, count: *mut usize, solutions: *mut miopenConvSolution_t) -> Result {
        let (library, raw, [from, weights, convolution, to]) = self.parts()?;
        // SAFETY: the caller's promise.
        let count = unsafe { entry::out(count) }.map_err(|_| BAD_PARAMETER)?;
        if solutions.is_null() && room > 0 {
            return Err(BAD_PARAMETER);
        }
        let (mut found, mut offers) = (0, [Offer::default(); OFFERS]);
        // SAFETY: living objects, and room for as many offers as are asked for.
        unsafe {
            call!(library.cudnnGetConvolutionForwardAlgorithm_v7(
                raw,
                from,
                weights,
                convolution,
                to,
                OFFERS as c_int,
                &raw mut found,
                offers.as_mut_ptr(),
            ))
        }?;
        let found = usize::try_from(found).unwrap_or(0).min(OFFERS);
        let mut written = 0;
        for solution in acceptable(&offers[..found]).take(room) {
            // SAFETY: fewer than `room`, for which there is room.
            unsafe { solutions.add(written).write(solution) };
            written += 1;
        }
        count.write(written);
        Ok(())
    }

    /// Whether the solution is one that may have been offered; cuDNN compiles when it runs.
    fn check(&self, solution: u64) -> Result {
        self.parts()?;
        algorithm(solution).map(drop)
    }

    /// # Safety
    /// What MIOpen asks of the addresses: tensors as described, and a workspace of `room` bytes, in the device's memory.
    unsafe fn run(
        &self,
        [input, weights]: [*const c_void; 2],
        output: *mut c_void,
        workspace: (*mut c_void, usize),
        solution: u64,
    ) -> Result {
        let (library, raw, [from, of_weights, convolution, to]) = self.parts()?;
        let algorithm = algorithm(solution)?;
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one, zero): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let (room, bytes) = workspace;
        // SAFETY: living objects; the scalars are f32 on the host for all three dtypes. The rest is the caller's promise.
        unsafe {
            call!(library.cudnnConvolutionForward(
                raw,
                one,
                from,
                input,
                of_weights,
                weights,
                convolution,
                algorithm,
                room,
                bytes,
                zero,
                to,
                output,
            ))
        }
    }
}

/// A new object at an out-pointer of C's.
///
/// # Safety
/// `out` is null or writable.
unsafe fn create<T>(out: *mut *mut T, object: impl FnOnce(&'static Cudnn) -> Result<Object>) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { entry::out(out) }.map_err(|_| BAD_PARAMETER)?;
    let number = insert(object(library()?)?);
    out.write(ptr::without_provenance_mut(number));
    Ok(())
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

    /// By the numbers of `cudnnConvolutionFwdAlgo_t`: 4 to 7 are Fourier's and Winograd's.
    #[test]
    fn algorithms_that_mix_pixels_or_have_no_order_are_not_offered() {
        let offer = |algorithm| Offer {
            algorithm,
            determinism: cudnn::DETERMINISTIC,
            ..Offer::default()
        };
        let all: Vec<Offer> = (0..8).map(offer).collect();
        let of = |offers: &[Offer]| Vec::from_iter(acceptable(offers).map(|solution| solution.solution_id));
        assert_eq!(of(&all), [1, 2, 3, 4]);
        let unordered = Offer {
            determinism: 0,
            ..offer(1)
        };
        let refused = Offer {
            status: 3000,
            ..offer(1)
        };
        assert_eq!(of(&[unordered, refused]), [0; 0]);
        assert_eq!([1, 4].map(algorithm), [Ok(0), Ok(3)]);
        assert_eq!([0, 5, u64::MAX].map(algorithm), [Err(BAD_PARAMETER); 3]);
    }

    #[test]
    fn dtypes_are_those_of_nvidia() {
        // "cuDNN API Reference", cudnnDataType_t.
        let of = |dtype| datatype(dtype);
        assert_eq!([1, 0, 5].map(of), [Ok(0), Ok(2), Ok(9)]);
        assert_eq!([2, 6].map(of), [Err(NOT_IMPLEMENTED); 2]);
    }

    #[test]
    fn an_object_that_nobody_made_is_none() {
        let nobody = ptr::without_provenance_mut::<u8>(8);
        assert_eq!(object(nobody).unwrap_err(), BAD_PARAMETER);
        assert_eq!(take(nobody, |_| true).unwrap_err(), BAD_PARAMETER);
    }
}
