// Weights back to floats: whole tensors, chosen rows, and products with a vector of floats. Not here: products with
// quantized activations (quantized_dot.h).
#pragma once
#include "quantized_blocks.h"
#include "workgroup.h"

namespace parity {
namespace ggml {

// A float as the sum of two bf16, 16 bits of it: what multiplies bf16 with sums in f32 multiplies it so. What is not finite is in the
// first alone.
struct bf16_pair {
    bf16 high, low;

    bf16_pair() = default;
    PARITY_MEMBER explicit bf16_pair(f32 x) : high(x), low(0) {
        const f32 rest = x - f32(high);
        if (rest == rest) {
            low = bf16(rest);
        }
    }
};

// The same number twice, to meet both halves of such a float.
template <typename T> PARITY_FN void twice(size_t numel, const T *x, bf16_pair *out) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const bf16 number = bf16(f32(x[i]));
        out[i].high = number;
        out[i].low = number;
    }
}

// Sums over the 32 work-items of a team, which share a wave on every target. All of them take part.
#define PARITY_TEAM_STEP(distance) \
    x = f(x, f32_from_bits(u32(__builtin_amdgcn_ds_swizzle(int(bits_of(x)), 0x1f | (distance) << 10))));
template <typename F> PARITY_FN f32 over_team(f32 x, F f) {
    PARITY_TEAM_STEP(16)
    PARITY_TEAM_STEP(8)
    PARITY_TEAM_STEP(4)
    PARITY_TEAM_STEP(2)
    PARITY_TEAM_STEP(1)
    return x;
}
#undef PARITY_TEAM_STEP
PARITY_FN f32 team_sum(f32 x) {
    return over_team(x, [](f32 l, f32 r) { return l + r; });
}
// A NaN wins, so that it is not lost.
PARITY_FN f32 team_max(f32 x) {
    return over_team(x, [](f32 l, f32 r) { return l > r || l != l ? l : r; });
}

// The number of a work-item's team: in a launch of two dimensions the 32 work-items of one y.
PARITY_FN size_t team() {
    return group_index() * __ockl_get_local_size(1) + __builtin_amdgcn_workitem_id_y();
}

// The weights as a pack of T. Pinned: LLVM would make product and rounding to f16 one instruction that adds 0, and a weight of -0 would
// become 0.
template <typename T, unsigned COUNT> PARITY_FN Pack<T, COUNT> rounded(const f32 (&weights)[COUNT]) {
    Pack<T, COUNT> pack;
#pragma unroll
    for (unsigned k = 0; k < COUNT; ++k) {
        pack.at[k] = static_cast<T>(device_math::pinned(weights[k]));
    }
    return pack;
}
// `is_whole`: `out` begins at a whole pack.
template <typename T, unsigned COUNT> PARITY_FN void store(T *out, Pack<T, COUNT> pack, bool is_whole) {
    if (is_whole) {
        store_pack<COUNT>(out, pack);
    } else {
#pragma unroll
        for (unsigned k = 0; k < COUNT; ++k) {
            out[k] = pack.at[k];
        }
    }
}

// out[i] = weight i, from `first` on, `step` steps of the format apart.
template <typename F, typename T>
PARITY_FN void read_row(const u8 *row, T *out, size_t numel, size_t first, size_t step) {
    constexpr unsigned N = PackLen<T>::value, STEP = N < Reader<F>::MOST ? N : Reader<F>::MOST;
    const bool is_packed = is_whole<STEP>(out);
    for (size_t i = first * STEP; i < numel; i += step * STEP) {
        f32 values[STEP];
        Reader<F>::read(row, i, values);
        store(out + i, rounded<T>(values), is_packed);
    }
}

template <typename F, typename T> PARITY_FN void dequantize(const void *blocks, T *out, size_t numel) {
    read_row<F>(static_cast<const u8 *>(blocks), out, numel, first_index(), index_step());
}

// Whether blocks begin at two bytes, so that they have words at odd places.
template <typename F> constexpr bool is_odd() { return alignment(F::BYTES) < sizeof(u32); }

// Blocks that each y of a workgroup does, and y of a workgroup at most.
constexpr u32 TURNS = 4, MOST_TOGETHER = 8;

// A workgroup of one y does one block, one of several y `TURNS` blocks each: these kernels are not told how many there are. A thread
// does the weights of one place in each. Odd blocks of a workgroup, which are one run of bytes, are brought to LDS in packs first.
template <typename F, typename T> PARITY_FN void dequantize_block(const void *blocks, T *out) {
    constexpr unsigned N = PackLen<T>::value, STEP = N < Reader<F>::MOST ? N : Reader<F>::MOST;
    const u32 together = u32(__ockl_get_local_size(1)), y = __builtin_amdgcn_workitem_id_y();
    const u32 threads = thread_count(), inside = thread_index() * STEP;
    const u32 turns = together == 1 ? 1 : TURNS, count = together * turns;
    const size_t first = group_index() * count;
    const u8 *from = static_cast<const u8 *>(blocks) + first * F::BYTES;
    T *to = out + first * F::LEN + inside;
    const bool is_packed = is_whole<STEP>(out);
    const auto weights = [&](const u8 *from, u32 block) {
        f32 values[STEP];
        Reader<F>::read_block(from + block * F::BYTES, inside, values);
        return rounded<T>(values);
    };
    if (together == 1) {
        store(to, weights(from, 0), is_packed);
        return;
    }
    const auto put = [&](u32 turn, Pack<T, STEP> pack) { store(to + (turn * together + y) * F::LEN, pack, is_packed); };
    if constexpr (is_odd<F>()) {
        __shared__ __attribute__((aligned(PACK_BYTES))) u8 lds[TURNS * MOST_TOGETHER * F::BYTES];
        for (u32 at = (y * threads + thread_index()) * PACK_BYTES; at < count * F::BYTES; at += together * threads * PACK_BYTES) {
            store_pack<PACK_BYTES>(lds + at, load_pack<PACK_BYTES>(from + at));
        }
        barrier();
#pragma unroll
        for (u32 turn = 0; turn < TURNS; ++turn) {
            put(turn, weights(lds, turn * together + y));
        }
    } else {
        // All blocks are read before one is stored.
        Pack<T, STEP> packs[TURNS];
#pragma unroll
        for (u32 turn = 0; turn < TURNS; ++turn) {
            packs[turn] = weights(from, turn * together + y);
        }
#pragma unroll
        for (u32 turn = 0; turn < TURNS; ++turn) {
            put(turn, packs[turn]);
        }
    }
}

// out[r] = row ids[r]. Rows of the result lie along x of the grid, elements along y. The ids were checked before.
template <typename F>
PARITY_FN void get_rows(const void *rows, const u32 *ids, f32 *out, i64 row_len, size_t row_bytes) {
    const size_t r = group_index();
    const u32 threads = thread_count();
    const size_t first = size_t(__builtin_amdgcn_workgroup_id_y()) * threads + thread_index();
    read_row<F>(static_cast<const u8 *>(rows) + size_t(ids[r]) * row_bytes, out + r * size_t(row_len), size_t(row_len),
                first, __ockl_get_num_groups(1) * threads);
}

// out[row] = the weights of a row times y, for the team's row.
template <typename F> PARITY_FN void dequantize_mul_mat_vec(const void *weights, const f32 *y, f32 *out, i32 ncols) {
    const size_t row = team();
    const u8 *blocks = static_cast<const u8 *>(weights) + row * (u32(ncols) / F::LEN) * F::BYTES;
    f32 sum = 0;
    for (size_t i = size_t(thread_index()) * 4; i < u32(ncols); i += 32 * 4) {
        f32 values[4];
        Reader<F>::read(blocks, i, values);
        for (unsigned k = 0; k < 4; ++k) {
            sum += values[k] * y[i + k];
        }
    }
    sum = team_sum(sum);
    if (thread_index() == 0) {
        out[row] = sum;
    }
}

} // namespace ggml
} // namespace parity
