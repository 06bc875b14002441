// Mixtures of experts: kernels `moe_gemm_<dtype>(size_m, size_n, size_k, divisor, input, weights, token_ids, expert_ids,
// topk_weights, output)`. Row token_ids[i] of the output is row token_ids[i] / divisor of the input times the transposed
// matrix of expert expert_ids[i], and times topk_weights[token_ids[i]] unless that is null. The ids were checked on the host.
// What candle-nn's moe_gemm computes; candle-kernels has it in a library of its own, so the name is ours.
#include "workgroup.h"

using namespace parity;

// Threads of a workgroup, which sums one product after the other.
constexpr u32 LANES = 64;

template <typename T>
PARITY_FN void moe_gemm(
    size_t size_m, size_t size_n, size_t size_k, size_t divisor, const T *input, const T *weights, const u32 *token_ids,
    const u32 *expert_ids, const f32 *topk_weights, T *output, f32 *lds) {
    for (size_t at = group_index(); at < size_m * size_n; at += group_count()) {
        const size_t i = at / size_n, n = at % size_n;
        const size_t token = token_ids[i];
        const T *x = input + token / divisor * size_k;
        const T *w = weights + (size_t(expert_ids[i]) * size_n + n) * size_k;
        const f32 sum = group_sum(lds, size_k, [=](size_t k) { return widen(x[k]) * widen(w[k]); });
        if (thread_index() == 0) {
            output[token * size_n + n] = narrow<T>(topk_weights ? sum * topk_weights[token] : sum);
        }
    }
}

#define KERNEL(T) \
    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(LANES, LANES))) void moe_gemm_##T( \
        size_t size_m, size_t size_n, size_t size_k, size_t divisor, const T *input, const T *weights, \
        const u32 *token_ids, const u32 *expert_ids, const f32 *topk_weights, T *output) { \
        __shared__ f32 lds[LANES]; \
        moe_gemm(size_m, size_n, size_k, divisor, input, weights, token_ids, expert_ids, topk_weights, output, lds); \
    }
KERNEL(bf16)
KERNEL(f16)
KERNEL(f32)
