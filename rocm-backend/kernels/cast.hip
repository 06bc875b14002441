// out = inp in another dtype, element by element: kernels `cast_<from>_<to>(numel, num_dims, info, inp, out)`, all pairs of
// the ten dtypes. `out` is contiguous. Of some pairs `cast_turned_<from>_<to>(info, inp, out)`, of turned.h.
#include "cast.h"
#include "turned.h"

using namespace parity;

#define KERNEL(From, To) \
    extern "C" __global__ void cast_##From##_##To( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const From *__restrict__ inp, \
        To *__restrict__ out) { \
        map_cast(numel, num_dims, info, inp, out, [](From x) { return numeric::cast<To>(x); }); \
    }

// A row macro cannot be expanded inside itself, so the second dtype is written out.
#define FROM(T) \
    KERNEL(T, bf16) KERNEL(T, f16) KERNEL(T, f32) KERNEL(T, f64) KERNEL(T, f8_e4m3) \
    KERNEL(T, u8) KERNEL(T, u32) KERNEL(T, i16) KERNEL(T, i32) KERNEL(T, i64)

PARITY_ALL_DTYPES(FROM)

#define TURNED(From, To) \
    extern "C" PARITY_CROWDED(256, 256, 6) void cast_turned_##From##_##To( \
        const size_t *__restrict__ info, const From *__restrict__ inp, To *__restrict__ out) { \
        constexpr unsigned N = PackLen<From, To>::value; \
        map_turned<N>(info, inp, out, [](Pack<From, N> pack) { \
            return pack_with<To>([](From x) { return numeric::cast<To>(x); }, pack); \
        }); \
    }
TURNED(f32, f16) TURNED(f32, bf16) TURNED(f16, f32) TURNED(bf16, f32) TURNED(f16, bf16) TURNED(bf16, f16)
