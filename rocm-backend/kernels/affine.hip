// out = inp * mul + add, element by element: kernels `affine_<dtype>(numel, num_dims, info, inp, out, mul, add)`.
// `out` is contiguous; a null `inp` means in place. Of some dtypes `affine_turned_<dtype>(info, inp, out, mul, add)`, of turned.h.
#include "numeric.h"
#include "turned.h"

using namespace parity;

#define KERNEL(T) \
    extern "C" __global__ void affine_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const T *inp, T *out, T mul, T add) { \
        map_unary(numel, num_dims, info, inp, out, [mul, add](T x) { return numeric::affine(x, mul, add); }); \
    } \
    PARITY_TURNED_##T(extern "C" PARITY_CROWDED(256, 256, 6) void affine_turned_##T( \
        const size_t *__restrict__ info, const T *inp, T *out, T mul, T add) { \
        constexpr unsigned N = PackLen<T>::value; \
        map_turned<N>(info, inp, out, [&](Pack<T, N> pack) { \
            return map_pack<T>(pack, [mul, add](T x) { return numeric::affine(x, mul, add); }); \
        }); \
    })

PARITY_ALL_DTYPES(KERNEL)
