// A stand-in for NVIDIA's driver, for tests on machines without one: it has two devices, whose memory is the host's, and notes
// each call. Written after "CUDA Driver API"; compiled by driver.rs beside it.
#include <stdlib.h>

#include "mock.h"

typedef unsigned long long Address;

static int current_context;

int mock_context(void) { return current_context; }
void mock_lose_context(void) { current_context = 0; }
#define QUIET NOTE("%s", "")

static void *at(Address address) { return (void *)(size_t)address; }

Status cuInit(unsigned flags) { NOTE(" %u", flags); return 0; }
Status cuDriverGetVersion(int *version) { *version = 13010; return 0; }
Status cuDeviceGetCount(int *count) { QUIET; *count = 2; return 0; }
Status cuDeviceGet(int *device, int ordinal) { *device = 70 + ordinal; return 0; }
Status cuDeviceGetName(char *name, int len, int device) { snprintf(name, (size_t)len, "stand-in %d", device); return 0; }
Status cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1000u + (unsigned)device; return 0; }
Status cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 10 ? 32 : 1000 + attribute;
    return 0;
}
Status cuDeviceCanAccessPeer(int *can, int device, int peer) { NOTE(" %d %d", device, peer); *can = 1; return 0; }
Status cuDevicePrimaryCtxRetain(Handle *context, int device) {
    NOTE(" %d", device);
    *context = (Handle)(size_t)(0x100 + device);
    return 0;
}
Status cuCtxSetCurrent(Handle context) { current_context = (int)(size_t)context; return 0; }
Status cuCtxSynchronize(void) { QUIET; return 0; }
Status cuCtxEnablePeerAccess(Handle context, unsigned flags) { NOTE(" %zx %u", (size_t)context, flags); return 0; }
Status cuGetErrorName(Status status, const char **name) {
    *name = status == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS" : status == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return *name == NULL;
}
Status cuGetErrorString(Status status, const char **text) {
    *text = status == 716 ? "misaligned address" : NULL;
    return *text == NULL;
}
Status cuMemGetInfo_v2(size_t *free, size_t *total) { *free = 1; *total = 2; return 0; }
Status cuMemAlloc_v2(Address *address, size_t bytes) {
    NOTE(" %zu", bytes);
    *address = (Address)(size_t)malloc(bytes);
    return 0;
}
Status cuMemFree_v2(Address address) { QUIET; free(at(address)); return 0; }
Status cuMemHostAlloc(void **host, size_t bytes, unsigned flags) { NOTE(" %zu %u", bytes, flags); *host = malloc(bytes); return 0; }
Status cuMemFreeHost(void *host) { QUIET; free(host); return 0; }
Status cuMemcpyAsync(Address to, Address from, size_t bytes, Handle stream) {
    NOTE(" %zu %zx", bytes, (size_t)stream);
    memmove(at(to), at(from), bytes);
    return 0;
}
Status cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Handle stream) {
    NOTE(" %zu %zx", bytes, (size_t)stream);
    memcpy(at(to), from, bytes);
    return 0;
}
Status cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Handle stream) {
    NOTE(" %zu %zx", bytes, (size_t)stream);
    memcpy(to, at(from), bytes);
    return 0;
}
Status cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle stream) {
    NOTE(" %zu %zx", bytes, (size_t)stream);
    memmove(at(to), at(from), bytes);
    return 0;
}
Status cuMemcpyPeerAsync(Address to, Handle there, Address from, Handle here, size_t bytes, Handle stream) {
    NOTE(" %zx %zx %zu %zx", (size_t)there, (size_t)here, bytes, (size_t)stream);
    memmove(at(to), at(from), bytes);
    return 0;
}

struct Copy2d {
    size_t source_x, source_y;
    unsigned source_type;
    const void *source_host;
    Address source_device;
    Handle source_array;
    size_t source_pitch, target_x, target_y;
    unsigned target_type;
    void *target_host;
    Address target_device;
    Handle target_array;
    size_t target_pitch, width, height;
};
Status cuMemcpy2DAsync_v2(const struct Copy2d *plan, Handle stream) {
    NOTE(" %u %u %zu %zu %zu %zu %zx", plan->source_type, plan->target_type, plan->source_pitch, plan->target_pitch, plan->width,
         plan->height, (size_t)stream);
    for (size_t row = 0; row < plan->height; ++row) {
        memcpy((char *)at(plan->target_device) + row * plan->target_pitch,
               (const char *)plan->source_host + row * plan->source_pitch, plan->width);
    }
    return 0;
}
Status cuMemsetD8Async(Address to, unsigned char value, size_t count, Handle stream) {
    NOTE(" %u %zu %zx", value, count, (size_t)stream);
    memset(at(to), value, count);
    return 0;
}
Status cuMemsetD16Async(Address to, unsigned short value, size_t count, Handle stream) {
    NOTE(" %u %zu %zx", value, count, (size_t)stream);
    (void)to;
    return 0;
}
Status cuMemsetD32Async(Address to, unsigned value, size_t count, Handle stream) {
    NOTE(" %u %zu %zx", value, count, (size_t)stream);
    (void)to;
    return 0;
}
Status cuStreamCreate(Handle *stream, unsigned flags) { NOTE(" %u", flags); *stream = (Handle)0x500; return 0; }
Status cuStreamDestroy_v2(Handle stream) { NOTE(" %zx", (size_t)stream); return 0; }
Status cuStreamSynchronize(Handle stream) { NOTE(" %zx", (size_t)stream); return 0; }
Status cuStreamQuery(Handle stream) { NOTE(" %zx", (size_t)stream); return 600; }
Status cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
    NOTE(" %zx %zx %u", (size_t)stream, (size_t)event, flags);
    return 0;
}
Status cuStreamGetCtx(Handle stream, Handle *context) { (void)stream; *context = (Handle)(size_t)current_context; return 0; }
Status cuStreamBeginCapture_v2(Handle stream, unsigned mode) { NOTE(" %zx %u", (size_t)stream, mode); return 0; }
Status cuStreamEndCapture(Handle stream, Handle *graph) { NOTE(" %zx", (size_t)stream); *graph = (Handle)0x900; return 0; }
Status cuStreamIsCapturing(Handle stream, unsigned *status) { NOTE(" %zx", (size_t)stream); *status = 1; return 0; }
Status cuGraphGetNodes(Handle graph, Handle *nodes, size_t *count) {
    NOTE(" %zx %zx", (size_t)graph, (size_t)nodes);
    *count = 3;
    return 0;
}
Status cuGraphInstantiateWithFlags(Handle *executable, Handle graph, unsigned long long flags) {
    NOTE(" %zx %llu", (size_t)graph, flags);
    *executable = (Handle)0xa00;
    return 0;
}
Status cuGraphLaunch(Handle executable, Handle stream) { NOTE(" %zx %zx", (size_t)executable, (size_t)stream); return 0; }
Status cuGraphExecDestroy(Handle executable) { NOTE(" %zx", (size_t)executable); return 0; }
Status cuGraphDestroy(Handle graph) { NOTE(" %zx", (size_t)graph); return 0; }
Status cuEventCreate(Handle *event, unsigned flags) { NOTE(" %u", flags); *event = (Handle)0x600; return 0; }
Status cuEventDestroy_v2(Handle event) { NOTE(" %zx", (size_t)event); return 0; }
Status cuEventRecord(Handle event, Handle stream) { NOTE(" %zx %zx", (size_t)event, (size_t)stream); return 0; }
Status cuEventSynchronize(Handle event) { NOTE(" %zx", (size_t)event); return 0; }
Status cuEventQuery(Handle event) { NOTE(" %zx", (size_t)event); return 0; }
Status cuEventElapsedTime(float *milliseconds, Handle start, Handle stop) {
    NOTE(" %zx %zx", (size_t)start, (size_t)stop);
    *milliseconds = 1.5f;
    return 0;
}
// PTX that says `broken` is refused, with a word of the compiler.
Status cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options, void **values) {
    NOTE(" %.20s", (const char *)image);
    if (strstr(image, "broken") != NULL) {
        for (unsigned i = 0; i + 1 < count; ++i) {
            if (options[i] == 5 && options[i + 1] == 6) {
                snprintf(values[i], (size_t)values[i + 1], "ptxas error: line 1: broken");
            }
        }
        return 218;
    }
    *module = (Handle)0x700;
    return 0;
}
Status cuModuleUnload(Handle module) { NOTE(" %zx", (size_t)module); return 0; }
Status cuModuleGetFunction(Handle *function, Handle module, const char *name) {
    NOTE(" %zx %s", (size_t)module, name);
    if (strcmp(name, "absent") == 0) {
        return 500;
    }
    *function = (Handle)0x800;
    return 0;
}
Status cuFuncGetAttribute(int *value, int attribute, Handle function) {
    NOTE(" %d %zx", attribute, (size_t)function);
    *value = 40 + attribute;
    return 0;
}
Status cuFuncSetAttribute(Handle function, int attribute, int value) {
    NOTE(" %zx %d %d", (size_t)function, attribute, value);
    return 0;
}
// The kernel's arguments are two words of 64 bits.
Status cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      Handle stream, void **parameters, void **extra) {
    unsigned long long first = 0, second = 0;
    if (parameters != NULL) {
        memcpy(&first, parameters[0], 8);
        memcpy(&second, parameters[1], 8);
    } else if (extra != NULL) {
        // CU_LAUNCH_PARAM_BUFFER_POINTER 1, its size 2, the end 0.
        for (; *extra != NULL; extra += 2) {
            if ((size_t)*extra == 1) memcpy(&first, extra[1], 8);
            if ((size_t)*extra == 2) second = *(size_t *)extra[1];
        }
    }
    NOTE(" %zx (%u %u %u) (%u %u %u) %u %zx: %llu %llu", (size_t)function, gx, gy, gz, bx, by, bz, shared, (size_t)stream, first,
         second);
    return 0;
}
Status cuOccupancyMaxPotentialBlockSize(int *grid, int *block, Handle function, const void *sizes, size_t shared, int limit) {
    NOTE(" %zx %d %zu %d", (size_t)function, sizes != NULL, shared, limit);
    *grid = 132;
    *block = 1024;
    return 0;
}
