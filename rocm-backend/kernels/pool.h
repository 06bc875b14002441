// Pooling: one number from each window of an image. Windows lie inside the image, so nothing is checked on the way. Not
// here: how a result finds its image (images.h).
#pragma once
#include "images.h"

namespace parity {

// How many elements a window has: the number, and what divides any 64-bit number by it, of two words of `info`. As `Divisor`, with
// 64 bits in the place of 32; the addition could overflow, so that what is added is halved before, unless the count is 1.
struct Count {
    size_t count;
    u64 factor;
    u32 half, shift;

    PARITY_MEMBER Count(size_t count, const size_t *words)
        : count(count), factor(words[0]), half(u32(words[1])), shift(u32(words[1] >> 32)) {}
    PARITY_MEMBER u64 quotient(u64 number) const {
        const u64 high = high_half(number, factor);
        return (((number - high) >> half) + high) >> shift;
    }
};

// The mean of floats: the sum in f32 (f64 for f64), times 1/count, rounded to the dtype once.
template <typename T, bool IsInteger> struct MeanOf {
    wide_t<T> sum = 0;
    PARITY_MEMBER void take(T x) { sum += widen(x); }
    PARITY_MEMBER T result(const Count &of) const { return narrow<T>(sum * wide_t<T>(1.0 / f64(of.count))); }
};
// The mean of integers, truncated: their sum in 64 bits, divided.
template <typename T> struct MeanOf<T, true> {
    u64 sum = 0;
    PARITY_MEMBER void take(T x) { sum += u64(x); }
    PARITY_MEMBER T result(const Count &of) const {
        const u64 sign = T(-1) < T(0) && i64(sum) < 0 ? ~u64(0) : 0;
        return T((of.quotient((sum ^ sign) - sign) ^ sign) - sign);
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
    PARITY_MEMBER T result(const Count &) const { return narrow<T>(has_nan ? wide_t<T>(__builtin_nanf("")) : largest); }
};
template <typename T> struct LargestOf<T, true> {
    T largest = T(-1) < T(0) ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0);
    PARITY_MEMBER void take(T x) { largest = x > largest ? x : largest; }
    PARITY_MEMBER T result(const Count &) const { return largest; }
};
template <typename T> using Largest = LargestOf<T, numeric::IsInteger<T>::value>;

// `info`: sizes and strides of the input, what `map_pixels` divides by, and the two words of `Count`.
template <typename Window, typename T>
PARITY_FN void pool_2d(
    size_t h_k, size_t w_k, size_t h_stride, size_t w_stride, const size_t *info, const T *inp, T *dst) {
    const Images src = images_2d(info);
    const u32 height = u32(src.size[2] - h_k) / u32(h_stride) + 1, width = u32(src.size[3] - w_k) / u32(w_stride) + 1;
    const Count count(h_k * w_k, src.rest + 3);
    map_pixels(src, height, width, dst, [&](const Pixel &pixel) {
        const T *row = inp + src.image_at(pixel.batch, pixel.channel)
            + src.at(pixel.y * u32(h_stride), pixel.x * u32(w_stride));
        Window window;
        for (size_t y = 0; y < h_k; ++y, row += src.stride[2]) {
            const T *from = row;
            for (size_t x = 0; x < w_k; ++x, from += src.stride[3]) {
                window.take(*from);
            }
        }
        return window.result(count);
    });
}

} // namespace parity
