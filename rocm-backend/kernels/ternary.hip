// out = cond ? t : f, element by element: kernels `where_<cond>_<dtype>(numel, num_dims, info, cond, t, f, out)`, for a
// condition of each integer dtype. `info` has a stride set for each of the three operands; `out` is contiguous. Of some dtypes
// `where_turned_u8_<dtype>(info, cond, t, f, out)`, of turned.h.
#include "turned.h"

using namespace parity;

template <typename Cond, typename T>
PARITY_FN void select(
    size_t numel, size_t num_dims, const size_t *info, const Cond *cond, const T *t, const T *f, T *out) {
    constexpr unsigned N = PackLen<Cond, T>::value;
    const Walk<3> walk(num_dims, info);
    const auto choose = [&](Pack<Cond, N> chosen, Pack<T, N> x, Pack<T, N> y, T *to) {
        Pack<T, N> z;
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            z.at[e] = chosen.at[e] != 0 ? x.at[e] : y.at[e];
        }
        store_pack<N>(to, z);
    };
    if (walk.has_packs(N) && is_whole<N>(out)) {
        const size_t step = index_step();
        size_t i = first_index();
        // Of packs of sixteen elements each, two are more than the registers hold.
        if constexpr (N < 16) {
            struct Operands {
                pack_bits_t<Cond, N> chosen;
                pack_bits_t<T, N> x, y;
            };
            if (walk.template is_aligned<N>(0, cond) && walk.template is_aligned<N>(1, t) && walk.template is_aligned<N>(2, f)) {
                i = in_batches<2>(
                    i, numel / N, step,
                    [&](size_t i) {
                        size_t at[3];
                        walk.locate_pack(i * N, at);
                        return Operands{walk.template read<N>(0, cond + at[0]), walk.template read<N>(1, t + at[1]),
                                        walk.template read<N>(2, f + at[2])};
                    },
                    [&](size_t i, Operands read) {
                        choose(walk.template spread<N, Cond>(0, read.chosen), walk.template spread<N, T>(1, read.x),
                               walk.template spread<N, T>(2, read.y), out + i * N);
                    });
            }
        }
        for (; i < numel / N; i += step) {
            size_t at[3];
            walk.locate_pack(i * N, at);
            choose(walk.template pack<N>(0, cond + at[0]), walk.template pack<N>(1, t + at[1]),
                   walk.template pack<N>(2, f + at[2]), out + i * N);
        }
        return;
    }
    Run<N>(out, numel, walk.is_plain)
        .each(
            first_index(), index_step(),
            [&](size_t i) { choose(load_pack<N>(cond + i), load_pack<N>(t + i), load_pack<N>(f + i), out + i); },
            [&](size_t i) {
                size_t at[3];
                walk.locate(i, at);
                // The place is chosen, not the value: one load, of the operand that counts.
                out[i] = *(cond[at[0]] != 0 ? t + at[1] : f + at[2]);
            });
}

#define KERNEL(Cond, T) \
    extern "C" __global__ void where_##Cond##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const Cond *cond, const T *t, const T *f, \
        T *out) { \
        select(numel, num_dims, info, cond, t, f, out); \
    }
#define VALUES(T) KERNEL(u8, T) KERNEL(u32, T) KERNEL(i16, T) KERNEL(i32, T) KERNEL(i64, T)

PARITY_ALL_DTYPES(VALUES)

#define TURNED(T) \
    extern "C" PARITY_CROWDED(256, 256, 4) void where_turned_u8_##T( \
        const size_t *__restrict__ info, const u8 *cond, const T *t, const T *f, T *out) { \
        select_turned<PackLen<T>::value>(info, cond, t, f, out); \
    }
TURNED(bf16) TURNED(f16) TURNED(f32)
