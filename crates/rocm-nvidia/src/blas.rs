//! The rocBLAS entry points over cuBLAS. Both libraries take matrices by columns, count in the same integers, and read scalars
//! from host memory; what differs is numbers of enumerations, which are translated here, and rocBLAS's result D beside C,
//! which cuBLAS does not have.
//!
//! A product computes what rocBLAS documents for its compute type: products of f32 are not rounded to TF32, and sums of
//! 16-bit floats are taken in f32 throughout. Each handle has a workspace of its own, so that a handle's results do not
//! depend on what other streams do, and are the same in every run.
//!
//! Not here, and `rocblas_status_not_implemented`: complex numbers, sums in f16, a D that is not C while beta is not 0.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers, and cuBLAS takes them; entry.rs says what is relied on"
)]

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rocm_rs::rocblas::bindings::{
    self as declared, rocblas_atomics_mode, rocblas_datatype, rocblas_gemm_algo, rocblas_handle, rocblas_int,
    rocblas_operation, rocblas_status, rocblas_stride,
};

use crate::cublas::{self, Cublas};
use crate::cuda::{Address, Cuda, Handle};
use crate::library::{self, EntryResult as Result, Status, call};
use crate::{entry, error};

const SUCCESS: rocblas_status = declared::rocblas_status__rocblas_status_success;
const INVALID_HANDLE: rocblas_status = declared::rocblas_status__rocblas_status_invalid_handle;
const NOT_IMPLEMENTED: rocblas_status = declared::rocblas_status__rocblas_status_not_implemented;
const INVALID_POINTER: rocblas_status = declared::rocblas_status__rocblas_status_invalid_pointer;
const INVALID_SIZE: rocblas_status = declared::rocblas_status__rocblas_status_invalid_size;
const MEMORY_ERROR: rocblas_status = declared::rocblas_status__rocblas_status_memory_error;
const INTERNAL_ERROR: rocblas_status = declared::rocblas_status__rocblas_status_internal_error;
const INVALID_VALUE: rocblas_status = declared::rocblas_status__rocblas_status_invalid_value;
const ARCH_MISMATCH: rocblas_status = declared::rocblas_status__rocblas_status_arch_mismatch;

/// Bytes of a handle's workspace: what "cuBLAS Library" advises for Hopper, the most of any GPU.
const WORKSPACE_BYTES: usize = 32 << 20;

/// What belongs to a living handle.
#[derive(Clone, Copy)]
struct Living {
    device: c_int,
    workspace: Address,
}

/// The living handles, by cuBLAS's own handle, which is rocBLAS's as well.
static HANDLES: Mutex<BTreeMap<usize, Living>> = Mutex::new(BTreeMap::new());

fn handles() -> MutexGuard<'static, BTreeMap<usize, Living>> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn guard(body: impl FnOnce() -> Result) -> rocblas_status {
    library::guard(INTERNAL_ERROR, body)
}

/// `Ok` for success; else rocBLAS's status, with cuBLAS's name of its own kept for whoever asks.
fn done(call: &str, status: Status) -> Result {
    if status == cublas::SUCCESS {
        return Ok(());
    }
    error::keep(format!("{call}: {} ({status})", cublas::name(status)));
    Err(match status {
        1 => INVALID_HANDLE,
        3 => MEMORY_ERROR,
        7 => INVALID_VALUE,
        8 => ARCH_MISMATCH,
        15 => NOT_IMPLEMENTED,
        _ => INTERNAL_ERROR,
    })
}

/// A status of rocBLAS for a call of HIP's that failed; its words are kept already.
fn of_hip(code: entry::Code) -> rocblas_status {
    match code {
        entry::OUT_OF_MEMORY => MEMORY_ERROR,
        _ => INTERNAL_ERROR,
    }
}

fn library() -> Result<&'static Cublas> {
    cublas::loaded().ok_or(INVALID_HANDLE)
}

/// cuBLAS and the handle as it takes it, with the context of the handle's device as the thread's.
fn bound(handle: rocblas_handle) -> Result<(&'static Cublas, Handle, Living)> {
    let library = library()?;
    let living = handles().get(&handle.addr()).copied().ok_or(INVALID_HANDLE)?;
    entry::bound_to(living.device).map_err(of_hip)?;
    Ok((library, handle.cast(), living))
}

/// A new handle of this thread's device, set to sums that keep their precision.
fn create() -> Result<rocblas_handle> {
    let library = library()?;
    let device = entry::current();
    let cuda = entry::bound_to(device).map_err(of_hip)?;
    let mut raw: Handle = ptr::null_mut();
    // SAFETY: `raw` is a live handle to be written.
    unsafe { call!(library.cublasCreate_v2(&raw mut raw)) }?;
    let prepared = workspace(cuda).and_then(|workspace| {
        // SAFETY: the handle was made just now.
        let set = unsafe { call!(library.cublasSetMathMode(raw, cublas::EXACT_SUMS)) };
        set.inspect_err(|_| free(cuda, workspace)).map(|()| workspace)
    });
    match prepared {
        Ok(workspace) => {
            handles().insert(raw.expose_provenance(), Living { device, workspace });
            Ok(raw.cast())
        }
        Err(status) => {
            // SAFETY: made above, and nobody else has it. The first failure is the one that is told.
            let _ = unsafe { (library.cublasDestroy_v2)(raw) };
            Err(status)
        }
    }
}

fn workspace(cuda: &Cuda) -> Result<Address> {
    let mut address = 0;
    // SAFETY: a live address to be written.
    let status = unsafe { (cuda.cuMemAlloc_v2)(&raw mut address, WORKSPACE_BYTES) };
    entry::done(cuda, status).map_err(of_hip)?;
    Ok(address)
}

fn free(cuda: &Cuda, workspace: Address) {
    // SAFETY: `workspace` came from `cuMemAlloc_v2`, and no handle has it any more. A failure leaves nothing to do.
    let _ = unsafe { (cuda.cuMemFree_v2)(workspace) };
}

/// cuBLAS's number of an operation.
fn operation(operation: rocblas_operation) -> Result<c_uint> {
    match operation {
        declared::rocblas_operation__rocblas_operation_none => Ok(0),
        declared::rocblas_operation__rocblas_operation_transpose => Ok(1),
        declared::rocblas_operation__rocblas_operation_conjugate_transpose => Ok(2),
        _ => Err(INVALID_VALUE),
    }
}

/// `cudaDataType_t` of a real datatype.
fn datatype(datatype: rocblas_datatype) -> Result<c_uint> {
    match datatype {
        declared::rocblas_datatype__rocblas_datatype_f32_r => Ok(0),
        declared::rocblas_datatype__rocblas_datatype_f64_r => Ok(1),
        declared::rocblas_datatype__rocblas_datatype_f16_r => Ok(2),
        declared::rocblas_datatype__rocblas_datatype_i8_r => Ok(3),
        declared::rocblas_datatype__rocblas_datatype_i32_r => Ok(10),
        declared::rocblas_datatype__rocblas_datatype_bf16_r => Ok(14),
        _ => Err(NOT_IMPLEMENTED),
    }
}

/// `cublasComputeType_t` of the type that sums are taken in.
fn compute_type(datatype: rocblas_datatype) -> Result<c_uint> {
    match datatype {
        declared::rocblas_datatype__rocblas_datatype_f32_r => Ok(68),
        declared::rocblas_datatype__rocblas_datatype_f64_r => Ok(70),
        declared::rocblas_datatype__rocblas_datatype_i32_r => Ok(72),
        _ => Err(NOT_IMPLEMENTED),
    }
}

/// Whether a scalar is zero.
///
/// # Safety
/// `scalar` is readable for the compute type, which [`compute_type`] knows.
unsafe fn is_zero(scalar: *const c_void, compute_type: rocblas_datatype) -> bool {
    // SAFETY: the caller promises it.
    unsafe {
        match compute_type {
            declared::rocblas_datatype__rocblas_datatype_f64_r => {
                scalar.cast::<f64>().read_unaligned() == 0.0
            }
            declared::rocblas_datatype__rocblas_datatype_i32_r => scalar.cast::<i32>().read_unaligned() == 0,
            _ => scalar.cast::<f32>().read_unaligned() == 0.0,
        }
    }
}

library::entries! {
    fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status {
        guard(|| {
            // SAFETY: rocBLAS's contract on out-pointers: null, or writable for a handle.
            let handle = unsafe { entry::out(handle) }.map_err(|_| INVALID_HANDLE)?;
            handle.write(create()?);
            Ok(())
        })
    }

    fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status {
        guard(|| {
            let (library, raw, living) = bound(handle)?;
            handles().remove(&handle.addr());
            // SAFETY: a living handle, which nobody finds any more. cuBLAS waits for the handle's work.
            let destroyed = unsafe { call!(library.cublasDestroy_v2(raw)) };
            let cuda = entry::bound_to(living.device).map_err(of_hip)?;
            free(cuda, living.workspace);
            destroyed
        })
    }

    fn rocblas_set_stream(handle: rocblas_handle, stream: declared::hipStream_t) -> rocblas_status {
        guard(|| {
            let (library, raw, living) = bound(handle)?;
            // SAFETY: a living handle; HIP's contract on the stream.
            unsafe { call!(library.cublasSetStream_v2(raw, stream.cast())) }?;
            // A new stream takes the handle's workspace from it, so that this comes second.
            let room = ptr::without_provenance_mut(living.workspace as usize);
            // SAFETY: a living handle; the workspace has so many bytes for as long as the handle lives.
            unsafe { call!(library.cublasSetWorkspace_v2(raw, room, WORKSPACE_BYTES)) }
        })
    }

    fn rocblas_set_atomics_mode(handle: rocblas_handle, mode: rocblas_atomics_mode) -> rocblas_status {
        guard(|| {
            let (library, raw, _) = bound(handle)?;
            let mode = match mode {
                declared::rocblas_atomics_mode__rocblas_atomics_not_allowed => 0,
                declared::rocblas_atomics_mode__rocblas_atomics_allowed => 1,
                _ => return Err(INVALID_VALUE),
            };
            // SAFETY: a living handle and a number.
            unsafe { call!(library.cublasSetAtomicsMode(raw, mode)) }
        })
    }

    fn rocblas_status_to_string(status: rocblas_status) -> *const c_char {
        let name = match status {
            SUCCESS => c"rocblas_status_success",
            INVALID_HANDLE => c"rocblas_status_invalid_handle",
            NOT_IMPLEMENTED => c"rocblas_status_not_implemented",
            INVALID_POINTER => c"rocblas_status_invalid_pointer",
            INVALID_SIZE => c"rocblas_status_invalid_size",
            MEMORY_ERROR => c"rocblas_status_memory_error",
            INTERNAL_ERROR => c"rocblas_status_internal_error",
            INVALID_VALUE => c"rocblas_status_invalid_value",
            ARCH_MISMATCH => c"rocblas_status_arch_mismatch",
            _ => c"<undefined rocblas_status value>",
        };
        name.as_ptr()
    }

    fn rocblas_gemm_strided_batched_ex(
        handle: rocblas_handle, operation_a: rocblas_operation, operation_b: rocblas_operation, m: rocblas_int,
        n: rocblas_int, k: rocblas_int, alpha: *const c_void, a: *const c_void, a_type: rocblas_datatype,
        lda: rocblas_int, stride_a: rocblas_stride, b: *const c_void, b_type: rocblas_datatype, ldb: rocblas_int,
        stride_b: rocblas_stride, beta: *const c_void, c: *const c_void, c_type: rocblas_datatype,
        ldc: rocblas_int, stride_c: rocblas_stride, d: *mut c_void, d_type: rocblas_datatype, ldd: rocblas_int,
        stride_d: rocblas_stride, batch_count: rocblas_int, compute: rocblas_datatype,
        _algo: rocblas_gemm_algo, _solution_index: i32, _flags: u32,
    ) -> rocblas_status {
        guard(|| {
            let (library, raw, _) = bound(handle)?;
            let (operation_a, operation_b) = (operation(operation_a)?, operation(operation_b)?);
            if [m, n, k, batch_count].into_iter().any(|size| size < 0) {
                return Err(INVALID_SIZE);
            }
            if m == 0 || n == 0 || batch_count == 0 {
                return Ok(());
            }
            if alpha.is_null() || beta.is_null() {
                return Err(INVALID_POINTER);
            }
            let sums = compute_type(compute)?;
            // SAFETY: not null, and rocBLAS's contract in host pointer mode is that it is readable for the compute type,
            // which is known.
            let is_fresh = unsafe { is_zero(beta, compute) };
            let is_in_place = (c, ldc, stride_c) == (d.cast_const(), ldd, stride_d);
            if c_type != d_type || !(is_fresh || is_in_place) {
                return Err(NOT_IMPLEMENTED);
            }
            let (a_type, b_type, d_type) = (datatype(a_type)?, datatype(b_type)?, datatype(d_type)?);
            // SAFETY: a living handle; rocBLAS's contract on the matrices and scalars is cuBLAS's too: the same layout by
            // columns, the same units of strides, scalars of the compute type on the host. With a beta of 0 what C holds is
            // not read, so that D in its place is all that cuBLAS touches.
            unsafe {
                call!(library.cublasGemmStridedBatchedEx(
                    raw, operation_a, operation_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b,
                    beta, d, d_type, ldd, stride_d, batch_count, sums, cublas::ANY_ALGORITHM,
                ))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_of_cublas_becomes_a_success() {
        assert_eq!(done("cublasCreate_v2", 0), Ok(()));
        for status in 1..200 {
            let told = done("cublasCreate_v2", status);
            assert!(told.is_err_and(|code| code != SUCCESS), "{status}");
            let words = error::take_detail().unwrap();
            assert!(
                words.starts_with("cublasCreate_v2: ") && words.ends_with(&format!("({status})")),
                "{words}"
            );
        }
    }

    #[test]
    fn numbers_are_those_of_nvidia() {
        // "cuBLAS Library", cublasOperation_t and cublasComputeType_t; "CUDA Runtime API", cudaDataType.
        assert_eq!(
            [111, 112, 113, 114].map(operation),
            [Ok(0), Ok(1), Ok(2), Err(INVALID_VALUE)]
        );
        let real = [150, 151, 152, 160, 162, 168].map(datatype);
        assert_eq!(real, [Ok(2), Ok(0), Ok(1), Ok(3), Ok(10), Ok(14)]);
        assert_eq!(
            [150, 151, 152, 162].map(compute_type),
            [Err(NOT_IMPLEMENTED), Ok(68), Ok(70), Ok(72)]
        );
        // A complex type is not served.
        assert_eq!(datatype(154), Err(NOT_IMPLEMENTED));
    }
}
