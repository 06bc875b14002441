// A stand-in for cuBLAS, for tests on machines without one: device memory is the host's, each call is noted, and a product is
// computed as "cuBLAS Library" says, in f64. Written after that document; compiled by blas.rs beside it.
#include <stdint.h>

#include "mock.h"

enum { R32F = 0, R64F = 1, R16F = 2, R8I = 3, R32I = 10, R16BF = 14 };

Status cublasCreate_v2(Handle *handle) {
    static size_t made;
    NOTE("%s", "");
    *handle = (Handle)(0x900 + ++made);
    return 0;
}
Status cublasDestroy_v2(Handle handle) { NOTE(" %zx", (size_t)handle); return 0; }
Status cublasSetStream_v2(Handle handle, Handle stream) { NOTE(" %zx %zx", (size_t)handle, (size_t)stream); return 0; }
Status cublasSetWorkspace_v2(Handle handle, void *workspace, size_t bytes) {
    NOTE(" %zx %d %zu", (size_t)handle, workspace != NULL, bytes);
    return 0;
}
Status cublasSetAtomicsMode(Handle handle, unsigned mode) { NOTE(" %zx %u", (size_t)handle, mode); return 0; }
Status cublasSetMathMode(Handle handle, unsigned mode) { NOTE(" %zx %u", (size_t)handle, mode); return 0; }

static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 1023, value = exponent == 0 ? mantissa : mantissa + 1024;
    for (int power = exponent == 0 ? 1 : exponent; power < 25; ++power) value /= 2;
    for (int power = 25; power < exponent; ++power) value *= 2;
    return bits >> 15 ? -value : value;
}

static double get(const void *base, unsigned type, int64_t i) {
    uint32_t wide;
    float single;
    switch (type) {
    case R32F: return ((const float *)base)[i];
    case R64F: return ((const double *)base)[i];
    case R16F: return half(((const uint16_t *)base)[i]);
    case R8I: return ((const int8_t *)base)[i];
    case R32I: return ((const int32_t *)base)[i];
    default:
        wide = (uint32_t)((const uint16_t *)base)[i] << 16;
        memcpy(&single, &wide, 4);
        return single;
    }
}

// Results of the tests are whole numbers up to 2048 in magnitude: nothing is rounded in any type.
static void put(void *base, unsigned type, int64_t i, double value) {
    uint32_t wide;
    float single = (float)value;
    switch (type) {
    case R32F: ((float *)base)[i] = single; break;
    case R64F: ((double *)base)[i] = value; break;
    case R32I: ((int32_t *)base)[i] = (int32_t)value; break;
    case R16F: {
        double size = value < 0 ? -value : value;
        int exponent = 25;
        uint16_t bits = 0;
        if (size != 0) {
            while (size < 1024) { size *= 2; --exponent; }
            while (size >= 2048) { size /= 2; ++exponent; }
            bits = (uint16_t)(exponent << 10 | ((int)size - 1024));
        }
        ((uint16_t *)base)[i] = (uint16_t)(bits | (value < 0) << 15);
        break;
    }
    default:
        memcpy(&wide, &single, 4);
        ((uint16_t *)base)[i] = (uint16_t)(wide >> 16);
    }
}

static double scalar(const void *at, unsigned compute) {
    return get(at, compute == 70 ? R64F : compute == 72 ? R32I : R32F, 0);
}

Status cublasGemmStridedBatchedEx(Handle handle, unsigned op_a, unsigned op_b, int m, int n, int k, const void *alpha, const void *a,
                                  unsigned a_type, int lda, int64_t stride_a, const void *b, unsigned b_type, int ldb,
                                  int64_t stride_b, const void *beta, void *c, unsigned c_type, int ldc, int64_t stride_c,
                                  int batch, unsigned compute, int algorithm) {
    NOTE(" %zx %u %u (%d %d %d) %u %d %lld, %u %d %lld, %u %d %lld, %d of %u by %d", (size_t)handle, op_a, op_b, m, n, k, a_type, lda,
         (long long)stride_a, b_type, ldb, (long long)stride_b, c_type, ldc, (long long)stride_c, batch, compute, algorithm);
    if (lda < (op_a == 0 ? m : k) || ldb < (op_b == 0 ? k : n) || ldc < m) return 7;
    double times = scalar(alpha, compute), keep = scalar(beta, compute);
    for (int number = 0; number < batch; ++number) {
        for (int col = 0; col < n; ++col) {
            for (int row = 0; row < m; ++row) {
                double sum = 0;
                for (int at = 0; at < k; ++at) {
                    int64_t of_a = op_a == 0 ? row + (int64_t)at * lda : at + (int64_t)row * lda;
                    int64_t of_b = op_b == 0 ? at + (int64_t)col * ldb : col + (int64_t)at * ldb;
                    sum += get(a, a_type, of_a + number * stride_a) * get(b, b_type, of_b + number * stride_b);
                }
                int64_t of_c = row + (int64_t)col * ldc + number * stride_c;
                put(c, c_type, of_c, times * sum + (keep == 0 ? 0 : keep * get(c, c_type, of_c)));
            }
        }
    }
    return 0;
}
