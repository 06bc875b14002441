//! cuBLAS, as far as rocBLAS's entry points need it: names and numbers after NVIDIA's "cuBLAS Library", and the library's
//! functions, found once. What is called when, blas.rs decides.
#![expect(unsafe_code, reason = "takes code addresses from a foreign library")]

use core::ffi::{c_int, c_uint, c_void};

use crate::cuda::Handle;
use crate::library::{self, Status};

pub(crate) const SUCCESS: Status = 0;

/// `cublasMath_t`: no TF32, and sums of 16-bit products that never leave f32 (CUBLAS_DEFAULT_MATH with
/// CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION).
pub(crate) const EXACT_SUMS: c_uint = 16;
/// `cublasGemmAlgo_t`: CUBLAS_GEMM_DEFAULT, the library's own choice.
pub(crate) const ANY_ALGORITHM: c_int = -1;

library::functions! { Cublas;
    cublasCreate_v2(*mut Handle);
    cublasDestroy_v2(Handle);
    cublasSetStream_v2(Handle, Handle);
    cublasSetWorkspace_v2(Handle, *mut c_void, usize);
    cublasSetAtomicsMode(Handle, c_uint);
    cublasSetMathMode(Handle, c_uint);
    cublasGemmStridedBatchedEx(
        Handle, c_uint, c_uint, c_int, c_int, c_int, *const c_void, *const c_void, c_uint, c_int, i64, *const c_void,
        c_uint, c_int, i64, *const c_void, *mut c_void, c_uint, c_int, i64, c_int, c_uint, c_int,
    );
}

library::once!(Cublas);

/// NVIDIA's name of a status of cuBLAS.
pub(crate) fn name(status: Status) -> &'static str {
    match status {
        0 => "CUBLAS_STATUS_SUCCESS",
        1 => "CUBLAS_STATUS_NOT_INITIALIZED",
        3 => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        8 => "CUBLAS_STATUS_ARCH_MISMATCH",
        11 => "CUBLAS_STATUS_MAPPING_ERROR",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        15 => "CUBLAS_STATUS_NOT_SUPPORTED",
        16 => "CUBLAS_STATUS_LICENSE_ERROR",
        _ => "a status that this program does not name",
    }
}
