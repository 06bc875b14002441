// Matrix products, accumulated in the dtype's wide type and rounded once: kernels `gemm_<dtype>`, any size, in tiles, on
// the matrix cores where a target has them for the dtype, and `gemv_<dtype>`, which multiplies a matrix by one to four
// vectors. Operands have any strides; a batch of them lies as its table says. candle has no such kernels: it calls a
// library. gemm's workgroups have one wave, for tiles of 32 by 32, or four, for tiles of 64 by 64.
#include "gemm.h"
#include "gemv.h"

using namespace parity;

#define KERNELS(T) \
    extern "C" PARITY_KERNEL_OF(WAVE, gemm::MAX_WAVES * WAVE) void gemm_##T( \
        size_t m, size_t n, size_t k, size_t batch, size_t lhs_dims, const size_t *__restrict__ lhs_info, \
        const T *__restrict__ lhs, size_t lhs_row, size_t lhs_col, size_t rhs_dims, \
        const size_t *__restrict__ rhs_info, const T *__restrict__ rhs, size_t rhs_row, size_t rhs_col, \
        T *__restrict__ out) { \
        const gemm::Batch<T> all = {m, n, k, batch, lhs_dims, lhs_info, {lhs, lhs_row, lhs_col}, rhs_dims, rhs_info, \
                                    {rhs, rhs_row, rhs_col}, out}; \
        gemm::multiply(all, [](auto sum, size_t, size_t) { return narrow<T>(sum); }); \
    } \
    extern "C" PARITY_KERNEL_OF(gemv::line, gemv::line) void gemv_##T( \
        size_t rows, size_t count, size_t k, size_t batch, size_t matrix_dims, \
        const size_t *__restrict__ matrix_info, const T *__restrict__ matrix, size_t matrix_row, size_t matrix_col, \
        size_t vectors_dims, const size_t *__restrict__ vectors_info, const T *__restrict__ vectors, \
        size_t vectors_row, size_t vectors_col, T *__restrict__ out, size_t out_row, size_t out_col, u32 log2_lanes, \
        u32 along_k) { \
        gemv::multiply<T>(rows, count, k, batch, matrix_dims, matrix_info, {matrix, matrix_row, matrix_col}, vectors_dims, \
                          vectors_info, {vectors, vectors_row, vectors_col}, out, out_row, out_col, {log2_lanes, along_k != 0}); \
    }

KERNELS(bf16)
KERNELS(f16)
KERNELS(f32)
KERNELS(f64)
