//! The entry points of rocBLAS: C's side of the model in `crate::blas`. See entry.rs for what is relied on.

use rocm_rs::rocblas::bindings::{
    self as declared, rocblas_atomics_mode, rocblas_datatype, rocblas_gemm_algo, rocblas_handle, rocblas_int,
    rocblas_operation, rocblas_status, rocblas_stride,
};

use super::{address, c_char, c_void, opaque, out, status_of};
use crate::blas::{self, Gemm, Matrices, Scalar};

fn guard(body: impl FnOnce() -> blas::Result) -> rocblas_status {
    status_of(
        declared::rocblas_status__rocblas_status_success,
        declared::rocblas_status__rocblas_status_internal_error,
        body,
    )
}

/// A scalar of `compute_type` in host memory.
///
/// # Safety
/// `pointer` is null or readable for that type.
unsafe fn scalar(pointer: *const c_void, compute_type: rocblas_datatype) -> Scalar {
    if pointer.is_null() {
        return Scalar::Null;
    }
    match compute_type {
        declared::rocblas_datatype__rocblas_datatype_f32_r => {
            // SAFETY: not null, and the caller promises the rest.
            Scalar::Value(unsafe { pointer.cast::<f32>().read_unaligned() }.into())
        }
        declared::rocblas_datatype__rocblas_datatype_f64_r => {
            // SAFETY: as above.
            Scalar::Value(unsafe { pointer.cast::<f64>().read_unaligned() })
        }
        _ => Scalar::Unread,
    }
}

foreign! {
    fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status {
        guard(|| {
            // SAFETY: rocBLAS's contract on out-pointers is HIP's.
            let handle = unsafe { out(handle) };
            let handle = handle.map_err(|_| declared::rocblas_status__rocblas_status_invalid_handle)?;
            handle.write(opaque(blas::create_handle()?));
            Ok(())
        })
    }

    fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status {
        guard(|| blas::destroy_handle(handle.addr()))
    }

    fn rocblas_set_stream(handle: rocblas_handle, stream: declared::hipStream_t) -> rocblas_status {
        guard(|| blas::set_stream(handle.addr(), stream.addr()))
    }

    fn rocblas_set_atomics_mode(handle: rocblas_handle, mode: rocblas_atomics_mode) -> rocblas_status {
        guard(|| blas::set_atomics_mode(handle.addr(), mode))
    }

    fn rocblas_status_to_string(status: rocblas_status) -> *const c_char {
        blas::status_name(status).as_ptr()
    }

    fn rocblas_gemm_strided_batched_ex(
        handle: rocblas_handle, operation_a: rocblas_operation, operation_b: rocblas_operation, m: rocblas_int,
        n: rocblas_int, k: rocblas_int, alpha: *const c_void, a: *const c_void, a_type: rocblas_datatype,
        lda: rocblas_int, stride_a: rocblas_stride, b: *const c_void, b_type: rocblas_datatype, ldb: rocblas_int,
        stride_b: rocblas_stride, beta: *const c_void, c: *const c_void, c_type: rocblas_datatype,
        ldc: rocblas_int, stride_c: rocblas_stride, d: *mut c_void, d_type: rocblas_datatype, ldd: rocblas_int,
        stride_d: rocblas_stride, batch_count: rocblas_int, compute_type: rocblas_datatype,
        _algo: rocblas_gemm_algo, _solution_index: i32, _flags: u32,
    ) -> rocblas_status {
        // SAFETY: rocBLAS's contract in host pointer mode: null or readable for the compute type.
        let (alpha, beta) = unsafe { (scalar(alpha, compute_type), scalar(beta, compute_type)) };
        let matrices = |pointer, datatype, ld, stride| Matrices { address: address(pointer), datatype, ld, stride };
        let gemm = Gemm {
            handle: handle.addr(),
            operations: [operation_a, operation_b],
            m,
            n,
            k,
            alpha,
            a: matrices(a, a_type, lda, stride_a),
            b: matrices(b, b_type, ldb, stride_b),
            beta,
            c: matrices(c, c_type, ldc, stride_c),
            d: matrices(d, d_type, ldd, stride_d),
            batch_count,
            compute_type,
        };
        guard(|| blas::gemm_strided_batched_ex(&gemm))
    }
}
