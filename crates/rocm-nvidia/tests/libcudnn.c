// A stand-in for cuDNN, for tests on machines without one: device memory is the host's, each call is noted, and convolutions and means of
// windows of f32 are computed as "cuDNN API Reference" says. Written after that document; compiled by dnn.rs beside it.
#include <stdlib.h>

#include "mock.h"

typedef struct { int dtype, size[4]; } Tensor;
typedef struct { int pad[2], stride[2], dilation[2], math, groups; } Convolution;
typedef struct { int mode, window[2], pad[2], stride[2]; } Pooling;
typedef struct { int algorithm; Status status; float time; size_t memory; int determinism, math, reserved[3]; } Offer;

#define MADE(name, type) \
    Status name(Handle *out) { NOTE("%s", ""); *out = calloc(1, sizeof(type)); return 0; }
#define DESTROYED(name) \
    Status name(Handle object) { NOTE("%s", ""); free(object); return 0; }
MADE(cudnnCreate, int)
DESTROYED(cudnnDestroy)
MADE(cudnnCreateTensorDescriptor, Tensor)
DESTROYED(cudnnDestroyTensorDescriptor)
MADE(cudnnCreateFilterDescriptor, Tensor)
DESTROYED(cudnnDestroyFilterDescriptor)
MADE(cudnnCreateConvolutionDescriptor, Convolution)
DESTROYED(cudnnDestroyConvolutionDescriptor)
MADE(cudnnCreatePoolingDescriptor, Pooling)
DESTROYED(cudnnDestroyPoolingDescriptor)

Status cudnnSetStream(Handle handle, Handle stream) { NOTE(" %d %zx", handle != NULL, (size_t)stream); return 0; }
static Status set(Tensor *tensor, unsigned dtype, int n, int c, int h, int w) {
    *tensor = (Tensor){(int)dtype, {n, c, h, w}};
    return n > 0 && c > 0 && h > 0 && w > 0 ? 0 : 2000;
}
Status cudnnSetTensor4dDescriptor(Handle tensor, unsigned format, unsigned dtype, int n, int c, int h, int w) {
    NOTE(" %u %u %d %d %d %d", format, dtype, n, c, h, w);
    return set(tensor, dtype, n, c, h, w);
}
Status cudnnSetFilter4dDescriptor(Handle filter, unsigned dtype, unsigned format, int k, int c, int h, int w) {
    NOTE(" %u %u %d %d %d %d", format, dtype, k, c, h, w);
    return set(filter, dtype, k, c, h, w);
}
Status cudnnSetConvolution2dDescriptor(Handle convolution, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                       int dilation_w, unsigned mode, unsigned sums) {
    NOTE(" %d %d, %d %d, %d %d, mode %u, sums %u", pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, sums);
    *(Convolution *)convolution = (Convolution){{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, 0, 1};
    return 0;
}
Status cudnnSetConvolutionMathType(Handle convolution, unsigned math) {
    NOTE(" %u", math);
    ((Convolution *)convolution)->math = (int)math;
    return 0;
}
Status cudnnSetConvolutionGroupCount(Handle convolution, int groups) {
    NOTE(" %d", groups);
    ((Convolution *)convolution)->groups = groups;
    return 0;
}

Status cudnnGetConvolutionForwardAlgorithm_v7(Handle handle, Handle x, Handle w, Handle convolution, Handle y, int asked, int *found,
                                              Offer *out) {
    NOTE(" %d math %d", handle != NULL && x != NULL && w != NULL && y != NULL, ((Convolution *)convolution)->math);
    // The fastest is Winograd's, then one that adds up in any order, then one without precomputed places, which wants eight bytes.
    static const int algorithms[3][2] = {{6, 1}, {1, 0}, {0, 1}};
    for (*found = 0; *found < asked && *found < 3; ++*found) {
        out[*found] = (Offer){algorithms[*found][0], 0, (float)*found, 8, algorithms[*found][1], ((Convolution *)convolution)->math, {0}};
    }
    return 0;
}
static void convolve(const Convolution *how, const Tensor *of_images, const float *images, const Tensor *of_weights, const float *weights,
                     const Tensor *of_results, float *results) {
    const int *x = of_images->size, *w = of_weights->size, *y = of_results->size;
    memset(results, 0, (size_t)(y[0] * y[1] * y[2] * y[3]) * sizeof(float));
    for (int n = 0; n < y[0]; ++n) for (int k = 0; k < y[1]; ++k) for (int c = 0; c < x[1]; ++c)
    for (int r = 0; r < y[2]; ++r) for (int s = 0; s < y[3]; ++s) for (int t = 0; t < w[2]; ++t) for (int u = 0; u < w[3]; ++u) {
        int row = r * how->stride[0] + t * how->dilation[0] - how->pad[0];
        int col = s * how->stride[1] + u * how->dilation[1] - how->pad[1];
        if (row < 0 || col < 0 || row >= x[2] || col >= x[3]) continue;
        results[((n * y[1] + k) * y[2] + r) * y[3] + s] +=
            images[((n * x[1] + c) * x[2] + row) * x[3] + col] * weights[((k * x[1] + c) * w[2] + t) * w[3] + u];
    }
}
Status cudnnConvolutionForward(Handle handle, const float *alpha, Handle of_x, void *x, Handle of_w, const void *w, Handle how,
                               unsigned algorithm, void *workspace, size_t room, const float *beta, Handle of_y, void *y) {
    NOTE(" %d by %u, %d of %zu, %g %g", handle != NULL, algorithm, workspace != NULL, room, *alpha, *beta);
    convolve(how, of_x, x, of_w, w, of_y, y);
    return 0;
}
Status cudnnSetPooling2dDescriptor(Handle pooling, unsigned mode, unsigned nan, int h, int w, int pad_h, int pad_w, int stride_h,
                                   int stride_w) {
    NOTE(" mode %u, nan %u, %d %d, %d %d, %d %d", mode, nan, h, w, pad_h, pad_w, stride_h, stride_w);
    *(Pooling *)pooling = (Pooling){(int)mode, {h, w}, {pad_h, pad_w}, {stride_h, stride_w}};
    return 0;
}
Status cudnnPoolingForward(Handle handle, Handle pooling, const float *alpha, Handle of_x, const float *x, const float *beta,
                           Handle of_y, float *y) {
    NOTE(" %d, %g %g", handle != NULL, *alpha, *beta);
    const Pooling *how = pooling;
    const int *in = ((Tensor *)of_x)->size, *out = ((Tensor *)of_y)->size;
    for (int image = 0; image < out[0] * out[1]; ++image) for (int r = 0; r < out[2]; ++r) for (int s = 0; s < out[3]; ++s) {
        float sum = 0;
        for (int t = 0; t < how->window[0]; ++t) for (int u = 0; u < how->window[1]; ++u) {
            sum += x[(image * in[2] + r * how->stride[0] + t) * in[3] + s * how->stride[1] + u];
        }
        y[(image * out[2] + r) * out[3] + s] = sum / (float)(how->window[0] * how->window[1]);
    }
    return 0;
}
