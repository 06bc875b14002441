//! rocBLAS behind a safe type: a handle of one stream, and products of strided batches of matrices. Over NVIDIA's driver its
//! functions are rocm-nvidia's, which call cuBLAS.
#![expect(unsafe_code, reason = "calls rocBLAS")]

use std::ffi::c_void;

use rocm_rs::rocblas::bindings::{self, rocblas_datatype, rocblas_handle, rocblas_status};

use super::status::{check_library, static_text};
use super::stream::Stream;
use crate::{DType, Error, Result};

/// The function that multiplies, by its name.
pub(crate) const GEMM: &str = "rocblas_gemm_strided_batched_ex";

/// A rocBLAS handle whose work goes to one stream.
#[derive(Debug)]
pub(crate) struct BlasHandle(rocblas_handle);

// SAFETY: rocBLAS ties a handle to no thread; it asks that two threads do not use one at a time, and a `Handle` is used
// through `&mut` only.
unsafe impl Send for BlasHandle {}

/// One operand: matrices whose columns are `ld` elements apart, and which lie `stride` elements apart themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GemmOperand {
    /// Of the first element on the device.
    pub(crate) address: usize,
    pub(crate) is_transposed: bool,
    pub(crate) ld: i32,
    pub(crate) stride: i64,
}

/// A product `m`x`k` times `k`x`n`, column-major, for each of `batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gemm {
    /// Of both operands.
    pub(crate) dtype: DType,
    /// Of the result: theirs, or f32 for 16-bit floats.
    pub(crate) out_dtype: DType,
    pub(crate) m: i32,
    pub(crate) n: i32,
    pub(crate) k: i32,
    pub(crate) batch: i32,
    pub(crate) a: GemmOperand,
    pub(crate) b: GemmOperand,
    /// The result's first element on the device; its matrices are as far apart as they are long.
    pub(crate) out: usize,
    /// From one of its columns to the next.
    pub(crate) out_ld: i32,
}

impl BlasHandle {
    /// A handle for `stream` on this thread's device. Without atomics: results are the same in every run.
    pub(crate) fn new(stream: &Stream) -> Result<BlasHandle> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written.
        check("rocblas_create_handle", unsafe {
            bindings::rocblas_create_handle(&raw mut raw)
        })?;
        let handle = BlasHandle(raw);
        // SAFETY: the handle lives, and so does the stream, which outlives it in its context.
        check("rocblas_set_stream", unsafe {
            bindings::rocblas_set_stream(raw, stream.raw().cast())
        })?;
        // SAFETY: the handle lives.
        check("rocblas_set_atomics_mode", unsafe {
            bindings::rocblas_set_atomics_mode(
                raw,
                bindings::rocblas_atomics_mode__rocblas_atomics_not_allowed,
            )
        })?;
        Ok(handle)
    }

    /// Submits `gemm`, with sums in f32 for 16-bit floats and else in the dtype. False where rocBLAS has no kernel for it on
    /// this device: nothing was done.
    ///
    /// # Safety
    /// Elements of both operands and of the result lie where `gemm` says, in memory of the handle's device, and nobody
    /// else reads or writes the result while the stream gets to it.
    pub(crate) unsafe fn gemm(&mut self, gemm: &Gemm) -> Result<bool> {
        let unsupported = |dtype| Error::Unsupported {
            op: GEMM.to_owned(),
            dtype,
        };
        let (datatype, compute_type) = datatypes(gemm.dtype).ok_or_else(|| unsupported(gemm.dtype))?;
        let (out_datatype, _) = datatypes(gemm.out_dtype).ok_or_else(|| unsupported(gemm.out_dtype))?;
        let [one, zero] = if gemm.dtype == DType::F64 {
            [1.0_f64.to_ne_bytes(), [0; 8]]
        } else {
            // An f32 is read from the first four bytes.
            let mut one = [0; 8];
            one[..4].copy_from_slice(&1.0_f32.to_ne_bytes());
            [one, [0; 8]]
        };
        let operation = |operand: &GemmOperand| match operand.is_transposed {
            true => bindings::rocblas_operation__rocblas_operation_transpose,
            false => bindings::rocblas_operation__rocblas_operation_none,
        };
        let pointer = |address: usize| std::ptr::without_provenance_mut::<c_void>(address);
        let Gemm { a, b, .. } = gemm;
        let stride = i64::from(gemm.out_ld) * i64::from(gemm.n);
        // SAFETY: alpha and beta are live and as large as the compute type, and a new handle reads them from the host
        // before it returns; the rest is the caller's promise. D is C, which a beta of 0 leaves unread.
        let status = unsafe {
            bindings::rocblas_gemm_strided_batched_ex(
                self.0,
                operation(a),
                operation(b),
                gemm.m,
                gemm.n,
                gemm.k,
                one.as_ptr().cast(),
                pointer(a.address).cast_const(),
                datatype,
                a.ld,
                a.stride,
                pointer(b.address).cast_const(),
                datatype,
                b.ld,
                b.stride,
                zero.as_ptr().cast(),
                pointer(gemm.out).cast_const(),
                out_datatype,
                gemm.out_ld,
                stride,
                pointer(gemm.out),
                out_datatype,
                gemm.out_ld,
                stride,
                gemm.batch,
                compute_type,
                bindings::rocblas_gemm_algo__rocblas_gemm_algo_standard,
                0,
                bindings::rocblas_gemm_flags__rocblas_gemm_flags_none,
            )
        };
        match status {
            bindings::rocblas_status__rocblas_status_not_implemented
            | bindings::rocblas_status__rocblas_status_excluded_from_build
            | bindings::rocblas_status__rocblas_status_arch_mismatch => Ok(false),
            status => check(GEMM, status).map(|()| true),
        }
    }
}

impl Drop for BlasHandle {
    fn drop(&mut self) {
        // SAFETY: made by rocblas_create_handle and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { bindings::rocblas_destroy_handle(self.0) };
    }
}

/// rocBLAS's name for a dtype, and for the type its sums are taken in; none for what it does not multiply.
fn datatypes(dtype: DType) -> Option<(rocblas_datatype, rocblas_datatype)> {
    let single = bindings::rocblas_datatype__rocblas_datatype_f32_r;
    let double = bindings::rocblas_datatype__rocblas_datatype_f64_r;
    match dtype {
        DType::BF16 => Some((bindings::rocblas_datatype__rocblas_datatype_bf16_r, single)),
        DType::F16 => Some((bindings::rocblas_datatype__rocblas_datatype_f16_r, single)),
        DType::F32 => Some((single, single)),
        DType::F64 => Some((double, double)),
        _ => None,
    }
}

/// `Ok` for success; else the error of the C function `call`.
fn check(call: &'static str, status: rocblas_status) -> Result<()> {
    check_library("rocBLAS", call, status, || {
        // SAFETY: the function takes any number and returns a static C string.
        static_text(unsafe { bindings::rocblas_status_to_string(status) })
    })
}
