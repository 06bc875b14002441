// Batches of images: how kernels that slide a window over two dimensions see a tensor, and how they find an element of it.
// A tensor of rows (batch, channels, length) is one of images of height 1. Not here: what is computed from a window
// (convolve.h, columns.h, pool.h, upsample.h).
//
// Places in the input are 64 bits wide. Results of a launch are numbered below 2^31: the launching side cuts what has more, by
// batches and channels. Heights, widths and what is added to them (padding, steps between taps) are less than 2^31 as well.
#pragma once
#include "layout.h"
#include "numeric.h"

namespace parity {

// What a sum of a dtype is formed in, to be rounded once: floats in f32 (f64 for f64), integers in the width they wrap in.
template <typename T, bool IsInteger> struct SumOf { using type = wide_t<T>; };
template <typename T> struct SumOf<T, true> { using type = numeric::wrap_t<T>; };
template <typename T> using sum_t = typename SumOf<T, numeric::IsInteger<T>::value>::type;

// Sizes and strides of (batch, channels, height, width), in elements, and what stands behind them in `info`.
struct Images {
    size_t size[4];
    size_t stride[4];
    const size_t *rest;

    // The number that a `Divisor` behind the strides is for is the kernel's to say.
    PARITY_MEMBER Divisor divisor(unsigned number) const { return Divisor(rest[number]); }
    // Elements from the first one to the first of an image.
    PARITY_MEMBER size_t image_at(u32 batch, u32 channel) const { return batch * stride[0] + channel * stride[1]; }
    // And from there to that of a row and a column.
    PARITY_MEMBER size_t at(u32 y, u32 x) const { return y * stride[2] + x * stride[3]; }
};

// `info` is candle's: sizes, then strides.
PARITY_FN Images images_2d(const size_t *info) {
    return {{info[0], info[1], info[2], info[3]}, {info[4], info[5], info[6], info[7]}, info + 8};
}
PARITY_FN Images images_1d(const size_t *info) {
    return {{info[0], info[1], 1, info[2]}, {info[3], info[4], 0, info[5]}, info + 6};
}

// A result's coordinates from its number.
struct Pixel {
    u32 batch, channel, y, x;
};

// out[i] = f(pixel i) for the pixels of `batch` times `channels` images of `height` times `width`. Behind the strides `info` has a
// `Divisor` each for width, height and channels.
template <typename T, typename F>
PARITY_FN void map_pixels(const Images &inp, size_t height, size_t width, T *out, F f) {
    const Divisor by_width = inp.divisor(0), by_height = inp.divisor(1), by_channels = inp.divisor(2);
    const size_t numel = inp.size[0] * inp.size[1] * height * width;
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const u32 row = by_width.quotient(u32(i)), image = by_height.quotient(row), batch = by_channels.quotient(image);
        out[i] = f(Pixel{batch, image - batch * u32(inp.size[1]), row - image * u32(height), u32(i) - row * u32(width)});
    }
}

} // namespace parity
