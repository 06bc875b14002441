// A program as users compile it: kernels of several kinds in a fat binary, launched by `<<<...>>>`.
#include "hip.h"
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>

enum { N = 1000, BLOCK = 64 };

struct Pair {
    double factor;
    char more;
};

__constant__ int weights[4];
__device__ int calls;
__managed__ int shared_with_host[3] = {5, 6, 7};

template <typename T> __global__ void scale(T* x, unsigned n, Pair by) {
    if (item() < n) x[item()] = x[item()] * T(by.factor) + by.more;
}

__global__ void weigh(int* x, unsigned n) {
    if (item() == 0) {
        calls++;
        shared_with_host[1] += 100;
    }
    if (item() < n) x[item()] += weights[item() % 4];
}

// What the launch said: workgroups, their size, and LDS of the launch.
__global__ void tell(unsigned* x) {
    extern __shared__ unsigned part[];
    part[__builtin_amdgcn_workitem_id_x()] = __builtin_amdgcn_workitem_id_x();
    __builtin_amdgcn_s_barrier();
    if (__builtin_amdgcn_workitem_id_x() == 0) {
        unsigned sum = 0;
        for (unsigned i = 0; i < __builtin_amdgcn_workgroup_size_x(); i++) sum += part[i];
        x[__builtin_amdgcn_workgroup_id_y()] = sum;
    }
}

__global__ void beyond(int* x) { x[item() << 28] = 1; }

static int numbers(hipStream_t stream) {
    static int x[N];
    static float y[N];
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 0.5f * i;
    void *dx, *dy;
    OK(hipMalloc(&dx, sizeof x));
    OK(hipMalloc(&dy, sizeof y));
    OK(hipMemcpy(dx, x, sizeof x, 1));
    OK(hipMemcpy(dy, y, sizeof y, 1));
    int four[] = {1, 10, 100, 1000};
    OK(hipMemcpyToSymbol(weights, four, sizeof four, 0, 1));
    dim3 grid((N + BLOCK - 1) / BLOCK), block(BLOCK);
    scale<<<grid, block, 0, stream>>>((int*)dx, N, Pair{3, 2});
    weigh<<<grid, block, 0, stream>>>((int*)dx, N);
    scale<<<grid, block, 0, stream>>>((float*)dy, N, Pair{2.5, 1});
    OK(hipGetLastError());
    OK(hipStreamSynchronize(stream));
    OK(hipMemcpy(x, dx, sizeof x, 2));
    OK(hipMemcpy(y, dy, sizeof y, 2));
    for (int i = 0; i < N; i++) TRUE(x[i] == 3 * i + 2 + four[i % 4]);
    for (int i = 0; i < N; i++) TRUE(y[i] == 1.25f * i + 1);
    TRUE(shared_with_host[0] == 5 && shared_with_host[1] == 106 && shared_with_host[2] == 7);
    OK(hipFree(dx));
    OK(hipFree(dy));
    return 0;
}

static int sizes(hipStream_t stream) {
    unsigned* x;
    OK(hipHostMalloc((void**)&x, 3 * sizeof *x, 0));
    tell<<<dim3(1, 3), 96, 96 * sizeof(unsigned), stream>>>(x);
    OK(hipStreamSynchronize(stream));
    for (int i = 0; i < 3; i++) TRUE(x[i] == 95 * 96 / 2);
    tell<<<1, 2000>>>(x);
    TRUE(hipGetLastError() != 0);
    return 0;
}

static std::atomic<bool> open;

static int order(hipStream_t stream) {
    int* x;
    OK(hipHostMalloc((void**)&x, BLOCK * sizeof *x, 0));
    for (int i = 0; i < BLOCK; i++) x[i] = 0;
    open = false;
    // The host holds the stream up; nothing behind it runs, and other streams go on.
    OK(hipLaunchHostFunc(stream, [](void*) { while (!open) {} }, nullptr));
    scale<<<1, BLOCK, 0, stream>>>(x, BLOCK, Pair{1, 9});
    TRUE(hipStreamQuery(stream) == 600);
    TRUE(x[0] == 0);
    hipStream_t other;
    OK(hipStreamCreate(&other));
    OK(hipLaunchHostFunc(other, [](void*) { open = true; }, nullptr));
    OK(hipStreamSynchronize(stream));
    for (int i = 0; i < BLOCK; i++) TRUE(x[i] == 9);
    return 0;
}

static int graph(hipStream_t stream) {
    void *memory, *graph, *executable;
    OK(hipMalloc(&memory, BLOCK * sizeof(int)));
    int* x;
    OK(hipHostMalloc((void**)&x, BLOCK * sizeof *x, 0));
    OK(hipStreamBeginCapture(stream, 0));
    OK(hipMemsetAsync(memory, 0, BLOCK * sizeof(int), stream));
    scale<<<1, BLOCK, 0, stream>>>((int*)memory, BLOCK, Pair{1, 4});
    scale<<<1, BLOCK, 0, stream>>>((int*)memory, BLOCK, Pair{5, 1});
    OK(hipMemcpyAsync(x, memory, BLOCK * sizeof(int), 2, stream));
    OK(hipStreamEndCapture(stream, &graph));
    OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int turn = 0; turn < 3; turn++) {
        memset(x, 0, BLOCK * sizeof *x);
        OK(hipGraphLaunch(executable, stream));
        OK(hipStreamSynchronize(stream));
        for (int i = 0; i < BLOCK; i++) TRUE(x[i] == 21);
    }
    return 0;
}

static int fault(hipStream_t stream) {
    void* memory;
    OK(hipMalloc(&memory, 64));
    beyond<<<1, BLOCK, 0, stream>>>((int*)memory);
    OK(hipGetLastError());
    TRUE(hipStreamSynchronize(stream) == 700);
    // Nothing runs any more.
    TRUE(hipMemcpy(memory, memory, 4, 3) == 700);
    printf("the fault is told\n");
    return 3;
}

// Nobody waits for the kernel before the program ends.
static int leave(hipStream_t stream) {
    void* memory;
    OK(hipMalloc(&memory, 1 << 20));
    for (int turn = 0; turn < 20; turn++) scale<<<(1 << 18) / BLOCK, BLOCK, 0, stream>>>((int*)memory, 1 << 18, Pair{1, 1});
    OK(hipGetLastError());
    return 0;
}

// A module in memory that ends where the file does, as far as pages can.
static int load(const char* name) {
    FILE* file = fopen(name, "rb");
    struct stat about;
    TRUE(file && !fstat(fileno(file), &about));
    size_t room = (about.st_size + 4095) / 4096 * 4096;
    char* memory = (char*)mmap(nullptr, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRUE(memory != MAP_FAILED && !mprotect(memory + room, 4096, PROT_NONE));
    char* begin = memory + room - about.st_size;
    TRUE(fread(begin, 1, about.st_size, file) == (size_t)about.st_size);
    fclose(file);
    void *module, *kernel;
    size_t before, during, after, total;
    OK(hipMemGetInfo(&before, &total));
    OK(hipModuleLoadData(&module, begin));
    OK(hipModuleGetFunction(&kernel, module, "_Z5weighPij"));
    OK(hipMemGetInfo(&during, &total));
    TRUE(during < before);
    // What a kernel's handle stands for goes with its module.
    int value;
    OK(hipFuncGetAttribute(&value, 0, kernel));
    OK(hipModuleUnload(module));
    OK(hipMemGetInfo(&after, &total));
    TRUE(after == before);
    TRUE(hipFuncGetAttribute(&value, 0, kernel) != 0);
    printf("it is loaded\n");
    return 0;
}

int main(int count, char** words) {
    int devices = 0;
    OK(hipGetDeviceCount(&devices));
    TRUE(devices == 1);
    hipStream_t stream;
    OK(hipStreamCreate(&stream));
    if (count > 1 && !strcmp(words[1], "fault")) return fault(stream);
    if (count > 1 && !strcmp(words[1], "leave")) return leave(stream);
    if (count > 2 && !strcmp(words[1], "load")) return load(words[2]);
    int (*parts[])(hipStream_t) = {numbers, sizes, order, graph};
    for (auto part : parts)
        if (int code = part(stream)) return code;
    printf("all is right\n");
    return 0;
}
