// Checks of HIP's functions for devices, errors, launches and functions. checks.hpp says how to run them.
#include "checks.hpp"

#include <hip/hip_deprecated.h>
#include <dlfcn.h>

#include <thread>

__global__ void fill(int* numbers, int first, int step) {
    numbers[blockIdx.x * blockDim.x + threadIdx.x] = first + step * int(blockIdx.x * blockDim.x + threadIdx.x);
}

// Devices.

CHECK(versions) {
    int runtime = 0, driver = 0;
    OK(hipInit(0));
    OK(hipRuntimeGetVersion(&runtime));
    OK(hipDriverGetVersion(&driver));
    TRUE(runtime / 10000000 == 6 || runtime / 10000000 == 7);
    SAME(driver, runtime);
    FAILS(hipErrorInvalidValue, hipRuntimeGetVersion(nullptr));
    FAILS(hipErrorInvalidValue, hipDriverGetVersion(nullptr));
}

CHECK(device_count) {
    int count = 0, device = -1;
    OK(hipGetDeviceCount(&count));
    TRUE(count >= 1);
    FAILS(hipErrorInvalidValue, hipGetDeviceCount(nullptr));
    OK(hipGetDevice(&device));
    SAME(device, 0);
    OK(hipSetDevice(count - 1));
    OK(hipGetDevice(&device));
    SAME(device, count - 1);
    FAILS(hipErrorInvalidDevice, hipSetDevice(count));
    FAILS(hipErrorInvalidDevice, hipSetDevice(-1));
    OK(hipGetDevice(&device));
    SAME(device, count - 1);
    OK(hipSetDevice(0));
    FAILS(hipErrorInvalidValue, hipGetDevice(nullptr));
    hipDevice_t handle = -1;
    OK(hipDeviceGet(&handle, 0));
    SAME(handle, 0);
    FAILS(hipErrorInvalidDevice, hipDeviceGet(&handle, count));
    FAILS(hipErrorInvalidValue, hipDeviceGet(nullptr, 0));
}

CHECK(device_names) {
    hipDeviceProp_t properties;
    OK(hipGetDeviceProperties(&properties, 0));
    char name[256], shorter[5];
    OK(hipDeviceGetName(name, sizeof name, 0));
    TRUE(name[0] != 0);
    SAME(std::string(name), std::string(properties.name));
    OK(hipDeviceGetName(shorter, sizeof shorter, 0));
    SAME(std::string(shorter), std::string(name).substr(0, 4));
    FAILS(hipErrorInvalidDevice, hipDeviceGetName(name, sizeof name, 1000));
    FAILS(hipErrorInvalidValue, hipDeviceGetName(nullptr, sizeof name, 0));
    FAILS(hipErrorInvalidValue, hipDeviceGetName(name, 0, 0));

    char bus[32];
    int device = -1, domain = -1, number = -1, slot = -1;
    OK(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
    SAME(std::sscanf(bus, "%x:%x:%x.0", &domain, &number, &slot), 3);
    SAME(number, properties.pciBusID);
    SAME(slot, properties.pciDeviceID);
    SAME(domain, properties.pciDomainID);
    OK(hipDeviceGetByPCIBusId(&device, bus));
    SAME(device, 0);
    FAILS(hipErrorInvalidValue, hipDeviceGetByPCIBusId(&device, nullptr));
    FAILS(hipErrorInvalidValue, hipDeviceGetByPCIBusId(&device, "no bus"));
    FAILS(hipErrorInvalidDevice, hipDeviceGetPCIBusId(bus, sizeof bus, 1000));

    int major = -1, minor = -1;
    OK(hipDeviceComputeCapability(&major, &minor, 0));
    SAME(major, properties.major);
    SAME(minor, properties.minor);
    hipUUID id;
    OK(hipDeviceGetUuid(&id, 0));
    SAME(std::memcmp(&id, &properties.uuid, sizeof id), 0);
}

// Which attribute says what a property says.
static int attribute(hipDeviceAttribute_t which) {
    int value = -1;
    OK(hipDeviceGetAttribute(&value, which, 0));
    return value;
}

CHECK(device_properties) {
    hipDeviceProp_t card;
    OK(hipGetDeviceProperties(&card, 0));
    TRUE(!std::strncmp(card.gcnArchName, "gfx", 3));
    bool cdna = !std::strncmp(card.gcnArchName, "gfx9", 4);
    SAME(card.warpSize, cdna ? 64 : 32);
    int version = 100 * card.major + 10 * (card.minor / 10) + card.minor % 10;
    TRUE(version >= 900);
    SAME(card.maxThreadsPerBlock, 1024);
    TRUE(card.multiProcessorCount > 0);
    TRUE(card.totalGlobalMem >= size_t(1) << 30);
    SAME(card.sharedMemPerBlock, size_t(65536));
    SAME(card.cooperativeLaunch, 0);
    SAME(card.cooperativeMultiDeviceLaunch, 0);
    SAME(card.canMapHostMemory, 1);
    SAME(card.concurrentKernels, 1);
    SAME(card.maxThreadsDim[0], 1024);
    SAME(card.maxThreadsDim[1], 1024);
    SAME(card.maxThreadsDim[2], 1024);
    size_t bytes = 0;
    OK(hipDeviceTotalMem(&bytes, 0));
    SAME(bytes, card.totalGlobalMem);
    FAILS(hipErrorInvalidDevice, hipDeviceTotalMem(&bytes, 1000));
    FAILS(hipErrorInvalidValue, hipDeviceTotalMem(nullptr, 0));
    FAILS(hipErrorInvalidDevice, hipGetDeviceProperties(&card, 1000));
    FAILS(hipErrorInvalidValue, hipGetDeviceProperties(nullptr, 0));
}

// Programs compiled before ROCm 6 have another structure, and the name without `R0600`.
CHECK(old_properties) {
    hipDeviceProp_t card;
    hipDeviceProp_tR0000 old;
    OK(hipGetDeviceProperties(&card, 0));
    void* of = dlsym(RTLD_DEFAULT, "hipGetDeviceProperties");
    TRUE(of != nullptr);
    OK(reinterpret_cast<hipError_t (*)(hipDeviceProp_tR0000*, int)>(of)(&old, 0));
    SAME(std::string(old.name), std::string(card.name));
    SAME(std::string(old.gcnArchName), std::string(card.gcnArchName));
    SAME(old.totalGlobalMem, card.totalGlobalMem);
    SAME(old.sharedMemPerBlock, card.sharedMemPerBlock);
    SAME(old.warpSize, card.warpSize);
    SAME(old.maxThreadsPerBlock, card.maxThreadsPerBlock);
    SAME(old.maxThreadsDim[2], card.maxThreadsDim[2]);
    SAME(old.major, card.major);
    SAME(old.minor, card.minor);
    SAME(old.multiProcessorCount, card.multiProcessorCount);
    SAME(old.pciBusID, card.pciBusID);
    SAME(old.cooperativeLaunch, 0);
}

CHECK(device_attributes) {
    hipDeviceProp_t card;
    OK(hipGetDeviceProperties(&card, 0));
    SAME(attribute(hipDeviceAttributeWarpSize), card.warpSize);
    SAME(attribute(hipDeviceAttributeMaxThreadsPerBlock), card.maxThreadsPerBlock);
    SAME(attribute(hipDeviceAttributeMultiprocessorCount), card.multiProcessorCount);
    SAME(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock), int(card.sharedMemPerBlock));
    SAME(attribute(hipDeviceAttributeMaxBlockDimX), card.maxThreadsDim[0]);
    SAME(attribute(hipDeviceAttributeMaxBlockDimY), card.maxThreadsDim[1]);
    SAME(attribute(hipDeviceAttributeMaxBlockDimZ), card.maxThreadsDim[2]);
    SAME(attribute(hipDeviceAttributeMaxGridDimX), card.maxGridSize[0]);
    SAME(attribute(hipDeviceAttributeMaxGridDimY), card.maxGridSize[1]);
    SAME(attribute(hipDeviceAttributeMaxGridDimZ), card.maxGridSize[2]);
    SAME(attribute(hipDeviceAttributeComputeCapabilityMajor), card.major);
    SAME(attribute(hipDeviceAttributeComputeCapabilityMinor), card.minor);
    SAME(attribute(hipDeviceAttributeClockRate), card.clockRate);
    SAME(attribute(hipDeviceAttributeMemoryClockRate), card.memoryClockRate);
    SAME(attribute(hipDeviceAttributeMemoryBusWidth), card.memoryBusWidth);
    SAME(attribute(hipDeviceAttributeL2CacheSize), card.l2CacheSize);
    SAME(attribute(hipDeviceAttributeMaxRegistersPerBlock), card.regsPerBlock);
    SAME(attribute(hipDeviceAttributeMaxThreadsPerMultiProcessor), card.maxThreadsPerMultiProcessor);
    SAME(attribute(hipDeviceAttributePciBusId), card.pciBusID);
    SAME(attribute(hipDeviceAttributeIntegrated), card.integrated);
    SAME(attribute(hipDeviceAttributeConcurrentKernels), 1);
    SAME(attribute(hipDeviceAttributeCooperativeLaunch), 0);
    SAME(attribute(hipDeviceAttributeCooperativeMultiDeviceLaunch), 0);
    SAME(attribute(hipDeviceAttributeManagedMemory), card.managedMemory);
    SAME(attribute(hipDeviceAttributeMemoryPoolsSupported), card.memoryPoolsSupported);
    SAME(attribute(hipDeviceAttributeCanMapHostMemory), 1);
    SAME(attribute(hipDeviceAttributeUnifiedAddressing), 1);
    SAME(attribute(hipDeviceAttributeComputeMode), 0);
    int value;
    FAILS(hipErrorInvalidDevice, hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 1000));
    FAILS(hipErrorInvalidValue, hipDeviceGetAttribute(&value, hipDeviceAttribute_t(9999), 0));
    FAILS(hipErrorInvalidValue, hipDeviceGetAttribute(nullptr, hipDeviceAttributeWarpSize, 0));
}

CHECK(device_limits) {
    size_t stack = 0, heap = 0, again = 0;
    OK(hipDeviceGetLimit(&stack, hipLimitStackSize));
    TRUE(stack > 0);
    OK(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize));
    TRUE(heap >= size_t(1) << 20);
    OK(hipDeviceSetLimit(hipLimitStackSize, 2 * stack));
    OK(hipDeviceGetLimit(&again, hipLimitStackSize));
    SAME(again, 2 * stack);
    OK(hipDeviceSetLimit(hipLimitStackSize, stack));
    FAILS(runtime() < 7 ? hipErrorInvalidValue : hipErrorUnsupportedLimit, hipDeviceGetLimit(&again, hipLimitRange));
    FAILS(runtime() < 7 ? hipErrorInvalidValue : hipErrorUnsupportedLimit, hipDeviceSetLimit(hipLimitRange, 1));
    FAILS(hipErrorUnsupportedLimit, hipDeviceGetLimit(&again, hipLimitPrintfFifoSize));
    FAILS(hipErrorInvalidValue, hipDeviceGetLimit(nullptr, hipLimitStackSize));
    int least = 99, greatest = 99;
    OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    SAME(least, 1);
    SAME(greatest, -1);
    unsigned flags = 99;
    OK(hipGetDeviceFlags(&flags));
    hipFuncCache_t cache;
    OK(hipDeviceGetCacheConfig(&cache));
    OK(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
    hipSharedMemConfig banks;
    OK(hipDeviceGetSharedMemConfig(&banks));
}

CHECK(peers) {
    int can = -1;
    OK(hipDeviceCanAccessPeer(&can, 0, 0));
    SAME(can, 0);
    FAILS(hipErrorInvalidDevice, hipDeviceCanAccessPeer(&can, 0, 1000));
    FAILS(hipErrorInvalidValue, hipDeviceCanAccessPeer(nullptr, 0, 0));
    FAILS(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(1000, 0));
    FAILS(hipErrorInvalidDevice, hipDeviceDisablePeerAccess(1000));
    Numbers<int> from(64), to(64);
    fill<<<1, 64>>>(from, 5, 3);
    OK(hipMemcpyPeer(to, 0, from, 0, to.bytes()));
    auto got = to.read();
    ALL(got, 64, i, 5 + 3 * i);
    fill<<<1, 64>>>(from, 7, 2);
    OK(hipMemcpyPeerAsync(to, 0, from, 0, to.bytes(), nullptr));
    OK(hipDeviceSynchronize());
    got = to.read();
    ALL(got, 64, i, 7 + 2 * i);
}

// Errors.

CHECK(error_names) {
    SAME(std::string(hipGetErrorName(hipSuccess)), "hipSuccess");
    SAME(std::string(hipGetErrorName(hipErrorInvalidValue)), "hipErrorInvalidValue");
    SAME(std::string(hipGetErrorName(hipErrorOutOfMemory)), "hipErrorOutOfMemory");
    SAME(std::string(hipGetErrorName(hipErrorNotReady)), "hipErrorNotReady");
    SAME(std::string(hipGetErrorName(hipErrorInvalidDevice)), "hipErrorInvalidDevice");
    SAME(std::string(hipGetErrorString(hipSuccess)), "no error");
    SAME(std::string(hipGetErrorString(hipErrorInvalidValue)), "invalid argument");
    SAME(std::string(hipGetErrorString(hipErrorOutOfMemory)), "out of memory");
    SAME(std::string(hipGetErrorString(hipErrorInvalidDevice)), "invalid device ordinal");
    SAME(std::string(hipGetErrorString(hipErrorNotReady)), "device not ready");
    SAME(std::string(hipGetErrorString(hipErrorNotFound)), "named symbol not found");
    SAME(std::string(hipGetErrorString(hipErrorNotSupported)), "operation not supported");
    const char* text = nullptr;
    OK(hipDrvGetErrorName(hipErrorInvalidValue, &text));
    SAME(std::string(text), "hipErrorInvalidValue");
    OK(hipDrvGetErrorString(hipErrorInvalidValue, &text));
    SAME(std::string(text), "invalid argument");
    FAILS(hipErrorInvalidValue, hipDrvGetErrorString(hipError_t(12345), &text));
}

// Up to 6.4 each call writes its result down as the last error, success too; from 7 on an error stays until it is asked for.
CHECK(last_error) {
    (void)hipGetLastError();
    SAME(hipGetLastError(), hipSuccess);
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    SAME(hipPeekAtLastError(), hipErrorInvalidDevice);
    SAME(hipPeekAtLastError(), hipErrorInvalidDevice);
    SAME(hipGetLastError(), hipErrorInvalidDevice);
    SAME(hipGetLastError(), hipSuccess);
    SAME(hipPeekAtLastError(), hipSuccess);

    hipError_t kept = runtime() < 7 ? hipSuccess : hipErrorInvalidDevice;
    int device;
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    OK(hipGetDevice(&device));
    SAME(hipGetLastError(), kept);
    Numbers<int> numbers(64);
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    fill<<<1, 64>>>(numbers, 0, 0);
    SAME(hipGetLastError(), kept);
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    SAME(hipFree(reinterpret_cast<void*>(64)), hipErrorInvalidValue);
    SAME(hipGetLastError(), hipErrorInvalidValue);
    // Names of errors and `hipExtGetLastError` leave it alone. That one says what the call before it did.
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    SAME(std::string(hipGetErrorString(hipSuccess)), "no error");
    SAME(hipExtGetLastError(), hipErrorInvalidDevice);
    SAME(hipGetLastError(), hipErrorInvalidDevice);
    // Threads have last errors of their own.
    SAME(hipSetDevice(-1), hipErrorInvalidDevice);
    hipError_t other = hipErrorUnknown;
    std::thread([&] { other = hipGetLastError(); }).join();
    SAME(other, hipSuccess);
    SAME(hipGetLastError(), hipErrorInvalidDevice);
}

// 6.4 calls a configuration that cannot be an invalid value.
CHECK(bad_launches) {
    hipError_t refused = runtime() < 7 ? hipErrorInvalidValue : hipErrorInvalidConfiguration;
    Numbers<int> numbers(64);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    fill<<<1, 2048>>>(numbers, 9, 9);
    SAME(hipPeekAtLastError(), refused);
    SAME(hipGetLastError(), refused);
    SAME(hipGetLastError(), hipSuccess);
    fill<<<0, 64>>>(numbers, 9, 9);
    SAME(hipGetLastError(), refused);
    fill<<<dim3(1, 0, 1), 64>>>(numbers, 9, 9);
    SAME(hipGetLastError(), refused);
    fill<<<1, 0>>>(numbers, 9, 9);
    SAME(hipGetLastError(), refused);
    fill<<<1, dim3(2, 2, 1024)>>>(numbers, 9, 9);
    SAME(hipGetLastError(), refused);
    fill<<<1, dim3(1, 1, 1025)>>>(numbers, 9, 9);
    SAME(hipGetLastError(), refused);
    fill<<<1, 64, 1 << 20>>>(numbers, 9, 9);
    SAME(hipGetLastError(), hipErrorInvalidValue);
    // 2^37 work-items.
    fill<<<1u << 31, 64>>>(numbers, 9, 9);
    SAME(hipGetLastError(), hipErrorInvalidConfiguration);
    void* arguments[] = {nullptr, nullptr, nullptr};
    FAILS(hipErrorInvalidDeviceFunction, hipLaunchKernel(nullptr, dim3(1), dim3(64), arguments, 0, nullptr));
    // 7.2 ends with SIGSEGV where no kernel has this address.
    if (runtime() < 7) FAILS(hipErrorInvalidDeviceFunction, hipLaunchKernel(arguments, dim3(1), dim3(64), arguments, 0, nullptr));
    // None of them ran, and a launch that is right still does.
    auto got = numbers.read();
    ALL(got, 64, i, 0);
    fill<<<1, 64>>>(numbers, 1, 2);
    SAME(hipGetLastError(), hipSuccess);
    got = numbers.read();
    ALL(got, 64, i, 1 + 2 * i);
}

// Launches.

CHECK(launch) {
    Numbers<int> numbers(1000);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    fill<<<8, 125>>>(numbers, -3, 4);
    OK(hipGetLastError());
    auto got = numbers.read();
    ALL(got, 1000, i, -3 + 4 * int(i));
    int first = 9, step = -2;
    int* at = numbers;
    void* arguments[] = {&at, &first, &step};
    OK(hipLaunchKernel(reinterpret_cast<const void*>(fill), dim3(8), dim3(125), arguments, 0, nullptr));
    got = numbers.read();
    ALL(got, 1000, i, 9 - 2 * int(i));
    first = 11;
    OK(hipExtLaunchKernel(reinterpret_cast<const void*>(fill), dim3(8), dim3(125), arguments, 0, nullptr, nullptr, nullptr, 0));
    got = numbers.read();
    ALL(got, 1000, i, 11 - 2 * int(i));
    hipLaunchKernelGGL(fill, dim3(8), dim3(125), 0, nullptr, at, 1, 1);
    got = numbers.read();
    ALL(got, 1000, i, 1 + int(i));
}

struct Mixed {
    char letter;
    double number;
    short few[3];
    int more;
};

__global__ void mixed(char a, double b, _Float16 c, Mixed d, unsigned char e, short f, bool g, float3 h, double* out, char i) {
    double* to = out + 16 * threadIdx.x;
    to[0] = a, to[1] = b, to[2] = c, to[3] = d.letter, to[4] = d.number, to[5] = d.few[0], to[6] = d.few[1], to[7] = d.few[2];
    to[8] = d.more, to[9] = e, to[10] = f, to[11] = g, to[12] = h.x, to[13] = h.y, to[14] = h.z, to[15] = i;
}

// What HIP 7 calls HIP_LAUNCH_CONFIG and hipLaunchConfig_t. The headers of 6.4 do not have them.
struct DriverLaunch {
    unsigned grid[3], block[3], lds;
    hipStream_t stream;
    void* attributes;
    unsigned count;
};
struct RuntimeLaunch {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
    void* attributes;
    unsigned count;
};

CHECK(launch_by_structure) {
    auto driver = reinterpret_cast<hipError_t (*)(const DriverLaunch*, hipFunction_t, void**, void**)>(dlsym(RTLD_DEFAULT, "hipDrvLaunchKernelEx"));
    auto runtime = reinterpret_cast<hipError_t (*)(const RuntimeLaunch*, const void*, void**)>(dlsym(RTLD_DEFAULT, "hipLaunchKernelExC"));
    if (driver == nullptr || runtime == nullptr) SKIP("the runtime has no hipDrvLaunchKernelEx");
    Numbers<int> numbers(96);
    int *at = numbers, first = 2, step = 5;
    void* arguments[] = {&at, &first, &step};
    hipFunction_t function;
    OK(hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(fill)));
    DriverLaunch of_driver = {{3, 1, 1}, {32, 1, 1}, 0, nullptr, nullptr, 0};
    OK(driver(&of_driver, function, arguments, nullptr));
    auto got = numbers.read();
    ALL(got, 96, i, 2 + 5 * i);
    first = 3;
    RuntimeLaunch of_runtime = {dim3(3), dim3(32), 0, nullptr, nullptr, 0};
    OK(runtime(&of_runtime, reinterpret_cast<const void*>(fill), arguments));
    got = numbers.read();
    ALL(got, 96, i, 3 + 5 * i);
}

CHECK(arguments_of_all_sizes) {
    Numbers<double> out(32);
    Mixed d{'m', 2.5e300, {-1, 2, -3}, 1 << 30};
    mixed<<<1, 2>>>(-7, 1e-200, _Float16(0.375f), d, 250, -30000, true, make_float3(1.5f, -2.5f, 3.25f), out, 'z');
    OK(hipGetLastError());
    double wanted[] = {-7, 1e-200, 0.375, 'm', 2.5e300, -1, 2, -3, 1 << 30, 250, -30000, 1, 1.5, -2.5, 3.25, 'z'};
    auto got = out.read();
    ALL(got, 32, i, wanted[i % 16]);
}

struct Large {
    int numbers[900];
};

__global__ void large(Large of, int* out) { out[threadIdx.x] = of.numbers[threadIdx.x] + of.numbers[899 - threadIdx.x]; }

CHECK(large_argument) {
    Numbers<int> out(450);
    Large of;
    for (int i = 0; i < 900; i++) of.numbers[i] = i * i;
    large<<<1, 450>>>(of, out);
    OK(hipGetLastError());
    std::memset(&of, 0, sizeof of);
    auto got = out.read();
    ALL(got, 450, i, i * i + (899 - i) * (899 - i));
}

// Writes down of each work-item where it is. The sizes are hidden arguments.
__global__ void places(uint4* out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned item = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned at = block * blockDim.x * blockDim.y * blockDim.z + item;
    out[at] = make_uint4(blockIdx.x << 16 | threadIdx.x, blockIdx.y << 16 | threadIdx.y, blockIdx.z << 16 | threadIdx.z,
                         gridDim.x | gridDim.y << 5 | gridDim.z << 10 | blockDim.x << 15 | blockDim.y << 20 | blockDim.z << 25);
}

CHECK(three_dimensions) {
    dim3 grid(3, 5, 2), block(7, 2, 4);
    unsigned items = 3 * 5 * 2 * 7 * 2 * 4, at = 0;
    Numbers<uint4> out(items);
    OK(hipMemset(out, 0, out.bytes()));
    places<<<grid, block>>>(out);
    OK(hipGetLastError());
    auto got = out.read();
    unsigned sizes = 3 | 5 << 5 | 2 << 10 | 7 << 15 | 2 << 20 | 4u << 25;
    for (unsigned z = 0; z < 2; z++) for (unsigned y = 0; y < 5; y++) for (unsigned x = 0; x < 3; x++)
        for (unsigned k = 0; k < 4; k++) for (unsigned j = 0; j < 2; j++) for (unsigned i = 0; i < 7; i++) {
            SAME(got[at].x, x << 16 | i);
            SAME(got[at].y, y << 16 | j);
            SAME(got[at].z, z << 16 | k);
            SAME(got[at].w, sizes);
            at++;
        }
}

__global__ void reversed(int* numbers) {
    extern __shared__ int part[];
    part[threadIdx.x] = numbers[threadIdx.x];
    __syncthreads();
    numbers[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

CHECK(dynamic_lds) {
    Numbers<int> numbers(1024);
    for (unsigned n : {100u, 1024u}) {
        fill<<<1, n>>>(numbers, 0, 3);
        reversed<<<1, n, n * sizeof(int)>>>(numbers);
        OK(hipGetLastError());
        auto got = numbers.read();
        ALL(got, n, i, 3 * (n - 1 - i));
    }
    // All 64 KiB.
    OK(hipFuncSetAttribute(reinterpret_cast<const void*>(reversed), hipFuncAttributeMaxDynamicSharedMemorySize, 65536));
    fill<<<1, 1024>>>(numbers, 5, 1);
    reversed<<<1, 1024, 65536>>>(numbers);
    OK(hipGetLastError());
    auto got = numbers.read();
    ALL(got, 1024, i, 5 + 1023 - int(i));
}

template <typename T, int N> __global__ void powers(T* numbers) {
    T power = T(1);
    for (int i = 0; i < N; i++) power *= T(threadIdx.x);
    numbers[threadIdx.x] = power;
}

template <typename T, int N> static void check_powers() {
    Numbers<T> numbers(7);
    powers<T, N><<<1, 7>>>(numbers.at);
    OK(hipGetLastError());
    auto got = numbers.read();
    for (int i = 0; i < 7; i++) {
        T wanted = T(1);
        for (int j = 0; j < N; j++) wanted *= T(i);
        SAME(double(got[i]), double(wanted));
    }
}

CHECK(templates) {
    check_powers<int, 0>(), check_powers<int, 1>(), check_powers<int, 7>();
    check_powers<unsigned char, 2>(), check_powers<long long, 20>();
    check_powers<float, 5>(), check_powers<double, 30>(), check_powers<_Float16, 4>();
}

// Functions.

CHECK(function_attributes) {
    hipFuncAttributes of;
    OK(hipFuncGetAttributes(&of, reinterpret_cast<const void*>(fill)));
    TRUE(of.numRegs > 0 && of.numRegs <= 512);
    SAME(of.sharedSizeBytes, size_t(0));
    SAME(of.localSizeBytes, size_t(0));
    SAME(of.maxThreadsPerBlock, 1024);
    FAILS(hipErrorInvalidSymbol, hipFuncGetAttributes(&of, &of));
    FAILS(hipErrorInvalidDeviceFunction, hipFuncGetAttributes(&of, nullptr));
    FAILS(hipErrorInvalidValue, hipFuncGetAttributes(nullptr, reinterpret_cast<const void*>(fill)));

    hipFunction_t function = nullptr;
    OK(hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(fill)));
    FAILS(hipErrorInvalidDeviceFunction, hipGetFuncBySymbol(&function, &of));
    OK(hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(fill)));
    int value = -1;
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, function));
    SAME(value, of.numRegs);
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    SAME(value, 1024);
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    SAME(value, 0);
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
    SAME(value, 0);
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, function));
    SAME(value, int(of.constSizeBytes));
    OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    SAME(value, of.maxDynamicSharedSizeBytes);
    FAILS(hipErrorInvalidValue, hipFuncGetAttribute(nullptr, HIP_FUNC_ATTRIBUTE_NUM_REGS, function));
    FAILS(hipErrorInvalidHandle, hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, nullptr));
    FAILS(hipErrorInvalidValue, hipFuncGetAttribute(&value, hipFunction_attribute(1000), function));
    OK(hipFuncSetCacheConfig(reinterpret_cast<const void*>(fill), hipFuncCachePreferL1));

    // A function of a symbol is launched like one of a module.
    Numbers<int> numbers(64);
    int *at = numbers, first = 4, step = 6;
    void* arguments[] = {&at, &first, &step};
    OK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    auto got = numbers.read();
    ALL(got, 64, i, 4 + 6 * i);
}

__global__ __launch_bounds__(256) void sums_of_lds(int* numbers) {
    __shared__ int part[3000];
    for (int i = threadIdx.x; i < 3000; i += blockDim.x) part[i] = numbers[threadIdx.x] + i;
    __syncthreads();
    numbers[threadIdx.x] = part[2999 - threadIdx.x] + part[threadIdx.x];
}

CHECK(function_limits) {
    hipFuncAttributes of;
    const void* kernel = reinterpret_cast<const void*>(sums_of_lds);
    OK(hipFuncGetAttributes(&of, kernel));
    SAME(of.sharedSizeBytes, size_t(12000));
    SAME(of.maxThreadsPerBlock, 256);
    Numbers<int> numbers(512);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    sums_of_lds<<<1, 256>>>(numbers);
    OK(hipGetLastError());
    auto got = numbers.read();
    ALL(got, 256, i, 2999);
    // More work-items than the kernel was compiled for.
    sums_of_lds<<<1, 512>>>(numbers);
    SAME(hipGetLastError(), hipErrorLaunchFailure);
}

CHECK(occupancy) {
    int blocks = -1, grid = -1, block = -1, lds = -1;
    const void* kernel = reinterpret_cast<const void*>(fill);
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0));
    TRUE(blocks >= 1 && blocks <= 64);
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&lds, kernel, 64, 32768));
    TRUE(lds >= 1 && lds <= blocks);
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&lds, kernel, 64, 0, hipOccupancyDefault));
    SAME(lds, blocks);
    OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
    TRUE(grid >= 1);
    TRUE(block >= 64 && block <= 1024);
    OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 128));
    TRUE(block >= 32 && block <= 128);
    hipFunction_t function;
    OK(hipGetFuncBySymbol(&function, kernel));
    OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&lds, function, 64, 0));
    SAME(lds, blocks);
    OK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, function, 0, 0));
    TRUE(block >= 64 && block <= 1024);
    FAILS(hipErrorInvalidValue, hipOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel, 64, 0));
    FAILS(hipErrorInvalidDeviceFunction, hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &blocks, 64, 0));
}

CHECK(cooperative) {
    Numbers<int> numbers(64);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    int *at = numbers, first = 4, step = 6;
    void* arguments[] = {&at, &first, &step};
    const void* kernel = reinterpret_cast<const void*>(fill);
    TRUE(hipLaunchCooperativeKernel(kernel, dim3(1), dim3(64), arguments, 0, nullptr) != hipSuccess);
    (void)hipGetLastError();
    hipFunction_t function;
    OK(hipGetFuncBySymbol(&function, kernel));
    TRUE(hipModuleLaunchCooperativeKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments) != hipSuccess);
    (void)hipGetLastError();
    auto got = numbers.read();
    ALL(got, 64, i, 0);
}

CHECK(get_proc_address) {
    int version = 0;
    OK(hipRuntimeGetVersion(&version));
    void* of = nullptr;
    hipDriverProcAddressQueryResult found;
    if (hipGetProcAddress("hipMemGetInfo", &of, version, 0, &found) == hipErrorInvalidValue && !dlopen("libamdhip64.so", RTLD_LAZY))
        SKIP("AMD's runtime looks into `libamdhip64.so`, which only packages for developers have");
    OK(hipGetProcAddress("hipMemGetInfo", &of, version, 0, &found));
    TRUE(of != nullptr);
    SAME(found, HIP_GET_PROC_ADDRESS_SUCCESS);
    size_t free = 0, total = 0, wanted = 1;
    OK(reinterpret_cast<hipError_t (*)(size_t*, size_t*)>(of)(&free, &total));
    OK(hipMemGetInfo(&free, &wanted));
    SAME(total, wanted);
    FAILS(hipErrorInvalidValue, hipGetProcAddress("hipThatThereIsNone", &of, version, 0, &found));
    SAME(found, HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}
