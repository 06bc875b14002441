// Kernels for ci/beside-remu without a barrier, which remu executes: it knows one barrier a kernel.
#define KERNEL extern "C" __attribute__((global)) void

using u32 = unsigned;

__attribute__((device)) inline u32 thread() {
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}
__attribute__((device)) inline float power(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }

KERNEL plain_exp(const float *x, float *out) {
    const u32 i = thread();
    out[i] = power(x[i]);
}

KERNEL plain_add(const float *x, const float *y, float *out) {
    const u32 i = thread();
    out[i] = x[i] + y[i];
}

// A thread a row.
KERNEL plain_softmax(const float *x, float *out, u32 columns) {
    const u32 row = thread() * columns;
    float greatest = x[row];
    for (u32 i = 1; i < columns; ++i) {
        greatest = __builtin_fmaxf(greatest, x[row + i]);
    }
    float sum = 0;
    for (u32 i = 0; i < columns; ++i) {
        const float p = power(x[row + i] - greatest);
        out[row + i] = p;
        sum += p;
    }
    const float scale = 1 / sum;
    for (u32 i = 0; i < columns; ++i) {
        out[row + i] *= scale;
    }
}

// A thread an element.
KERNEL plain_gemm(const float *a, const float *b, float *out, u32 side) {
    const u32 i = thread(), row = i / side * side, column = i % side;
    float sum = 0;
    for (u32 k = 0; k < side; ++k) {
        sum = __builtin_fmaf(a[row + k], b[k * side + column], sum);
    }
    out[i] = sum;
}
