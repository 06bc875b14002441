// Random numbers: kernels `rand_uniform_<dtype>(numel, seed, block, lo, span, last, out)` and `rand_normal_<dtype>(numel,
// seed, block, mean, std, out)`, and `philox_u32(numel, key, low, high, out)`, the words they are made of. Counter-based:
// element i depends on the arguments and on i, not on the shape of the launch. Not here: which seed, which blocks
// (random.rs). candle takes these from cuRAND, so the names are ours.
#include "dtype.h"

using namespace parity;

struct Words {
    u32 at[4];
    PARITY_MEMBER u64 wide(unsigned k) const { return u64(at[2 * k + 1]) << 32 | at[2 * k]; }
};

// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with its
// multipliers and Weyl constants. The key is the seed; the counter is 128 bits, `low` its lower half.
PARITY_FN Words philox(u64 key, u64 low, u64 high) {
    Words x = {{u32(low), u32(low >> 32), u32(high), u32(high >> 32)}};
    u32 k0 = u32(key), k1 = u32(key >> 32);
    for (unsigned round = 0; round < 10; ++round) {
        const u64 even = u64(0xd2511f53) * x.at[0], odd = u64(0xcd9e8d57) * x.at[2];
        x = {{u32(odd >> 32) ^ x.at[1] ^ k0, u32(odd), u32(even >> 32) ^ x.at[3] ^ k1, u32(even)}};
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    return x;
}

// Draws for a width: how many elements a block of four words makes, and how. `unit` is in [0, 1), on a grid as fine as
// the fraction of the width; `normals` are two independent ones by Box and Muller.
template <typename Wide> struct Draw;
template <> struct Draw<f32> {
    static constexpr unsigned per_block = 4;
    PARITY_MEMBER static f32 unit(const Words &words, unsigned k) { return f32(words.at[k] >> 8) * 0x1p-24f; }
    PARITY_MEMBER static void normals(const Words &words, unsigned pair, f32 (&z)[2]) {
        // In (0, 1], down to 2^-33: the tail reaches 6.7 standard deviations.
        const f32 u = device_math::fma(f32(words.at[2 * pair]), 0x1p-32f, 0x1p-33f);
        const f32 half_turns = f32(words.at[2 * pair + 1] >> 8) * 0x1p-23f;
        const f32 radius = device_math::sqrt(-2.0f * device_math::log(u));
        z[0] = radius * device_math::cospi(half_turns);
        z[1] = radius * device_math::sinpi(half_turns);
    }
};
template <> struct Draw<f64> {
    static constexpr unsigned per_block = 2;
    PARITY_MEMBER static f64 unit(const Words &words, unsigned k) { return f64(words.wide(k) >> 11) * 0x1p-53; }
    PARITY_MEMBER static void normals(const Words &words, unsigned, f64 (&z)[2]) {
        const f64 u = f64((words.wide(0) >> 11) + 1) * 0x1p-53;
        const f64 half_turns = f64(words.wide(1) >> 11) * 0x1p-52;
        const f64 radius = device_math::sqrt(-2.0 * device_math::log(u));
        z[0] = radius * device_math::cospi(half_turns);
        z[1] = radius * device_math::sinpi(half_turns);
    }
};

// Calls f(words, first) for each block of `per_block` results, the first of which is number `first`.
template <unsigned per_block, typename F>
PARITY_FN void for_blocks(size_t numel, u64 key, u64 low, u64 high, F f) {
    const size_t blocks = numel / per_block + (numel % per_block != 0);
    for (size_t i = first_index(); i < blocks; i += index_step()) {
        const u64 at = low + i;
        f(philox(key, at, high + (at < low)), i * per_block);
    }
}

// lo + span * unit, at most `last`: the greatest number of the dtype below the upper limit, which rounding could reach.
template <typename T>
PARITY_FN void rand_uniform(size_t numel, u64 seed, u64 block, wide_t<T> lo, wide_t<T> span, wide_t<T> last, T *out) {
    using D = Draw<wide_t<T>>;
    for_blocks<D::per_block>(numel, seed, block, 0, [=](Words words, size_t first) {
        for (unsigned k = 0; k < D::per_block; ++k) {
            if (first + k < numel) {
                const T x = narrow<T>(device_math::fma(span, D::unit(words, k), lo));
                out[first + k] = widen(x) > last ? narrow<T>(last) : x;
            }
        }
    });
}

template <typename T>
PARITY_FN void rand_normal(size_t numel, u64 seed, u64 block, wide_t<T> mean, wide_t<T> std, T *out) {
    using D = Draw<wide_t<T>>;
    for_blocks<D::per_block>(numel, seed, block, 0, [=](Words words, size_t first) {
        for (unsigned pair = 0; pair < D::per_block / 2; ++pair) {
            wide_t<T> z[2];
            D::normals(words, pair, z);
            for (unsigned k = 0; k < 2; ++k) {
                const size_t i = first + 2 * pair + k;
                if (i < numel) {
                    out[i] = narrow<T>(device_math::fma(std, z[k], mean));
                }
            }
        }
    });
}

#define KERNELS(T) \
    extern "C" __global__ void rand_uniform_##T( \
        size_t numel, u64 seed, u64 block, wide_t<T> lo, wide_t<T> span, wide_t<T> last, T *out) { \
        rand_uniform(numel, seed, block, lo, span, last, out); \
    } \
    extern "C" __global__ void rand_normal_##T( \
        size_t numel, u64 seed, u64 block, wide_t<T> mean, wide_t<T> std, T *out) { \
        rand_normal(numel, seed, block, mean, std, out); \
    }
PARITY_FLOAT_DTYPES(KERNELS)

extern "C" __global__ void philox_u32(size_t numel, u64 key, u64 low, u64 high, u32 *out) {
    for_blocks<4>(numel, key, low, high, [=](Words words, size_t first) {
        for (unsigned k = 0; k < 4; ++k) {
            if (first + k < numel) {
                out[first + k] = words.at[k];
            }
        }
    });
}
