// Elements chosen by ids along one dimension: kernels `is_<id>_<dtype>` (index_select), `gather_`, `s_` (scatter), `sa_`
// (scatter_add) and `ia_` (index_add), with candle's arguments. Ours are `ids_check_<id>`, which looks for an id that is
// not a position, and `rows_by_<id>_<dtype>(rows, ids_dim, ids_step, ids, inp, out, report, src_dim, lds)`, which is the first two
// where the dimension is the last one; `lds` is the bytes of LDS that a row of the source is brought to, or 0. Tensors are [left,
// dimension, right]; all but the source of index_select are contiguous.
//
// The greatest id of a dtype means "no element" where it is no position: 0 is read, nothing is written. An id that is neither touches
// no memory: 0 is read, nothing is written, and the host finds it where it will look (`Report`). index_select and gather report
// themselves: the address is in the place of the size that candle passes and no kernel needs. Before the others the op runs `ids_check`.
#include "layout.h"
#include "numeric.h"
#include "report.h"
#include "workgroup.h"

using namespace parity;

// A row of the source, where the launch gave room for it.
extern __shared__ __attribute__((aligned(16))) u8 row_in_lds[];

template <typename Id> PARITY_FN bool is_none(Id id) {
    constexpr bool is_signed = Id(-1) < Id(0);
    constexpr Id greatest = is_signed ? Id(~(u64(1) << (8 * sizeof(Id) - 1))) : Id(-1);
    return id == greatest;
}
// A negative id becomes a number beyond every size.
template <typename Id> PARITY_FN bool is_position(Id id, size_t size) { return size_t(id) < size; }

// Reports the first id that is neither a position below `size` nor "no element". Only offenders reach the atomics. The launching side
// has no more than 2^31 ids.
template <typename Id> PARITY_FN void ids_check(size_t numel, const Id *ids, size_t size, Report report) {
    for (u32 i = u32(first_index()); i < u32(numel); i += u32(index_step())) {
        if (!is_position(ids[i], size) && !is_none(ids[i])) {
            report.note(i, ids[i]);
        }
    }
}

// What an id at `place` reads: 0 for "no element", and for what is no position, which is reported.
template <typename T, typename Id, typename Load>
PARITY_FN T value_of(Id id, size_t place, size_t src_dim, Report report, Load load) {
    if (is_position(id, src_dim)) {
        return load(id);
    }
    if (!is_none(id)) {
        report.wrong(place, id);
    }
    return T(0);
}

// Elements of the result are numbered in 32 bits: the launching side cuts what has more.
template <typename T, typename Id, typename IdAt, typename Load>
PARITY_FN void read_by_id(
    size_t numel, T *out, size_t src_dim, u32 ids_dim, u32 right, Report report, IdAt id_at, Load load) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const u32 row = u32(i) / right, post = u32(i) - row * right;
        const u32 pre = row / ids_dim, j = row - pre * ids_dim;
        const auto placed = id_at(i, j);
        out[i] = value_of<T>(placed.id, placed.place, src_dim, report, [&](Id id) {
            return load((size_t(pre) * src_dim + size_t(id)) * right + post);
        });
    }
}

// An id and its number.
template <typename Id> struct PlacedId {
    Id id;
    size_t place;
};

// Ids of a row that a workgroup takes at once.
constexpr u32 IDS_TOGETHER = 8192;

// The row in LDS, where a wave reads words that lie apart at once, when all threads have stored their packs of it there.
template <typename T> PARITY_FN const T *row_to_lds(const T *row, size_t count) {
    constexpr unsigned N = PackLen<T>::value;
    const Run<N> run(row, count, true);
    // Packs of the row are packs there.
    T *held = reinterpret_cast<T *>(row_in_lds) + (N - run.head % N) % N;
    run.read(
        row, thread_index(), thread_count(), [&](Pack<T, N> pack, size_t at) { store_pack<N>(held + at, pack); },
        [&](size_t at) { held[at] = row[at]; });
    barrier();
    return held;
}

// Where the dimension is the last one a workgroup takes ids of one row, so that what it reads of the source lies in one
// row, too. Rows of ids lie `ids_step` apart, 0 where all rows have the same.
template <typename T, typename Id>
PARITY_FN void read_rows_by_id(
    size_t rows, size_t ids_dim, size_t ids_step, const Id *ids, const T *inp, T *out, size_t src_dim, bool by_lds, Report report) {
    constexpr unsigned N = PackLen<T, Id>::value;
    for_groups((ids_dim + IDS_TOGETHER - 1) / IDS_TOGETHER, rows, 1, [&](size_t part, size_t row, size_t) {
        const size_t first = part * IDS_TOGETHER;
        const size_t count = ids_dim - first < IDS_TOGETHER ? ids_dim - first : IDS_TOGETHER;
        const size_t place = row * ids_step + first;
        T *to = out + row * ids_dim + first;
        const auto read = [&](const T *from, Report report) {
            const auto value = [&](Id id, size_t at) {
                return value_of<T>(id, at, src_dim, report, [&](Id id) { return from[size_t(id)]; });
            };
            // Packs of ids and of results begin at one element, or are not taken.
            Run<N>(to, count, is_whole<N>(to) && is_whole<N>(ids + place))
                .each(
                    thread_index(), thread_count(),
                    [&](size_t i) {
                        const Pack<Id, N> some = load_aligned_pack<N>(ids + place + i);
                        Pack<T, N> values;
#pragma unroll
                        for (unsigned e = 0; e < N; ++e) {
                            values.at[e] = value(some.at[e], place + i + e);
                        }
                        store_pack_once<N>(to + i, values);
                    },
                    [&](size_t i) { to[i] = value(ids[place + i], place + i); });
        };
        const T *from = inp + row * src_dim;
        if (by_lds) {
            read(row_to_lds(from, src_dim), report);
            barrier(); // so that the next row is not stored while a slow thread still reads
        } else {
            // A byte other than "no element" is a position in such a row: one of less than 255 elements is brought to LDS.
            read(from, sizeof(Id) == 1 ? Report{nullptr} : report);
        }
    });
}

template <typename T, typename Id>
PARITY_FN void index_select(
    size_t numel, size_t num_dims, const size_t *info, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim,
    size_t right, Report report) {
    const Walk<1> walk(num_dims, info);
    constexpr unsigned N = PackLen<T>::value;
    if (walk.is_plain && right % N == 0 && is_whole<N>(out)) {
        const u32 packs = u32(right / N);
        const auto pack_at = [&](size_t i) {
            const u32 row = u32(i) / packs, pack = u32(i) - row * packs, pre = row / u32(ids_dim);
            const u32 j = row - pre * u32(ids_dim);
            const Id id = ids[j];
            if (is_position(id, src_dim)) {
                const size_t from = (size_t(pre) * src_dim + size_t(id)) * packs + pack;
                return load_pack<N>(inp + from * N);
            }
            if (!is_none(id)) {
                report.wrong(j, id);
            }
            return pack_of<N>(T(0));
        };
        const auto store = [&](size_t i, Pack<T, N> pack) { store_pack<N>(out + i * N, pack); };
        const size_t step = index_step();
        for (size_t i = in_batches<2>(first_index(), numel / N, step, pack_at, store); i < numel / N; i += step) {
            store(i, pack_at(i));
        }
        return;
    }
    read_by_id<T, Id>(
        numel, out, src_dim, u32(ids_dim), u32(right), report, [=](size_t, u32 j) { return PlacedId<Id>{ids[j], j}; },
        [=](size_t number) {
            size_t at[1];
            walk.locate(number, at);
            return inp[at[0]];
        });
}

template <typename T, typename Id>
PARITY_FN void gather(
    size_t numel, const Id *ids, const T *inp, T *out, size_t src_dim, size_t ids_dim, size_t right, Report report) {
    read_by_id<T, Id>(
        numel, out, src_dim, u32(ids_dim), u32(right), report, [=](size_t i, u32) { return PlacedId<Id>{ids[i], i}; },
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
            if (is_position(id, dst_dim)) {
                T &to = out[(pre * dst_dim + size_t(id)) * right + post];
                to = update(to, inp[from]);
            }
        }
    }
}

#define FOR_IDS(T, Id) \
    extern "C" PARITY_KERNEL_OF(1, 256) void is_##Id##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const Id *ids, const T *inp, T *out, \
        size_t report, size_t src_dim_size, size_t ids_dim_size, size_t right_size) { \
        index_select(numel, num_dims, info, ids, inp, out, src_dim_size, ids_dim_size, right_size, report_at(report)); \
    } \
    extern "C" PARITY_KERNEL_OF(1, 256) void gather_##Id##_##T( \
        size_t numel, const Id *ids, const T *inp, T *out, size_t report, size_t src_dim_size, size_t ids_dim_size, \
        size_t right_size) { \
        gather(numel, ids, inp, out, src_dim_size, ids_dim_size, right_size, report_at(report)); \
    } \
    extern "C" PARITY_CROWDED(256, 256, 5) void rows_by_##Id##_##T( \
        size_t rows, size_t ids_dim, size_t ids_step, const Id *ids, const T *inp, T *out, size_t report, size_t src_dim, \
        size_t lds) { \
        read_rows_by_id(rows, ids_dim, ids_step, ids, inp, out, src_dim, lds != 0, report_at(report)); \
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
    extern "C" __global__ void ids_check_##Id(size_t numel, const Id *ids, size_t size, size_t report) { \
        ids_check(numel, ids, size, report_at(report)); \
    }
PARITY_INT_DTYPES(CHECK)
