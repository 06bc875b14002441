// Stands before every source that Device::compile gets, as hipRTC has its own: the HIP language's words, its math
// library (clang's own headers, freestanding) and its built-in variables. No file of ROCm is needed. Not here: HIP's host
// API, its vector types and its atomics beyond clang's __hip_atomic_* builtins.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#define __HIPCC_RTC__ 1
#include <__clang_hip_runtime_wrapper.h>

// The second number, how many workgroups should fit on a compute unit, is a hint that is not taken.
#define ROCM_AT_MOST(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) ROCM_AT_MOST(__VA_ARGS__, 0)
#define __forceinline__ inline __attribute__((always_inline))

extern "C" __device__ __attribute__((const)) __SIZE_TYPE__ __ockl_get_num_groups(unsigned);
extern "C" __device__ __attribute__((const)) __SIZE_TYPE__ __ockl_get_local_size(unsigned);

// A variable whose members x, y and z are read from the hardware; nothing of it is in memory.
#define ROCM_BUILT_IN(name, X, Y, Z) \
    struct __rocm_##name { \
        __declspec(property(get = __x)) unsigned x; \
        __declspec(property(get = __y)) unsigned y; \
        __declspec(property(get = __z)) unsigned z; \
        static __device__ __forceinline__ unsigned __x() { return static_cast<unsigned>(X); } \
        static __device__ __forceinline__ unsigned __y() { return static_cast<unsigned>(Y); } \
        static __device__ __forceinline__ unsigned __z() { return static_cast<unsigned>(Z); } \
    }; \
    extern const __device__ __attribute__((weak)) __rocm_##name name;
ROCM_BUILT_IN(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z())
ROCM_BUILT_IN(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z())
ROCM_BUILT_IN(blockDim, __ockl_get_local_size(0), __ockl_get_local_size(1), __ockl_get_local_size(2))
ROCM_BUILT_IN(gridDim, __ockl_get_num_groups(0), __ockl_get_num_groups(1), __ockl_get_num_groups(2))
#undef ROCM_BUILT_IN

// Waits for all threads of the workgroup. After it, every thread sees what each wrote to memory before.
static inline __device__ __attribute__((convergent)) void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#pragma clang diagnostic pop
