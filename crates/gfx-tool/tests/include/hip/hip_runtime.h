// In the place of HIP's header, for examples/hip-ctest/sums.hip: the project's CI has no header of AMD's.
#pragma once
#include "../../../../hip-soft/tests/programs/hip.h"

enum { hipSuccess = 0, hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
extern "C" const char* hipGetErrorString(hipError_t code);
template <typename T> hipError_t hipMalloc(T** place, size_t bytes) { return hipMalloc((void**)place, bytes); }
template <typename T> hipError_t hipHostMalloc(T** place, size_t bytes, unsigned flags) { return hipHostMalloc((void**)place, bytes, flags); }
extern "C" hipError_t hipHostFree(void* memory);

#define threadIdx dim3(__builtin_amdgcn_workitem_id_x())
#define blockIdx dim3(__builtin_amdgcn_workgroup_id_x())
#define blockDim dim3(__builtin_amdgcn_workgroup_size_x())
__device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline int atomicAdd(int* place, int value) {
    return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
