// Softmax and the two norms of contiguous rows, a workgroup a row. Everything is computed in the wide type of the dtype
// (f32; f64 for f64) and rounded to the dtype once, at the end. Not here: how a workgroup folds (workgroup.h).
#pragma once
#include "numeric.h"
#include "reduce.h"
#include "workgroup.h"

namespace parity {
namespace norm {

// This workgroup's row of `cols` elements.
template <typename T> PARITY_FN T *row_of(T *rows, size_t cols) { return rows + first_row() * cols; }

// y[at] = f(x[at], at) for `cols` elements, in packs.
template <typename T, typename F> PARITY_FN void map_row(const T *x, T *y, size_t cols, F f) {
    constexpr unsigned N = PackLen<T>::value;
    Run<N>(y, cols, true)
        .each(
            thread_index(), thread_count(),
            [&](size_t at) {
                Pack<T, N> pack = load_pack<N>(x + at);
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    pack.at[e] = f(pack.at[e], at + e);
                }
                store_pack<N>(y + at, pack);
            },
            [&](size_t at) { y[at] = f(x[at], at); });
}

// exp(x - max) / sum of these.
template <typename T> PARITY_FN void softmax(const T *src, T *dst, i32 cols) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    const A greatest = group_best_of_run(
        lds, x, cols, [](T x, size_t) { return widen(x); },
        [](A x, A y) { return reduce::better<reduce::Max>(x, y); });
    const auto power = [&](T x) { return device_math::exp(widen(x) - greatest); };
    const A sum = group_sum_of_run(lds, x, cols, [&](T x, size_t) { return power(x); });
    map_row(x, row_of(dst, cols), cols, [&](T x, size_t) { return narrow<T>(power(x) / sum); });
}

// x / sqrt(mean of x² + eps) * alpha. candle's launch says the number of threads a second time.
template <typename T> PARITY_FN void rms(const T *src, T *dst, const T *alpha, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    const A squares = group_sum_of_run(lds, x, cols, [](T x, size_t) { return widen(x) * widen(x); });
    const A scale = A(1) / device_math::sqrt(squares / A(cols) + A(eps));
    map_row(x, row_of(dst, cols), cols,
            [&](T x, size_t at) { return narrow<T>(widen(x) * scale * widen(alpha[at])); });
}

// (x - mean) / sqrt(variance + eps) * alpha + beta. The variance is the mean of (x - mean)²: the difference of the mean
// of the squares and the square of the mean loses all its digits when the mean is large.
template <typename T>
PARITY_FN void layer(
    const T *src, T *dst, const T *alpha, const T *beta, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_WAVES];
    const T *x = row_of(src, cols);
    const A mean = group_sum_of_run(lds, x, cols, [](T x, size_t) { return widen(x); }) / A(cols);
    const A squares = group_sum_of_run(lds, x, cols, [&](T x, size_t) {
        const A off = widen(x) - mean;
        return off * off;
    });
    const A scale = A(1) / device_math::sqrt(squares / A(cols) + A(eps));
    map_row(x, row_of(dst, cols), cols, [&](T x, size_t at) {
        return narrow<T>((widen(x) - mean) * scale * widen(alpha[at]) + widen(beta[at]));
    });
}

} // namespace norm
} // namespace parity
