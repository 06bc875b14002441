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

// out[i] = weight i, from `first` on, `step` steps of the format apart. Pinned: LLVM would make product and rounding to
// f16 one instruction that adds 0, and a weight of -0 would become 0.
template <typename F, typename T>
PARITY_FN void read_row(const u8 *row, T *out, size_t numel, size_t first, size_t step) {
    constexpr unsigned N = PackLen<T>::value, STEP = N < Reader<F>::MOST ? N : Reader<F>::MOST;
    const bool is_packed = is_whole<STEP>(out);
    for (size_t i = first * STEP; i < numel; i += step * STEP) {
        f32 values[STEP];
        Reader<F>::read(row, i, values);
        Pack<T, STEP> pack;
#pragma unroll
        for (unsigned k = 0; k < STEP; ++k) {
            pack.at[k] = static_cast<T>(device_math::pinned(values[k]));
        }
        if (is_packed) {
            store_pack<STEP>(out + i, pack);
        } else {
#pragma unroll
            for (unsigned k = 0; k < STEP; ++k) {
                out[i + k] = pack.at[k];
            }
        }
    }
}

template <typename F, typename T> PARITY_FN void dequantize(const void *blocks, T *out, size_t numel) {
    read_row<F>(static_cast<const u8 *>(blocks), out, numel, first_index(), index_step());
}

// A block for each y of a workgroup, or for all of it: these kernels are not told how many there are.
template <typename F, typename T> PARITY_FN void dequantize_block(const void *blocks, T *out) {
    const size_t block = first_row();
    read_row<F>(static_cast<const u8 *>(blocks) + block * F::BYTES, out + block * F::LEN, F::LEN, thread_index(),
                thread_count());
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
