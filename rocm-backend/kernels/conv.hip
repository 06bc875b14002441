// Convolution, pooling and upsampling of (batch, channels, height, width) and (batch, channels, length). `info` holds the
// sizes and strides of the input (conv: then those of the kernel), in elements; results are contiguous. The first argument
// of a kernel that names `src_numel` is there because candle passes it.
#include "columns.h"
#include "convolve.h"
#include "pool.h"
#include "upsample.h"

using namespace parity;

#define CONV(T) \
    extern "C" __global__ void conv1d_##T( \
        size_t /* src_numel */, size_t l_out, size_t stride, size_t padding, size_t dilation, \
        const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel, T *__restrict__ dst) { \
        convolve_1d<false>(l_out, stride, padding, dilation, info, src, kernel, dst); \
    } \
    extern "C" __global__ void conv2d_##T( \
        size_t /* src_numel */, size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation, \
        const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel, T *__restrict__ dst) { \
        convolve_2d<false>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst); \
    }

#define CONV_TRANSPOSE(T) \
    extern "C" __global__ void conv_transpose1d_##T( \
        size_t /* src_numel */, size_t l_out, size_t stride, size_t padding, size_t /* out_padding */, size_t dilation, \
        const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel, T *__restrict__ dst) { \
        convolve_1d<true>(l_out, stride, padding, dilation, info, src, kernel, dst); \
    } \
    extern "C" __global__ void conv_transpose2d_##T( \
        size_t /* src_numel */, size_t w_out, size_t h_out, size_t stride, size_t padding, size_t /* out_padding */, \
        size_t dilation, const size_t *__restrict__ info, const T *__restrict__ src, const T *__restrict__ kernel, \
        T *__restrict__ dst) { \
        convolve_2d<true>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst); \
    }

#define COLUMNS(T) \
    extern "C" __global__ void im2col1d_##T( \
        size_t windows, size_t l_out, size_t l_k, size_t stride, size_t padding, size_t dilation, \
        const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) { \
        im2col_1d(windows, l_out, l_k, stride, padding, dilation, info, src, dst); \
    } \
    extern "C" __global__ void im2col_##T( \
        size_t dst_numel, size_t h_out, size_t w_out, size_t h_k, size_t w_k, size_t stride, size_t padding, \
        size_t dilation, const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) { \
        im2col_2d(dst_numel, h_out, w_out, h_k, w_k, stride, padding, dilation, info, src, dst); \
    } \
    extern "C" __global__ void col2im1d_##T( \
        size_t dst_numel, size_t l_out, size_t l_in, size_t c_out, size_t k_size, size_t stride, \
        const T *__restrict__ src, T *__restrict__ dst) { \
        col2im_1d(dst_numel, l_out, l_in, c_out, k_size, stride, src, dst); \
    }

#define POOL(name, Window, T) \
    extern "C" __global__ void name##_##T( \
        size_t /* src_numel */, size_t h_k, size_t w_k, size_t h_stride, size_t w_stride, \
        const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) { \
        pool_2d<Window<T>>(h_k, w_k, h_stride, w_stride, info, src, dst); \
    }
#define POOLS(T) POOL(avg_pool2d, Mean, T) POOL(max_pool2d, Largest, T)

#define UPSAMPLE(T) \
    extern "C" __global__ void upsample_nearest1d_##T( \
        size_t l_out, f64 l_scale, const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) { \
        upsample_nearest(images_1d(info), 1, l_out, 1.0, l_scale, src, dst); \
    } \
    extern "C" __global__ void upsample_nearest2d_##T( \
        size_t h_out, size_t w_out, f64 h_scale, f64 w_scale, const size_t *__restrict__ info, \
        const T *__restrict__ src, T *__restrict__ dst) { \
        upsample_nearest(images_2d(info), h_out, w_out, h_scale, w_scale, src, dst); \
    } \
    extern "C" __global__ void upsample_bilinear2d_##T( \
        size_t w_out, size_t h_out, bool align_corners, bool has_scale_h, f64 scale_h, bool has_scale_w, f64 scale_w, \
        const size_t *__restrict__ info, const T *__restrict__ src, T *__restrict__ dst) { \
        const Spacing vertical{align_corners, has_scale_h, scale_h}, horizontal{align_corners, has_scale_w, scale_w}; \
        upsample_bilinear(w_out, h_out, vertical, horizontal, images_2d(info), src, dst); \
    }

// The dtypes of candle's kernels.
#define CANDLE_DTYPES(ROW) ROW(bf16) ROW(f16) ROW(f32) ROW(f64) ROW(u8) ROW(u32)
CANDLE_DTYPES(CONV)
CANDLE_DTYPES(COLUMNS)
PARITY_ALL_DTYPES(CONV_TRANSPOSE)
PARITY_ALL_DTYPES(POOLS)
PARITY_ALL_DTYPES(UPSAMPLE)
