// Reductions, softmax, norms and rotary embeddings: one row a kernel.
//
// `fast_<op>_<dtype>(numel, per_row, num_dims, info, src, dst)`: a workgroup a row of `per_row` elements, which are
// last in the order of `info`; `fast_sum_small_*` a thread a row, its first argument the number of rows.
// `sum_<dtype>(numel, num_dims, num_sum_dims, info, inp, out)` adds to `out`; the dimensions that are summed come last.
// `sum_short_<dtype>(numel, per_row, src, dst)`, `softmax_short_*`, `rmsnorm_short_*`, `layernorm_short_*`: rows of whole aligned packs, no
// more than 32, a thread each. `softmax_long_*(src, dst, cols)`: rows of at least as many whole aligned packs as a
// workgroup has threads, 1024 or 512 (f64).
// `softmax_*`, `rmsnorm_*`, `layernorm_*`: a workgroup a contiguous row; `rope*_*`: a thread a pair.
// Not here: reductions in parts (reduce_parts.hip) and of columns (reduce_columns.hip).
// Workgroups of rows have at most 512 threads, so that a thread has registers for its part of a row; x is a power of two.
#include "norm.h"
#include "reduce.h"
#include "rope.h"

using namespace parity;

#define REDUCTION(name, T, Out, function) \
    extern "C" PARITY_CROWDED(1, 512, 2) void name##_##T( \
        size_t numel, size_t per_row, size_t num_dims, const size_t *__restrict__ info, const T *src, Out *dst) { \
        function(numel, per_row, num_dims, info, src, dst); \
    }

#define FOR_ANY(T) \
    REDUCTION(fast_sum, T, T, reduce::sum) \
    REDUCTION(fast_sum_small, T, T, reduce::sum_small) \
    extern "C" PARITY_KERNEL_OF(1, 256) void sum_short_##T(size_t numel, size_t per_row, const T *src, T *dst) { \
        reduce::sum_short(numel, per_row, src, dst); \
    } \
    REDUCTION(fast_max, T, T, reduce::extreme<reduce::Max>) \
    REDUCTION(fast_min, T, T, reduce::extreme<reduce::Min>) \
    REDUCTION(fast_argmax, T, u32, reduce::place<reduce::Max>) \
    REDUCTION(fast_argmin, T, u32, reduce::place<reduce::Min>) \
    extern "C" __global__ void sum_##T( \
        size_t numel, size_t num_dims, size_t num_sum_dims, const size_t *__restrict__ info, const T *inp, T *out) { \
        reduce::add_sums(numel, num_dims, num_sum_dims, info, inp, out); \
    }

#define ROWS(T, NAME, MOST, IS_SHORT) \
    extern "C" PARITY_CROWDED(1, MOST, (sizeof(T) == 8 ? 1 : 2)) void softmax##NAME##_##T(const T *src, T *dst, i32 cols) { \
        norm::softmax<T, IS_SHORT>(src, dst, cols); \
    } \
    extern "C" PARITY_CROWDED(1, MOST, 2) void rmsnorm##NAME##_##T( \
        const T *src, T *dst, const T *alpha, i32 cols, i32 threads, f32 eps) { \
        norm::rms<T, IS_SHORT>(src, dst, alpha, cols, threads, eps); \
    } \
    extern "C" PARITY_CROWDED(1, MOST, 2) void layernorm##NAME##_##T( \
        const T *src, T *dst, const T *alpha, const T *beta, i32 cols, i32 threads, f32 eps) { \
        norm::layer<T, IS_SHORT>(src, dst, alpha, beta, cols, threads, eps); \
    }

#define FOR_NEURAL(T) \
    ROWS(T, , 512, false) \
    ROWS(T, _short, 256, true) \
    extern "C" PARITY_CROWDED(norm::LONG_MOST<T>, norm::LONG_MOST<T>, 1) void softmax_long_##T(const T *src, T *dst, i32 cols) { \
        norm::softmax_long(src, dst, cols); \
    } \
    extern "C" __global__ void rope_i_##T( \
        const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 stride_b) { \
        rope::interleaved(src, cos, sin, dst, bh, td, stride_b); \
    } \
    extern "C" __global__ void rope_##T( \
        const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 d, u32 stride_b) { \
        rope::halves(src, cos, sin, dst, bh, td, d, stride_b); \
    } \
    extern "C" __global__ void rope_thd_##T( \
        const T *src, const T *cos, const T *sin, T *dst, u32 b, u32 t, u32 h, u32 d, u32 stride_b) { \
        rope::halves_thd(src, cos, sin, dst, b, t, h, d, stride_b); \
    }

PARITY_ALL_DTYPES(FOR_ANY)
FOR_NEURAL(bf16)
FOR_NEURAL(f16)
FOR_NEURAL(f32)
FOR_NEURAL(f64)
