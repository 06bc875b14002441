// Mixtures of experts: kernels `moe_gemm_<dtype>(size_m, size_n, size_k, divisor, input, weights, token_ids, expert_ids,
// topk_weights, output)`. Row token_ids[i] of the output is row token_ids[i] / divisor of the input times the transposed
// matrix of expert expert_ids[i], and times topk_weights[token_ids[i]] unless that is null. `moe_gemm_gguf_<format>` has the
// same arguments, input and output of f32, and weights in a block format of ggml's, which become f32 as they are loaded:
// weights of experts that no id names are not touched. The ids were checked on the host.
// What candle-nn's moe_gemm and moe_gemm_gguf compute; candle-kernels has them in libraries of their own, so the names are
// ours.
#include "quantized_blocks.h"
#include "workgroup.h"

using namespace parity;

// Threads of a workgroup, which computes one column of some rows: those of one expert among them meet its weights together.
constexpr u32 LANES = 64, TOGETHER = 8;

struct Sums {
    f32 of[TOGETHER];
};

// Numbers as they are, four at a time.
template <typename T> struct Fours {
    static constexpr unsigned STEP = 4;
    static PARITY_MEMBER void read(const u8 *row, size_t i, f32 (&values)[STEP]) {
        const auto loaded = load_pack<STEP>(reinterpret_cast<const T *>(row) + i);
#pragma unroll
        for (unsigned e = 0; e < STEP; ++e) {
            values[e] = f32(loaded.at[e]);
        }
    }
};
// How to read the weights of rows of a multiple of four.
template <typename F> struct WholeOf { using Reader = ggml::Reader<F>; };
template <typename T> struct WholeOf<ggml::Plain<T>> { using Reader = Fours<T>; };

// The sums of the rows from `begin` to before `end`, which `x` points to, with the weights of `row`.
template <typename Reader, typename T>
PARITY_FN void add_products(Sums &sums, const u8 *row, const T *const (&x)[TOGETHER], u32 begin, u32 end, size_t size_k) {
    constexpr unsigned STEP = Reader::STEP;
    for (size_t k = thread_index() * STEP; k < size_k; k += LANES * STEP) {
        f32 weights[STEP];
        Reader::read(row, k, weights);
#pragma unroll
        for (u32 i = 0; i < TOGETHER; ++i) {
            if (i >= begin && i < end) {
                const auto inputs = load_pack<STEP>(x[i] + k);
#pragma unroll
                for (unsigned e = 0; e < STEP; ++e) {
                    sums.of[i] = device_math::fma(widen(inputs.at[e]), weights[e], sums.of[i]);
                }
            }
        }
    }
}

template <typename F, typename T>
PARITY_FN void moe_gemm(
    size_t size_m, size_t size_n, size_t size_k, size_t divisor, const T *input, const void *weights,
    const u32 *token_ids, const u32 *expert_ids, const f32 *topk_weights, T *output) {
    __shared__ static Sums lds[LANES];
    const size_t row_bytes = size_k / F::LEN * F::BYTES;
    for_groups(size_n, (size_m + TOGETHER - 1) / TOGETHER, 1, [&](size_t n, size_t group, size_t) {
        const size_t first = group * TOGETHER;
        const u32 count = size_m - first < TOGETHER ? u32(size_m - first) : TOGETHER;
        const T *x[TOGETHER];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; ++i) {
            x[i] = input + (i < count ? size_t(token_ids[first + i] / u32(divisor)) * size_k : 0);
        }
        Sums sums = {};
        for (u32 begin = 0, end; begin < count; begin = end) {
            const u32 expert = expert_ids[first + begin];
            for (end = begin + 1; end < count && expert_ids[first + end] == expert; ++end) {
            }
            const u8 *row = static_cast<const u8 *>(weights) + (expert * size_n + n) * row_bytes;
            // Rows are whole blocks.
            if (F::LEN % 4 == 0 || size_k % 4 == 0) {
                add_products<typename WholeOf<F>::Reader>(sums, row, x, begin, end, size_k);
            } else {
                add_products<ggml::Reader<F>>(sums, row, x, begin, end, size_k);
            }
        }
        sums = fold_of(LANES, lds, sums, [](const Sums &l, const Sums &r) {
            Sums both;
#pragma unroll
            for (u32 i = 0; i < TOGETHER; ++i) {
                both.of[i] = l.of[i] + r.of[i];
            }
            return both;
        });
#pragma unroll
        for (u32 i = 0; i < TOGETHER; ++i) {
            if (thread_index() == i && i < count) {
                const size_t token = token_ids[first + i];
                output[token * size_n + n] = narrow<T>(topk_weights ? sums.of[i] * topk_weights[token] : sums.of[i]);
            }
        }
    });
}

#define KERNEL(NAME, F, T, WEIGHTS) \
    extern "C" PARITY_KERNEL_OF(LANES, LANES) void NAME( \
        size_t size_m, size_t size_n, size_t size_k, size_t divisor, const T *__restrict__ input, \
        const WEIGHTS *__restrict__ weights, const u32 *__restrict__ token_ids, const u32 *__restrict__ expert_ids, \
        const f32 *__restrict__ topk_weights, T *__restrict__ output) { \
        moe_gemm<F>( \
            size_m, size_n, size_k, divisor, input, weights, token_ids, expert_ids, topk_weights, output); \
    }
#define FLOATS(T) KERNEL(moe_gemm_##T, ggml::Plain<T>, T, T)
#define PLAIN(T) KERNEL(moe_gemm_gguf_##T, ggml::Plain<T>, f32, void)
#define BLOCKS(F) KERNEL(moe_gemm_gguf_##F, ggml::F, f32, void)

FLOATS(bf16) FLOATS(f16) FLOATS(f32)
PLAIN(bf16) PLAIN(f16) PLAIN(f32)
BLOCKS(q4_0) BLOCKS(q4_1) BLOCKS(q5_0) BLOCKS(q5_1) BLOCKS(q8_0) BLOCKS(q8_1)
BLOCKS(q2_K) BLOCKS(q3_K) BLOCKS(q4_K) BLOCKS(q5_K) BLOCKS(q6_K) BLOCKS(q8_K)
