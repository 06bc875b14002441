// NVIDIA's half of device.h: the names by which the kernels call AMD's device libraries and builtins, made of libdevice and of
// clang's builtins for PTX. device.h includes it where the compiler makes PTX, and nothing else does.
//
// libdevice is NVIDIA's math library, as bitcode; ptxas or the driver compiles the PTX. A warp has 32 lanes, which are the
// wave of these kernels.
#pragma once

extern "C" {
#define PARITY_LIBDEVICE1(name, entry) \
    __device__ __attribute__((const)) float __nv_##entry##f(float); \
    __device__ __attribute__((const)) double __nv_##entry(double); \
    PARITY_FN float __ocml_##name##_f32(float x) { return __nv_##entry##f(x); } \
    PARITY_FN double __ocml_##name##_f64(double x) { return __nv_##entry(x); }
PARITY_LIBDEVICE1(exp, exp)
PARITY_LIBDEVICE1(expm1, expm1)
PARITY_LIBDEVICE1(log, log)
PARITY_LIBDEVICE1(sin, sin)
PARITY_LIBDEVICE1(cos, cos)
PARITY_LIBDEVICE1(sinpi, sinpi)
PARITY_LIBDEVICE1(cospi, cospi)
PARITY_LIBDEVICE1(tanh, tanh)
PARITY_LIBDEVICE1(erf, erf)
PARITY_LIBDEVICE1(ncdf, normcdf)
#undef PARITY_LIBDEVICE1
__device__ __attribute__((const)) float __nv_powf(float, float);
__device__ __attribute__((const)) double __nv_pow(double, double);
__device__ __attribute__((const)) float __nv_ldexpf(float, int);
}
PARITY_FN float __ocml_pow_f32(float x, float y) { return __nv_powf(x, y); }
PARITY_FN double __ocml_pow_f64(double x, double y) { return __nv_pow(x, y); }
// LLVM's NVPTX has no code for its own builtin.
#define __builtin_ldexpf __nv_ldexpf

// Who a thread is, and how many there are.
#define __builtin_amdgcn_workitem_id_x() unsigned(__nvvm_read_ptx_sreg_tid_x())
#define __builtin_amdgcn_workitem_id_y() unsigned(__nvvm_read_ptx_sreg_tid_y())
#define __builtin_amdgcn_workgroup_id_x() unsigned(__nvvm_read_ptx_sreg_ctaid_x())
#define __builtin_amdgcn_workgroup_id_y() unsigned(__nvvm_read_ptx_sreg_ctaid_y())
#define __builtin_amdgcn_workgroup_id_z() unsigned(__nvvm_read_ptx_sreg_ctaid_z())
PARITY_FN __SIZE_TYPE__ __ockl_get_num_groups(unsigned dimension) {
    return unsigned(dimension == 0   ? __nvvm_read_ptx_sreg_nctaid_x()
                    : dimension == 1 ? __nvvm_read_ptx_sreg_nctaid_y()
                                     : __nvvm_read_ptx_sreg_nctaid_z());
}
PARITY_FN __SIZE_TYPE__ __ockl_get_local_size(unsigned dimension) {
    return unsigned(dimension == 0   ? __nvvm_read_ptx_sreg_ntid_x()
                    : dimension == 1 ? __nvvm_read_ptx_sreg_ntid_y()
                                     : __nvvm_read_ptx_sreg_ntid_z());
}

// PTX's barrier orders memory as well, so that the fences around AMD's have nothing to do.
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_s_barrier() __syncthreads()

// Values of other lanes of the warp. All lanes take part, as on AMD. Of ds_swizzle the kernels use one mode: bits 10 to 14 of
// the pattern are a mask that is xor-ed to the lane's number.
#define __builtin_amdgcn_readfirstlane(x) __nvvm_shfl_sync_idx_i32(0xffffffffu, (x), 0, 0x1f)
PARITY_FN unsigned word_of_lane(unsigned word, unsigned distance) {
    return unsigned(__nvvm_shfl_sync_bfly_i32(0xffffffffu, int(word), int(distance), 0x1f));
}
#define __builtin_amdgcn_ds_swizzle(x, pattern) __nvvm_shfl_sync_bfly_i32(0xffffffffu, (x), (pattern) >> 10, 0x1f)

// Of the device's memory: where `at` might as well be of a workgroup's, ptxas writes a loop for that beside it.
PARITY_FN void global_max(__UINT64_TYPE__ *at, __UINT64_TYPE__ value) {
    asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %0; red.global.max.u64 [at], %1; }" : : "l"(at), "l"(value) : "memory");
}
#define __hip_atomic_fetch_max(at, value, order, scope) global_max((at), (value))
#define __hip_atomic_fetch_min(at, value, order, scope) __nvvm_atom_min_gen_ui((at), (value))

// bf16 as the card has it since sm_80: the nearest of an f32, ties to even, and x * y + z rounded once. A NaN becomes 0x7fff.
PARITY_FN unsigned short bf16_bits(float x) {
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
// The word whose upper half is these bits. Of a half of a register one instruction, where LLVM makes a word of it and moves that.
PARITY_FN unsigned upper_half(unsigned short bits) {
    unsigned word;
    asm("mov.b32 %0, {%1, %2};" : "=r"(word) : "h"((unsigned short)0), "h"(bits));
    return word;
}
PARITY_FN unsigned short bf16_fma(unsigned short x, unsigned short y, unsigned short z) {
    unsigned short bits;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(bits) : "h"(x), "h"(y), "h"(z));
    return bits;
}
// The greater and the lesser of two numbers; a NaN wins, and +0 is greater than -0.
PARITY_FN float greatest_or_nan(float x, float y) {
    float best;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(x), "f"(y));
    return best;
}
PARITY_FN float least_or_nan(float x, float y) {
    float best;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(x), "f"(y));
    return best;
}

// Matrix cores, for all lanes of a warp together. Words of the workgroup's memory, in rows of four, by the address of the first of each
// row: lane l names row l, and of every eighth row from row l / 4 on it gets word l % 4.
PARITY_FN unsigned shared_address(const void *at) {
    return unsigned(reinterpret_cast<__SIZE_TYPE__>((const __attribute__((address_space(3))) void *)at));
}
PARITY_FN void load_words(unsigned (&words)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at));
}
// Adds to 16 by 8 sums the products of 16 by 8 and 8 by 8 numbers of f32, of whose 24 significant bits the first 11 are taken, as TF32 has
// them. Lane l has of the sums rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next; of the left operand those rows and columns
// l % 4 and l % 4 + 4, row after row; of the right one those rows, and column l / 4. The sums are truncated.
PARITY_FN void multiply_tf32(float (&sum)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
