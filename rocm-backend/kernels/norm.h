// Softmax and the two norms of contiguous rows, a workgroup a row, or each y of a workgroup. `IS_SHORT`: rows of whole aligned packs, no
// more of them than threads in x, for which a thread needs few registers. Everything is computed in the wide type of the dtype
// (f32; f64 for f64) and rounded to the dtype once, at the end. Not here: how a workgroup folds (workgroup.h).
#pragma once
#include "numeric.h"
#include "reduce.h"
#include "workgroup.h"

namespace parity {
namespace norm {

// Packs of a row that a thread holds at most, beside what it computes of each in the wide type.
template <typename T> constexpr unsigned HELD_WIDE = sizeof(T) <= 2 ? 4 : 8;

// This workgroup's row of `cols` elements.
template <typename T> PARITY_FN T *row_of(T *rows, size_t cols) { return rows + first_row() * cols; }

// y[at] = f(x[at], at) for `cols` elements, in packs, of which `AT_ONCE` are under way at once. From the end on: of a row that was just
// read the caches have the end, and what is stored does not take its place. An `IS_WHOLE` one is whole aligned packs.
template <unsigned AT_ONCE, bool IS_WHOLE = false, typename T, typename F> PARITY_FN void map_row(const T *x, T *y, size_t cols, F f) {
    constexpr unsigned N = PackLen<T>::value;
    const Run<N> run(y, cols, true);
    const u32 first = thread_index(), step = thread_count();
    const auto place = [&](size_t i) { return run.head + (run.packs - 1 - i) * N; };
    const auto map = [&](size_t i, Pack<T, N> pack) {
        const size_t at = place(i);
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            pack.at[e] = f(pack.at[e], at + e);
        }
        store_pack_once<N>(y + at, pack);
    };
    size_t i = first;
    if (IS_WHOLE || takes_packs<N>(x + run.head)) {
        i = in_batches<AT_ONCE>(first, run.packs, step, [&](size_t i) { return load_aligned_pack<N>(x + place(i)); }, map);
    }
    for (; i < run.packs; i += step) {
        map(i, load_pack<N>(x + place(i)));
    }
    if constexpr (!IS_WHOLE) {
        run.each_single(first, step, [&](size_t at) { y[at] = f(x[at], at); });
    }
}

// exp(x) for a result of T. Of two bytes: by the card's own power of 2, whose error, and that of the argument, are far below theirs.
template <typename T> PARITY_FN wide_t<T> power_for(wide_t<T> x) {
    if constexpr (sizeof(T) == 2) {
        return device_math::exp2(x * 1.44269504088896340736f);
    } else {
        return device_math::exp(x);
    }
}

// exp(x) as a term of a sum that it is divided by. Of bf16 it is times 2^64: its quotients reach below the normal numbers of f32, where
// the card's instruction gives 0. f32 holds the sum of 2^31 of them.
template <typename T> PARITY_FN wide_t<T> term_for(wide_t<T> x) {
    if constexpr (__is_same(T, bf16)) {
        return device_math::exp2(device_math::fma(x, 1.44269504088896340736f, 64.0f));
    } else {
        return power_for<T>(x);
    }
}

// The greatest of a thread's elements so far, and the sum of powers below that.
template <typename T> struct SoFar {
    using A = wide_t<T>;
    A greatest, sum;

    PARITY_MEMBER explicit SoFar(T first) : greatest(widen(first)), sum(0) {}
    template <unsigned COUNT> PARITY_MEMBER void join(const Pack<T, COUNT> &pack) {
        A next = greatest;
#pragma unroll
        for (unsigned e = 0; e < COUNT; ++e) {
            next = reduce::Max::number(next, widen(pack.at[e]));
        }
        sum *= next == greatest ? A(1) : power_for<T>(greatest - next);
        greatest = next;
        // Below nothing but -infinity there is no power yet: its distance from 0 makes none.
        const A from = next == -A(__builtin_inff()) ? A(0) : next;
#pragma unroll
        for (unsigned e = 0; e < COUNT; ++e) {
            sum += term_for<T>(widen(pack.at[e]) - from);
        }
    }
};

// What elements of a row become, of the greatest and the sum of powers that each thread has of its own.
template <typename T> struct Quotient {
    using A = wide_t<T>;
    // Two bytes hold no more of a quotient than of a product with the reciprocal, which is exact to 2^-23.
    static constexpr bool BY_RECIPROCAL = sizeof(T) == 2;
    A greatest, share;

    PARITY_MEMBER Quotient(u32 threads, A *lds, SoFar<T> mine) {
        greatest = fold_of(threads, lds, mine.greatest, [](A x, A y) { return reduce::Max::number(x, y); });
        const A below = mine.greatest == greatest ? mine.sum : mine.sum * power_for<T>(mine.greatest - greatest);
        const A sum = fold_of(threads, lds, below, [](A x, A y) { return x + y; });
        share = BY_RECIPROCAL ? A(1) / sum : sum;
    }
    PARITY_MEMBER T operator()(T x) const {
        const A power = term_for<T>(widen(x) - greatest);
        return narrow<T>(BY_RECIPROCAL ? power * share : power / share);
    }
};

// exp(x - max) / sum of these. Of a NaN the power is one, and so the sum and the whole row; the greatest need not be.
template <typename T, bool IS_SHORT> PARITY_FN void softmax(const T *src, T *dst, i32 cols) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const auto greater = [](A x, A y) { return reduce::Max::number(x, y); };
    const auto add = [](A x, A y) { return x + y; };
    constexpr bool BY_RECIPROCAL = Quotient<T>::BY_RECIPROCAL;
    const auto is_held = hold_row<IS_SHORT, HELD_WIDE<T>>(x, cols, [&](const auto &held) {
        constexpr unsigned P = sizeof(held.packs) / PACK_BYTES, N = PackLen<T>::value;
        const A mine = held.best(widen(held.packs[0].at[0]), [&](A best, T x, u32) { return greater(best, widen(x)); });
        const A greatest = fold_held<IS_SHORT>(held, lds, mine, greater);
        A powers[P][N], total = 0;
#pragma unroll
        for (unsigned k = 0; k < P; ++k) {
            A part = 0;
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                powers[k][e] = term_for<T>(widen(held.packs[k].at[e]) - greatest);
                part += powers[k][e];
            }
            total += held.has(k) ? part : A(0);
        }
        const A sum = fold_held<IS_SHORT>(held, lds, total, add);
        const A share = BY_RECIPROCAL ? A(1) / sum : sum;
        held.store(y, [&](T, unsigned k, unsigned e) {
            return narrow<T>(BY_RECIPROCAL ? powers[k][e] * share : powers[k][e] / share);
        });
    });
    if (IS_SHORT || is_held) {
        return;
    }
    // A longer row is read twice.
    constexpr unsigned N = PackLen<T>::value;
    SoFar<T> mine(*x);
    Run<N>(x, cols, true)
        .read(
            x, thread_index(), thread_count(), [&](const Pack<T, N> &pack, size_t) { mine.join(pack); },
            [&](size_t at) { mine.join(Pack<T, 1>{{x[at]}}); });
    const Quotient<T> quotient(thread_count(), lds, mine);
    map_row<4>(x, y, cols, [&](T x, size_t) { return quotient(x); });
}

// Threads for such a row: powers of f64 take twice the registers.
template <typename T> constexpr unsigned LONG_MOST = sizeof(T) == 8 ? 512 : 1024;

// The same of a row of whole aligned packs that has no room in registers: a thread holds the last ones of its packs, and the others are
// read twice, the second time from the end on. So few rows are under way that the caches still have much of them.
template <typename T> PARITY_FN void softmax_long(const T *src, T *dst, i32 cols) {
    constexpr unsigned N = PackLen<T>::value, HELD = HELD_MOST<T>;
    __shared__ wide_t<T> lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const u32 thread = thread_index(), threads = LONG_MOST<T>, packs = u32(cols) / N;
    const u32 turns = packs / threads < HELD ? packs / threads : HELD, rest = packs - turns * threads;
    Pack<T, N> held[HELD];
    const auto each_held = [&](auto f) {
#pragma unroll
        for (unsigned k = 0; k < HELD; ++k) {
            if (k < turns) {
                f(held[k], size_t(rest + thread + k * threads) * N);
            }
        }
    };
    SoFar<T> mine(*x);
    const auto load = [&](size_t i) { return load_aligned_pack<N>(x + i * N); };
    const auto join = [&](size_t, const Pack<T, N> &pack) { mine.join(pack); };
    for (size_t i = in_batches<4>(thread, rest, threads, load, join); i < rest; i += threads) {
        join(i, load(i));
    }
    each_held([&](Pack<T, N> &pack, size_t at) { pack = load_pack_once<N>(x + at); });
    each_held([&](const Pack<T, N> &pack, size_t) { mine.join(pack); });
    const Quotient<T> quotient(threads, lds, mine);
    each_held([&](Pack<T, N> pack, size_t at) {
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            pack.at[e] = quotient(pack.at[e]);
        }
        store_pack_once<N>(y + at, pack);
    });
    map_row<4, true>(x, y, size_t(rest) * N, [&](T x, size_t) { return quotient(x); });
}

// 1 / sqrt(x) as a factor of a result of T. Of two bytes: by the card's own instruction, whose error is far below theirs.
template <typename T> PARITY_FN wide_t<T> inverse_root_for(wide_t<T> x) {
    if constexpr (sizeof(T) == 2) {
        return device_math::inverse_root(x);
    } else {
        return wide_t<T>(1) / device_math::sqrt(x);
    }
}

// Packs of the weights that belong to a thread's packs of a row. That of one is read at once, those of several when they are asked for, so
// that no registers wait with them. Those of two bytes lie where `takes_weights` says: clang cannot bring loads together over a question for
// each pack (an H200, layer_norm of 16384 rows of 4096 bf16: 70 and 81 us). Of f32 no gain was measured.
template <typename H, typename T> struct Weights {
    static constexpr bool IS_ONE = H::PACKS == 1, IS_ALIGNED = !IS_ONE && sizeof(T) <= 2;
    const H &held;
    const T *weights;
    Pack<T, H::N> only;

    PARITY_MEMBER Weights(const H &held, const T *weights) : held(held), weights(weights) {
        if constexpr (IS_ONE) {
            only = read(0);
        }
    }
    PARITY_MEMBER Pack<T, H::N> read(unsigned k) const {
        const T *at = weights + size_t(held.place(k)) * H::N;
        if constexpr (IS_ALIGNED) {
            return load_aligned_pack<H::N>(at);
        } else {
            return load_pack<H::N>(at);
        }
    }
    PARITY_MEMBER Pack<T, H::N> operator()(unsigned k) const {
        if constexpr (IS_ONE) {
            return only;
        } else {
            return read(k);
        }
    }
};

// Whether a row that is held, and if it `IS_SHORT` in one pack a thread, can have these `Weights`.
template <bool IS_SHORT, typename T> PARITY_FN bool takes_weights(const T *weights) {
    return IS_SHORT || sizeof(T) > 2 || takes_packs<PackLen<T>::value>(weights);
}

// `hold_row` for a norm of T. Of two bytes clang inlines f early: later it would not, and f's captures would lie in memory. Of others it
// inlines f late: early takes longer (an H200, layer_norm of 16384 rows of 4096 f32: 149 us, late 135).
template <bool IS_SHORT, typename T, typename F> PARITY_FN bool hold_norm(const T *row, size_t cols, F f) {
    if constexpr (sizeof(T) <= 2) {
        return hold_row<IS_SHORT, HELD_WIDE<T>>(row, cols, f);
    } else {
        return hold_row<IS_SHORT, HELD_WIDE<T>>(row, cols, [&](auto &held) { f(held); });
    }
}

// x / sqrt(mean of x² + eps) * alpha. candle's launch says the number of threads a second time.
template <typename T, bool IS_SHORT> PARITY_FN void rms(const T *src, T *dst, const T *alpha, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    constexpr unsigned N = PackLen<T>::value;
    const auto scale_of = [&](A squares) { return inverse_root_for<T>(squares / A(cols) + A(eps)); };
    const auto is_held = takes_weights<IS_SHORT>(alpha) && hold_norm<IS_SHORT>(x, cols, [&](auto &held) PARITY_INLINED {
        const Weights weights_of(held, alpha);
        const A mine = held.template sum<A>([](T x) { return widen(x) * widen(x); });
        held.forget();
        const A scale = scale_of(fold_held<IS_SHORT, true>(held, lds, mine, [](A x, A y) { return x + y; }));
        held.store_packs(y, [&](unsigned k, Pack<T, N> pack) PARITY_INLINED {
            const auto weights = weights_of(k);
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                pack.at[e] = narrow<T>(widen(pack.at[e]) * scale * widen(weights.at[e]));
            }
            return pack;
        });
    });
    if (IS_SHORT || is_held) {
        return;
    }
    const A scale = scale_of(group_sum_of_run(lds, x, cols, [](T x, size_t) { return widen(x) * widen(x); }));
    map_row<4>(x, y, cols, [&](T x, size_t at) { return narrow<T>(widen(x) * scale * widen(alpha[at])); });
}

// (x - mean) / sqrt(variance + eps) * alpha + beta. The variance is the mean of (x - mean)²: the difference of the mean
// of the squares and the square of the mean loses all its digits when the mean is large.
template <typename T, bool IS_SHORT>
PARITY_FN void layer(
    const T *src, T *dst, const T *alpha, const T *beta, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    constexpr unsigned N = PackLen<T>::value;
    __shared__ A lds[MAX_WAVES], lds_of_squares[MAX_WAVES];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const auto add = [](A x, A y) { return x + y; };
    const auto scale_of = [&](A squares) { return inverse_root_for<T>(squares / A(cols) + A(eps)); };
    const auto takes_both = takes_weights<IS_SHORT>(alpha) && takes_weights<IS_SHORT>(beta);
    const auto is_held = takes_both && hold_norm<IS_SHORT>(x, cols, [&](auto &held) PARITY_INLINED {
        const Weights weights_of(held, alpha), shifts_of(held, beta);
        const A sum = held.template sum<A>([](T x) { return widen(x); });
        held.forget();
        const A mean = fold_held<IS_SHORT, true>(held, lds, sum, add) / A(cols);
        const A mine = held.template sum<A>([&](T x) { return (widen(x) - mean) * (widen(x) - mean); });
        held.forget();
        const A scale = scale_of(fold_held<IS_SHORT, true>(held, lds_of_squares, mine, add));
        held.store_packs(y, [&](unsigned k, Pack<T, N> pack) PARITY_INLINED {
            const auto weights = weights_of(k), shifts = shifts_of(k);
#pragma unroll
            for (unsigned e = 0; e < N; ++e) {
                pack.at[e] = narrow<T>((widen(pack.at[e]) - mean) * scale * widen(weights.at[e]) + widen(shifts.at[e]));
            }
            return pack;
        });
    });
    if (IS_SHORT || is_held) {
        return;
    }
    const A mean = group_sum_of_run(lds, x, cols, [](T x, size_t) { return widen(x); }) / A(cols);
    const auto squares = group_sum_of_run(lds, x, cols, [&](T x, size_t) {
        const A off = widen(x) - mean;
        return off * off;
    });
    const A scale = scale_of(squares);
    map_row<2>(x, y, cols, [&](T x, size_t at) {
        return narrow<T>((widen(x) - mean) * scale * widen(alpha[at]) + widen(beta[at]));
    });
}

} // namespace norm
} // namespace parity
