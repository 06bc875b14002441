// ggml's block formats: how a tensor of quantized weights lies in memory. A format is a type; what the kernels ask of
// it is in the list below. Not here: what is done with the weights (quantized_rows.h, quantized_dot.h).
//
// A block holds `LEN` weights in `BYTES` bytes. All formats but the plain ones come to the same thing: a weight is
// quant * scale + offset, with a signed quant of at most 8 bits, and one scale and offset for at least 16 neighbours:
//   quads(block, i)        four quants, one a byte, from weight i of the block on; i is a multiple of 4
//   factor(block, group)   scale and offset of the weights 16 * group up to 16 * group + 15
// What quants are made of is a word of low bits, at `low_at(i)`, and for some formats one of high bits, at `high_at(i)`;
// `quad(low, high, i)` puts them together. Of 32 weights in a row they are `LOW_WORDS` and `HIGH_WORDS` different words, which
// follow one another and serve in turns (`unit_quads`).
// Every product of a quant and a scale is exact in f32 (11 bits of f16 times at most 6 and 8), so that a weight is
// rounded once at most, fused or not. q8_K, whose scale is an f32, has no offset: it, too, rounds once.
//
// Blocks are packed, some of them to 2 bytes only. AMD's global memory serves a word at any address, NVIDIA's only words at
// multiples of their size: there a word of such a block is two halves. All blocks, and in them all words, begin at multiples of
// `alignment(BYTES)`.
#pragma once
#include "packs.h"

namespace parity {
namespace ggml {

using i8 = __INT8_TYPE__;

// Of blocks of so many bytes that follow one another, the first at a multiple of 16.
constexpr unsigned alignment(unsigned bytes) { return bytes % 16 == 0 ? 16 : bytes % 4 == 0 ? 4 : 2; }

// `at` is a multiple of `ALIGN`, or of the size of T if that is less.
template <unsigned ALIGN, typename T> PARITY_FN T load(const u8 *at) {
    T value;
#if defined(__NVPTX__)
    __builtin_memcpy(&value, __builtin_assume_aligned(at, sizeof(T) < ALIGN ? sizeof(T) : ALIGN), sizeof(T));
#else
    __builtin_memcpy(&value, at, sizeof(T));
#endif
    return value;
}

// Words that follow one another; `at` is a multiple of `ALIGN`.
template <unsigned ALIGN, unsigned WORDS> PARITY_FN void load_words(const u8 *at, u32 (&words)[WORDS]) {
#if defined(__NVPTX__)
    if constexpr (ALIGN % 16 == 0 && WORDS % 4 == 0) {
#pragma unroll
        for (unsigned k = 0; k < WORDS; k += 4) {
            PackBits<16>::type bits;
            __builtin_memcpy(&bits, __builtin_assume_aligned(at + 4 * k, 16), sizeof(bits));
            keep_whole(bits);
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                words[k + e] = bits[e];
            }
        }
        return;
    } else if constexpr (ALIGN == 2 && WORDS > 1) {
        // The whole words of memory, one less than there are, and a half at either end; or both halves of the last word where
        // the others are whole. No byte beside them is read.
        const bool is_off = reinterpret_cast<size_t>(at) % 4 != 0;
        const u32 first = load<2, u16>(is_off ? at : at + 4 * WORDS - 4), last = load<2, u16>(at + 4 * WORDS - 2);
        const u8 *whole = is_off ? at + 2 : at;
        u32 before = first << 16;
#pragma unroll
        for (unsigned k = 0; k + 1 < WORDS; ++k) {
            const u32 word = load<4, u32>(whole + 4 * k);
            words[k] = is_off ? before >> 16 | word << 16 : word;
            before = word;
        }
        words[WORDS - 1] = is_off ? before >> 16 | last << 16 : first | last << 16;
        return;
    }
#endif
#pragma unroll
    for (unsigned k = 0; k < WORDS; ++k) {
        words[k] = load<ALIGN, u32>(at + 4 * k);
    }
}

struct Factor {
    f32 scale, offset;
};

// Each byte of `word`, which must be below 128, less `number`: signed bytes.
PARITY_FN u32 minus(u32 word, u32 number) { return ((word | 0x80808080) - number * 0x01010101) ^ 0x80808080; }

// The low four bits of `bits` as the lowest bits of four bytes.
PARITY_FN u32 spread(u32 bits) { return ((bits & 15) * 0x00204081) & 0x01010101; }

// What all formats have: `F` is one of them.
template <typename F> struct Format {
    PARITY_MEMBER static u32 quads(const u8 *block, unsigned i) {
        constexpr unsigned ALIGN = alignment(F::BYTES);
        u32 high = 0;
        if constexpr (F::HIGH_WORDS > 0) {
            high = load<ALIGN, u32>(block + F::high_at(i));
        }
        return F::quad(load<ALIGN, u32>(block + F::low_at(i)), high, i);
    }
    // The quants of 32 weights from weight i on, a multiple of 32.
    PARITY_MEMBER static void unit_quads(const u8 *block, unsigned i, u32 (&quants)[8]) {
        constexpr unsigned ALIGN = alignment(F::BYTES);
        u32 low[F::LOW_WORDS], high[F::HIGH_WORDS + (F::HIGH_WORDS == 0)] = {};
        load_words<ALIGN>(block + F::low_at(i), low);
        if constexpr (F::HIGH_WORDS > 0) {
            load_words<ALIGN>(block + F::high_at(i), high);
        }
#pragma unroll
        for (unsigned k = 0; k < 8; ++k) {
            quants[k] = F::quad(low[k % F::LOW_WORDS], F::HIGH_WORDS > 0 ? high[k % (F::HIGH_WORDS + (F::HIGH_WORDS == 0))] : 0, i + 4 * k);
        }
    }
};

// Blocks of 32: the low nibbles are the first 16 weights. An f16 scale, perhaps an f16 offset, perhaps the fifth bits
// of all weights in one word, the nibbles. Without an offset the quants are centred on 0.
template <bool OFFSET, bool FIFTH_BIT> struct Nibbles : Format<Nibbles<OFFSET, FIFTH_BIT>> {
    static constexpr unsigned LEN = 32;
    static constexpr bool HAS_OFFSET = OFFSET;
    static constexpr unsigned FIFTH_BITS = OFFSET ? 4 : 2;
    static constexpr unsigned NIBBLES = FIFTH_BITS + (FIFTH_BIT ? 4 : 0);
    static constexpr unsigned BYTES = NIBBLES + LEN / 2;
    static constexpr unsigned LOW_WORDS = 4, HIGH_WORDS = FIFTH_BIT ? 1 : 0;

    PARITY_MEMBER static unsigned low_at(unsigned i) { return NIBBLES + i % 16; }
    PARITY_MEMBER static unsigned high_at(unsigned) { return FIFTH_BITS; }
    PARITY_MEMBER static u32 quad(u32 low, u32 high, unsigned i) {
        u32 quants = (low >> (i / 16 * 4)) & 0x0f0f0f0f;
        if (FIFTH_BIT) {
            quants |= spread(high >> i) << 4;
        }
        return OFFSET ? quants : minus(quants, FIFTH_BIT ? 16 : 8);
    }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned) {
        return {f32(load<2, f16>(block)), OFFSET ? f32(load<2, f16>(block + 2)) : 0};
    }
};
using q4_0 = Nibbles<false, false>;
using q4_1 = Nibbles<true, false>;
using q5_0 = Nibbles<false, true>;
using q5_1 = Nibbles<true, true>;

// A scale, `EXTRA` bytes that no weight depends on (the sum of q8_1), a byte a weight, and further such bytes (q8_K's).
template <typename Scale, unsigned BLOCK, unsigned EXTRA, unsigned AFTER>
struct Bytes : Format<Bytes<Scale, BLOCK, EXTRA, AFTER>> {
    static constexpr unsigned LEN = BLOCK;
    static constexpr bool HAS_OFFSET = false;
    static constexpr unsigned QUANTS = sizeof(Scale) + EXTRA;
    static constexpr unsigned BYTES = QUANTS + LEN + AFTER;
    static constexpr unsigned LOW_WORDS = 8, HIGH_WORDS = 0;

    PARITY_MEMBER static unsigned low_at(unsigned i) { return QUANTS + i; }
    PARITY_MEMBER static u32 quad(u32 low, u32, unsigned) { return low; }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned) {
        return {f32(load<alignment(BYTES), Scale>(block)), 0};
    }
};
using q8_0 = Bytes<f16, 32, 0, 0>;
using q8_1 = Bytes<f16, 32, 2, 0>;
using q8_K = Bytes<f32, 256, 0, 32>;

// The two low bits: byte l of 32 holds weights l, l + 32, l + 64, l + 96 of 128, lowest bits first.
PARITY_FN unsigned pairs_at(unsigned i) { return i / 128 * 32 + i % 32; }
PARITY_FN u32 pairs_of_bits(u32 word, unsigned i) { return (word >> (i % 128 / 32 * 2)) & 0x03030303; }

// The four low bits: byte l of 32 holds weights l and l + 32 of 64.
PARITY_FN unsigned nibbles_of_64_at(unsigned i) { return i / 64 * 32 + i % 32; }
PARITY_FN u32 nibbles_of_64(u32 word, unsigned i) { return (word >> (i % 64 / 32 * 4)) & 0x0f0f0f0f; }

// One more bit a weight: bit b of byte l of 32 is that of weight 32 b + l.
PARITY_FN u32 high_bits(u32 word, unsigned i) { return (word >> (i / 32)) & 0x01010101; }

struct q2_K : Format<q2_K> {
    static constexpr unsigned LEN = 256, BYTES = 84, QUANTS = 16, SCALES = 80;
    static constexpr unsigned LOW_WORDS = 8, HIGH_WORDS = 0;
    static constexpr bool HAS_OFFSET = true;

    PARITY_MEMBER static unsigned low_at(unsigned i) { return QUANTS + pairs_at(i); }
    PARITY_MEMBER static u32 quad(u32 low, u32, unsigned i) { return pairs_of_bits(low, i); }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        const f32 scale = f32(load<2, f16>(block + SCALES)), least = f32(load<2, f16>(block + SCALES + 2));
        return {scale * f32(block[group] & 15), -(least * f32(block[group] >> 4))};
    }
};

struct q3_K : Format<q3_K> {
    static constexpr unsigned LEN = 256, BYTES = 110, QUANTS = 32, GROUPS = 96, SCALE = 108;
    static constexpr unsigned LOW_WORDS = 8, HIGH_WORDS = 8;
    static constexpr bool HAS_OFFSET = false;

    PARITY_MEMBER static unsigned low_at(unsigned i) { return QUANTS + pairs_at(i); }
    PARITY_MEMBER static unsigned high_at(unsigned i) { return i % 32; }
    PARITY_MEMBER static u32 quad(u32 low, u32 high, unsigned i) {
        return minus(pairs_of_bits(low, i) | high_bits(high, i) << 2, 4);
    }
    // Sixteen numbers of 6 bits: the low nibbles in 8 bytes, then the pairs of high bits in 4.
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        const u32 low = (block[GROUPS + group % 8] >> (group / 8 * 4)) & 15;
        const u32 high = (block[GROUPS + 8 + group % 4] >> (group / 4 * 2)) & 3;
        return {f32(load<2, f16>(block + SCALE)) * f32(i32(low | high << 4) - 32), 0};
    }
};

// q4_K and q5_K: scale and least value of the block, eight of each in 6 bits for groups of 32, perhaps fifth bits,
// nibbles.
template <bool FIFTH_BIT> struct NibblesK : Format<NibblesK<FIFTH_BIT>> {
    static constexpr unsigned LEN = 256, FIFTH_BITS = 16;
    static constexpr unsigned NIBBLES = FIFTH_BITS + (FIFTH_BIT ? 32 : 0);
    static constexpr unsigned BYTES = NIBBLES + LEN / 2;
    static constexpr unsigned LOW_WORDS = 8, HIGH_WORDS = FIFTH_BIT ? 8 : 0;
    static constexpr bool HAS_OFFSET = true;

    PARITY_MEMBER static unsigned low_at(unsigned i) { return NIBBLES + nibbles_of_64_at(i); }
    PARITY_MEMBER static unsigned high_at(unsigned i) { return FIFTH_BITS + i % 32; }
    PARITY_MEMBER static u32 quad(u32 low, u32 high, unsigned i) {
        const u32 quants = nibbles_of_64(low, i);
        return FIFTH_BIT ? quants | high_bits(high, i) << 4 : quants;
    }
    // Groups 0 to 3 have a byte for each number; 4 to 7 have nibbles, and their upper bits on top of those bytes. All of it is before the
    // quants, 16 bytes that are read at once.
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group16) {
        u32 head[4];
        load_words<alignment(BYTES)>(block, head);
        const unsigned group = group16 / 2, shift = group % 4 * 8;
        const u32 first = head[1] >> shift & 255, second = head[2] >> shift & 255, third = head[3] >> shift & 255;
        // Both are made, and one is chosen without a branch.
        const u32 is_low = 0 - u32(group < 4);
        const u32 scale = (first & 63 & is_low) | (((third & 15) | (first >> 6 << 4)) & ~is_low);
        const u32 least = (second & 63 & is_low) | (((third >> 4) | (second >> 6 << 4)) & ~is_low);
        const auto number = [&](unsigned at) { return f32(__builtin_bit_cast(f16, u16(head[0] >> (16 * at)))); };
        return {number(0) * f32(scale), -(number(1) * f32(least))};
    }
};
using q4_K = NibblesK<false>;
using q5_K = NibblesK<true>;

struct q6_K : Format<q6_K> {
    static constexpr unsigned LEN = 256, BYTES = 210, HIGH = 128, GROUPS = 192, SCALE = 208;
    static constexpr unsigned LOW_WORDS = 8, HIGH_WORDS = 8;
    static constexpr bool HAS_OFFSET = false;

    // Of 128 weights the first 64 have low nibbles, the others the high ones of the same bytes.
    PARITY_MEMBER static unsigned low_at(unsigned i) { return i / 128 * 64 + i % 64; }
    PARITY_MEMBER static unsigned high_at(unsigned i) { return HIGH + pairs_at(i); }
    PARITY_MEMBER static u32 quad(u32 low, u32 high, unsigned i) {
        return minus(((low >> (i % 128 / 64 * 4)) & 0x0f0f0f0f) | pairs_of_bits(high, i) << 4, 32);
    }
    PARITY_MEMBER static Factor factor(const u8 *block, unsigned group) {
        return {f32(load<2, f16>(block + SCALE)) * f32(load<1, i8>(block + GROUPS + group)), 0};
    }
};

// Numbers as they are.
template <typename T> struct Plain {
    static constexpr unsigned LEN = 1, BYTES = sizeof(T);
};

// Reading weights of a row as f32: `STEP` at a time, or up to `MOST`, from weight i on, a multiple of as many.
template <typename F> struct Reader {
    static constexpr unsigned STEP = 4, MOST = 8;
    template <unsigned COUNT> PARITY_MEMBER static void read(const u8 *row, size_t i, f32 (&values)[COUNT]) {
        read_block(row + i / F::LEN * F::BYTES, unsigned(i % F::LEN), values);
    }
    // From weight `inside` of a block on.
    template <unsigned COUNT> PARITY_MEMBER static void read_block(const u8 *block, unsigned inside, f32 (&values)[COUNT]) {
        const Factor factor = F::factor(block, inside / 16);
#pragma unroll
        for (unsigned four = 0; four < COUNT; four += 4) {
            const u32 quants = F::quads(block, inside + four);
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                const f32 product = f32(i8(quants >> (8 * k))) * factor.scale;
                values[four + k] = F::HAS_OFFSET ? product + factor.offset : product;
            }
        }
    }
};
template <typename T> struct Reader<Plain<T>> {
    static constexpr unsigned STEP = 1, MOST = 1;
    PARITY_MEMBER static void read(const u8 *row, size_t i, f32 (&values)[STEP]) {
        values[0] = f32(load<2, T>(row + i * sizeof(T)));
    }
};

} // namespace ggml
} // namespace parity
