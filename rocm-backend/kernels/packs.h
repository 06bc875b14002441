// Adjacent elements, 16 bytes at a time: how a run of them is dealt out to threads, and how a pack is moved with one
// instruction. Not here: what is computed from the elements (layout.h, reduce.h), operands that lie apart (layout.h).
//
// Packs begin where the run that decides (the output, or the only input) is aligned to a whole pack; what is before and
// behind them goes one by one. The other runs are read wherever they begin: AMD's global memory serves 16 bytes at any
// address, though faster where they do not straddle two cache lines. NVIDIA's serves a pack only where it is aligned to its
// size; elements elsewhere are read one by one.
#pragma once
#include "dtype.h"

namespace parity {

constexpr unsigned PACK_BYTES = 16;

// Elements in a pack: as many as 16 bytes hold of the widest of the types that are moved together.
template <typename T, typename... Others> struct PackLen {
    static constexpr unsigned own = PACK_BYTES / sizeof(T), rest = PackLen<Others...>::value;
    static constexpr unsigned value = own < rest ? own : rest;
};
template <typename T> struct PackLen<T> { static constexpr unsigned value = PACK_BYTES / sizeof(T); };

template <typename T, unsigned N> struct Pack {
    T at[N];
};

// What moves so many bytes in one instruction.
template <unsigned BYTES> struct PackBits;
template <> struct PackBits<1> { using type = u8; };
template <> struct PackBits<2> { using type = u16; };
template <> struct PackBits<4> { using type = u32; };
template <> struct PackBits<8> { typedef u32 type __attribute__((ext_vector_type(2))); };
template <> struct PackBits<16> { typedef u32 type __attribute__((ext_vector_type(4))); };
template <typename T, unsigned N> using pack_bits_t = typename PackBits<N * sizeof(T)>::type;

template <typename T, unsigned N> PARITY_FN pack_bits_t<T, N> bits_of_pack(Pack<T, N> pack) {
    return __builtin_bit_cast(pack_bits_t<T, N>, pack);
}

#if defined(__NVPTX__)
// Hides what the words of a load are made of: LLVM's NVPTX would load the elements instead, one by one.
PARITY_FN void keep_whole(u8 &) {}
PARITY_FN void keep_whole(u16 &) {}
PARITY_FN void keep_whole(u32 &) {}
PARITY_FN void keep_whole(PackBits<8>::type &bits) {
    u32 a = bits[0], b = bits[1];
    asm("" : "+r"(a), "+r"(b));
    bits = {a, b};
}
PARITY_FN void keep_whole(PackBits<16>::type &bits) {
    u32 a = bits[0], b = bits[1], c = bits[2], d = bits[3];
    asm("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    bits = {a, b, c, d};
}
// `from` is aligned to a whole pack.
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_aligned_pack(const T *from) {
    pack_bits_t<T, N> bits;
    __builtin_memcpy(&bits, __builtin_assume_aligned(from, sizeof(bits)), sizeof(bits));
    keep_whole(bits);
    return __builtin_bit_cast(Pack<T, N>, bits);
}
// `from` may begin anywhere.
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_pack(const T *from) {
    Pack<T, N> pack;
    if (reinterpret_cast<size_t>(from) % sizeof(pack) == 0) {
        return load_aligned_pack<N>(from);
    }
#pragma unroll
    for (unsigned e = 0; e < N; ++e) {
        const T *at = from + e;
        // Hides that elements follow one another: LLVM 19 joins sixteen bytes to one load, which traps.
        asm("" : "+l"(at));
        pack.at[e] = *at;
    }
    return pack;
}
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_whole_pack(const T *from) { return load_pack<N>(from); }
// Packs of a run that begins anywhere, of whose elements one pack more may be read on either side: of the two packs of memory in which
// each lies, the words that are asked for.
template <typename T> struct Straddling {
    static constexpr unsigned N = PACK_BYTES / sizeof(T);
    struct Read {
        PackBits<16>::type low, high;
    };
    const u8 *whole;
    u32 off;

    PARITY_MEMBER explicit Straddling(const T *from) : off(u32(reinterpret_cast<size_t>(from) % PACK_BYTES)) {
        whole = reinterpret_cast<const u8 *>(from) - off;
    }
    // Nothing writes the run meanwhile.
    PARITY_MEMBER Read read(size_t i) const {
        const u8 *at = whole + i * PACK_BYTES;
        return {words_at(at), words_at(at + PACK_BYTES)};
    }
    PARITY_MEMBER Pack<T, N> pack(Read read) const {
        u32 words[8];
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) {
            words[w] = read.low[w];
            words[w + 4] = read.high[w];
        }
        // Values, not places: those the compiler puts into memory.
#pragma unroll
        for (unsigned w = 0; w < 6; ++w) {
            const u32 here = words[w], there = words[w + 2];
            words[w] = off & 8 ? there : here;
        }
#pragma unroll
        for (unsigned w = 0; w < 5; ++w) {
            const u32 here = words[w], there = words[w + 1];
            words[w] = off & 4 ? there : here;
        }
        Pack<u32, 4> some;
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) {
            some.at[w] = u32((u64(words[w + 1]) << 32 | words[w]) >> (off % 4 * 8));
        }
        return __builtin_bit_cast(Pack<T, N>, some);
    }

  private:
    // By name: LLVM 19 makes four loads of one whose words are chosen from.
    PARITY_MEMBER static PackBits<16>::type words_at(const u8 *at) {
        u32 a, b, c, d;
        asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
        return {a, b, c, d};
    }
};
#else
template <typename Bits> PARITY_FN void keep_whole(Bits &bits) { asm("" : "+v"(bits)); }
// `from` may begin anywhere.
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_pack(const T *from) {
    pack_bits_t<T, N> bits;
    __builtin_memcpy(&bits, from, sizeof(bits));
    return __builtin_bit_cast(Pack<T, N>, bits);
}
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_aligned_pack(const T *from) { return load_pack<N>(from); }
// Packs of a run that begins anywhere.
template <typename T> struct Straddling {
    static constexpr unsigned N = PACK_BYTES / sizeof(T);
    using Read = Pack<T, N>;
    const T *from;

    PARITY_MEMBER explicit Straddling(const T *from) : from(from) {}
    PARITY_MEMBER Read read(size_t i) const { return load_pack<N>(from + i * N); }
    PARITY_MEMBER Pack<T, N> pack(Read read) const { return read; }
};
// The same where of each element only a part is used: else clang loads the parts, one by one.
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_whole_pack(const T *from) {
    pack_bits_t<T, N> bits;
    __builtin_memcpy(&bits, from, sizeof(bits));
    if constexpr (sizeof(bits) == PACK_BYTES) {
        keep_whole(bits);
    }
    return __builtin_bit_cast(Pack<T, N>, bits);
}
#endif
// Whether packs of N elements can be stored from `to` on.
template <unsigned N, typename T> PARITY_FN bool is_whole(const T *to) {
    return reinterpret_cast<size_t>(to) % (N * sizeof(T)) == 0;
}
// Whether `load_aligned_pack` takes packs of N elements from `from` on: AMD's memory has them anywhere.
template <unsigned N, typename T> PARITY_FN bool takes_packs([[maybe_unused]] const T *from) {
#if defined(__NVPTX__)
    return is_whole<N>(from);
#else
    return true;
#endif
}
// Hides what the elements are. What is computed of them before is computed anew of these, and is in no register in between.
template <typename T, unsigned N> PARITY_FN Pack<T, N> forgotten(Pack<T, N> pack) {
    auto bits = bits_of_pack(pack);
    keep_whole(bits);
    return __builtin_bit_cast(Pack<T, N>, bits);
}
// `to` is aligned to a whole pack.
template <unsigned N, typename T> PARITY_FN void store_pack(T *to, Pack<T, N> pack) {
    const auto bits = __builtin_bit_cast(pack_bits_t<T, N>, pack);
    __builtin_memcpy(__builtin_assume_aligned(to, sizeof(bits)), &bits, sizeof(bits));
}
// The same of what nobody reads again soon, and loads of it: the caches keep other packs, which are.
template <unsigned N, typename T> PARITY_FN Pack<T, N> load_pack_once(const T *from) {
    pack_bits_t<T, N> bits;
#if defined(__NVPTX__)
    static_assert(sizeof(bits) == PACK_BYTES, "four words");
    u32 a, b, c, d;
    asm volatile("ld.cs.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from));
    bits = {a, b, c, d};
#else
    bits = __builtin_nontemporal_load(reinterpret_cast<const pack_bits_t<T, N> *>(from));
#endif
    return __builtin_bit_cast(Pack<T, N>, bits);
}
template <unsigned N, typename T> PARITY_FN void store_pack_once(T *to, Pack<T, N> pack) {
    const auto bits = __builtin_bit_cast(pack_bits_t<T, N>, pack);
#if defined(__NVPTX__)
    if constexpr (sizeof(bits) == PACK_BYTES) {
        asm volatile("st.cs.v4.u32 [%0], {%1, %2, %3, %4};" : : "l"(to), "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3]) : "memory");
    } else {
        store_pack<N>(to, pack);
    }
#else
    __builtin_nontemporal_store(bits, reinterpret_cast<pack_bits_t<T, N> *>(to));
#endif
}
template <unsigned N, typename T> PARITY_FN Pack<T, N> pack_of(T value) {
    Pack<T, N> pack;
#pragma unroll
    for (unsigned e = 0; e < N; ++e) {
        pack.at[e] = value;
    }
    return pack;
}

// f of each element, a word after the other in a ring: a long f is compiled for one word, a short one for all of them,
// as clang finds worth it; and no register is chosen by a number.
template <typename T, typename F> PARITY_FN Pack<T, PACK_BYTES / sizeof(T)> map_pack(Pack<T, PACK_BYTES / sizeof(T)> pack, F f) {
    constexpr unsigned WORD = sizeof(T) > sizeof(u32) ? sizeof(T) : sizeof(u32);
    constexpr unsigned WORDS = PACK_BYTES / WORD, EACH = WORD / sizeof(T);
    using Word = Pack<T, EACH>;
    struct Ring {
        Word at[WORDS];
    };
    Ring ring = __builtin_bit_cast(Ring, pack);
    for (unsigned turn = 0; turn < WORDS; ++turn) {
        Word first = ring.at[0];
#pragma unroll
        for (unsigned e = 0; e < EACH; ++e) {
            first.at[e] = f(first.at[e]);
        }
#pragma unroll
        for (unsigned w = 0; w + 1 < WORDS; ++w) {
            ring.at[w] = ring.at[w + 1];
        }
        ring.at[WORDS - 1] = first;
    }
    return __builtin_bit_cast(Pack<T, PACK_BYTES / sizeof(T)>, ring);
}

// The bits of one element as the first of N.
template <unsigned N, typename T> PARITY_FN pack_bits_t<T, N> bits_of_one(const T *from) {
    const auto one = __builtin_bit_cast(pack_bits_t<T, 1>, *from);
    if constexpr (N * sizeof(T) <= sizeof(u32)) {
        return pack_bits_t<T, N>(one);
    } else {
        pack_bits_t<T, N> bits = {};
        if constexpr (sizeof(T) <= sizeof(u32)) {
            bits[0] = one;
        } else {
            bits[0] = one[0];
            bits[1] = one[1];
        }
        return bits;
    }
}

// Calls use(i, load(i)) for i = first, first + step, … as long as `AT_ONCE` numbers below `count` are left, and gives the first one that
// is not done: so many loads are under way at once. What they read may be stored in between only by the same use.
template <unsigned AT_ONCE, typename Load, typename Use>
PARITY_FN size_t in_batches(size_t first, size_t count, size_t step, Load load, Use use) {
    size_t i = first;
    for (; i + (AT_ONCE - 1) * step < count; i += AT_ONCE * step) {
        decltype(load(i)) some[AT_ONCE];
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; ++k) {
            some[k] = load(i + k * step);
        }
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; ++k) {
            use(i + k * step, some[k]);
        }
    }
    return i;
}

// A run of `numel` elements: `head` of them, then `packs` packs of N, then the rest. `singles` are those in no pack.
template <unsigned N> struct Run {
    size_t head, packs, singles;

    // `first` is the element that packs are aligned by. Without `packed` there are only singles.
    template <typename T> PARITY_MEMBER Run(const T *first, size_t numel, bool packed) {
        constexpr size_t BYTES = N * sizeof(T);
        const size_t ahead = (0 - reinterpret_cast<size_t>(first)) % BYTES / sizeof(T);
        head = packed && ahead < numel ? ahead : numel;
        packs = (numel - head) / N;
        singles = numel - packs * N;
    }

    // Calls pack(its elements, the number of the first) and single(i) as `each` does, for the elements of the run that the packs are
    // aligned by. `AT_ONCE` packs are under way at once; nothing may be stored meanwhile that is read here.
    template <unsigned AT_ONCE = 4, typename T, typename P, typename S>
    PARITY_MEMBER void read(const T *run, size_t first, size_t step, P pack, S single) const {
        for (size_t i = first; i < packs; i += AT_ONCE * step) {
            Pack<T, N> some[AT_ONCE];
#pragma unroll
            for (unsigned k = 0; k < AT_ONCE; ++k) {
                const size_t at = i + k * step;
                some[k] = load_aligned_pack<N>(run + head + (at < packs ? at : i) * N);
            }
#pragma unroll
            for (unsigned k = 0; k < AT_ONCE; ++k) {
                const size_t at = i + k * step;
                if (at < packs) {
                    pack(some[k], head + at * N);
                }
            }
        }
        each_single(first, step, single);
    }

    // Calls pack(i) with the first element of each of this thread's packs and single(i) with each other one, for thread
    // `first` of `step`.
    template <typename P, typename S>
    PARITY_MEMBER void each(size_t first, size_t step, P pack, S single) const {
        for (size_t i = first; i < packs; i += step) {
            pack(head + i * N);
        }
        each_single(first, step, single);
    }
    // Those of its elements that are in no pack.
    template <typename S> PARITY_MEMBER void each_single(size_t first, size_t step, S single) const {
        for (size_t i = first; i < singles; i += step) {
            single(i < head ? i : i + packs * N);
        }
    }
};

} // namespace parity
