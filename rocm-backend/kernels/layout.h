// How a kernel walks its tensors: a grid-stride loop over the elements of the result, in packs of 16 bytes where all
// operands are contiguous, and else the way from an element's number to its place in a strided operand. Not here: what is
// computed on the way (numeric.h), how a pack is moved (packs.h).
//
// `info` is candle's: `num_dims` sizes, then one set of `num_dims` strides for each operand, all in elements, 64 bits
// each. Behind them it holds ours: a `Divisor` for each size. Null means that every operand is contiguous. Elements are
// numbered in row-major order. With `info` there are at most 2^31 of them: the launching side cuts what has more.
#pragma once
#include "packs.h"

namespace parity {

// Numbers below 2^31 divided by a size: a multiplication, an addition and a shift give the exact quotient. The launching
// side computes factor and shift (`divisor` of view.rs) after Granlund and Montgomery, "Division by invariant integers using
// multiplication" (PLDI 1994): shift is the binary logarithm of the size, rounded up, and factor is
// 2^32 (2^shift - size) / size + 1, rounded down.
struct Divisor {
    u32 factor, shift;

    // Of a word of `info`: the factor is in its lower half.
    PARITY_MEMBER explicit Divisor(size_t word) : factor(u32(word)), shift(u32(word >> 32)) {}
    PARITY_MEMBER u32 quotient(u32 number) const { return (u32(u64(number) * factor >> 32) + number) >> shift; }
};

// Element number -> position in each of `Operands` tensors of one shape.
template <unsigned Operands> struct Walk {
    using Words = const size_t PARITY_CONSTANT *;

    u32 num_dims;
    Words info;
    bool is_plain; // every operand is contiguous: the number is the position

    PARITY_MEMBER Walk(size_t num_dims, const size_t *info)
        : num_dims(u32(num_dims)), info((Words)info), is_plain(info == nullptr) {}

    PARITY_MEMBER size_t stride(unsigned operand, u32 d) const { return info[(operand + 1) * num_dims + d]; }

    PARITY_MEMBER void locate(size_t number, size_t (&at)[Operands]) const {
        if (is_plain) {
            for (unsigned k = 0; k < Operands; ++k) {
                at[k] = number;
            }
        } else {
            locate_strided(u32(number), at);
        }
    }

    // Whether N elements that follow one another, from a multiple of N on, are a pack or one element of each operand: rows of whole
    // packs, along which each operand moves by one element or by none. All words are asked for before one is looked at.
    PARITY_MEMBER bool has_packs(unsigned N) const {
        if (is_plain) {
            return false;
        }
        bool good = info[num_dims - 1] % N == 0;
        for (unsigned k = 0; k < Operands; ++k) {
            good &= stride(k, num_dims - 1) <= 1;
        }
        return good;
    }
    // Whether each of its packs, the first one of the operand at `from`, lies where `load_aligned_pack` takes it. AMD loads packs anywhere.
    template <unsigned N, typename T> PARITY_MEMBER bool is_aligned([[maybe_unused]] unsigned operand, const T *from) const {
        bool good = takes_packs<N>(from);
#if defined(__NVPTX__)
        for (u32 d = 0; d + 1 < num_dims; ++d) {
            good &= stride(operand, d) % N == 0;
        }
        good |= is_single(operand);
#endif
        return good;
    }
    // Of such an operand: the N elements at `from`.
    template <unsigned N, typename T> PARITY_MEMBER Pack<T, N> pack(unsigned operand, const T *from) const {
        return is_single(operand) ? pack_of<N>(*from) : load_pack<N>(from);
    }
    // The same in two steps, so that nobody waits for one load before the next: what is read of an aligned operand, and that as N elements.
    template <unsigned N, typename T> PARITY_MEMBER pack_bits_t<T, N> read(unsigned operand, const T *from) const {
        return is_single(operand) ? bits_of_one<N>(from) : bits_of_pack(load_aligned_pack<N>(from));
    }
    template <unsigned N, typename T> PARITY_MEMBER Pack<T, N> spread(unsigned operand, pack_bits_t<T, N> bits) const {
        auto pack = __builtin_bit_cast(Pack<T, N>, bits);
        // Not one of two structures: those the compiler puts into memory.
        if (is_single(operand)) {
            pack = pack_of<N>(pack.at[0]);
        }
        return pack;
    }

    // `locate` where there are packs. The last dimension is not one of the loop: its words are the same for all packs, and stay in
    // registers. Of one dimension it leaves 0.
    PARITY_MEMBER void locate_pack(size_t number, size_t (&at)[Operands]) const {
        const u32 last = num_dims - 1, above = quotient(u32(number), last);
        locate_above(above, last, at);
        for (unsigned k = 0; k < Operands; ++k) {
            at[k] += size_t(u32(number) - above * u32(info[last])) * stride(k, last);
        }
    }

  private:
    PARITY_MEMBER bool is_single(unsigned operand) const { return stride(operand, num_dims - 1) == 0; }
    PARITY_MEMBER u32 quotient(u32 number, u32 d) const {
        return Divisor(info[(Operands + 1) * num_dims + d]).quotient(number);
    }

    PARITY_MEMBER void locate_strided(u32 number, size_t (&at)[Operands]) const { locate_above(number, num_dims, at); }

    // Of the first `dims` dimensions. What is left for the outermost one is its coordinate.
    PARITY_MEMBER void locate_above(u32 rest, u32 dims, size_t (&at)[Operands]) const {
        for (unsigned k = 0; k < Operands; ++k) {
            at[k] = 0;
        }
        for (u32 d = dims; d > 1; --d) {
            const u32 above = quotient(rest, d - 1);
            const u32 coordinate = rest - above * u32(info[d - 1]);
            rest = above;
            for (unsigned k = 0; k < Operands; ++k) {
                at[k] += size_t(coordinate) * stride(k, d - 1);
            }
        }
        for (unsigned k = 0; k < Operands; ++k) {
            at[k] += size_t(rest) * stride(k, 0);
        }
    }
};

// out[i] = f(inp[i]); without an input, in place: out[i] = f(out[i]). `out` is contiguous.
template <typename T, typename F>
PARITY_FN void map_unary(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out, F f) {
    constexpr unsigned N = PackLen<T>::value;
    const bool in_place = inp == nullptr;
    const Walk<1> walk(num_dims, in_place ? nullptr : info);
    const T *from = in_place ? out : inp;
    if (walk.has_packs(N) && is_whole<N>(out)) {
        for (size_t i = first_index(); i < numel / N; i += index_step()) {
            size_t at[1];
            walk.locate_pack(i * N, at);
            store_pack<N>(out + i * N, map_pack<T>(walk.template pack<N>(0, from + at[0]), f));
        }
        return;
    }
    Run<N>(out, numel, walk.is_plain)
        .each(
            first_index(), index_step(), [&](size_t i) { store_pack<N>(out + i, map_pack<T>(load_pack<N>(from + i), f)); },
            [&](size_t i) {
                size_t at[1];
                walk.locate(i, at);
                out[i] = f(from[at[0]]);
            });
}

// out[i] = f(inp[i]) in another dtype. `out` is contiguous, and never aliases `inp`: the two may differ in size.
template <typename T, typename U, typename F>
PARITY_FN void map_cast(size_t numel, size_t num_dims, const size_t *info, const T *inp, U *out, F f) {
    constexpr unsigned N = PackLen<T, U>::value;
    const Walk<1> walk(num_dims, info);
    const auto convert = [&](Pack<T, N> x, U *to) {
        Pack<U, N> y;
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            y.at[e] = f(x.at[e]);
        }
        store_pack<N>(to, y);
    };
    if (walk.has_packs(N) && is_whole<N>(out)) {
        for (size_t i = first_index(); i < numel / N; i += index_step()) {
            size_t at[1];
            walk.locate_pack(i * N, at);
            convert(walk.template pack<N>(0, inp + at[0]), out + i * N);
        }
        return;
    }
    Run<N>(out, numel, walk.is_plain)
        .each(
            first_index(), index_step(), [&](size_t i) { convert(load_whole_pack<N>(inp + i), out + i); },
            [&](size_t i) {
                size_t at[1];
                walk.locate(i, at);
                out[i] = f(inp[at[0]]);
            });
}

// out[i] = f(lhs[i], rhs[i]). `out` is contiguous.
template <typename T, typename U, typename F>
PARITY_FN void map_binary(size_t numel, size_t num_dims, const size_t *info, const T *lhs, const T *rhs, U *out, F f) {
    constexpr unsigned N = PackLen<T, U>::value;
    const Walk<2> walk(num_dims, info);
    const auto combine = [&](Pack<T, N> x, Pack<T, N> y, U *to) {
        Pack<U, N> z;
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            z.at[e] = f(x.at[e], y.at[e]);
        }
        store_pack<N>(to, z);
    };
    // Of packs of sixteen elements each and a long f, clang keeps some in memory.
    if constexpr (N < 16) {
        if (walk.has_packs(N) && is_whole<N>(out)) {
            struct Operands {
                pack_bits_t<T, N> x, y;
            };
            const size_t step = index_step();
            size_t i = first_index();
            if (walk.template is_aligned<N>(0, lhs) && walk.template is_aligned<N>(1, rhs)) {
                i = in_batches<2>(
                    i, numel / N, step,
                    [&](size_t i) {
                        size_t at[2];
                        walk.locate_pack(i * N, at);
                        return Operands{walk.template read<N>(0, lhs + at[0]), walk.template read<N>(1, rhs + at[1])};
                    },
                    [&](size_t i, Operands read) {
                        combine(walk.template spread<N, T>(0, read.x), walk.template spread<N, T>(1, read.y), out + i * N);
                    });
            }
            for (; i < numel / N; i += step) {
                size_t at[2];
                walk.locate_pack(i * N, at);
                combine(walk.template pack<N>(0, lhs + at[0]), walk.template pack<N>(1, rhs + at[1]), out + i * N);
            }
            return;
        }
    }
    Run<N>(out, numel, walk.is_plain)
        .each(
            first_index(), index_step(),
            [&](size_t i) { combine(load_pack<N>(lhs + i), load_pack<N>(rhs + i), out + i); },
            [&](size_t i) {
                size_t at[2];
                walk.locate(i, at);
                out[i] = f(lhs[at[0]], rhs[at[1]]);
            });
}

// out[i] = value, with `out` strided.
template <typename T>
PARITY_FN void set_all(size_t numel, size_t num_dims, const size_t *info, T value, T *out) {
    constexpr unsigned N = PackLen<T>::value;
    const Walk<1> walk(num_dims, info);
    Run<N>(out, numel, walk.is_plain)
        .each(
            first_index(), index_step(), [&](size_t i) { store_pack<N>(out + i, pack_of<N>(value)); },
            [&](size_t i) {
                size_t at[1];
                walk.locate(i, at);
                out[at[0]] = value;
            });
}

} // namespace parity
