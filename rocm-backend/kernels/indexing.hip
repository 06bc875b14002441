// Elements chosen by ids along one dimension: kernels `is_<id>_<dtype>` (index_select), `gather_`, `s_` (scatter), `sa_`
// (scatter_add) and `ia_` (index_add), with candle's arguments, and `ids_check_<id>`, ours: it looks for an id that is
// not a position. Tensors are [left, dimension, right]; all but the source of index_select are contiguous.
//
// The greatest id of a dtype means "no element": 0 is read, nothing is written. An id that is not a position touches
// no memory; its result keeps what was there. The op runs `ids_check` first and refuses such ids.
#include "layout.h"
#include "numeric.h"

using namespace parity;

template <typename Id> PARITY_FN bool is_none(Id id) {
    constexpr bool is_signed = Id(-1) < Id(0);
    constexpr Id greatest = is_signed ? Id(~(u64(1) << (8 * sizeof(Id) - 1))) : Id(-1);
    return id == greatest;
}
// A negative id becomes a number beyond every size.
template <typename Id> PARITY_FN bool is_position(Id id, size_t size) { return size_t(id) < size; }

// Finds the first id that is neither a position below `size` nor "no element": *rest becomes the count of ids from it to
// the end. It starts as 0, and stays so where there is none. Only offenders reach the atomic.
template <typename Id> PARITY_FN void ids_check(size_t numel, const Id *ids, size_t size, u64 *rest) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        if (!is_none(ids[i]) && !is_position(ids[i], size)) {
            atomic_max(rest, numel - i);
        }
    }
}

// Elements of the result are numbered in 32 bits: the launching side cuts what has more.
template <typename T, typename Id, typename IdAt, typename Load>
PARITY_FN void read_by_id(size_t numel, T *out, size_t src_dim, u32 ids_dim, u32 right, IdAt id_at, Load load) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const u32 row = u32(i) / right, post = u32(i) - row * right;
        const u32 pre = row / ids_dim;
        const Id id = id_at(i, row - pre * ids_dim);
        if (is_none(id)) {
            out[i] = T(0);
        } else if (is_position(id, src_dim)) {
            out[i] = load((size_t(pre) * src_dim + size_t(id)) * right + post);
        }
    }
}

template <typename T, typename Id>
PARITY_FN void index_select(
    size_t numel, size_t num_dims, const size_t *info, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim,
    size_t right) {
    const Walk<1> walk(num_dims, info);
    constexpr unsigned N = PackLen<T>::value;
    if (walk.is_plain && right % N == 0 && is_whole<N>(out)) {
        const u32 packs = u32(right / N);
        for (size_t i = first_index(); i < numel / N; i += index_step()) {
            const u32 row = u32(i) / packs, pack = u32(i) - row * packs, pre = row / u32(ids_dim);
            const Id id = ids[row - pre * u32(ids_dim)];
            if (is_none(id)) {
                store_pack<N>(out + i * N, pack_of<N>(T(0)));
            } else if (is_position(id, src_dim)) {
                const size_t from = (size_t(pre) * src_dim + size_t(id)) * packs + pack;
                store_pack<N>(out + i * N, load_pack<N>(inp + from * N));
            }
        }
        return;
    }
    read_by_id<T, Id>(
        numel, out, src_dim, u32(ids_dim), u32(right), [=](size_t, u32 j) { return ids[j]; },
        [=](size_t number) {
            size_t at[1];
            walk.locate(number, at);
            return inp[at[0]];
        });
}

template <typename T, typename Id>
PARITY_FN void gather(size_t numel, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim, size_t right) {
    read_by_id<T, Id>(
        numel, out, src_dim, u32(ids_dim), u32(right), [=](size_t i, u32) { return ids[i]; },
        [=](size_t number) { return inp[number]; });
}

// One thread a column of the destination, which takes the source's elements in their order: the last of equal ids wins,
// sums round after each step, and every run gives the same bits. Columns are numbered in 32 bits, as above.
template <typename T, typename Id, typename IdAt, typename Update>
PARITY_FN void write_by_id(
    const T *inp, T *out, size_t left, size_t src_dim, size_t dst_dim, size_t right, IdAt id_at, Update update) {
    const size_t columns = left * right;
    for (size_t i = first_index(); i < columns; i += index_step()) {
        const size_t pre = u32(i) / u32(right);
        const size_t post = i - pre * right;
        for (size_t j = 0; j < src_dim; ++j) {
            const size_t from = (pre * src_dim + j) * right + post;
            const Id id = id_at(from, j);
            if (!is_none(id) && is_position(id, dst_dim)) {
                T &to = out[(pre * dst_dim + size_t(id)) * right + post];
                to = update(to, inp[from]);
            }
        }
    }
}

#define FOR_IDS(T, Id) \
    extern "C" __global__ void is_##Id##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids, const T *inp, T *out, \
        size_t /* left_size */, size_t src_dim_size, size_t ids_dim_size, size_t right_size) { \
        index_select(numel, num_dims, info, ids, inp, out, src_dim_size, ids_dim_size, right_size); \
    } \
    extern "C" __global__ void gather_##Id##_##T( \
        size_t numel, const Id *ids, const T *inp, T *out, size_t, size_t src_dim_size, size_t ids_dim_size, \
        size_t right_size) { \
        gather(numel, ids, inp, out, src_dim_size, ids_dim_size, right_size); \
    } \
    extern "C" __global__ void s_##Id##_##T( \
        const Id *ids, const T *inp, T *out, size_t left_size, size_t src_dim_size, size_t dst_dim_size, \
        size_t right_size) { \
        write_by_id<T, Id>( \
            inp, out, left_size, src_dim_size, dst_dim_size, right_size, \
            [=](size_t from, size_t) { return ids[from]; }, [](T, T x) { return x; }); \
    } \
    extern "C" __global__ void sa_##Id##_##T( \
        const Id *ids, const T *inp, T *out, size_t left_size, size_t src_dim_size, size_t dst_dim_size, \
        size_t right_size) { \
        write_by_id<T, Id>( \
            inp, out, left_size, src_dim_size, dst_dim_size, right_size, \
            [=](size_t from, size_t) { return ids[from]; }, [](T sum, T x) { return numeric::add(sum, x); }); \
    } \
    extern "C" __global__ void ia_##Id##_##T( \
        const Id *ids, size_t ids_dim_size, const T *inp, T *out, size_t left_size, size_t, size_t dst_dim_size, \
        size_t right_size) { \
        write_by_id<T, Id>( \
            inp, out, left_size, ids_dim_size, dst_dim_size, right_size, \
            [=](size_t, size_t j) { return ids[j]; }, [](T sum, T x) { return numeric::add(sum, x); }); \
    }

#define KERNELS(T) FOR_IDS(T, u8) FOR_IDS(T, u32) FOR_IDS(T, i16) FOR_IDS(T, i32) FOR_IDS(T, i64)
PARITY_ALL_DTYPES(KERNELS)

#define CHECK(Id) \
    extern "C" __global__ void ids_check_##Id(size_t numel, const Id *ids, size_t size, u64 *rest) { \
        ids_check(numel, ids, size, rest); \
    }
PARITY_INT_DTYPES(CHECK)
