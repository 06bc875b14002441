// Batches of images: how kernels that slide a window over two dimensions see a tensor, and how they find an element of it.
// A tensor of rows (batch, channels, length) is one of images of height 1. Not here: what is computed from a window
// (convolve.h, columns.h, pool.h, upsample.h).
//
// Batches, channels and positions are 64 bits wide. Heights, widths and what is added to them (padding, steps between
// taps) are less than 2^31; the launching side sees to that.
#pragma once
#include "layout.h"
#include "numeric.h"

namespace parity {

// What a sum of a dtype is formed in, to be rounded once: floats in f32 (f64 for f64), integers in the width they wrap in.
template <typename T, bool IsInteger> struct SumOf { using type = wide_t<T>; };
template <typename T> struct SumOf<T, true> { using type = numeric::wrap_t<T>; };
template <typename T> using sum_t = typename SumOf<T, numeric::IsInteger<T>::value>::type;

// Sizes and strides of (batch, channels, height, width), in elements.
struct Images {
    size_t size[4];
    size_t stride[4];

    // Whether every element's distance from the first, in bytes, fits 32 bits.
    PARITY_MEMBER bool is_narrow(size_t element_bytes) const {
        size_t last = 0;
        for (unsigned d = 0; d < 4; ++d) {
            last += size[d] == 0 ? 0 : (size[d] - 1) * stride[d];
        }
        return (last * element_bytes) >> 32 == 0;
    }
};

// `info` is candle's: sizes, then strides.
PARITY_FN Images images_2d(const size_t *info) {
    return {{info[0], info[1], info[2], info[3]}, {info[4], info[5], info[6], info[7]}};
}
PARITY_FN Images images_1d(const size_t *info) {
    return {{info[0], info[1], 1, info[2]}, {info[3], info[4], 0, info[5]}};
}

// The element `bytes` after `base`. With a `base` that is one for all lanes and 32-bit `bytes`, the hardware adds the two.
template <typename T, typename Place> PARITY_FN T element_at(const T *base, Place bytes) {
    return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(base) + bytes);
}

// A result's coordinates from its number. `Place` is wide enough for all numbers.
template <typename Place> struct Pixel {
    Place batch, channel;
    u32 y, x;

    PARITY_MEMBER Pixel(Place number, Place channels, u32 height, u32 width) {
        const Place row = number / width;
        x = u32(number - row * width);
        const Place image = row / height;
        y = u32(row - image * height);
        batch = image / channels;
        channel = image - batch * channels;
    }
    // In bytes from an element of the first image of the first batch to that of this one.
    PARITY_MEMBER Place image_at(const Images &images, Place element_bytes) const {
        return (batch * Place(images.stride[0]) + channel * Place(images.stride[1])) * element_bytes;
    }
};

// out[i] = f(pixel i, Place()) for the pixels of `batch` times `channels` images of `height` times `width`; `Place` is the
// narrowest type for the numbers of pixels and the places in `inp`.
template <typename T, typename F>
PARITY_FN void map_pixels(const Images &inp, size_t height, size_t width, T *out, F f) {
    const size_t numel = inp.size[0] * inp.size[1] * height * width;
    if (numel >> 32 == 0 && inp.is_narrow(sizeof(T))) {
        for (size_t i = first_index(); i < numel; i += index_step()) {
            out[i] = f(Pixel<u32>(u32(i), u32(inp.size[1]), u32(height), u32(width)), u32());
        }
    } else {
        for (size_t i = first_index(); i < numel; i += index_step()) {
            out[i] = f(Pixel<size_t>(i, inp.size[1], u32(height), u32(width)), size_t());
        }
    }
}

} // namespace parity
