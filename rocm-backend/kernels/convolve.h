// Convolution and transposed convolution, straight from their definition. A workgroup takes one image of the batch, up to
// four channels of the result and as many of its pixels as it has threads: a pixel that is loaded serves four results, and
// weights and image are the same for every lane. Sums over the input channels are formed for each tap and then added up,
// so that no chain of additions is longer than channels plus taps. Not here: the names of kernels (conv.hip).
#pragma once
#include "images.h"

namespace parity {

// One of the two dimensions that the kernel slides over.
struct Axis {
    u32 in, out, taps, stride, padding, dilation;
};

// Where a tap of one result lies along an axis. Convolution: in = out * stride + tap * dilation - padding.
// Transposed: the `in` with out = in * stride + tap * dilation - padding, if there is one.
template <bool Transposed> struct Tap {
    u32 at;   // in, rounded down; what is less than 0 has wrapped, and is not less than axis.in
    u32 rest; // transposed: out lies this far beyond what `at` reaches

    PARITY_MEMBER Tap(const Axis &axis, u32 out) {
        if constexpr (Transposed) {
            at = (out + axis.padding) / axis.stride;
            rest = out + axis.padding - at * axis.stride;
        } else {
            at = out * axis.stride - axis.padding;
            rest = 0;
        }
    }
    PARITY_MEMBER bool is_inside(const Axis &axis) const { return at < axis.in && rest == 0; }
    PARITY_MEMBER void advance(const Axis &axis) {
        if constexpr (Transposed) {
            const u32 whole = axis.dilation / axis.stride;
            const u32 part = axis.dilation - whole * axis.stride;
            const bool borrows = rest < part;
            at -= whole + u32(borrows);
            rest = rest - part + (borrows ? axis.stride : 0);
        } else {
            at += axis.dilation;
        }
    }
};

// Strides of the weights: by channel of the input, by channel of the result, by tap in y and in x.
struct Weights {
    size_t in, out, y, x;
};

template <typename T> struct Convolution {
    Images src;
    Weights weights;
    size_t c_out;
    Axis y, x;
    const T *inp;
    const T *kernel;
    T *dst;
};

constexpr unsigned CHANNELS_AT_ONCE = 4;

// Results (batch, channel..channel + Channels, pixel).
template <bool Transposed, unsigned Channels, typename T>
PARITY_FN void convolve_pixel(const Convolution<T> &conv, size_t batch, size_t channel, u32 pixel) {
    using Sum = sum_t<T>;
    const T *const image = conv.inp + batch * conv.src.stride[0];
    const T *const weights = conv.kernel + channel * conv.weights.out;
    const u32 out_y = pixel / conv.x.out;
    const Tap<Transposed> first_column(conv.x, pixel - out_y * conv.x.out);
    Tap<Transposed> row(conv.y, out_y);

    Sum total[Channels] = {};
    for (u32 tap_y = 0; tap_y < conv.y.taps; ++tap_y, row.advance(conv.y)) {
        Tap<Transposed> column = first_column;
        for (u32 tap_x = 0; tap_x < conv.x.taps; ++tap_x, column.advance(conv.x)) {
            const bool is_inside = row.is_inside(conv.y) && column.is_inside(conv.x);
            if (Transposed && !is_inside) {
                continue;
            }
            // The padding is zeros that are multiplied as all else: an infinite weight makes a NaN of them.
            const size_t at = row.at * conv.src.stride[2] + column.at * conv.src.stride[3];
            const T *from = image + (is_inside ? at : 0);
            const T *weight = weights + tap_y * conv.weights.y + tap_x * conv.weights.x;
            Sum sum[Channels] = {};
            for (size_t c = 0; c < conv.src.size[1]; ++c) {
                const Sum value = is_inside ? Sum(*from) : Sum(0);
                for (unsigned k = 0; k < Channels; ++k) {
                    sum[k] += value * Sum(weight[k * conv.weights.out]);
                }
                from += conv.src.stride[1];
                weight += conv.weights.in;
            }
            for (unsigned k = 0; k < Channels; ++k) {
                total[k] += sum[k];
            }
        }
    }
    const size_t pixels = size_t(conv.y.out) * size_t(conv.x.out);
    for (unsigned k = 0; k < Channels; ++k) {
        conv.dst[(batch * conv.c_out + channel + k) * pixels + pixel] = static_cast<T>(total[k]);
    }
}

// Walks the tiles: pixels of a workgroup, then groups of channels, then the batch. Tiles and the pixels of an image are
// less than 2^32; the launching side sees to that.
template <bool Transposed, typename T> PARITY_FN void convolve(const Convolution<T> &conv) {
    const u32 pixels = conv.y.out * conv.x.out, threads = u32(__ockl_get_local_size(0));
    const u32 tiles_of_image = pixels / threads + (pixels % threads != 0);
    const u32 groups = u32((conv.c_out + CHANNELS_AT_ONCE - 1) / CHANNELS_AT_ONCE);
    const size_t tiles = size_t(tiles_of_image * groups) * conv.src.size[0];
    for (size_t tile = __builtin_amdgcn_workgroup_id_x(); tile < tiles; tile += __ockl_get_num_groups(0)) {
        const u32 above = u32(tile) / tiles_of_image;
        const u32 pixel = (u32(tile) - above * tiles_of_image) * threads + __builtin_amdgcn_workitem_id_x();
        const u32 batch = above / groups;
        const size_t channel = size_t(above - batch * groups) * CHANNELS_AT_ONCE;
        if (pixel >= pixels) {
            continue;
        }
        if (channel + CHANNELS_AT_ONCE <= conv.c_out) {
            convolve_pixel<Transposed, CHANNELS_AT_ONCE>(conv, batch, channel, pixel);
        } else {
            for (size_t k = channel; k < conv.c_out; ++k) {
                convolve_pixel<Transposed, 1>(conv, batch, k, pixel);
            }
        }
    }
}

// An axis that is not there: one pixel, one tap.
PARITY_FN Axis no_axis() { return {1, 1, 1, 1, 0, 1}; }
PARITY_FN Axis axis(size_t in, size_t out, size_t taps, size_t stride, size_t padding, size_t dilation) {
    return {u32(in), u32(out), u32(taps), u32(stride), u32(padding), u32(dilation)};
}

// `info`: sizes and strides of the input (batch, c_in, length), then those of the kernel: (c_out, c_in, taps), transposed
// (c_in, c_out, taps).
template <bool Transposed, typename T>
PARITY_FN void convolve_1d(
    size_t l_out, size_t stride, size_t padding, size_t dilation, const size_t *info, const T *inp, const T *kernel, T *dst) {
    const unsigned in = Transposed ? 0 : 1, out = 1 - in;
    const size_t *const size = info + 6, *const step = info + 9;
    convolve<Transposed, T>({
        images_1d(info),
        {step[in], step[out], 0, step[2]},
        size[out],
        no_axis(),
        axis(info[2], l_out, size[2], stride, padding, dilation),
        inp,
        kernel,
        dst,
    });
}

// The same for (batch, c_in, height, width) and (c_out, c_in, taps in y, taps in x), transposed (c_in, c_out, ...).
template <bool Transposed, typename T>
PARITY_FN void convolve_2d(
    size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation, const size_t *info, const T *inp,
    const T *kernel, T *dst) {
    const unsigned in = Transposed ? 0 : 1, out = 1 - in;
    const size_t *const size = info + 8, *const step = info + 12;
    convolve<Transposed, T>({
        images_2d(info),
        {step[in], step[out], step[2], step[3]},
        size[out],
        axis(info[2], h_out, size[2], stride, padding, dilation),
        axis(info[3], w_out, size[3], stride, padding, dilation),
        inp,
        kernel,
        dst,
    });
}

} // namespace parity
