// Pooling: one number from each window of an image. Windows lie inside the image, so nothing is checked on the way. Not
// here: how a result finds its image (images.h).
#pragma once
#include "images.h"

namespace parity {

PARITY_FN u64 quotient(u64 x, u64 y) { return (x | y) >> 32 == 0 ? u64(u32(x) / u32(y)) : x / y; }

// The mean of floats: the sum in f32 (f64 for f64), times 1/count, rounded to the dtype once.
template <typename T, bool IsInteger> struct MeanOf {
    wide_t<T> sum = 0;
    PARITY_MEMBER void take(T x) { sum += widen(x); }
    PARITY_MEMBER T result(size_t count) const { return narrow<T>(sum * wide_t<T>(1.0 / f64(count))); }
};
// The mean of integers, truncated: their sum in 64 bits, divided.
template <typename T> struct MeanOf<T, true> {
    u64 sum = 0;
    PARITY_MEMBER void take(T x) { sum += u64(x); }
    PARITY_MEMBER T result(size_t count) const {
        if (T(-1) < T(0) && i64(sum) < 0) {
            return T(0 - quotient(0 - sum, count));
        }
        return T(quotient(sum, count));
    }
};
template <typename T> using Mean = MeanOf<T, numeric::IsInteger<T>::value>;

// The largest of floats: a NaN wins, +0 beats -0.
template <typename T, bool IsInteger> struct LargestOf {
    wide_t<T> largest = -__builtin_inff();
    bool has_nan = false;
    PARITY_MEMBER void take(T x) {
        has_nan |= x != x;
        largest = device_math::max_number(largest, widen(x));
    }
    PARITY_MEMBER T result(size_t) const { return narrow<T>(has_nan ? wide_t<T>(__builtin_nanf("")) : largest); }
};
template <typename T> struct LargestOf<T, true> {
    T largest = T(-1) < T(0) ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0);
    PARITY_MEMBER void take(T x) { largest = x > largest ? x : largest; }
    PARITY_MEMBER T result(size_t) const { return largest; }
};
template <typename T> using Largest = LargestOf<T, numeric::IsInteger<T>::value>;

// `info`: sizes and strides of the input.
template <typename Window, typename T>
PARITY_FN void pool_2d(
    size_t h_k, size_t w_k, size_t h_stride, size_t w_stride, const size_t *info, const T *inp, T *dst) {
    const Images src = images_2d(info);
    const u32 height = u32(src.size[2] - h_k) / u32(h_stride) + 1, width = u32(src.size[3] - w_k) / u32(w_stride) + 1;
    map_pixels(src, height, width, dst, [&](const auto &pixel, auto place) {
        using Place = decltype(place);
        const Place bytes = sizeof(T);
        const Place at = pixel.image_at(src, bytes)
            + (Place(pixel.y) * Place(h_stride) * Place(src.stride[2]) + Place(pixel.x) * Place(w_stride) * Place(src.stride[3]))
                * bytes;
        Window window;
        for (size_t y = 0; y < h_k; ++y) {
            const T *row = inp + y * src.stride[2];
            for (size_t x = 0; x < w_k; ++x, row += src.stride[3]) {
                window.take(element_at(row, at));
            }
        }
        return window.result(h_k * w_k);
    });
}

} // namespace parity
