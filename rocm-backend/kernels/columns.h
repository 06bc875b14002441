// Windows as rows of a matrix and back: what turns a convolution into a matrix product. im2col copies each window of the
// input to a row, zeros where it reaches into the padding; col2im adds overlapping rows up. Not here: the product.
#pragma once
#include "images.h"

namespace parity {

// Where tap `tap` of window `window` lies in an input of `in` elements; out of it, some u32 that is not less than `in`.
PARITY_FN u32 window_at(u32 window, u32 tap, size_t stride, size_t padding, size_t dilation) {
    return window * u32(stride) + tap * u32(dilation) - u32(padding);
}

// dst (batch, l_out, channels, taps); one thread for each of the `windows` = batch * l_out * channels. Behind the strides `info` has
// a `Divisor` each for channels and l_out.
template <typename T>
PARITY_FN void im2col_1d(
    size_t windows, size_t l_out, size_t taps, size_t stride, size_t padding, size_t dilation, const size_t *info,
    const T *inp, T *dst) {
    const Images src = images_1d(info);
    const Divisor by_channels = src.divisor(0), by_length = src.divisor(1);
    for (size_t i = first_index(); i < windows; i += index_step()) {
        const u32 row = by_channels.quotient(u32(i)), batch = by_length.quotient(row);
        const u32 window = row - batch * u32(l_out);
        const T *image = inp + src.image_at(batch, u32(i) - row * u32(src.size[1]));
        for (u32 tap = 0; tap < u32(taps); ++tap) {
            const u32 x = window_at(window, tap, stride, padding, dilation);
            dst[i * taps + tap] = x < u32(src.size[3]) ? image[src.at(0, x)] : T(0);
        }
    }
}

// dst (batch, h_out, w_out, channels, taps in y, taps in x); one thread an element. Behind the strides `info` has a `Divisor` each
// for the taps in x and in y, channels, w_out and h_out.
template <typename T>
PARITY_FN void im2col_2d(
    size_t numel, size_t h_out, size_t w_out, size_t h_k, size_t w_k, size_t stride, size_t padding, size_t dilation,
    const size_t *info, const T *inp, T *dst) {
    const Images src = images_2d(info);
    const Divisor by_taps_x = src.divisor(0), by_taps_y = src.divisor(1), by_channels = src.divisor(2);
    const Divisor by_width = src.divisor(3), by_height = src.divisor(4);
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const u32 tap_row = by_taps_x.quotient(u32(i)), image = by_taps_y.quotient(tap_row);
        const u32 tap_x = u32(i) - tap_row * u32(w_k), tap_y = tap_row - image * u32(h_k);
        // What is left numbers (batch, h_out, w_out, channels).
        const u32 window = by_channels.quotient(image), window_row = by_width.quotient(window);
        const u32 batch = by_height.quotient(window_row), channel = image - window * u32(src.size[1]);
        const u32 x = window_at(window - window_row * u32(w_out), tap_x, stride, padding, dilation);
        const u32 y = window_at(window_row - batch * u32(h_out), tap_y, stride, padding, dilation);
        const bool is_inside = y < u32(src.size[2]) && x < u32(src.size[3]);
        dst[i] = is_inside ? inp[src.image_at(batch, channel) + src.at(y, x)] : T(0);
    }
}

// src (batch, l_in, channels, taps), contiguous; dst (batch, channels, l_out) with out = in * stride + tap.
template <typename T>
PARITY_FN void col2im_1d(
    size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride, const T *src, T *dst) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const u32 image = u32(i) / u32(l_out), batch = image / u32(channels);
        const u32 out = u32(i) - image * u32(l_out), channel = image - batch * u32(channels);
        sum_t<T> sum = 0;
        u32 in = out / u32(stride), tap = out - in * u32(stride);
        for (; tap < taps && in < l_in + taps; tap += u32(stride), --in) {
            if (in < l_in) {
                sum += sum_t<T>(src[((batch * l_in + in) * channels + channel) * taps + tap]);
            }
        }
        dst[i] = static_cast<T>(sum);
    }
}

} // namespace parity
