// out = inp * mul + add, element by element: kernels `affine_<dtype>(numel, num_dims, info, inp, out, mul, add)`.
// `out` is contiguous; a null `inp` means in place.
#include "layout.h"
#include "numeric.h"

using namespace parity;

#define KERNEL(T) \
    extern "C" __global__ void affine_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const T *inp, T *out, T mul, T add) { \
        map_unary(numel, num_dims, info, inp, out, [mul, add](T x) { return numeric::affine(x, mul, add); }); \
    }

PARITY_ALL_DTYPES(KERNEL)
