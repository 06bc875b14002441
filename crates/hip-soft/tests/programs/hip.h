// What a compiler and these programs need of HIP: the project's CI has no header of AMD's.
#pragma once
#include <cstddef>
#include <cstdio>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __managed__ __attribute__((managed))

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
typedef int hipError_t;
typedef struct ihipStream_t* hipStream_t;

extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t lds, hipStream_t stream);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipMalloc(void** place, size_t bytes);
hipError_t hipFree(void* memory);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, int kind);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, hipStream_t stream);
hipError_t hipMemcpyToSymbol(const void* variable, const void* from, size_t bytes, size_t offset, int kind);
hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);
hipError_t hipHostMalloc(void** place, size_t bytes, unsigned flags);
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data);
hipError_t hipStreamBeginCapture(hipStream_t stream, int mode);
hipError_t hipStreamEndCapture(hipStream_t stream, void** graph);
hipError_t hipGraphInstantiate(void** executable, void* graph, void* node, char* log, size_t bytes);
hipError_t hipGraphLaunch(void* executable, hipStream_t stream);
hipError_t hipDeviceSynchronize();
hipError_t hipModuleLoadData(void** module, const void* file);
hipError_t hipModuleUnload(void* module);
hipError_t hipFuncGetAttribute(int* value, int attribute, void* kernel);
hipError_t hipMemGetInfo(size_t* free, size_t* total);
hipError_t hipModuleGetFunction(void** kernel, void* module, const char* name);
hipError_t hipGetLastError();
const char* hipGetErrorName(hipError_t code);
}

__device__ inline unsigned item() { return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x(); }

// The call succeeds, or the program ends.
#define OK(...)                                                                          \
    do {                                                                                 \
        if (hipError_t code = (__VA_ARGS__)) {                                           \
            printf("line %d: %s: %s\n", __LINE__, #__VA_ARGS__, hipGetErrorName(code)); \
            return 1;                                                                    \
        }                                                                                \
    } while (0)
// So it is, or the program ends.
#define TRUE(...)                                               \
    do {                                                        \
        if (!(__VA_ARGS__)) {                                   \
            printf("line %d: not: %s\n", __LINE__, #__VA_ARGS__); \
            return 1;                                           \
        }                                                       \
    } while (0)
