// A HIP program that uses what device code has beyond arithmetic, a test each: `device print` (printf), `device malloc`,
// `device calls` (recursion, function pointers, virtual functions), `device clock` and `device assert`. It ends with 0 when the
// card's results are right. `assert` fails on purpose: the text of the assertion appears, and the program does not end with 0.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>

#define CHECK(call)                                                                    \
    do {                                                                               \
        hipError_t error = (call);                                                     \
        if (error != hipSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));         \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

constexpr unsigned ITEMS = 64;

__global__ void print(const int* numbers) {
    if (threadIdx.x % 20 == 0) printf("item %u has %d, %s %.2f\n", threadIdx.x, numbers[threadIdx.x], "half is", numbers[threadIdx.x] / 2.0);
}

struct Node {
    int value;
    Node* next;
};

// Each work-item builds a list of its own, adds it up and frees it.
__global__ void lists(int* numbers) {
    Node* first = nullptr;
    int expected = 0;
    for (int i = 0; i < numbers[threadIdx.x] % 7 + 1; i++) {
        Node* node = static_cast<Node*>(malloc(sizeof(Node) + 8 * threadIdx.x));
        if (node == nullptr) return;
        *node = {i + int(threadIdx.x), first};
        first = node;
        expected += i + int(threadIdx.x);
    }
    while (first != nullptr) {
        Node* node = first;
        expected -= node->value;
        first = node->next;
        free(node);
    }
    numbers[threadIdx.x] = expected == 0 ? int(3 * threadIdx.x + 1) : -1;
}

__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __attribute__((noinline)) int triple(int n) { return 3 * n; }
__device__ __attribute__((noinline)) int next(int n) { return n + 1; }
typedef int (*Function)(int);
__device__ Function functions[] = {triple, next, fibonacci};

struct Shape {
    __device__ virtual int area(int n) const { return n; }
};
struct Square : Shape {
    __device__ int area(int n) const override { return n * n; }
};
__device__ __attribute__((noinline)) int area(const Shape& shape, int n) { return shape.area(n); }

__global__ void calls(int* numbers) {
    int n = numbers[threadIdx.x] % 10;
    Shape shape;
    Square square;
    numbers[threadIdx.x] = functions[threadIdx.x % 3](n) + area(n % 2 != 0 ? square : shape, n);
}

static int called(int i, int n) {
    int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    int of[] = {3 * n, n + 1, fibonacci[n]};
    return of[i % 3] + (n % 2 != 0 ? n * n : n);
}

__global__ void clocks(int* numbers) {
    long long start = clock64();
    for (int i = 0; i < numbers[threadIdx.x]; i++) __builtin_amdgcn_s_sleep(1);
    numbers[threadIdx.x] = clock64() > start ? 3 * int(threadIdx.x) + 1 : -1;
}

__global__ void below(const int* numbers, int limit) { assert(numbers[threadIdx.x] < limit); }

int main(int count, char** arguments) {
    const char* test = count == 2 ? arguments[1] : "";
    int* numbers;
    CHECK(hipHostMalloc(&numbers, ITEMS * sizeof(int), 0));
    for (unsigned i = 0; i < ITEMS; i++) numbers[i] = 3 * int(i) + 1;
    bool calling = !std::strcmp(test, "calls");
    if (!std::strcmp(test, "print")) {
        print<<<1, ITEMS>>>(numbers);
    } else if (!std::strcmp(test, "malloc")) {
        lists<<<1, ITEMS>>>(numbers);
    } else if (calling) {
        calls<<<1, ITEMS>>>(numbers);
    } else if (!std::strcmp(test, "clock")) {
        clocks<<<1, ITEMS>>>(numbers);
    } else if (!std::strcmp(test, "assert")) {
        below<<<1, ITEMS>>>(numbers, 100);
    } else {
        std::fprintf(stderr, "a test is expected: print, malloc, calls, clock or assert\n");
        return 2;
    }
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < int(ITEMS); i++) {
        int expected = calling ? called(i, (3 * i + 1) % 10) : 3 * i + 1;
        if (numbers[i] != expected) {
            std::fprintf(stderr, "number %d is %d, should be %d\n", i, numbers[i], expected);
            return 1;
        }
    }
    CHECK(hipHostFree(numbers));
    return 0;
}
