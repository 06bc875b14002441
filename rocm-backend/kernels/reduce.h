// Sums, extremes and their places over the last `per_row` elements of a walk: row r of the result is made of elements
// r * per_row … (r + 1) * per_row - 1, in row-major order. Not here: how a workgroup folds (workgroup.h).
//
// Sums: floats in the width they are computed in, rounded once; integers wrap in their own. Extremes: a NaN anywhere in
// the row wins; of -0 and +0 the greater is +0. Places: of the first NaN, else of the first extreme.
#pragma once
#include "layout.h"
#include "numeric.h"
#include "workgroup.h"

namespace parity {
namespace reduce {

// What a dtype is summed in, and compared in.
template <typename T> struct SumOf { using type = wide_t<T>; };
template <typename T> struct OrderOf { using type = wide_t<T>; };
#define PARITY_ROW(T) \
    template <> struct SumOf<T> { using type = numeric::wrap_t<T>; }; \
    template <> struct OrderOf<T> { using type = T; };
PARITY_INT_DTYPES(PARITY_ROW)
#undef PARITY_ROW
template <typename T> using sum_t = typename SumOf<T>::type;
template <typename T> using order_t = typename OrderOf<T>::type;

// A reader of the rows: element `at` of row `row`, as an A. Where all of them are contiguous, a row is a run.
template <typename A, typename T> struct Rows {
    Walk<1> walk;
    size_t per_row;
    const T *src;

    PARITY_MEMBER const T *run(size_t row) const { return src + row * per_row; }

    PARITY_MEMBER A operator()(size_t row, size_t at) const {
        size_t place[1];
        walk.locate(row * per_row + at, place);
        return static_cast<A>(src[place[0]]);
    }
};

// Max and Min: which of two values is better, which is not (neither where one is a NaN), and the better one.
struct Max {
    template <typename A> static PARITY_MEMBER bool beats(A x, A y) { return x > y; }
    template <typename A> static PARITY_MEMBER bool yields(A x, A y) { return x <= y; }
    static PARITY_MEMBER f32 number(f32 x, f32 y) { return device_math::max_number(x, y); }
    static PARITY_MEMBER f64 number(f64 x, f64 y) { return device_math::max_number(x, y); }
#if defined(__NVPTX__)
    static PARITY_MEMBER f32 number_or_nan(f32 x, f32 y) { return greatest_or_nan(x, y); }
#endif
};
struct Min {
    template <typename A> static PARITY_MEMBER bool beats(A x, A y) { return x < y; }
    template <typename A> static PARITY_MEMBER bool yields(A x, A y) { return x >= y; }
    static PARITY_MEMBER f32 number(f32 x, f32 y) { return device_math::min_number(x, y); }
    static PARITY_MEMBER f64 number(f64 x, f64 y) { return device_math::min_number(x, y); }
#if defined(__NVPTX__)
    static PARITY_MEMBER f32 number_or_nan(f32 x, f32 y) { return least_or_nan(x, y); }
#endif
};
template <typename Order, typename A> PARITY_FN A better(A x, A y) {
    if constexpr (numeric::IsInteger<A>::value) {
        return Order::beats(y, x) ? y : x;
    } else {
        return x != x ? x : y != y ? y : Order::number(x, y);
    }
}
#if defined(__NVPTX__)
template <typename Order> PARITY_FN f32 better(f32 x, f32 y) { return Order::number_or_nan(x, y); }
#endif

// What nothing is worse than.
template <typename Order, typename A> PARITY_FN A worst() {
    if constexpr (numeric::IsInteger<A>::value) {
        constexpr A FIRST = A(-1) < A(0) ? A(A(1) << (8 * sizeof(A) - 1)) : A(0), LAST = A(~FIRST);
        return Order::beats(FIRST, LAST) ? LAST : FIRST;
    } else {
        const A end = A(__builtin_inff());
        return Order::beats(end, -end) ? -end : end;
    }
}

// What elements are compared in where one is looked for: f16 as it is, which is exact.
template <typename T> struct ComparedAs { using type = order_t<T>; };
template <> struct ComparedAs<f16> { using type = f16; };
template <typename T> using compared_t = typename ComparedAs<T>::type;

// A value and its position in the row.
template <typename A> struct Placed {
    A value;
    u32 at;
};
// What lies in memory, field by field: nobody writes the bytes behind the position of an eight-byte value.
template <typename A> PARITY_FN A read(const A &x) { return x; }
template <typename A> PARITY_FN Placed<A> read(const Placed<A> &x) { return {x.value, x.at}; }
// A NaN beats all but a NaN, which nothing beats.
template <typename Order, typename A> PARITY_FN bool beats(A x, A y) {
    return y == y && !Order::yields(x, y);
}
// Field by field: LLVM's NVPTX puts a structure that is chosen as a whole into memory.
template <typename Order, typename A> PARITY_FN Placed<A> better(Placed<A> x, Placed<A> y) {
    const bool second = beats<Order>(y.value, x.value) || (!beats<Order>(x.value, y.value) && y.at < x.at);
    return {second ? y.value : x.value, second ? y.at : x.at};
}
// The same where y is not before x.
template <typename Order, typename A> PARITY_FN Placed<A> better_later(Placed<A> x, A value, u32 at) {
    const bool second = beats<Order>(value, x.value);
    return {second ? value : x.value, second ? at : x.at};
}

// A workgroup a row, or each y of a workgroup.
template <typename T>
PARITY_FN void sum(size_t numel, size_t per_row, size_t num_dims, const size_t *info, const T *src, T *dst) {
    using A = sum_t<T>;
    __shared__ A lds[MAX_WAVES];
    const Rows<A, T> rows{{num_dims, info}, per_row, src};
    const auto plain = [](T x) { return static_cast<A>(x); };
    for_rows(numel, per_row, [&](size_t row, bool is_there) {
        A all;
        if (!rows.walk.is_plain) {
            all = group_sum<A>(lds, per_row, [&](size_t at) { return rows(row, at); });
        } else if (!hold_row(rows.run(row), per_row, [&](const auto &held) {
                       all = fold_held(held, lds, held.template sum<A>(plain), [](A x, A y) { return x + y; });
                   })) {
            all = group_sum_of_run(lds, rows.run(row), per_row, [&](T x, size_t) { return plain(x); });
        }
        if (thread_index() == 0 && is_there) {
            dst[row] = static_cast<T>(all);
        }
    });
}

// Contiguous rows of whole aligned packs, no more of them than threads in x.
template <typename T> PARITY_FN void sum_short(size_t numel, size_t per_row, const T *src, T *dst) {
    using A = sum_t<T>;
    for_rows(numel, per_row, [&](size_t row, bool is_there) {
        const Held<T, 1> held(src + row * per_row, u32(per_row / PackLen<T>::value));
        const A mine = held.template sum<A>([](T x) { return static_cast<A>(x); });
        const A all = fold_lanes(mine, thread_count(), [](A x, A y) { return x + y; });
        if (thread_index() == 0 && is_there) {
            dst[row] = static_cast<T>(all);
        }
    });
}

// A thread a row, for `results` short rows.
template <typename T>
PARITY_FN void sum_small(size_t results, size_t per_row, size_t num_dims, const size_t *info, const T *src, T *dst) {
    using A = sum_t<T>;
    const Rows<A, T> rows{{num_dims, info}, per_row, src};
    for (size_t row = first_index(); row < results; row += index_step()) {
        dst[row] = static_cast<T>(sum_of<A>(0, per_row, 1, [&](size_t at) { return rows(row, at); }));
    }
}

template <typename Order, typename T>
PARITY_FN void extreme(size_t numel, size_t per_row, size_t num_dims, const size_t *info, const T *src, T *dst) {
    using A = order_t<T>;
    __shared__ A lds[MAX_WAVES];
    const Rows<A, T> rows{{num_dims, info}, per_row, src};
    const auto join = [](A x, A y) { return better<Order>(x, y); };
    for_rows(numel, per_row, [&](size_t row, bool is_there) {
        A best;
        if (!rows.walk.is_plain) {
            best = group_best<A>(lds, per_row, [&](size_t at) { return rows(row, at); }, join);
        } else if (!hold_row(rows.run(row), per_row, [&](const auto &held) {
                       const A first = static_cast<A>(held.packs[0].at[0]);
                       best = fold(lds, held.best(first, [&](A x, T y, u32) { return join(x, static_cast<A>(y)); }), join);
                   })) {
            best = group_best_of_run(lds, rows.run(row), per_row, [](T x, size_t) { return static_cast<A>(x); }, join);
        }
        if (thread_index() == 0 && is_there) {
            dst[row] = static_cast<T>(best);
        }
    });
}

// The place of the extreme of a row that is in registers: the extreme first, then the first element that is as good. Only threads whose
// own extreme is as good look for it: of most rows that is one.
// Thread 0 is given it, or each first thread of a y.
template <typename Order, typename A, typename H> PARITY_FN u32 place_of_held(H &held, A *values, u32 *place) {
    const auto best_of = [](A x, A y) { return better<Order>(x, y); };
    const A first = static_cast<A>(held.packs[0].at[0]);
    const A mine = held.best(first, [&](A x, auto y, u32) { return best_of(x, static_cast<A>(y)); });
    held.forget();
    const u32 threads = thread_count();
    const bool is_wave = threads <= WAVE;
    // Thread 0 alone reads the place of the row before, so that it may begin the next one.
    if (!is_wave && thread_index() == 0) {
        *place = ~u32(0);
    }
    const A best = fold(values, mine, best_of);
    const bool is_nan = best != best;
    u32 found = ~u32(0);
    if (is_nan ? mine != mine : mine == best) {
        // Two loops: one that asks of each element whether NaN is looked for takes a third longer.
        using C = compared_t<typename H::Element>;
        if (is_nan) {
            found = held.first_that([](auto x) { return C(x) != C(x); });
        } else {
            const C as_good(best);
            found = held.first_that([as_good](auto x) { return C(x) == as_good; });
        }
        if (!is_wave) {
            atomic_min_of_group(place, found);
        }
    }
    if (is_wave) {
        return fold_lanes(found, threads, [](u32 x, u32 y) { return x < y ? x : y; });
    }
    barrier();
    // Volatile: else the compiler has all threads read it, and some would while thread 0 begins the next row.
    return thread_index() == 0 ? *static_cast<volatile u32 *>(place) : 0;
}

template <typename Order, typename T>
PARITY_FN void place(size_t numel, size_t per_row, size_t num_dims, const size_t *info, const T *src, u32 *dst) {
    using A = order_t<T>;
    using P = Placed<A>;
    __shared__ P lds[MAX_WAVES];
    __shared__ A values[MAX_WAVES];
    __shared__ u32 found;
    const Rows<A, T> rows{{num_dims, info}, per_row, src};
    const auto join = [](P x, P y) { return better<Order>(x, y); };
    for_rows(numel, per_row, [&](size_t row, bool is_there) {
        P best;
        if (!rows.walk.is_plain) {
            best = group_best<P>(lds, per_row, [&](size_t at) { return P{rows(row, at), u32(at)}; }, join);
        } else if (!hold_row(rows.run(row), per_row, [&](auto &held) {
                       best.at = place_of_held<Order, A>(held, values, &found);
                   })) {
            best = group_best_of_run(
                lds, rows.run(row), per_row, [](T x, size_t at) { return P{static_cast<A>(x), u32(at)}; }, join);
        }
        if (thread_index() == 0 && is_there) {
            dst[row] = best.at;
        }
    });
}

// Adds to `out` the sums of `inp` over the last `num_sum_dims` of the dimensions of `info`, a thread a result. Unlike candle's,
// whose `info` has the dimensions in their order and says which are summed, it needs no atomics, and gives the same bits every time.
template <typename T>
PARITY_FN void add_sums(
    size_t numel, size_t num_dims, size_t num_sum_dims, const size_t *info, const T *inp, T *out) {
    using A = sum_t<T>;
    size_t terms = 1;
    for (size_t d = num_dims - num_sum_dims; d < num_dims; ++d) {
        terms *= info[d];
    }
    const Rows<A, T> rows{{num_dims, info}, terms, inp};
    for (size_t result = first_index(); result * terms < numel; result += index_step()) {
        const A sum = sum_of<A>(0, terms, 1, [&](size_t term) { return rows(result, term); });
        out[result] = static_cast<T>(static_cast<A>(out[result]) + sum);
    }
}

} // namespace reduce
} // namespace parity
