//! cuDNN, as far as MIOpen's entry points need it: names and numbers after NVIDIA's "cuDNN API Reference", the functions that plan nothing
//! beforehand ("legacy API"), and how they are found. What is called when, miopen.rs decides.
#![expect(unsafe_code, reason = "takes code addresses from a foreign library")]

use core::ffi::{c_int, c_uint, c_void};

use crate::cuda::Handle;
use crate::library::{self, Status};

pub(crate) const SUCCESS: Status = 0;
/// `cudnnTensorFormat_t`: batch, channels, height, width.
pub(crate) const NCHW: c_uint = 0;
/// `cudnnDataType_t`.
pub(crate) const FLOAT: c_uint = 0;
pub(crate) const HALF: c_uint = 2;
pub(crate) const BFLOAT16: c_uint = 9;
/// `cudnnConvolutionMode_t`: CUDNN_CROSS_CORRELATION, the kernel is not turned.
pub(crate) const CROSS_CORRELATION: c_uint = 1;
/// `cudnnMathType_t`: matrix cores for what has 16 bits, and none for f32, which they would round to TF32.
pub(crate) const TENSOR_OP_MATH: c_uint = 1;
pub(crate) const FMA_MATH: c_uint = 3;
/// `cudnnDeterminism_t`.
pub(crate) const DETERMINISTIC: c_uint = 1;
/// `cudnnPoolingMode_t`: means of the elements that are there.
pub(crate) const AVERAGE_WITHOUT_PADDING: c_uint = 2;
/// `cudnnNanPropagation_t`.
pub(crate) const PROPAGATE_NAN: c_uint = 1;

/// `cudnnConvolutionFwdAlgoPerf_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Offer {
    /// `cudnnConvolutionFwdAlgo_t`.
    pub(crate) algorithm: c_uint,
    pub(crate) status: Status,
    /// Milliseconds, negative where it is not known.
    pub(crate) time: f32,
    /// Bytes of workspace.
    pub(crate) memory: usize,
    pub(crate) determinism: c_uint,
    pub(crate) math: c_uint,
    pub(crate) reserved: [c_int; 3],
}
const _: () = assert!(size_of::<Offer>() == 48);

library::functions! { Cudnn;
    cudnnCreate(*mut Handle);
    cudnnDestroy(Handle);
    cudnnSetStream(Handle, Handle);
    cudnnCreateTensorDescriptor(*mut Handle);
    cudnnDestroyTensorDescriptor(Handle);
    cudnnSetTensor4dDescriptor(Handle, c_uint, c_uint, c_int, c_int, c_int, c_int);
    cudnnCreateFilterDescriptor(*mut Handle);
    cudnnDestroyFilterDescriptor(Handle);
    cudnnSetFilter4dDescriptor(Handle, c_uint, c_uint, c_int, c_int, c_int, c_int);
    cudnnCreateConvolutionDescriptor(*mut Handle);
    cudnnDestroyConvolutionDescriptor(Handle);
    cudnnSetConvolution2dDescriptor(Handle, c_int, c_int, c_int, c_int, c_int, c_int, c_uint, c_uint);
    cudnnSetConvolutionMathType(Handle, c_uint);
    cudnnSetConvolutionGroupCount(Handle, c_int);
    cudnnGetConvolutionForwardAlgorithm_v7(
        Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut Offer,
    );
    cudnnConvolutionForward(
        Handle, *const c_void, Handle, *const c_void, Handle, *const c_void, Handle, c_uint, *mut c_void, usize,
        *const c_void, Handle, *mut c_void,
    );
    cudnnCreatePoolingDescriptor(*mut Handle);
    cudnnDestroyPoolingDescriptor(Handle);
    cudnnSetPooling2dDescriptor(Handle, c_uint, c_uint, c_int, c_int, c_int, c_int, c_int, c_int);
    cudnnPoolingForward(
        Handle, Handle, *const c_void, Handle, *const c_void, *const c_void, Handle, *mut c_void,
    );
}

library::once!(Cudnn);
