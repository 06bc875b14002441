// Images of another size: the nearest element, or a bilinear mixture of four. Places and weights are computed in f64 with
// one rounding an operator, as candle's CPU has them. Not here: how a result finds its image (images.h).
#pragma once
#include "cast.h"
#include "images.h"

namespace parity {

// `scale` is elements of the input for one of the result.
PARITY_FN u32 nearest(u32 out, f64 scale, size_t in) {
    const u32 at = u32(f64(out) * scale);
    return at < u32(in) ? at : u32(in) - 1;
}

template <typename T>
PARITY_FN void upsample_nearest(
    const Images &src, size_t h_out, size_t w_out, f64 h_scale, f64 w_scale, const T *inp, T *dst) {
    map_pixels(src, h_out, w_out, dst, [&](const Pixel &pixel) {
        const u32 y = nearest(pixel.y, h_scale, src.size[2]), x = nearest(pixel.x, w_scale, src.size[3]);
        return inp[src.image_at(pixel.batch, pixel.channel) + src.at(y, x)];
    });
}

// How far apart results lie in the input, along one axis.
struct Spacing {
    bool align_corners, has_factor;
    f64 factor;

    PARITY_MEMBER f64 scale(size_t in, size_t out) const {
        if (align_corners) {
            return out > 1 ? f64(in - 1) / f64(out - 1) : 0.0;
        }
        return has_factor ? 1.0 / factor : f64(in) / f64(out);
    }
};

// Two neighbours and the weight of the second.
struct Between {
    u32 first, second;
    f64 weight;

    PARITY_MEMBER Between(u32 out, f64 scale, bool align_corners, size_t in) {
#pragma clang fp contract(off)
        const f64 place = align_corners ? scale * f64(out) : scale * (f64(out) + 0.5) - 0.5;
        const f64 inside = device_math::max_number(place, 0.0);
        const u32 last = u32(in) - 1, below = u32(inside);
        first = below < last ? below : last;
        second = first < last ? first + 1 : last;
        // Beyond the last pixel both neighbours are that pixel. A weight of 0 for one of them would make an infinity NaN.
        weight = device_math::min_number(inside - f64(first), 1.0);
    }
};

PARITY_FN f64 mixed(f64 x, f64 y, f64 weight) {
#pragma clang fp contract(off)
    return x * (1.0 - weight) + y * weight;
}

template <typename T>
PARITY_FN void upsample_bilinear(
    size_t w_out, size_t h_out, const Spacing &vertical, const Spacing &horizontal, const Images &src, const T *inp, T *dst) {
    const f64 h_scale = vertical.scale(src.size[2], h_out), w_scale = horizontal.scale(src.size[3], w_out);
    map_pixels(src, h_out, w_out, dst, [&](const Pixel &pixel) {
        const Between y(pixel.y, h_scale, vertical.align_corners, src.size[2]);
        const Between x(pixel.x, w_scale, horizontal.align_corners, src.size[3]);
        const T *image = inp + src.image_at(pixel.batch, pixel.channel);
        const auto value = [&](u32 row, u32 column) {
            const T element = image[src.at(row, column)];
            // Integers are wider than f32.
            if constexpr (numeric::IsInteger<T>::value) {
                return f64(element);
            } else {
                return f64(widen(element));
            }
        };
        const f64 top = mixed(value(y.first, x.first), value(y.first, x.second), x.weight);
        const f64 bottom = mixed(value(y.second, x.first), value(y.second, x.second), x.weight);
        return numeric::cast<T>(mixed(top, bottom, y.weight));
    });
}

} // namespace parity
