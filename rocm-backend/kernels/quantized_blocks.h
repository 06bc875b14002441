// ggml's block formats: how a tensor of quantized weights lies in memory. A format is a type; what the kernels ask of
// it is in the list below. Not here: what is done with the weights (quantized_rows.h, quantized_dot.h).
//
// A block holds `LEN` weights in `BYTES` bytes. All formats but the plain ones come to the same thing: a weight is
// quant * scale + offset, with a signed quant of at most 8 bits, and one scale and offset for at least 16 neighbours:
//   quads(block, i)        four quants, one a byte, from weight i of the block on; i is a multiple of 4
//   factor(block, group)   scale and offset of the weights 16 * group up to 16 * group + 15
// Every product of a quant and a scale is exact in f32 (11 bits of f16 times at most 6 and 8), so that a weight is
// rounded once at most, fused or not. q8_K, whose scale is an f32, has no offset: it, too, rounds once.
//
// Blocks are packed, most of them to 2 bytes only. AMD's global memory serves a word at any address, NVIDIA's only words at
// multiples of their size: there a word is two halves. All blocks, and in them all words, begin at even addresses.
#pragma once
#include "packs.h"

namespace parity {
namespace ggml {

using i8 = __INT8_TYPE__;

template <typename T> PARITY_FN T load(const u8 *at) {
    T value;
#if defined(__NVPTX__)
    __builtin_memcpy(&value, __builtin_assume_aligned(at, sizeof(T) < 2 ? 1 : 2), sizeof(T));
#else
    __builtin_memcpy(&value, at, sizeof(T));
#endif
    return value;
}

struct Factor {
    f32 scale, offset;
};

// Each byte of `word`, which must be below 128, less `number`: signed bytes.
PARITY_FN u32 minus(u32 word, u32 number) { return ((word | 0x80808080) - number * 0x01010101) ^ 0x80808080; }

// The low four bits of `bits` as the lowest bits of four bytes.
PARITY_FN u32 spread(u32 bits) { return ((bits & 15) * 0x00204081) & 0x01010101; }

// Blocks of 32: the low nibbles are the first 16 weights. An f16 scale, perhaps an f16 offset, perhaps the fifth bits
// of all weights in one word, the nibbles. Without an offset the quants are centred on 0.
template <bool OFFSET, bool FIFTH_BIT> struct Nibbles {
    static constexpr unsigned LEN = 32;
    static constexpr bool HAS_OFFSET = OFFSET;
    static constexpr unsigned FIFTH_BITS = OFFSET ? 4 : 2;
    static constexpr unsigned NIBBLES = FIFTH_BITS + (FIFTH_BIT ? 4 : 0);
    static constexpr unsigned BYTES = NIBBLES + LEN / 2;

    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) {
        u32 quants = (load<u32>(block + NIBBLES + i % 16) >> (i / 16 * 4)) & 0x0f0f0f0f;
        if (FIFTH_BIT) {
            quants |= spread(load<u32>(block + FIFTH_BITS) >> i) << 4;
        }
        return OFFSET ? quants : minus(quants, FIFTH_BIT ? 16 : 8);
    }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned) {
        return {f32(load<f16>(block)), OFFSET ? f32(load<f16>(block + 2)) : 0};
    }
};
using q4_0 = Nibbles<false, false>;
using q4_1 = Nibbles<true, false>;
using q5_0 = Nibbles<false, true>;
using q5_1 = Nibbles<true, true>;

// A scale, `EXTRA` bytes that no weight depends on (the sum of q8_1), a byte a weight, and further such bytes (q8_K's).
template <typename Scale, unsigned BLOCK, unsigned EXTRA, unsigned AFTER> struct Bytes {
    static constexpr unsigned LEN = BLOCK;
    static constexpr bool HAS_OFFSET = false;
    static constexpr unsigned QUANTS = sizeof(Scale) + EXTRA;
    static constexpr unsigned BYTES = QUANTS + LEN + AFTER;

    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) { return load<u32>(block + QUANTS + i); }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned) { return {f32(load<Scale>(block)), 0}; }
};
using q8_0 = Bytes<f16, 32, 0, 0>;
using q8_1 = Bytes<f16, 32, 2, 0>;
using q8_K = Bytes<f32, 256, 0, 32>;

// The two low bits: byte l of 32 holds weights l, l + 32, l + 64, l + 96 of 128, lowest bits first.
PARITY_FN u32 pairs_of_bits(const u8 *bytes, unsigned i) {
    return (load<u32>(bytes + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 0x03030303;
}

// The four low bits: byte l of 32 holds weights l and l + 32 of 64.
PARITY_FN u32 nibbles_of_64(const u8 *bytes, unsigned i) {
    return (load<u32>(bytes + i / 64 * 32 + i % 32) >> (i % 64 / 32 * 4)) & 0x0f0f0f0f;
}

// One more bit a weight: bit b of byte l of 32 is that of weight 32 b + l.
PARITY_FN u32 high_bits(const u8 *bytes, unsigned i) { return (load<u32>(bytes + i % 32) >> (i / 32)) & 0x01010101; }

struct q2_K {
    static constexpr unsigned LEN = 256, BYTES = 84, QUANTS = 16, SCALES = 80;
    static constexpr bool HAS_OFFSET = true;

    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) { return pairs_of_bits(block + QUANTS, i); }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        const f32 scale = f32(load<f16>(block + SCALES)), least = f32(load<f16>(block + SCALES + 2));
        return {scale * f32(block[group] & 15), -(least * f32(block[group] >> 4))};
    }
};

struct q3_K {
    static constexpr unsigned LEN = 256, BYTES = 110, QUANTS = 32, GROUPS = 96, SCALE = 108;
    static constexpr bool HAS_OFFSET = false;

    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) {
        return minus(pairs_of_bits(block + QUANTS, i) | high_bits(block, i) << 2, 4);
    }
    // Sixteen numbers of 6 bits: the low nibbles in 8 bytes, then the pairs of high bits in 4.
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        const u32 low = (block[GROUPS + group % 8] >> (group / 8 * 4)) & 15;
        const u32 high = (block[GROUPS + 8 + group % 4] >> (group / 4 * 2)) & 3;
        return {f32(load<f16>(block + SCALE)) * f32(i32(low | high << 4) - 32), 0};
    }
};

// q4_K and q5_K: scale and least value of the block, eight of each in 6 bits for groups of 32, perhaps fifth bits,
// nibbles.
template <bool FIFTH_BIT> struct NibblesK {
    static constexpr unsigned LEN = 256, GROUPS = 4, FIFTH_BITS = 16;
    static constexpr unsigned NIBBLES = FIFTH_BITS + (FIFTH_BIT ? 32 : 0);
    static constexpr unsigned BYTES = NIBBLES + LEN / 2;
    static constexpr bool HAS_OFFSET = true;

    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) {
        const u32 quants = nibbles_of_64(block + NIBBLES, i);
        return FIFTH_BIT ? quants | high_bits(block + FIFTH_BITS, i) << 4 : quants;
    }
    // Groups 0 to 3 have a byte for each number; 4 to 7 have nibbles, and their upper bits on top of those bytes.
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group16) {
        const u8 *numbers = block + GROUPS;
        const unsigned group = group16 / 2;
        u32 scale, least;
        if (group < 4) {
            scale = numbers[group] & 63;
            least = numbers[group + 4] & 63;
        } else {
            scale = (numbers[group + 4] & 15) | (numbers[group - 4] >> 6 << 4);
            least = (numbers[group + 4] >> 4) | (numbers[group] >> 6 << 4);
        }
        return {f32(load<f16>(block)) * f32(scale), -(f32(load<f16>(block + 2)) * f32(least))};
    }
};
using q4_K = NibblesK<false>;
using q5_K = NibblesK<true>;

struct q6_K {
    static constexpr unsigned LEN = 256, BYTES = 210, HIGH = 128, GROUPS = 192, SCALE = 208;
    static constexpr bool HAS_OFFSET = false;

    // Of 128 weights the first 64 have low nibbles, the others the high ones of the same bytes.
    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) {
        const u32 low = (load<u32>(block + i / 128 * 64 + i % 64) >> (i % 128 / 64 * 4)) & 0x0f0f0f0f;
        return minus(low | pairs_of_bits(block + HIGH, i) << 4, 32);
    }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        return {f32(load<f16>(block + SCALE)) * f32(load<i8>(block + GROUPS + group)), 0};
    }
};

// Numbers as they are.
template <typename T> struct Plain {
    static constexpr unsigned LEN = 1, BYTES = sizeof(T);
};

// Reading weights of a row as f32: `STEP` at a time, from weight i on, a multiple of `STEP`.
template <typename F> struct Reader {
    static constexpr unsigned STEP = 4;
    PARITY_MEMBER static void read(const u8 *row, size_t i, f32 (&values)[STEP]) {
        const u8 *block = row + i / F::LEN * F::BYTES;
        const unsigned inside = unsigned(i % F::LEN);
        const u32 quants = F::quads(block, inside);
        const Factor factor = F::factor(block, inside / 16);
        for (unsigned k = 0; k < STEP; ++k) {
            const f32 product = f32(i8(quants >> (8 * k))) * factor.scale;
            values[k] = F::HAS_OFFSET ? product + factor.offset : product;
        }
    }
};
template <typename T> struct Reader<Plain<T>> {
    static constexpr unsigned STEP = 1;
    PARITY_MEMBER static void read(const u8 *row, size_t i, f32 (&values)[STEP]) {
        values[0] = f32(load<T>(row + i * sizeof(T)));
    }
};

} // namespace ggml
} // namespace parity
