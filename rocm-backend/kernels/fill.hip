// Storing without computing: kernels `fill_<dtype>(buf, value, numel)`, `const_set_<dtype>(numel, num_dims, info, value,
// out)` with a strided `out`, and `copy2d_<dtype>(src, dst, d1, d2, src_stride, dst_stride)`, which copies d1 rows of d2
// adjacent elements whose first elements lie a stride apart;
// `transpose_<dtype>(batches, rows, cols, src_batch, src_col, dst_batch, dst_row, src, dst)`, 256 threads, of transpose.h.
#include "transpose.h"

using namespace parity;

// Elements of several rows are numbered in 32 bits: the launching side cuts what has more. Four are under way at once.
// Sizes and distances are multiples of N, and both sides begin at whole packs of N.
template <unsigned N, typename T>
PARITY_FN void copy_rows(const T *src, T *dst, u32 rows, u32 row_len, size_t src_stride, size_t dst_stride) {
    constexpr unsigned AT_ONCE = 4;
    const u32 packs = row_len / N;
    const size_t count = size_t(rows) * packs;
    for (size_t i = first_index(); i < count; i += AT_ONCE * index_step()) {
        Pack<T, N> some[AT_ONCE];
        T *to[AT_ONCE];
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; ++k) {
            const size_t at = i + k * index_step();
            const u32 number = u32(at < count ? at : i), row = number / packs, column = (number - row * packs) * N;
            some[k] = load_aligned_pack<N>(src + size_t(row) * src_stride + column);
            to[k] = dst + size_t(row) * dst_stride + column;
        }
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; ++k) {
            if (i + k * index_step() < count) {
                store_pack<N>(to[k], some[k]);
            }
        }
    }
}

// Elements of a row that a workgroup copies at once.
constexpr u32 ROW_PART = 8192;

// Long rows that begin anywhere, a workgroup a part of a row: what is stored begins at whole packs.
template <typename T>
PARITY_FN void copy_long_rows(const T *src, T *dst, u32 rows, u32 row_len, size_t src_stride, size_t dst_stride) {
    constexpr unsigned N = PackLen<T>::value;
    const u32 parts = (row_len + ROW_PART - 1) / ROW_PART;
    for (size_t at = group_index(); at < size_t(rows) * parts; at += group_count()) {
        const u32 row = u32(at) / parts, first = (u32(at) - row * parts) * ROW_PART;
        const u32 count = row_len - first < ROW_PART ? row_len - first : ROW_PART;
        const T *from = src + size_t(row) * src_stride + first;
        T *to = dst + size_t(row) * dst_stride + first;
        const Run<N> run(to, count, true);
        const auto store = [&](size_t i, Pack<T, N> pack) { store_pack<N>(to + run.head + i * N, pack); };
        // All packs but the first of the row and those that end where it does, or nearly.
        const size_t place = first + run.head, begin = place < N && run.packs > 0 ? 1 : 0;
        const size_t left = row_len - place, inner = left < 2 * N ? 0 : left / N - 1;
        const size_t end = inner < begin ? begin : inner < run.packs ? inner : run.packs;
        const Straddling<T> straddling(from + run.head);
        const auto read = [&](size_t i) { return straddling.read(i); };
        const auto use = [&](size_t i, typename Straddling<T>::Read read) { store(i, straddling.pack(read)); };
        const u32 step = thread_count();
        for (size_t i = in_batches<2>(begin + thread_index(), end, step, read, use); i < end; i += step) {
            use(i, read(i));
        }
        for (size_t i = thread_index(); i < begin + (run.packs - end); i += step) {
            const size_t at = i < begin ? i : i - begin + end;
            store(at, load_pack<N>(from + run.head + at * N));
        }
        run.each_single(thread_index(), step, [&](size_t at) { to[at] = from[at]; });
    }
}

// Elements from which on a row is worth a workgroup.
constexpr u32 LONG_ROW = 1024;

// Rows without gaps between them are copied as one run. Rows of whole packs, all of them aligned, are copied by packs.
template <typename T>
PARITY_FN void copy2d(const T *src, T *dst, u32 rows, u32 row_len, u32 src_stride, u32 dst_stride) {
    constexpr unsigned N = PackLen<T>::value;
    const size_t places = reinterpret_cast<size_t>(src) | reinterpret_cast<size_t>(dst);
    if (rows == 1 || (src_stride == row_len && dst_stride == row_len)) {
        map_unary(size_t(rows) * row_len, 0, nullptr, src, dst, [](T x) { return x; });
    } else if (places % PACK_BYTES == 0 && (row_len | src_stride | dst_stride) % N == 0) {
        copy_rows<N>(src, dst, rows, row_len, src_stride, dst_stride);
    } else if (row_len >= LONG_ROW) {
        copy_long_rows(src, dst, rows, row_len, src_stride, dst_stride);
    } else {
        copy_rows<1>(src, dst, rows, row_len, src_stride, dst_stride);
    }
}

#define KERNELS(T) \
    extern "C" __global__ void fill_##T(T *buf, T value, size_t numel) { set_all(numel, 0, nullptr, value, buf); } \
    extern "C" __global__ void const_set_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, T value, T *out) { \
        set_all(numel, num_dims, info, value, out); \
    } \
    extern "C" PARITY_CROWDED(1, 256, 5) void copy2d_##T( \
        const T *src, T *dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride) { \
        copy2d(src, dst, d1, d2, src_stride, dst_stride); \
    } \
    extern "C" PARITY_KERNEL_OF(256, 256) void transpose_##T( \
        size_t batches, size_t rows, size_t cols, size_t src_batch, size_t src_col, size_t dst_batch, size_t dst_row, \
        const T *src, T *dst) { \
        transpose({batches, rows, cols, src_batch, src_col, dst_batch, dst_row}, src, dst); \
    }

PARITY_ALL_DTYPES(KERNELS)
