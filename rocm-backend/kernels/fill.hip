// Storing without computing: kernels `fill_<dtype>(buf, value, numel)`, `const_set_<dtype>(numel, num_dims, info, value,
// out)` with a strided `out`, and `copy2d_<dtype>(src, dst, d1, d2, src_stride, dst_stride)`, which copies d1 rows of d2
// adjacent elements whose first elements lie a stride apart.
#include "layout.h"

using namespace parity;

template <typename T> PARITY_FN void fill(T *buf, T value, size_t numel) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        buf[i] = value;
    }
}

template <typename Number, typename T>
PARITY_FN void copy_rows(const T *src, T *dst, Number numel, u32 row_len, u32 src_stride, u32 dst_stride) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const Number row = Number(i) / row_len;
        const Number column = Number(i) - row * row_len;
        dst[size_t(row) * dst_stride + column] = src[size_t(row) * src_stride + column];
    }
}

#define KERNELS(T) \
    extern "C" __global__ void fill_##T(T *buf, T value, size_t numel) { fill(buf, value, numel); } \
    extern "C" __global__ void const_set_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, T value, T *out) { \
        set_all(numel, num_dims, info, value, out); \
    } \
    extern "C" __global__ void copy2d_##T( \
        const T *src, T *dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride) { \
        const size_t numel = size_t(d1) * d2; \
        if (numel >> 32 == 0) { \
            copy_rows<u32>(src, dst, u32(numel), d2, src_stride, dst_stride); \
        } else { \
            copy_rows<size_t>(src, dst, numel, d2, src_stride, dst_stride); \
        } \
    }

PARITY_ALL_DTYPES(KERNELS)
