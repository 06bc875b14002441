// Storing without computing: kernels `fill_<dtype>(buf, value, numel)`, `const_set_<dtype>(numel, num_dims, info, value,
// out)` with a strided `out`, and `copy2d_<dtype>(src, dst, d1, d2, src_stride, dst_stride)`, which copies d1 rows of d2
// adjacent elements whose first elements lie a stride apart;
// `transpose_<dtype>(batches, rows, cols, src_batch, src_col, dst_batch, dst_row, src, dst)`, 256 threads, of transpose.h.
#include "transpose.h"

using namespace parity;

// Elements of several rows are numbered in 32 bits: the launching side cuts what has more.
template <typename T>
PARITY_FN void copy_rows(const T *src, T *dst, u32 rows, u32 row_len, size_t src_stride, size_t dst_stride) {
    for (size_t i = first_index(); i < size_t(rows) * row_len; i += index_step()) {
        const u32 row = u32(i) / row_len, column = u32(i) - row * row_len;
        dst[size_t(row) * dst_stride + column] = src[size_t(row) * src_stride + column];
    }
}

// Rows without gaps between them are copied as one run. Rows of whole packs, all of them aligned, are copied by packs.
template <typename T>
PARITY_FN void copy2d(const T *src, T *dst, u32 rows, u32 row_len, u32 src_stride, u32 dst_stride) {
    constexpr unsigned N = PackLen<T>::value;
    struct alignas(PACK_BYTES) Whole {
        pack_bits_t<T, N> bits;
    };
    const size_t places = reinterpret_cast<size_t>(src) | reinterpret_cast<size_t>(dst);
    if (rows == 1 || (src_stride == row_len && dst_stride == row_len)) {
        map_unary(size_t(rows) * row_len, 0, nullptr, src, dst, [](T x) { return x; });
    } else if (places % PACK_BYTES == 0 && (row_len | src_stride | dst_stride) % N == 0) {
        copy_rows(reinterpret_cast<const Whole *>(src), reinterpret_cast<Whole *>(dst), rows, row_len / N,
                  src_stride / N, dst_stride / N);
    } else {
        copy_rows(src, dst, rows, row_len, src_stride, dst_stride);
    }
}

#define KERNELS(T) \
    extern "C" __global__ void fill_##T(T *buf, T value, size_t numel) { set_all(numel, 0, nullptr, value, buf); } \
    extern "C" __global__ void const_set_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, T value, T *out) { \
        set_all(numel, num_dims, info, value, out); \
    } \
    extern "C" __global__ void copy2d_##T( \
        const T *src, T *dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride) { \
        copy2d(src, dst, d1, d2, src_stride, dst_stride); \
    } \
    extern "C" PARITY_KERNEL_OF(256, 256) void transpose_##T( \
        size_t batches, size_t rows, size_t cols, size_t src_batch, size_t src_col, size_t dst_batch, size_t dst_row, \
        const T *src, T *dst) { \
        transpose({batches, rows, cols, src_batch, src_col, dst_batch, dst_row}, src, dst); \
    }

PARITY_ALL_DTYPES(KERNELS)
