// Products of f8_e4m3 matrices whose rows and columns have scales: kernels `gemm_f8_e4m3_<dtype>` with results of that dtype. Sums are f32;
// each is multiplied by the scale of its row and by that of its column, and rounded once more, to the dtype. A step of 0 is one scale for
// all. What torch._scaled_mm and cuBLASLt compute; candle has no such product, the names are ours.
#include "gemm.h"

using namespace parity;

#define KERNEL(O) \
    extern "C" PARITY_KERNEL_OF(WAVE, gemm::MAX_WAVES * WAVE) void gemm_f8_e4m3_##O( \
        size_t m, size_t n, size_t k, size_t batch, size_t lhs_dims, const size_t *__restrict__ lhs_info, \
        const f8_e4m3 *__restrict__ lhs, size_t lhs_row, size_t lhs_col, size_t rhs_dims, \
        const size_t *__restrict__ rhs_info, const f8_e4m3 *__restrict__ rhs, size_t rhs_row, size_t rhs_col, \
        O *__restrict__ out, const f32 *__restrict__ row_scales, size_t row_step, const f32 *__restrict__ col_scales, \
        size_t col_step) { \
        const gemm::Batch<f8_e4m3, O> all = {m, n, k, batch, lhs_dims, lhs_info, {lhs, lhs_row, lhs_col}, rhs_dims, rhs_info, \
                                             {rhs, rhs_row, rhs_col}, out}; \
        gemm::multiply(all, [=](f32 sum, size_t row, size_t col) { \
            return O(sum * matrix_core::BYTES_FACTOR * row_scales[row * row_step] * col_scales[col * col_step]); \
        }); \
    }

KERNEL(bf16) KERNEL(f16) KERNEL(f32)
