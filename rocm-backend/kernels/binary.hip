// out = f(lhs, rhs), element by element: kernels `b<op>_<dtype>` with a result of the same dtype and `<comparison>_<dtype>`
// with a u8 result of 0 or 1; arguments (numel, num_dims, info, lhs, rhs, out). `out` is contiguous.
#include "layout.h"
#include "numeric.h"

using namespace parity;

#define KERNEL(name, T, Out, function) \
    extern "C" __global__ void name##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const T *lhs, const T *rhs, Out *out) { \
        map_binary(numel, num_dims, info, lhs, rhs, out, [](T x, T y) { return numeric::function(x, y); }); \
    }

#define FOR_ANY(T) \
    KERNEL(badd, T, T, add) \
    KERNEL(bsub, T, T, sub) \
    KERNEL(bmul, T, T, mul) \
    KERNEL(bdiv, T, T, div) \
    KERNEL(bmaximum, T, T, maximum) \
    KERNEL(bminimum, T, T, minimum) \
    KERNEL(eq, T, u8, eq) \
    KERNEL(ne, T, u8, ne) \
    KERNEL(lt, T, u8, lt) \
    KERNEL(le, T, u8, le) \
    KERNEL(gt, T, u8, gt) \
    KERNEL(ge, T, u8, ge)

PARITY_ALL_DTYPES(FOR_ANY)
