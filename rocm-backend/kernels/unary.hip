// out = f(inp), element by element: kernels `u<op>_<dtype>(numel, num_dims, info, inp, out)`, and with one parameter
// `u<op>_<dtype>(numel, num_dims, info, param, inp, out)`. `out` is contiguous; a null `inp` means in place. Of some dtypes
// `u<op>_turned_<dtype>(info, inp, out)` and `u<op>_turned_<dtype>(info, param, inp, out)`, of turned.h.
#include "numeric.h"
#include "turned.h"

using namespace parity;

template <typename T, typename F> PARITY_FN void turn(const size_t *info, const T *inp, T *out, F f) {
    constexpr unsigned N = PackLen<T>::value;
    map_turned<N>(info, inp, out, [&](Pack<T, N> pack) { return map_pack<T>(pack, f); });
}

#define PLAIN(op, T, function) \
    extern "C" __global__ void u##op##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const T *inp, T *out) { \
        map_unary(numel, num_dims, info, inp, out, [](T x) { return numeric::function(x); }); \
    }
#define KERNEL(op, T, function) \
    PLAIN(op, T, function) \
    PARITY_TURNED_##T(extern "C" PARITY_CROWDED(256, 256, 6) void u##op##_turned_##T( \
        const size_t *__restrict__ info, const T *inp, T *out) { \
        turn(info, inp, out, [](T x) { return numeric::function(x); }); \
    })
#define KERNEL_WITH_PARAM(op, T, function) \
    extern "C" __global__ void u##op##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, T param, const T *inp, T *out) { \
        map_unary(numel, num_dims, info, inp, out, [param](T x) { return numeric::function(x, param); }); \
    } \
    PARITY_TURNED_##T(extern "C" PARITY_CROWDED(256, 256, 6) void u##op##_turned_##T( \
        const size_t *__restrict__ info, T param, const T *inp, T *out) { \
        turn(info, inp, out, [param](T x) { return numeric::function(x, param); }); \
    })

// transpose.h copies what is turned.
#define FOR_ANY(T) PLAIN(copy, T, copy) KERNEL(relu, T, relu) KERNEL(sign, T, sign)
#define FOR_FLOAT(T) \
    KERNEL(neg, T, neg) \
    KERNEL(recip, T, recip) \
    KERNEL(exp, T, exp) \
    KERNEL(log, T, log) \
    KERNEL(sin, T, sin) \
    KERNEL(cos, T, cos) \
    KERNEL(tanh, T, tanh) \
    KERNEL(erf, T, erf) \
    KERNEL(ceil, T, ceil) \
    KERNEL(floor, T, floor) \
    KERNEL(round, T, round) \
    KERNEL(normcdf, T, normcdf) \
    KERNEL(abs, T, abs) \
    KERNEL(sqr, T, sqr) \
    KERNEL(sqrt, T, sqrt) \
    KERNEL(gelu, T, gelu) \
    KERNEL(gelu_erf, T, gelu_erf) \
    KERNEL(silu, T, silu) \
    KERNEL(sigmoid, T, sigmoid) \
    KERNEL_WITH_PARAM(elu, T, elu) \
    KERNEL_WITH_PARAM(powf, T, pow)
#define FOR_INT(T) \
    PLAIN(abs, T, int_abs) \
    PLAIN(ceil, T, copy) \
    PLAIN(floor, T, copy) \
    PLAIN(round, T, copy)

PARITY_ALL_DTYPES(FOR_ANY)
PARITY_FLOAT_DTYPES(FOR_FLOAT)
PARITY_INT_DTYPES(FOR_INT)
