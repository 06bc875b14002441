// out = f(lhs, rhs), element by element: kernels `b<op>_<dtype>` with a result of the same dtype and `<comparison>_<dtype>`
// with a u8 result of 0 or 1; arguments (numel, num_dims, info, lhs, rhs, out). `out` is contiguous. Of some dtypes
// `b<op>_turned_<dtype>` and `<comparison>_turned_<dtype>`, arguments (info, lhs, rhs, out), of turned.h.
#include "numeric.h"
#include "turned.h"

using namespace parity;

// `GROUPS`: workgroups that share a processor of NVIDIA's; a quotient takes more registers than a sum.
#define KERNEL(name, T, Out, function, GROUPS) \
    extern "C" PARITY_CROWDED(1, 256, GROUPS) void name##_##T( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const T *lhs, const T *rhs, Out *out) { \
        map_binary(numel, num_dims, info, lhs, rhs, out, [](T x, T y) { return numeric::function(x, y); }); \
    } \
    PARITY_TURNED_##T(extern "C" PARITY_CROWDED(256, 256, GROUPS) void name##_turned_##T( \
        const size_t *__restrict__ info, const T *lhs, const T *rhs, Out *out) { \
        constexpr unsigned N = PackLen<T, Out>::value; \
        map_turned<N>(info, lhs, rhs, out, [](Pack<T, N> x, Pack<T, N> y) { \
            return pack_with<Out>([](T x, T y) { return numeric::function(x, y); }, x, y); \
        }); \
    })

#define FOR_ANY(T) \
    KERNEL(badd, T, T, add, 5) \
    KERNEL(bsub, T, T, sub, 5) \
    KERNEL(bmul, T, T, mul, 5) \
    KERNEL(bdiv, T, T, div, 4) \
    KERNEL(bmaximum, T, T, maximum, 4) \
    KERNEL(bminimum, T, T, minimum, 4) \
    KERNEL(eq, T, u8, eq, 5) \
    KERNEL(ne, T, u8, ne, 5) \
    KERNEL(lt, T, u8, lt, 5) \
    KERNEL(le, T, u8, le, 5) \
    KERNEL(gt, T, u8, gt, 5) \
    KERNEL(ge, T, u8, ge, 5)

PARITY_ALL_DTYPES(FOR_ANY)
