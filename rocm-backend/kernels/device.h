// Everything that depends on the compiler or the device: attributes, thread indices, math-library entry points.
// Freestanding: no HIP header is needed, and none of the names below clashes with one. Not here: what a dtype is
// (dtype.h), which result an operation has (numeric.h), how a tensor is walked (layout.h).
#pragma once

// What a kernel's declaration begins with. `PARITY_KERNEL_OF(least, most)`: one whose workgroups have so many threads. clang
// assumes 1024 at most of AMD's others; NVIDIA's are told, so that a thread takes no more registers than there are for so many.
// `PARITY_CROWDED(least, most, groups)`: one that waits for memory, so that as many workgroups are to share a processor of NVIDIA's, whose
// compiler would rather give a thread twice the registers. AMD's processors hold as many waves as have room.
#if defined(__NVPTX__)
#define PARITY_KERNEL_OF(least, most) __attribute__((global, launch_bounds(most)))
#define PARITY_CROWDED(least, most, groups) __attribute__((global, launch_bounds(most, groups)))
#ifndef __global__
#define __global__ PARITY_KERNEL_OF(1, 1024)
#endif
#else
#define PARITY_KERNEL_OF(least, most) __global__ __attribute__((amdgpu_flat_work_group_size(least, most)))
#define PARITY_CROWDED(least, most, groups) PARITY_KERNEL_OF(least, most)
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif

#define PARITY_FN static inline __device__ __attribute__((always_inline))
#define PARITY_MEMBER inline __device__ __attribute__((always_inline))
// For a lambda: where clang makes a function of one, as it does for NVIDIA's targets, what it captures lies in memory.
#if defined(__NVPTX__)
#define PARITY_INLINED __attribute__((always_inline))
#else
#define PARITY_INLINED
#endif

#if defined(__NVPTX__)
#include "device_nvidia.h"
#else
// AMD's device libraries: ocml is the math library, ockl the work-item queries. Both are bitcode, inlined at compile time.
extern "C" {
#define PARITY_OCML1(name) \
    __device__ __attribute__((const)) float __ocml_##name##_f32(float); \
    __device__ __attribute__((const)) double __ocml_##name##_f64(double);
PARITY_OCML1(exp)
PARITY_OCML1(expm1)
PARITY_OCML1(log)
PARITY_OCML1(sin)
PARITY_OCML1(cos)
PARITY_OCML1(sinpi)
PARITY_OCML1(cospi)
PARITY_OCML1(tanh)
PARITY_OCML1(erf)
PARITY_OCML1(ncdf)
#undef PARITY_OCML1
__device__ __attribute__((const)) float __ocml_pow_f32(float, float);
__device__ __attribute__((const)) double __ocml_pow_f64(double, double);
__device__ __attribute__((const)) __SIZE_TYPE__ __ockl_get_num_groups(unsigned);
__device__ __attribute__((const)) __SIZE_TYPE__ __ockl_get_local_size(unsigned);
}
#endif

// The registers of inline assembly: a thread's own of 32 bits for a float, and one for a number that is the same in all threads
// of a wave, where a target has such.
#if defined(__NVPTX__)
#define PARITY_FLOAT_REGISTER "f"
#define PARITY_UNIFORM_REGISTER "l"
#elif !defined(__OPTIMIZE__)
// What is not optimised lies in memory, from which clang loads into threads' own registers, and it cannot make uniform ones of those.
#define PARITY_FLOAT_REGISTER "v"
#define PARITY_UNIFORM_REGISTER "v"
#else
#define PARITY_FLOAT_REGISTER "v"
#define PARITY_UNIFORM_REGISTER "s"
#endif

// Memory that nothing writes while a kernel runs. AMD's waves load from it what is the same for all lanes once a wave.
#if defined(__NVPTX__)
#define PARITY_CONSTANT
#else
#define PARITY_CONSTANT __attribute__((address_space(4)))
#endif

namespace parity {

using size_t = __SIZE_TYPE__;

// Lanes of a wave: RDNA's have 32, as these kernels are compiled, and NVIDIA's; GCN's and CDNA's 64.
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__) || defined(__NVPTX__)
constexpr unsigned WAVE = 32;
#else
constexpr unsigned WAVE = 64;
#endif

// A one-dimensional launch: this thread's first element, and the distance to its next one. Both are 64 bits wide
// before they are multiplied, so that a grid of more than 2^32 threads is right.
PARITY_FN size_t first_index() {
    return size_t(__builtin_amdgcn_workgroup_id_x()) * __ockl_get_local_size(0) + __builtin_amdgcn_workitem_id_x();
}
PARITY_FN size_t index_step() {
    return __ockl_get_num_groups(0) * __ockl_get_local_size(0);
}

#if !defined(__NVPTX__)
// The word that the lane has whose number in the wave differs by the bits of `distance`. Both lanes take part.
PARITY_FN unsigned word_of_lane(unsigned word, unsigned distance) {
    const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
    const unsigned lane = WAVE == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
    return unsigned(__builtin_amdgcn_ds_bpermute(int((lane ^ distance) * 4), int(word)));
}
#endif

// The upper half of the product.
PARITY_FN __UINT64_TYPE__ high_half(__UINT64_TYPE__ x, __UINT64_TYPE__ y) {
    return static_cast<__UINT64_TYPE__>(static_cast<unsigned __int128>(x) * y >> 64);
}

// Hides what a uniform number is, each time anew.
PARITY_FN size_t opaque(size_t number) {
    asm volatile("" : "+" PARITY_UNIFORM_REGISTER(number));
    return number;
}

// Makes *at the greater of itself and value, in one step for all threads of the device.
PARITY_FN void atomic_max(__UINT64_TYPE__ *at, __UINT64_TYPE__ value) {
    __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Makes *at, a word of the workgroup's own memory, the lesser of itself and value, in one step for all threads of the workgroup.
PARITY_FN void atomic_min_of_group(unsigned *at, unsigned value) {
    __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

// The math functions, overloaded on the width in which they are evaluated. sqrt, fma and the roundings (and the
// operators, division among them) are correctly rounded instruction sequences; the transcendental ones are ocml's.
namespace device_math {

#define PARITY_MATH1(name, entry32, entry64) \
    PARITY_FN float name(float x) { return entry32(x); } \
    PARITY_FN double name(double x) { return entry64(x); }
#define PARITY_MATH2(name, entry32, entry64) \
    PARITY_FN float name(float x, float y) { return entry32(x, y); } \
    PARITY_FN double name(double x, double y) { return entry64(x, y); }
PARITY_MATH1(exp, __ocml_exp_f32, __ocml_exp_f64)
PARITY_MATH1(expm1, __ocml_expm1_f32, __ocml_expm1_f64) // exp(x) - 1
PARITY_MATH1(log, __ocml_log_f32, __ocml_log_f64)
PARITY_MATH1(sin, __ocml_sin_f32, __ocml_sin_f64)
PARITY_MATH1(cos, __ocml_cos_f32, __ocml_cos_f64)
PARITY_MATH1(sinpi, __ocml_sinpi_f32, __ocml_sinpi_f64) // of pi times x
PARITY_MATH1(cospi, __ocml_cospi_f32, __ocml_cospi_f64)
PARITY_MATH1(tanh, __ocml_tanh_f32, __ocml_tanh_f64)
PARITY_MATH1(erf, __ocml_erf_f32, __ocml_erf_f64)
PARITY_MATH1(abs, __builtin_fabsf, __builtin_fabs)
PARITY_MATH1(sqrt, __builtin_sqrtf, __builtin_sqrt)
PARITY_MATH1(floor, __builtin_floorf, __builtin_floor)
PARITY_MATH1(ceil, __builtin_ceilf, __builtin_ceil)
PARITY_MATH1(round, __builtin_roundf, __builtin_round) // half away from zero
PARITY_MATH2(pow, __ocml_pow_f32, __ocml_pow_f64)
PARITY_MATH2(max_number, __builtin_fmaxf, __builtin_fmax) // a NaN operand loses; +0 beats -0
PARITY_MATH2(min_number, __builtin_fminf, __builtin_fmin)
#undef PARITY_MATH1
#undef PARITY_MATH2
// Hides where a value came from. Without it the compiler narrows an f32 division whose operands and result are f16 to
// an f16 one, which on AMD is not correctly rounded (a reciprocal has 0.51 ulp).
PARITY_FN float pinned(float x) {
    asm("" : "+" PARITY_FLOAT_REGISTER(x));
    return x;
}
// 2^x, 1 / x and 1 / sqrt(x) by the card's own instructions: within an ulp or two, and 0 for what would be subnormal.
#if defined(__NVPTX__)
PARITY_FN float exp2(float x) { return __nvvm_ex2_approx_ftz_f(x); }
PARITY_FN float reciprocal(float x) { return __nvvm_rcp_approx_ftz_f(x); }
PARITY_FN float inverse_root(float x) { return __nvvm_rsqrt_approx_f(x); }
#else
PARITY_FN float exp2(float x) { return __builtin_amdgcn_exp2f(x); }
PARITY_FN float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
PARITY_FN float inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
#endif
PARITY_FN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PARITY_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
PARITY_FN double normcdf(double x) { return __ocml_ncdf_f64(x); } // numeric.h has that of a float

} // namespace device_math
} // namespace parity
