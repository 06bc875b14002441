// out = inp in another dtype, element by element: kernels `cast_<from>_<to>(numel, num_dims, info, inp, out)`, all pairs of
// the ten dtypes. `out` is contiguous.
#include "cast.h"
#include "layout.h"

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
