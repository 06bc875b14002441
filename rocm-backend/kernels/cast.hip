// out = inp in another dtype, element by element: kernels `cast_<from>_<to>(numel, num_dims, info, inp, out)`, all pairs of
// the ten dtypes. `out` is contiguous.
#include "cast.h"
#include "layout.h"

using namespace parity;

// `out` never aliases `inp`: the two may differ in size.
template <typename To, typename From>
PARITY_FN void cast_all(size_t numel, size_t num_dims, const size_t *info, const From *inp, To *out) {
    const Walk<1> walk(numel, num_dims, info);
    for (size_t i = first_index(); i < numel; i += index_step()) {
        size_t at[1];
        walk.locate(i, at);
        out[i] = numeric::cast<To>(inp[at[0]]);
    }
}

#define KERNEL(From, To) \
    extern "C" __global__ void cast_##From##_##To( \
        size_t numel, size_t num_dims, const size_t *__restrict__ info, const From *__restrict__ inp, \
        To *__restrict__ out) { \
        cast_all(numel, num_dims, info, inp, out); \
    }

// A row macro cannot be expanded inside itself, so the second dtype is written out.
#define FROM(T) \
    KERNEL(T, bf16) KERNEL(T, f16) KERNEL(T, f32) KERNEL(T, f64) KERNEL(T, f8_e4m3) \
    KERNEL(T, u8) KERNEL(T, u32) KERNEL(T, i16) KERNEL(T, i32) KERNEL(T, i64)

PARITY_ALL_DTYPES(FROM)
