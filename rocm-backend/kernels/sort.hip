// The order of the elements of rows: kernels `asort_asc_<dtype>` and `asort_desc_<dtype>`, `(x, dst, ncols, ncols_pad)`,
// which sort chunks of rows in LDS, and `asort_merge_asc_<dtype>` and `asort_merge_desc_<dtype>`, `(x, from, to, numel,
// ncols, run)`, which merge what is sorted. `x` is contiguous rows of `ncols` elements; results are positions in the row.
//
// Both are stable, and desc is not asc reversed: equal elements keep their order in either. Elements are compared by
// keys: integers of the same order, with one key for both zeros and one, above all others, for every NaN.
#include "numeric.h"
#include "workgroup.h"

using namespace parity;

// ---- Keys.

template <typename T> struct KeyOf { using type = u32; };
template <> struct KeyOf<f64> { using type = u64; };
template <> struct KeyOf<i64> { using type = u64; };
template <typename T> using key_t = typename KeyOf<T>::type;

template <unsigned Size> struct UnsignedOf { using type = u8; };
template <> struct UnsignedOf<2> { using type = u16; };
template <> struct UnsignedOf<4> { using type = u32; };
template <> struct UnsignedOf<8> { using type = u64; };

template <bool Ascending, typename T> PARITY_FN key_t<T> key_of(T x) {
    using Bits = typename UnsignedOf<sizeof(T)>::type;
    const key_t<T> sign = key_t<T>(1) << (8 * sizeof(T) - 1);
    key_t<T> key = __builtin_bit_cast(Bits, x);
    if constexpr (numeric::IsInteger<T>::value) {
        key ^= numeric::is_negative(T(-1)) ? sign : 0;
    } else if (x != x) {
        key = ~key_t<T>(0);
    } else if (x == T(0)) {
        key = sign;
    } else {
        key = (key & sign) != 0 ? (sign << 1) - 1 - key : key | sign;
    }
    return Ascending ? key : ~key;
}

// ---- A chunk of a row, by one workgroup: a bitonic network in LDS. The position breaks ties, so that no two elements are
// equal and the result is the stable one.

extern __shared__ __attribute__((aligned(8))) u8 lds[];

// Puts two elements in order, or in the reverse one.
template <typename Key> PARITY_FN void order(Key *keys, u32 *columns, u32 left, u32 right, bool is_reverse) {
    const Key a = keys[left], b = keys[right];
    const u32 i = columns[left], j = columns[right];
    const bool is_ordered = a < b || (a == b && i < j);
    if (is_ordered == is_reverse) {
        keys[left] = b;
        keys[right] = a;
        columns[left] = j;
        columns[right] = i;
    }
}

// Each row has as many workgroups as chunks of `width` columns, one after the other; `width` is a power of two. LDS holds
// `width` keys and then `width` columns. Columns past the end of the row sort after all of the row's: no key is greater
// than theirs, no column as great.
template <bool Ascending, typename T> PARITY_FN void sort_chunk(const T *x, u32 *dst, u32 ncols, u32 width) {
    const u32 chunks = (ncols - 1) / width + 1, group = u32(group_index());
    const size_t row = size_t(group / chunks) * ncols;
    const u32 start = group % chunks * width;
    const u32 count = ncols - start < width ? ncols - start : width;
    const u32 first = thread_index(), step = thread_count();
    auto *keys = reinterpret_cast<key_t<T> *>(lds);
    auto *columns = reinterpret_cast<u32 *>(keys + width);
    for (u32 i = first; i < width; i += step) {
        keys[i] = i < count ? key_of<Ascending>(x[row + start + i]) : ~key_t<T>(0);
        columns[i] = start + i;
    }
    barrier();
    for (u32 length = 2; length <= width; length *= 2) {
        for (u32 distance = length / 2; distance > 0; distance /= 2) {
            for (u32 i = first; i < width / 2; i += step) {
                const u32 within = i & (distance - 1);
                const u32 left = 2 * (i - within) + within;
                order(keys, columns, left, left + distance, (left & length) != 0);
            }
            barrier();
        }
    }
    for (u32 i = first; i < count; i += step) {
        dst[row + start + i] = columns[i];
    }
}

// ---- Rows longer than a chunk: every two neighbouring runs of `run` columns become one. An element's new place is its
// place in its own run and the number of elements of the other run that come before it. Elements of all rows are numbered in
// 32 bits: the launching side cuts what has more.

template <bool Ascending, typename T>
PARITY_FN void merge_runs(const T *x, const u32 *from, u32 *to, size_t numel, u32 ncols, size_t run) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const size_t row = u32(i) / ncols * ncols;
        const size_t at = i - row;
        const size_t start = at & ~(2 * run - 1);
        const size_t middle = start + run < ncols ? start + run : ncols;
        const size_t end = start + 2 * run < ncols ? start + 2 * run : ncols;
        const bool is_left = at < middle;
        const u32 column = from[i];
        const key_t<T> key = key_of<Ascending>(x[row + column]);
        size_t low = is_left ? middle : start, high = is_left ? end : middle;
        while (low < high) {
            const size_t half = low + (high - low) / 2;
            const key_t<T> other = key_of<Ascending>(x[row + from[row + half]]);
            if (is_left ? other < key : other <= key) {
                low = half + 1;
            } else {
                high = half;
            }
        }
        to[row + at + low - middle] = column;
    }
}

#define KERNELS(order, ascending, T) \
    extern "C" __global__ void asort_##order##_##T(const T *x, u32 *dst, i32 ncols, i32 ncols_pad) { \
        sort_chunk<ascending>(x, dst, u32(ncols), u32(ncols_pad)); \
    } \
    extern "C" __global__ void asort_merge_##order##_##T( \
        const T *x, const u32 *from, u32 *to, size_t numel, i32 ncols, i32 run) { \
        merge_runs<ascending>(x, from, to, numel, u32(ncols), size_t(run)); \
    }
#define ORDERS(T) KERNELS(asc, true, T) KERNELS(desc, false, T)

PARITY_ALL_DTYPES(ORDERS)
