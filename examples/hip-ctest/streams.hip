// Checks of HIP's streams, events and threads. checks.hpp says how to run them.
#include "checks.hpp"

#include <atomic>
#include <chrono>
#include <thread>

__global__ void add(int* numbers, int more) { numbers[threadIdx.x] += more; }
__global__ void doubled(const int* in, int* out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }

// Waits until the host opens the gate, though not forever, and then adds.
__global__ void after_gate(const int* gate, int* numbers, int more) {
    for (int i = 0; i < 30000000; i++) {
        if (__hip_atomic_load(gate, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)) {
            numbers[threadIdx.x] += more;
            return;
        }
    }
}

constexpr unsigned ITEMS = 32;

// A kernel on a stream that waits for the host.
struct Gate {
    int* flag;
    Gate() {
        OK(hipHostMalloc(&flag, sizeof(int), 0));
        *flag = 0;
    }
    ~Gate() { open(), (void)hipDeviceSynchronize(), (void)hipHostFree(flag); }
    void open() { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
    void add(int* numbers, int more, hipStream_t stream) {
        after_gate<<<1, ITEMS, 0, stream>>>(flag, numbers, more);
        OK(hipPeekAtLastError());
    }
};

// Numbers that the host reads without a copy.
struct Shared {
    int* at;
    explicit Shared(int value) {
        OK(hipHostMalloc(&at, ITEMS * sizeof(int), 0));
        for (unsigned i = 0; i < ITEMS; i++) at[i] = value;
    }
    ~Shared() { (void)hipHostFree(at); }
    operator int*() const { return at; }
};

CHECK(stream_flags) {
    hipStream_t stream = nullptr;
    unsigned flags = 99;
    int priority = 99, least, greatest;
    hipDevice_t device = 99;
    OK(hipStreamCreate(&stream));
    OK(hipStreamGetFlags(stream, &flags));
    SAME(flags, unsigned(hipStreamDefault));
    OK(hipStreamGetPriority(stream, &priority));
    SAME(priority, 0);
    OK(hipStreamGetDevice(stream, &device));
    SAME(device, 0);
    SAME(hipGetStreamDeviceId(stream), 0);
    OK(hipStreamDestroy(stream));
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    OK(hipStreamGetFlags(stream, &flags));
    SAME(flags, unsigned(hipStreamNonBlocking));
    OK(hipStreamDestroy(stream));
    OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    for (int asked = greatest; asked <= least; asked++) {
        OK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, asked));
        OK(hipStreamGetPriority(stream, &priority));
        SAME(priority, asked);
        Shared numbers(3);
        add<<<1, ITEMS, 0, stream>>>(numbers, asked);
        OK(hipStreamSynchronize(stream));
        ALL(numbers, ITEMS, i, 3 + asked);
        OK(hipStreamDestroy(stream));
    }
    // What is outside of the range is moved into it.
    OK(hipStreamCreateWithPriority(&stream, hipStreamDefault, -100));
    OK(hipStreamGetPriority(stream, &priority));
    SAME(priority, greatest);
    OK(hipStreamDestroy(stream));
    FAILS(hipErrorInvalidValue, hipStreamGetFlags(nullptr, &flags));
    OK(hipStreamGetPriority(nullptr, &priority));
    SAME(priority, 0);
    FAILS(hipErrorInvalidValue, hipStreamCreate(nullptr));
    FAILS(hipErrorInvalidValue, hipStreamCreateWithFlags(&stream, 77));
    FAILS(hipErrorInvalidValue, hipStreamGetFlags(nullptr, nullptr));
    FAILS(hipErrorInvalidResourceHandle, hipStreamDestroy(nullptr));
}

CHECK(stream_query) {
    Stream stream;
    Shared numbers(1);
    OK(hipStreamQuery(stream));
    OK(hipStreamQuery(nullptr));
    Gate gate;
    gate.add(numbers, 5, stream);
    FAILS(hipErrorNotReady, hipStreamQuery(stream));
    SAME(numbers[0], 1);
    gate.open();
    OK(hipStreamSynchronize(stream));
    OK(hipStreamQuery(stream));
    ALL(numbers, ITEMS, i, 6);
}

CHECK(stream_order) {
    Stream stream;
    Numbers<int> numbers(ITEMS);
    OK(hipMemsetAsync(numbers, 0, numbers.bytes(), stream));
    for (int i = 0; i < 100; i++) {
        add<<<1, ITEMS, 0, stream>>>(numbers, i);
        doubled<<<1, ITEMS, 0, stream>>>(numbers, numbers);
        if (i % 8 == 7) OK(hipMemsetAsync(numbers, 0, numbers.bytes(), stream));
    }
    OK(hipStreamSynchronize(stream));
    int wanted = 0;
    for (int i = 96; i < 100; i++) wanted = 2 * (wanted + i);
    auto got = numbers.read();
    ALL(got, ITEMS, i, wanted);
}

CHECK(wait_event) {
    Stream first, second;
    Event event;
    Shared numbers(1), more(0);
    Gate gate;
    gate.add(numbers, 4, first);
    OK(hipEventRecord(event, first));
    OK(hipStreamWaitEvent(second, event, 0));
    doubled<<<1, ITEMS, 0, second>>>(numbers, more);
    FAILS(hipErrorNotReady, hipEventQuery(event));
    FAILS(hipErrorNotReady, hipStreamQuery(second));
    gate.open();
    OK(hipStreamSynchronize(second));
    ALL(more, ITEMS, i, 10);
    OK(hipEventQuery(event));
    // An event that was never recorded holds nothing up.
    Event never;
    OK(hipStreamWaitEvent(second, never, 0));
    add<<<1, ITEMS, 0, second>>>(more, 1);
    OK(hipStreamSynchronize(second));
    ALL(more, ITEMS, i, 11);
    FAILS(hipErrorInvalidHandle, hipStreamWaitEvent(second, nullptr, 0));
}

// The null stream waits for the streams that are not `hipStreamNonBlocking`, and they for it.
CHECK(null_stream) {
    Stream first, second;
    Shared numbers(1), more(0), last(0);
    Gate gate;
    gate.add(numbers, 2, first);
    doubled<<<1, ITEMS>>>(numbers, more);
    doubled<<<1, ITEMS, 0, second>>>(more, last);
    FAILS(hipErrorNotReady, hipStreamQuery(second));
    gate.open();
    OK(hipStreamSynchronize(second));
    ALL(more, ITEMS, i, 6);
    ALL(last, ITEMS, i, 12);
}

CHECK(non_blocking_stream) {
    Stream stream(hipStreamNonBlocking);
    Shared numbers(1), more(10);
    Gate gate;
    gate.add(numbers, 2, nullptr);
    add<<<1, ITEMS, 0, stream>>>(more, 3);
    OK(hipStreamSynchronize(stream));
    ALL(more, ITEMS, i, 13);
    ALL(numbers, ITEMS, i, 1);
    FAILS(hipErrorNotReady, hipStreamQuery(nullptr));
    gate.open();
    OK(hipStreamSynchronize(nullptr));
    ALL(numbers, ITEMS, i, 3);
}

CHECK(device_synchronize) {
    Stream first, second(hipStreamNonBlocking);
    Shared a(1), b(1), c(1);
    Gate gate;
    gate.add(a, 2, first);
    gate.add(b, 3, second);
    std::thread opener([&] { std::this_thread::sleep_for(std::chrono::milliseconds(20)), gate.open(); });
    add<<<1, ITEMS>>>(c, 4);
    hipError_t error = hipDeviceSynchronize();
    opener.join();
    OK(error);
    ALL(a, ITEMS, i, 3);
    ALL(b, ITEMS, i, 4);
    ALL(c, ITEMS, i, 5);
}

// What was asked of a stream still happens when it is destroyed.
CHECK(stream_destroyed_early) {
    hipStream_t stream;
    Shared numbers(1);
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    for (int i = 0; i < 50; i++) add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    OK(hipStreamDestroy(stream));
    OK(hipDeviceSynchronize());
    ALL(numbers, ITEMS, i, 51);
}

CHECK(per_thread_stream) {
    Shared numbers(1), more(1);
    add<<<1, ITEMS, 0, hipStreamPerThread>>>(numbers, 4);
    OK(hipStreamSynchronize(hipStreamPerThread));
    ALL(numbers, ITEMS, i, 5);
    OK(hipStreamQuery(hipStreamPerThread));
    std::string failed;
    std::thread other([&] {
        try {
            add<<<1, ITEMS, 0, hipStreamPerThread>>>(more, 9);
            OK(hipGetLastError());
            OK(hipStreamSynchronize(hipStreamPerThread));
            ALL(more, ITEMS, i, 10);
        } catch (const Failure& failure) {
            failed = failure.what;
        }
    });
    other.join();
    SAME(failed, "");
    Event event;
    OK(hipEventRecord(event, hipStreamPerThread));
    OK(hipEventSynchronize(event));
    int one[ITEMS];
    OK(hipMemcpyAsync(one, more, sizeof one, hipMemcpyDefault, hipStreamPerThread));
    OK(hipStreamSynchronize(hipStreamPerThread));
    ALL(one, ITEMS, i, 10);
}

struct Called {
    int* numbers;
    int seen = 0, times = 0;
    hipStream_t stream = nullptr;
    hipError_t status = hipErrorUnknown;
};

CHECK(callbacks) {
    Stream stream;
    Shared numbers(1);
    Called called{numbers};
    add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    OK(hipStreamAddCallback(
        stream,
        [](hipStream_t stream, hipError_t status, void* data) {
            Called& called = *static_cast<Called*>(data);
            called.seen = called.numbers[ITEMS - 1], called.times++, called.stream = stream, called.status = status;
        },
        &called, 0));
    OK(hipStreamSynchronize(stream));
    SAME(called.times, 1);
    SAME(called.seen, 2);
    SAME(called.status, hipSuccess);
    TRUE(called.stream == stream);
    FAILS(hipErrorInvalidValue, hipStreamAddCallback(stream, nullptr, &called, 0));
    FAILS(hipErrorInvalidValue, hipStreamAddCallback(stream, [](hipStream_t, hipError_t, void*) {}, &called, 1));
}

// The stream goes on after the function has returned.
CHECK(host_functions) {
    Stream stream;
    Shared numbers(1);
    Called called{numbers};
    for (int round = 0; round < 5; round++) {
        add<<<1, ITEMS, 0, stream>>>(numbers, 1);
        OK(hipLaunchHostFunc(
            stream,
            [](void* data) {
                Called& called = *static_cast<Called*>(data);
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                for (unsigned i = 0; i < ITEMS; i++) called.numbers[i] *= 10;
                called.times++;
            },
            &called));
    }
    OK(hipStreamSynchronize(stream));
    SAME(called.times, 5);
    ALL(numbers, ITEMS, i, 211110);
    OK(hipLaunchHostFunc(nullptr, [](void* data) { static_cast<Called*>(data)->times++; }, &called));
    OK(hipStreamSynchronize(nullptr));
    SAME(called.times, 6);
    FAILS(hipErrorInvalidValue, hipLaunchHostFunc(stream, nullptr, &called));
}

CHECK(values_in_memory) {
    int can = 0;
    OK(hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, 0));
    SAME(can, 1);
    Stream stream;
    Shared numbers(1), more(7);
    OK(hipStreamWriteValue32(stream, numbers, 40, 0));
    OK(hipStreamWriteValue64(stream, numbers + 2, uint64_t(5) << 32 | 6, 0));
    add<<<1, ITEMS, 0, stream>>>(numbers, 2);
    OK(hipStreamSynchronize(stream));
    ALL(numbers, ITEMS, i, i == 0 ? 42 : i == 2 ? 8 : i == 3 ? 7 : 3);
    Stream second(hipStreamNonBlocking);
    OK(hipStreamWaitValue32(stream, numbers, 50, hipStreamWaitValueGte, 0xffffffff));
    add<<<1, ITEMS, 0, stream>>>(more, 2);
    FAILS(hipErrorNotReady, hipStreamQuery(stream));
    SAME(more[0], 7);
    OK(hipStreamWriteValue32(second, numbers, 51, 0));
    OK(hipStreamSynchronize(stream));
    ALL(more, ITEMS, i, 9);
}

// Events.

CHECK(events) {
    Event start, stop;
    Stream stream;
    Shared numbers(1);
    float all = -1, part = -1;
    OK(hipEventRecord(start, stream));
    add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    OK(hipEventRecord(stop, stream));
    OK(hipEventSynchronize(stop));
    OK(hipEventQuery(start));
    OK(hipEventQuery(stop));
    ALL(numbers, ITEMS, i, 2);
    OK(hipEventElapsedTime(&part, start, stop));
    TRUE(part >= 0 && part < 10000);
    // Recorded again it is later.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    OK(hipEventRecord(stop, stream));
    OK(hipEventSynchronize(stop));
    OK(hipEventElapsedTime(&all, start, stop));
    TRUE(all >= part + 10);
    OK(hipEventElapsedTime(&all, stop, start));
    TRUE(all <= -10);
    OK(hipEventElapsedTime(&all, start, start));
    SAME(all, 0.0f);
    ALL(numbers, ITEMS, i, 3);
}

CHECK(event_errors) {
    Event start, stop, untimed(hipEventDisableTiming), blocking(hipEventBlockingSync);
    float milliseconds = -1;
    // An event that was never recorded is complete, but has no time.
    OK(hipEventQuery(start));
    OK(hipEventSynchronize(start));
    FAILS(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, stop));
    OK(hipEventRecord(start, nullptr));
    OK(hipEventRecord(untimed, nullptr));
    OK(hipEventRecord(blocking, nullptr));
    OK(hipEventSynchronize(untimed));
    OK(hipEventSynchronize(blocking));
    FAILS(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, untimed));
    FAILS(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, stop));
    OK(hipEventElapsedTime(&milliseconds, start, blocking));
    FAILS(hipErrorInvalidValue, hipEventElapsedTime(nullptr, start, blocking));
    FAILS(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, nullptr, blocking));
    FAILS(hipErrorInvalidHandle, hipEventRecord(nullptr, nullptr));
    FAILS(hipErrorInvalidHandle, hipEventQuery(nullptr));
    FAILS(hipErrorInvalidHandle, hipEventSynchronize(nullptr));
    FAILS(hipErrorInvalidHandle, hipEventDestroy(nullptr));
    FAILS(hipErrorInvalidValue, hipEventCreate(nullptr));
    hipEvent_t event;
    FAILS(hipErrorInvalidValue, hipEventCreateWithFlags(&event, 0x1000000));
    Gate gate;
    Stream stream;
    Shared numbers(1);
    gate.add(numbers, 1, stream);
    OK(hipEventRecord(stop, stream));
    FAILS(hipErrorNotReady, hipEventElapsedTime(&milliseconds, start, stop));
    gate.open();
    OK(hipEventSynchronize(stop));
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    TRUE(milliseconds >= 0);
}

CHECK(launch_with_events) {
    Event start, stop;
    Stream stream;
    Shared numbers(1);
    int *at = numbers, more = 6;
    void* arguments[] = {&at, &more};
    OK(hipExtLaunchKernel(reinterpret_cast<const void*>(add), dim3(1), dim3(ITEMS), arguments, 0, stream, start, stop, 0));
    OK(hipEventSynchronize(stop));
    ALL(numbers, ITEMS, i, 7);
    float milliseconds = -1;
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    TRUE(milliseconds >= 0);
    hipExtLaunchKernelGGL(add, dim3(1), dim3(ITEMS), 0, stream, start, stop, 0, at, 3);
    OK(hipEventSynchronize(stop));
    ALL(numbers, ITEMS, i, 10);
}

// Threads.

CHECK(threads) {
    std::vector<std::thread> threads;
    std::vector<std::string> failed(4);
    std::atomic<int> waiting{4};
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            try {
                waiting--;
                while (waiting > 0) std::this_thread::yield();
                int device = -1;
                OK(hipGetDevice(&device));
                SAME(device, 0);
                Stream stream(t % 2 ? hipStreamNonBlocking : hipStreamDefault);
                for (int round = 0; round < 10; round++) {
                    Numbers<int> numbers(ITEMS);
                    int host[ITEMS];
                    for (unsigned i = 0; i < ITEMS; i++) host[i] = int(i) * t;
                    OK(hipMemcpyAsync(numbers, host, sizeof host, hipMemcpyHostToDevice, stream));
                    for (int i = 0; i < 5; i++) add<<<1, ITEMS, 0, stream>>>(numbers, round + i);
                    OK(hipPeekAtLastError());
                    OK(hipMemcpyAsync(host, numbers, sizeof host, hipMemcpyDeviceToHost, stream));
                    OK(hipStreamSynchronize(stream));
                    ALL(host, ITEMS, i, int(i) * t + 5 * round + 10);
                }
            } catch (const Failure& failure) {
                failed[t] = failure.what;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (const std::string& what : failed) SAME(what, "");
}

// A stream that several threads launch on.
CHECK(threads_on_a_stream) {
    Stream stream;
    Shared numbers(0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 25; i++) add<<<1, ITEMS, 0, stream>>>(numbers, t + 1);
        });
    for (auto& thread : threads) thread.join();
    OK(hipStreamSynchronize(stream));
    ALL(numbers, ITEMS, i, 250);
}

// Frees all memory of the card. Kernels and streams can be used again.
CHECK(reset) {
    int* numbers = nullptr;
    OK(hipMalloc(&numbers, ITEMS * sizeof(int)));
    OK(hipDeviceReset());
    FAILS(hipErrorInvalidValue, hipMemset(numbers, 0, ITEMS * sizeof(int)));
    Shared again(1);
    add<<<1, ITEMS>>>(again, 5);
    OK(hipDeviceSynchronize());
    ALL(again, ITEMS, i, 6);
    Stream stream;
    add<<<1, ITEMS, 0, stream>>>(again, 5);
    OK(hipStreamSynchronize(stream));
    ALL(again, ITEMS, i, 11);
}
