// A HIP program with three tests: `sums add`, `sums reduce` and `sums race`. It ends with 0 when the card's results are
// right. `race` has a bug on purpose, barriers that are missing, and does not look at its result: only the sanitizer finds
// the bug, and names its line.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        hipError_t error = (call);                                                     \
        if (error != hipSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));         \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

constexpr unsigned BLOCK = 128;

__global__ void add(const float* a, const float* b, float* sum, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

// Adds all numbers up: each workgroup in LDS, the workgroups by an atomic.
template <bool HAS_BARRIER>
__global__ void reduce(const int* numbers, int* total, unsigned n) {
    __shared__ int part[BLOCK];
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? numbers[i] : 0;
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        if (HAS_BARRIER) __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0]);
}

static int test_add(unsigned n) {
    std::vector<float> a(n), b(n), sum(n);
    for (unsigned i = 0; i < n; i++) a[i] = 0.5f * i, b[i] = 3.0f * i;
    float *da, *db, *dsum;
    size_t bytes = n * sizeof(float);
    CHECK(hipMalloc(&da, bytes));
    CHECK(hipMalloc(&db, bytes));
    CHECK(hipMalloc(&dsum, bytes));
    CHECK(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
    add<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(da, db, dsum, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(sum.data(), dsum, bytes, hipMemcpyDeviceToHost));
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dsum));
    for (unsigned i = 0; i < n; i++) {
        if (sum[i] != a[i] + b[i]) {
            std::fprintf(stderr, "sum %u is %g, should be %g\n", i, sum[i], a[i] + b[i]);
            return 1;
        }
    }
    return 0;
}

template <bool HAS_BARRIER>
static int test_reduce(unsigned n) {
    // Memory that the host and the card share: no copies.
    int *numbers, *total;
    CHECK(hipHostMalloc(&numbers, n * sizeof(int), 0));
    CHECK(hipHostMalloc(&total, sizeof(int), 0));
    int expected = 0;
    for (unsigned i = 0; i < n; i++) numbers[i] = i % 1000 - 300, expected += numbers[i];
    *total = 0;
    reduce<HAS_BARRIER><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(numbers, total, n);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    int got = *total;
    CHECK(hipHostFree(numbers));
    CHECK(hipHostFree(total));
    if (got == expected || !HAS_BARRIER) return 0;
    std::fprintf(stderr, "the total is %d, should be %d\n", got, expected);
    return 1;
}

int main(int count, char** arguments) {
    const char* test = count == 2 ? arguments[1] : "";
    if (!std::strcmp(test, "add")) return test_add(100003);
    if (!std::strcmp(test, "reduce")) return test_reduce<true>(50001);
    if (!std::strcmp(test, "race")) return test_reduce<false>(50001);
    std::fprintf(stderr, "a test is expected: add, reduce or race\n");
    return 2;
}
