// Windows as rows of a matrix and back: what turns a convolution into a matrix product. im2col copies each window of the
// input to a row, zeros where it reaches into the padding; col2im adds overlapping rows up. Not here: the product.
#pragma once
#include "images.h"

namespace parity {

// Where tap `tap` of window `window` lies in an input of `in` elements; out of it, some u32 that is not less than `in`.
PARITY_FN u32 window_at(u32 window, u32 tap, size_t stride, size_t padding, size_t dilation) {
    return window * u32(stride) + tap * u32(dilation) - u32(padding);
}

// dst (batch, l_out, channels, taps); one thread for each of the `windows` = batch * l_out * channels.
template <typename Place, typename T>
PARITY_FN void im2col_rows(
    Place windows, u32 l_out, u32 taps, size_t stride, size_t padding, size_t dilation, const Images &src, const T *inp,
    T *dst) {
    for (size_t i = first_index(); i < windows; i += index_step()) {
        const Place channels = Place(src.size[1]);
        const Place row = Place(i) / channels, batch = row / l_out;
        const Place channel = Place(i) - row * channels;
        const u32 window = u32(row - batch * l_out);
        const Place at = batch * Place(src.stride[0]) + channel * Place(src.stride[1]);
        for (u32 tap = 0; tap < taps; ++tap) {
            const u32 x = window_at(window, tap, stride, padding, dilation);
            dst[i * taps + tap] = x < u32(src.size[3]) ? inp[at + Place(x) * Place(src.stride[3])] : T(0);
        }
    }
}

// dst (batch, h_out, w_out, channels, taps in y, taps in x); one thread an element.
template <typename Place, typename T>
PARITY_FN void im2col_images(
    Place numel, u32 h_out, u32 w_out, u32 h_k, u32 w_k, size_t stride, size_t padding, size_t dilation,
    const Images &src, const T *inp, T *dst) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const Place tap_row = Place(i) / w_k, image = tap_row / h_k;
        const u32 tap_x = u32(Place(i) - tap_row * w_k), tap_y = u32(tap_row - image * h_k);
        // What is left numbers (batch, h_out, w_out, channels).
        const Place window = image / Place(src.size[1]);
        const Place channel = image - window * Place(src.size[1]);
        const Place window_row = window / w_out, batch = window_row / h_out;
        const u32 x = window_at(u32(window - window_row * w_out), tap_x, stride, padding, dilation);
        const u32 y = window_at(u32(window_row - batch * h_out), tap_y, stride, padding, dilation);
        const Place at = batch * Place(src.stride[0]) + channel * Place(src.stride[1]) + Place(y) * Place(src.stride[2])
            + Place(x) * Place(src.stride[3]);
        dst[i] = y < u32(src.size[2]) && x < u32(src.size[3]) ? inp[at] : T(0);
    }
}

// src (batch, l_in, channels, taps), contiguous; dst (batch, channels, l_out) with out = in * stride + tap.
template <typename Place, typename T>
PARITY_FN void col2im_rows(Place numel, u32 l_out, u32 l_in, Place channels, u32 taps, u32 stride, const T *src, T *dst) {
    for (size_t i = first_index(); i < numel; i += index_step()) {
        const Place image = Place(i) / l_out, batch = image / channels;
        const u32 out = u32(Place(i) - image * l_out);
        const Place channel = image - batch * channels;
        sum_t<T> sum = 0;
        u32 in = out / stride, tap = out - in * stride;
        for (; tap < taps && in < l_in + taps; tap += stride, --in) {
            if (in < l_in) {
                sum += sum_t<T>(src[((size_t(batch) * l_in + in) * channels + channel) * taps + tap]);
            }
        }
        dst[i] = static_cast<T>(sum);
    }
}

template <typename T>
PARITY_FN void im2col_1d(
    size_t windows, size_t l_out, size_t taps, size_t stride, size_t padding, size_t dilation, const size_t *info,
    const T *inp, T *dst) {
    const Images src = images_1d(info);
    if (windows >> 32 == 0 && src.is_narrow(sizeof(T))) {
        im2col_rows<u32>(u32(windows), u32(l_out), u32(taps), stride, padding, dilation, src, inp, dst);
    } else {
        im2col_rows<size_t>(windows, u32(l_out), u32(taps), stride, padding, dilation, src, inp, dst);
    }
}

template <typename T>
PARITY_FN void im2col_2d(
    size_t numel, size_t h_out, size_t w_out, size_t h_k, size_t w_k, size_t stride, size_t padding, size_t dilation,
    const size_t *info, const T *inp, T *dst) {
    const Images src = images_2d(info);
    const u32 h = u32(h_out), w = u32(w_out), taps_y = u32(h_k), taps_x = u32(w_k);
    if (numel >> 32 == 0 && src.is_narrow(sizeof(T))) {
        im2col_images<u32>(u32(numel), h, w, taps_y, taps_x, stride, padding, dilation, src, inp, dst);
    } else {
        im2col_images<size_t>(numel, h, w, taps_y, taps_x, stride, padding, dilation, src, inp, dst);
    }
}

template <typename T>
PARITY_FN void col2im_1d(
    size_t numel, size_t l_out, size_t l_in, size_t channels, size_t taps, size_t stride, const T *src, T *dst) {
    if (numel >> 32 == 0) {
        col2im_rows<u32>(u32(numel), u32(l_out), u32(l_in), u32(channels), u32(taps), u32(stride), src, dst);
    } else {
        col2im_rows<size_t>(numel, u32(l_out), u32(l_in), channels, u32(taps), u32(stride), src, dst);
    }
}

} // namespace parity
