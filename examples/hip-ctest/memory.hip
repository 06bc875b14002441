// Checks of HIP's functions for memory. checks.hpp says how to run them.
#include "checks.hpp"

#include <sys/mman.h>

#include <numeric>

__global__ void add(int* numbers, int more, size_t n) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) numbers[i] += more;
}

static void add_on(int* numbers, int more, size_t n, hipStream_t stream = nullptr) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(numbers, more, n);
    OK(hipPeekAtLastError());
}

static std::vector<int> counted(size_t n, int first = 0) {
    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

CHECK(malloc_and_free) {
    int *a = nullptr, *b = nullptr;
    OK(hipMalloc(&a, 1000));
    OK(hipMalloc(&b, 1000));
    TRUE(a != nullptr && b != nullptr && a != b);
    SAME(reinterpret_cast<uintptr_t>(a) % 256, uintptr_t(0));
    OK(hipFree(a));
    FAILS(hipErrorInvalidValue, hipFree(a));
    // An address within an allocation frees it.
    OK(hipFree(b + 1));
    FAILS(hipErrorInvalidValue, hipFree(b));
    OK(hipFree(nullptr));
    int on_the_stack;
    FAILS(hipErrorInvalidValue, hipFree(&on_the_stack));
    FAILS(hipErrorInvalidValue, hipMalloc(static_cast<void**>(nullptr), 16));
    void* none = &on_the_stack;
    OK(hipMalloc(&none, 0));
    TRUE(none == nullptr);
    FAILS(hipErrorOutOfMemory, hipMalloc(&none, size_t(1) << 50));
    // Many, of which every second is freed first.
    std::vector<int*> many(200);
    for (size_t i = 0; i < many.size(); i++) {
        OK(hipMalloc(&many[i], 4 * (i + 1)));
        OK(hipMemset(many[i], 0, 4 * (i + 1)));
        add_on(many[i], int(i), i + 1);
    }
    for (size_t i = 0; i < many.size(); i += 2) OK(hipFree(many[i]));
    for (size_t i = 1; i < many.size(); i += 2) {
        std::vector<int> got(i + 1);
        OK(hipMemcpy(got.data(), many[i], 4 * (i + 1), hipMemcpyDeviceToHost));
        ALL(got, i + 1, j, i);
        OK(hipFree(many[i]));
    }
}

CHECK(memory_info) {
    size_t free = 0, total = 0, less = 0, bytes = size_t(64) << 20;
    OK(hipMemGetInfo(&free, &total));
    TRUE(free > 0 && free <= total);
    {
        Numbers<char> numbers(bytes);
        OK(hipMemGetInfo(&less, &total));
        TRUE(less + bytes <= free);
        size_t size = 0;
        OK(hipMemPtrGetInfo(numbers.at, &size));
        SAME(size, bytes);
        FAILS(hipErrorInvalidValue, hipMemPtrGetInfo(&size, &size));
        hipDeviceptr_t base = nullptr;
        OK(hipMemGetAddressRange(&base, &size, numbers.at + 12345));
        TRUE(base == numbers.at);
        SAME(size, bytes);
        FAILS(hipErrorNotFound, hipMemGetAddressRange(&base, &size, &size));
    }
    OK(hipMemGetInfo(&less, &total));
    SAME(less, free);
    OK(hipMemGetInfo(nullptr, nullptr));
}

CHECK(copies) {
    size_t n = 5000, bytes = n * sizeof(int);
    Numbers<int> a(n), b(n);
    std::vector<int> from = counted(n), to(n);
    OK(hipMemcpy(a, from.data(), bytes, hipMemcpyHostToDevice));
    add_on(a, 1, n);
    OK(hipMemcpy(b, a, bytes, hipMemcpyDeviceToDevice));
    add_on(b, 2, n);
    OK(hipMemcpy(to.data(), b, bytes, hipMemcpyDeviceToHost));
    ALL(to, n, i, i + 3);
    // Where a copy goes follows from the pointers.
    OK(hipMemcpy(a, to.data(), bytes, hipMemcpyDefault));
    add_on(a, 4, n);
    OK(hipMemcpy(b, a, bytes, hipMemcpyDefault));
    OK(hipMemcpy(from.data(), b, bytes, hipMemcpyDefault));
    ALL(from, n, i, i + 7);
    OK(hipMemcpy(to.data(), from.data(), bytes, hipMemcpyHostToHost));
    ALL(to, n, i, i + 7);
    std::fill(to.begin(), to.end(), 0);
    OK(hipMemcpy(to.data(), from.data(), bytes, hipMemcpyDefault));
    ALL(to, n, i, i + 7);
    // Parts, at odd bytes.
    std::vector<char> letters(100), got(100);
    std::iota(letters.begin(), letters.end(), 0);
    Numbers<char> c(100);
    OK(hipMemset(c, 99, 100));
    OK(hipMemcpy(c + 3, letters.data() + 7, 41, hipMemcpyHostToDevice));
    OK(hipMemcpy(c + 61, c + 5, 17, hipMemcpyDeviceToDevice));
    got = c.read();
    ALL(got, 100, i, i >= 3 && i < 44 ? i + 4 : i >= 61 && i < 78 ? i - 61 + 9 : 99);

    OK(hipMemcpyHtoD(a.at, to.data(), bytes));
    OK(hipMemcpyDtoD(b.at, a.at, bytes));
    add_on(b, -7, n);
    OK(hipMemcpyDtoH(to.data(), b.at, bytes));
    ALL(to, n, i, i);
    OK(hipMemcpy(a, to.data(), 0, hipMemcpyHostToDevice));
    FAILS(hipErrorInvalidValue, hipMemcpy(nullptr, to.data(), bytes, hipMemcpyHostToDevice));
    FAILS(hipErrorInvalidValue, hipMemcpy(a, nullptr, bytes, hipMemcpyHostToDevice));
    FAILS(hipErrorInvalidMemcpyDirection, hipMemcpy(a, to.data(), bytes, hipMemcpyKind(77)));
}

CHECK(copies_on_streams) {
    size_t n = 100000, bytes = n * sizeof(int);
    Stream stream;
    Numbers<int> a(n), b(n);
    std::vector<int> from = counted(n), to(n);
    OK(hipMemcpyAsync(a, from.data(), bytes, hipMemcpyHostToDevice, stream));
    add_on(a, 5, n, stream);
    OK(hipMemcpyAsync(b, a, bytes, hipMemcpyDeviceToDevice, stream));
    add_on(b, 6, n, stream);
    OK(hipMemcpyAsync(to.data(), b, bytes, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    ALL(to, n, i, i + 11);
    int* pinned;
    OK(hipHostMalloc(&pinned, bytes, 0));
    std::copy(from.begin(), from.end(), pinned);
    OK(hipMemcpyHtoDAsync(a.at, pinned, bytes, stream));
    add_on(a, 1, n, stream);
    OK(hipMemcpyDtoDAsync(b.at, a.at, bytes, stream));
    add_on(b, 1, n, stream);
    OK(hipMemcpyDtoHAsync(pinned, b.at, bytes, stream));
    OK(hipStreamSynchronize(stream));
    ALL(pinned, n, i, i + 2);
    OK(hipMemcpyWithStream(a, pinned, bytes, hipMemcpyHostToDevice, stream));
    add_on(a, 1, n, stream);
    OK(hipMemcpyWithStream(to.data(), a, bytes, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    ALL(to, n, i, i + 3);
    OK(hipHostFree(pinned));
}

CHECK(copies_of_lines) {
    // 10 lines of 7 numbers, on the card each at a pitch.
    size_t width = 7 * sizeof(int), height = 10, pitch = 9 * sizeof(int), row = 9;
    void* lines = nullptr;
    OK(hipMalloc(&lines, pitch * height));
    std::vector<int> from = counted(70), to(70);
    OK(hipMemset(lines, 0, pitch * height));
    OK(hipMemcpy2D(lines, pitch, from.data(), width, width, height, hipMemcpyHostToDevice));
    add_on(static_cast<int*>(lines), 100, row * height);
    std::vector<int> all(row * height);
    OK(hipMemcpy(all.data(), lines, pitch * height, hipMemcpyDeviceToHost));
    ALL(all, row * height, i, i % row < 7 ? 100 + 7 * (i / row) + i % row : 100);
    OK(hipMemcpy2D(to.data(), width, lines, pitch, width, height, hipMemcpyDeviceToHost));
    ALL(to, 70, i, 100 + i);
    // A part: 3 lines of 2 numbers, from line 4, number 1 on, between two pieces of the card's memory.
    Stream stream;
    Numbers<int> part(6);
    const int* at = static_cast<const int*>(lines) + 4 * row + 1;
    OK(hipMemcpy2DAsync(part, 8, at, pitch, 8, 3, hipMemcpyDeviceToDevice, stream));
    OK(hipStreamSynchronize(stream));
    auto got = part.read();
    ALL(got, 6, i, 100 + 7 * (4 + i / 2) + 1 + i % 2);
    OK(hipMemset2D(lines, pitch, 0x01, 8, height));
    OK(hipMemcpy2DAsync(to.data(), width, lines, pitch, width, height, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    ALL(to, 70, i, i % 7 < 2 ? 0x01010101 : 100 + i);
    FAILS(hipErrorInvalidPitchValue, hipMemcpy2D(lines, pitch, from.data(), width - 4, width, height, hipMemcpyHostToDevice));
    OK(hipFree(lines));
}

CHECK(malloc_pitch) {
    void* lines = nullptr;
    size_t pitch = 0;
    OK(hipMallocPitch(&lines, &pitch, 28, 10));
    TRUE(pitch >= 28 && pitch % 64 == 0);
    OK(hipMemset(lines, 0, 10 * pitch));
    std::vector<int> from = counted(70), to(70);
    OK(hipMemcpy2D(lines, pitch, from.data(), 28, 28, 10, hipMemcpyHostToDevice));
    add_on(static_cast<int*>(lines), 5, 10 * pitch / 4);
    OK(hipMemcpy2D(to.data(), 28, lines, pitch, 28, 10, hipMemcpyDeviceToHost));
    ALL(to, 70, i, i + 5);
    OK(hipFree(lines));
    hipPitchedPtr box;
    OK(hipMalloc3D(&box, make_hipExtent(20, 4, 3)));
    TRUE(box.ptr != nullptr && box.pitch >= 20);
    SAME(box.ysize, size_t(4));
    OK(hipFree(box.ptr));
}

CHECK(copies_of_boxes) {
    hipExtent extent = make_hipExtent(5 * sizeof(int), 4, 3);
    hipPitchedPtr box = make_hipPitchedPtr(nullptr, 24, 5, 4);
    OK(hipMalloc(&box.ptr, 24 * 4 * 3));
    OK(hipMemset3D(box, 0, extent));
    std::vector<int> from = counted(60), to(60);
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(from.data(), extent.width, 5, 4);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = hipMemcpyHostToDevice;
    OK(hipMemcpy3D(&copy));
    add_on(static_cast<int*>(box.ptr), 7, box.pitch / sizeof(int) * 12);
    std::swap(copy.srcPtr, copy.dstPtr);
    copy.dstPtr.ptr = to.data();
    copy.kind = hipMemcpyDeviceToHost;
    Stream stream;
    OK(hipMemcpy3DAsync(&copy, stream));
    OK(hipStreamSynchronize(stream));
    ALL(to, 60, i, 7 + i);
    // Two numbers of the lines 1 and 2, of the last layer alone.
    std::fill(to.begin(), to.end(), -1);
    copy.srcPos = make_hipPos(2 * sizeof(int), 1, 2);
    copy.extent = make_hipExtent(2 * sizeof(int), 2, 1);
    OK(hipMemcpy3D(&copy));
    ALL(to, 60, i, i == 0 || i == 1 || i == 5 || i == 6 ? 7 + 2 * 20 + (1 + i / 5) * 5 + 2 + i % 5 : -1);
    OK(hipFree(box.ptr));
}

CHECK(memsets) {
    size_t n = 1000;
    Numbers<int> a(n);
    Stream stream;
    OK(hipMemset(a, 0x5a, a.bytes()));
    add_on(a, 1, n);
    auto got = a.read();
    ALL(got, n, i, 0x5a5a5a5b);
    OK(hipMemsetAsync(a, -1, a.bytes(), stream));
    add_on(a, 3, n, stream);
    OK(hipStreamSynchronize(stream));
    got = a.read();
    ALL(got, n, i, 2);
    OK(hipMemsetD32(a.at, 123456, n - 3));
    got = a.read();
    ALL(got, n, i, i < n - 3 ? 123456 : 2);
    OK(hipMemsetD32Async(a.at + 1, -5, n - 3, stream));
    add_on(a, 1, n, stream);
    OK(hipStreamSynchronize(stream));
    got = a.read();
    ALL(got, n, i, i == 0 ? 123457 : i < n - 2 ? -4 : 3);
    OK(hipMemsetD16(a.at, 0x1234, 2 * n));
    OK(hipMemsetD16Async(a.at, 0x0102, 3, stream));
    OK(hipStreamSynchronize(stream));
    got = a.read();
    ALL(got, n, i, i == 0 ? 0x01020102 : i == 1 ? 0x12340102 : 0x12341234);
    OK(hipMemsetD8(a.at, 0x77, 4 * n));
    OK(hipMemsetD8Async(reinterpret_cast<char*>(a.at) + 5, 0x11, 7, stream));
    OK(hipStreamSynchronize(stream));
    got = a.read();
    ALL(got, n, i, i == 1 ? 0x11111177 : i == 2 ? 0x11111111 : 0x77777777);
    OK(hipMemset(a, 0, 0));
    FAILS(hipErrorInvalidValue, hipMemset(nullptr, 0, 16));
    FAILS(hipErrorInvalidValue, hipMemset(a, 0, 16 * a.bytes()));
}

CHECK(host_memory) {
    size_t n = 3000, bytes = n * sizeof(int);
    const unsigned ways[] = {hipHostMallocDefault, hipHostMallocMapped, hipHostMallocPortable | hipHostMallocCoherent,
                             hipHostMallocNonCoherent, hipHostMallocWriteCombined};
    for (unsigned flags : ways) {
        int *host = nullptr, *device = nullptr;
        OK(hipHostMalloc(&host, bytes, flags));
        for (size_t i = 0; i < n; i++) host[i] = int(i);
        OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
        add_on(device, 9, n);
        OK(hipDeviceSynchronize());
        ALL(host, n, i, i + 9);
        unsigned got = 99;
        OK(hipHostGetFlags(&got, host));
        SAME(got & flags, flags);
        OK(hipHostFree(host));
    }
    int* host = nullptr;
    OK(hipHostMalloc(&host, bytes, 0));
    OK(hipHostFree(host));
    FAILS(hipErrorInvalidValue, hipHostFree(host));
    OK(hipHostFree(nullptr));
    OK(hipHostMalloc(&host, 0, 0));
    TRUE(host == nullptr);
    FAILS(hipErrorInvalidValue, hipHostMalloc(static_cast<void**>(nullptr), 16, 0));
    int on_the_stack;
    FAILS(hipErrorInvalidValue, hipHostFree(&on_the_stack));
    void* device;
    FAILS(hipErrorInvalidValue, hipHostGetDevicePointer(&device, &on_the_stack, 0));
}

CHECK(host_registered) {
    size_t n = 20000, bytes = n * sizeof(int);
    std::vector<int> numbers = counted(n);
    int* device = nullptr;
    OK(hipHostRegister(numbers.data(), bytes, hipHostRegisterMapped));
    OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), numbers.data(), 0));
    add_on(device, 1, n);
    OK(hipDeviceSynchronize());
    ALL(numbers, n, i, i + 1);
    // Twice is allowed, and undone by one call.
    OK(hipHostRegister(numbers.data(), bytes, 0));
    OK(hipHostUnregister(numbers.data()));
    FAILS(hipErrorHostMemoryNotRegistered, hipHostUnregister(numbers.data()));
    FAILS(hipErrorInvalidValue, hipHostRegister(nullptr, bytes, 0));
    FAILS(hipErrorInvalidValue, hipHostRegister(numbers.data(), 0, 0));
}

CHECK(managed_memory) {
    size_t n = 4000, bytes = n * sizeof(int);
    int* numbers = nullptr;
    OK(hipMallocManaged(&numbers, bytes, hipMemAttachGlobal));
    for (size_t i = 0; i < n; i++) numbers[i] = int(i);
    add_on(numbers, 1, n);
    OK(hipDeviceSynchronize());
    ALL(numbers, n, i, i + 1);
    for (size_t i = 0; i < n; i++) numbers[i] *= 2;
    OK(hipMemPrefetchAsync(numbers, bytes, 0, nullptr));
    OK(hipMemAdvise(numbers, bytes, hipMemAdviseSetReadMostly, 0));
    add_on(numbers, 3, n);
    OK(hipMemPrefetchAsync(numbers, bytes, hipCpuDeviceId, nullptr));
    OK(hipDeviceSynchronize());
    ALL(numbers, n, i, 2 * (i + 1) + 3);
    OK(hipFree(numbers));
    FAILS(hipErrorInvalidValue, hipMallocManaged(static_cast<void**>(nullptr), 16, hipMemAttachGlobal));
    FAILS(hipErrorInvalidValue, hipMallocManaged(&numbers, 16, 0));
}

CHECK(pointer_attributes) {
    hipPointerAttribute_t of;
    Numbers<int> numbers(100);
    OK(hipPointerGetAttributes(&of, numbers.at + 10));
    SAME(of.type, hipMemoryTypeDevice);
    SAME(of.device, 0);
    TRUE(of.devicePointer == numbers.at + 10);
    TRUE(of.hostPointer == nullptr);
    SAME(of.isManaged, 0);
    int* host;
    OK(hipHostMalloc(&host, 400, 0));
    OK(hipPointerGetAttributes(&of, host + 3));
    SAME(of.type, hipMemoryTypeHost);
    TRUE(of.hostPointer == host + 3);
    TRUE(of.devicePointer == host + 3);
    SAME(of.isManaged, 0);
    OK(hipHostFree(host));
    OK(hipMallocManaged(&host, 400, hipMemAttachGlobal));
    OK(hipPointerGetAttributes(&of, host));
    SAME(of.type, hipMemoryTypeManaged);
    SAME(of.isManaged, 1);
    TRUE(of.devicePointer == host);
    OK(hipFree(host));
    std::vector<int> registered(1000);
    OK(hipPointerGetAttributes(&of, registered.data()));
    SAME(of.type, hipMemoryTypeUnregistered);
    OK(hipHostRegister(registered.data(), 4000, 0));
    OK(hipPointerGetAttributes(&of, registered.data()));
    SAME(of.type, hipMemoryTypeHost);
    TRUE(of.hostPointer == registered.data());
    OK(hipHostUnregister(registered.data()));
    FAILS(hipErrorInvalidValue, hipPointerGetAttributes(nullptr, numbers.at));
    FAILS(runtime() < 7 ? hipErrorInvalidValue : hipSuccess, hipPointerGetAttributes(&of, nullptr));

    unsigned type = 99;
    hipDeviceptr_t start = nullptr;
    size_t size = 0;
    OK(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, numbers.at));
    SAME(type, unsigned(hipMemoryTypeDevice));
    OK(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, numbers.at + 7));
    TRUE(start == numbers.at);
    OK(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, numbers.at + 7));
    SAME(size, numbers.bytes());
    OK(hipPointerGetAttribute(&start, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, numbers.at + 7));
    TRUE(start == numbers.at + 7);
    int device = -1;
    OK(hipPointerGetAttribute(&device, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, numbers.at));
    SAME(device, 0);
    FAILS(hipErrorInvalidValue, hipPointerGetAttribute(nullptr, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, numbers.at));
}

CHECK(malloc_async) {
    size_t n = 2000, bytes = n * sizeof(int);
    Stream stream;
    std::vector<int> got(n);
    for (int round = 0; round < 3; round++) {
        int* numbers = nullptr;
        OK(hipMallocAsync(&numbers, bytes, stream));
        OK(hipMemsetAsync(numbers, 0, bytes, stream));
        add_on(numbers, 7 + round, n, stream);
        OK(hipMemcpyAsync(got.data(), numbers, bytes, hipMemcpyDeviceToHost, stream));
        OK(hipFreeAsync(numbers, stream));
        OK(hipStreamSynchronize(stream));
        ALL(got, n, i, 7 + round);
    }
    FAILS(hipErrorInvalidValue, hipMallocAsync(static_cast<void**>(nullptr), 16, stream));
    if (runtime() >= 7) OK(hipFreeAsync(nullptr, stream));
    else FAILS(hipErrorInvalidValue, hipFreeAsync(nullptr, stream));
    // What `hipMalloc` gave.
    int* numbers = nullptr;
    OK(hipMalloc(&numbers, bytes));
    add_on(numbers, 1, n, stream);
    OK(hipFreeAsync(numbers, stream));
    OK(hipStreamSynchronize(stream));
    // `hipFree` takes what `hipMallocAsync` gave.
    OK(hipMallocAsync(&numbers, bytes, stream));
    OK(hipFree(numbers));
}

CHECK(memory_pools) {
    int supported = 0;
    OK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
    SAME(supported, 1);
    hipMemPool_t pool = nullptr, current = nullptr;
    OK(hipDeviceGetDefaultMemPool(&pool, 0));
    OK(hipDeviceGetMemPool(&current, 0));
    TRUE(pool == current);
    uint64_t kept = 99, threshold = 1 << 20;
    OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept));
    SAME(kept, uint64_t(0));
    OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
    OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept));
    SAME(kept, threshold);
    OK(hipMemPoolTrimTo(pool, 0));
    threshold = 0;
    OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));

    hipMemPoolProps of = {};
    of.allocType = hipMemAllocationTypePinned;
    of.location.type = hipMemLocationTypeDevice;
    of.location.id = 0;
    OK(hipMemPoolCreate(&pool, &of));
    Stream stream;
    size_t n = 700, bytes = n * sizeof(int);
    int* numbers = nullptr;
    std::vector<int> got(n);
    OK(hipMallocFromPoolAsync(&numbers, bytes, pool, stream));
    OK(hipMemsetAsync(numbers, 0, bytes, stream));
    add_on(numbers, 21, n, stream);
    OK(hipMemcpyAsync(got.data(), numbers, bytes, hipMemcpyDeviceToHost, stream));
    uint64_t used = 0;
    OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
    TRUE(used >= bytes);
    OK(hipFreeAsync(numbers, stream));
    OK(hipStreamSynchronize(stream));
    ALL(got, n, i, 21);
    OK(hipDeviceSetMemPool(0, pool));
    OK(hipDeviceGetMemPool(&current, 0));
    TRUE(current == pool);
    OK(hipDeviceGetDefaultMemPool(&current, 0));
    OK(hipDeviceSetMemPool(0, current));
    OK(hipMemPoolDestroy(pool));
    FAILS(hipErrorInvalidValue, hipMemPoolDestroy(nullptr));
}

CHECK(virtual_memory) {
    int supported = 0;
    OK(hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
    if (!supported) SKIP("the runtime has no virtual memory");
    hipMemAllocationProp of = {};
    of.type = hipMemAllocationTypePinned;
    of.location.type = hipMemLocationTypeDevice;
    of.location.id = 0;
    size_t bytes = 0;
    OK(hipMemGetAllocationGranularity(&bytes, &of, hipMemAllocationGranularityRecommended));
    hipMemGenericAllocationHandle_t first, second;
    OK(hipMemCreate(&first, bytes, &of, 0));
    OK(hipMemCreate(&second, bytes, &of, 0));
    // Two memories side by side.
    void* place = nullptr;
    OK(hipMemAddressReserve(&place, 2 * bytes, 0, nullptr, 0));
    char* next = static_cast<char*>(place) + bytes;
    OK(hipMemMap(place, bytes, 0, first, 0));
    OK(hipMemMap(next, bytes, 0, second, 0));
    hipMemAccessDesc access = {of.location, hipMemAccessFlagsProtReadWrite};
    OK(hipMemSetAccess(place, bytes, &access, 1));
    OK(hipMemSetAccess(next, bytes, &access, 1));
    size_t n = bytes / sizeof(int);
    int *numbers = static_cast<int*>(place), *others = reinterpret_cast<int*>(next);
    OK(hipMemset(place, 0, bytes));
    OK(hipMemset(next, 0, bytes));
    add_on(numbers, 5, 2 * n);
    std::vector<int> got(n);
    for (int* half : {numbers, others}) {
        OK(hipMemcpy(got.data(), half, bytes, hipMemcpyDeviceToHost));
        ALL(got, n, i, 5);
    }
    // What is mapped again has its content.
    add_on(others, 2, n);
    OK(hipDeviceSynchronize());
    OK(hipMemUnmap(place, bytes));
    OK(hipMemUnmap(next, bytes));
    OK(hipMemMap(place, bytes, 0, second, 0));
    OK(hipMemSetAccess(place, bytes, &access, 1));
    add_on(numbers, 1, n);
    OK(hipMemcpy(got.data(), place, bytes, hipMemcpyDeviceToHost));
    ALL(got, n, i, 8);
    OK(hipMemUnmap(place, bytes));
    OK(hipMemRelease(first));
    OK(hipMemRelease(second));
    OK(hipMemAddressFree(place, 2 * bytes));
}

// Variables.

__device__ int table[64];
__constant__ int factors[4] = {1, 10, 100, 1000};
__managed__ int shared_numbers[32] = {5, 6, 7};
__device__ double half = 0.5;

__global__ void of_variables(int* out) {
    unsigned i = threadIdx.x;
    out[i] = table[i] * factors[i % 4] + int(2 * half);
    table[i] = -int(i);
}

CHECK(variables) {
    Numbers<int> out(64);
    std::vector<int> numbers = counted(64, 1);
    OK(hipMemcpyToSymbol(table, numbers.data(), sizeof table));
    of_variables<<<1, 64>>>(out);
    OK(hipGetLastError());
    int factor[4] = {1, 10, 100, 1000};
    auto got = out.read();
    ALL(got, 64, i, (int(i) + 1) * factor[i % 4] + 1);
    OK(hipMemcpyFromSymbol(numbers.data(), table, sizeof table));
    ALL(numbers, 64, i, -int(i));
    // Parts.
    int two[2] = {77, 88};
    OK(hipMemcpyToSymbol(factors, two, sizeof two, sizeof two));
    double more = 4;
    OK(hipMemcpyToSymbol(half, &more, sizeof more));
    numbers = counted(64, 1);
    Stream stream;
    OK(hipMemcpyToSymbolAsync(table, numbers.data(), sizeof table, 0, hipMemcpyHostToDevice, stream));
    of_variables<<<1, 64, 0, stream>>>(out);
    OK(hipMemcpyFromSymbolAsync(numbers.data(), table, 40, 24, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    factor[2] = 77, factor[3] = 88;
    got = out.read();
    ALL(got, 64, i, (int(i) + 1) * factor[i % 4] + 8);
    ALL(numbers, 64, i, i < 10 ? -int(i) - 6 : int(i) + 1);
    more = 0.5;
    OK(hipMemcpyToSymbol(half, &more, sizeof more));
    two[0] = 100, two[1] = 1000;
    OK(hipMemcpyToSymbol(factors, two, sizeof two, sizeof two));

    size_t bytes = 0;
    int* at = nullptr;
    OK(hipGetSymbolSize(&bytes, table));
    SAME(bytes, sizeof table);
    OK(hipGetSymbolSize(&bytes, half));
    SAME(bytes, sizeof half);
    OK(hipGetSymbolAddress(reinterpret_cast<void**>(&at), table));
    OK(hipMemset(at, 0, sizeof table));
    add_on(at, 3, 64);
    OK(hipMemcpyFromSymbol(numbers.data(), table, sizeof table));
    ALL(numbers, 64, i, 3);
    // A copy past the end, and what is not a variable.
    FAILS(hipErrorInvalidValue, hipMemcpyToSymbol(table, numbers.data(), sizeof table, 4));
    FAILS(hipErrorInvalidSymbol, hipMemcpyToSymbol(numbers.data(), numbers.data(), 4));
    FAILS(hipErrorInvalidSymbol, hipGetSymbolSize(&bytes, numbers.data()));
    FAILS(hipErrorInvalidSymbol, hipGetSymbolAddress(reinterpret_cast<void**>(&at), numbers.data()));
}

__global__ void of_managed() { shared_numbers[threadIdx.x] += 10 * threadIdx.x; }

CHECK(managed_variables) {
    SAME(shared_numbers[1], 6);
    shared_numbers[3] = 8;
    of_managed<<<1, 32>>>();
    OK(hipGetLastError());
    OK(hipDeviceSynchronize());
    int first[4] = {5, 6, 7, 8};
    ALL(shared_numbers, 32, i, (i < 4 ? first[i] : 0) + 10 * int(i));
    for (int i = 0; i < 32; i++) shared_numbers[i] = i;
    of_managed<<<1, 32>>>();
    OK(hipDeviceSynchronize());
    ALL(shared_numbers, 32, i, 11 * int(i));
    for (int i = 0; i < 32; i++) shared_numbers[i] = i < 3 ? 5 + i : 0;
}
