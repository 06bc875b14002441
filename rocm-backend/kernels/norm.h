// Softmax and the two norms of contiguous rows, a workgroup a row. Everything is computed in the wide type of the dtype
// (f32; f64 for f64) and rounded to the dtype once, at the end. Not here: how a workgroup folds (workgroup.h).
#pragma once
#include "numeric.h"
#include "reduce.h"
#include "workgroup.h"

namespace parity {
namespace norm {

// This workgroup's row of `cols` elements.
template <typename T> PARITY_FN T *row_of(T *rows, size_t cols) { return rows + group_index() * cols; }

// Calls f with the numbers of this thread's elements.
template <typename F> PARITY_FN void each(size_t cols, F f) {
    for (size_t at = thread_index(); at < cols; at += thread_count()) {
        f(at);
    }
}

// exp(x - max) / sum of these.
template <typename T> PARITY_FN void softmax(const T *src, T *dst, i32 cols) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_THREADS];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const A greatest = group_best<A>(
        lds, cols, [&](size_t at) { return widen(x[at]); },
        [](A x, A y) { return reduce::better<reduce::Max>(x, y); });
    const auto power = [&](size_t at) { return device_math::exp(widen(x[at]) - greatest); };
    const A sum = group_sum<A>(lds, cols, power);
    each(cols, [&](size_t at) { y[at] = narrow<T>(power(at) / sum); });
}

// x / sqrt(mean of x² + eps) * alpha. candle's launch says the number of threads a second time.
template <typename T> PARITY_FN void rms(const T *src, T *dst, const T *alpha, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_THREADS];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const A squares = group_sum<A>(lds, cols, [&](size_t at) { return widen(x[at]) * widen(x[at]); });
    const A scale = A(1) / device_math::sqrt(squares / A(cols) + A(eps));
    each(cols, [&](size_t at) { y[at] = narrow<T>(widen(x[at]) * scale * widen(alpha[at])); });
}

// (x - mean) / sqrt(variance + eps) * alpha + beta. The variance is the mean of (x - mean)²: the difference of the mean
// of the squares and the square of the mean loses all its digits when the mean is large.
template <typename T>
PARITY_FN void layer(
    const T *src, T *dst, const T *alpha, const T *beta, i32 cols, i32 /*threads*/, f32 eps) {
    using A = wide_t<T>;
    __shared__ A lds[MAX_THREADS];
    const T *x = row_of(src, cols);
    T *y = row_of(dst, cols);
    const A mean = group_sum<A>(lds, cols, [&](size_t at) { return widen(x[at]); }) / A(cols);
    const A squares = group_sum<A>(lds, cols, [&](size_t at) {
        const A off = widen(x[at]) - mean;
        return off * off;
    });
    const A scale = A(1) / device_math::sqrt(squares / A(cols) + A(eps));
    each(cols, [&](size_t at) {
        y[at] = narrow<T>((widen(x[at]) - mean) * scale * widen(alpha[at]) + widen(beta[at]));
    });
}

} // namespace norm
} // namespace parity
