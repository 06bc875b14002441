// Tensors of ggml's block formats: back to floats, by rows, and multiplied with activations that are quantized to q8_1
// on the way. Here are the kernels' names and arguments, a row a format; the work is in quantized_blocks.h,
// quantized_rows.h and quantized_dot.h.
//
// Beyond candle's PTX module: weights as bf16 and as pairs of them, `twice_<dtype>(numel, x, out)` for what meets these pairs, the dtypes f16 and bf16 of activations and results (`mmvq_gguf_*`, as candle's compiled
// launchers have them), products with one row of activations that is not quantized before (`mul_mat_vec_<format>_<dtype>(weights, x, out,
// ncols, nrows)`, with 44 bytes of dynamic LDS for 32 activations), and the formats without CUDA kernels in `dequantize_block_*` and `get_rows_*`.
#include "quantized_vec.h"

using namespace parity;
using ggml::bf16_pair;

extern __shared__ __attribute__((aligned(16))) u32 row_of_quants[];

// Row: format, its name in most kernels, in `dequantize_mul_mat_vec`, in `mmvq_gguf`.
#define SMALL_FORMATS(ROW) \
    ROW(q4_0, q4_0_cuda, q4_0) \
    ROW(q4_1, q4_1_cuda, q4_1) \
    ROW(q5_0, q5_0_cuda, q5_0) \
    ROW(q5_1, q5_1_cuda, q5_1) \
    ROW(q8_0, q8_0_cuda, q8_0)
// q5_K has a `dequantize_mul_mat_vec` of its own.
#define SUPER_FORMATS(ROW) \
    ROW(q2_K, q2_k, q2_k) \
    ROW(q3_K, q3_k, q3_k) \
    ROW(q4_K, q4_k, q4_k) \
    ROW(q6_K, q6_k, q6_k)

// `count` counts weights where `UNIT` is 1, blocks where it is 32: candle's choice, by format.
#define DEQUANTIZE_TO(F, BLOCK, T, UNIT) \
    extern "C" __global__ void dequantize_block_##F##_##T( \
        const void *__restrict__ blocks, T *__restrict__ out, i32 count) { \
        ggml::dequantize<BLOCK>(blocks, out, size_t(u32(count)) * UNIT); \
    }
#define DEQUANTIZE(F, BLOCK, UNIT) DEQUANTIZE_TO(F, BLOCK, f32, UNIT) DEQUANTIZE_TO(F, BLOCK, f16, UNIT)
// The formats with products are multiplied as bf16 where a library does it, those of 256 as pairs of them.
#define DEQUANTIZE_ALL(F, BLOCK, UNIT) DEQUANTIZE(F, BLOCK, UNIT) DEQUANTIZE_TO(F, BLOCK, bf16, UNIT)
// Of blocks that are read in LDS more workgroups share a processor of NVIDIA's.
#define DEQUANTIZE_SUPER(F, T) \
    extern "C" PARITY_CROWDED(1, 256, (ggml::is_odd<ggml::F>() ? 8 : 4)) void dequantize_block_##F##_##T( \
        const void *__restrict__ blocks, T *__restrict__ out) { \
        ggml::dequantize_block<ggml::F>(blocks, out); \
    }

#define GET_ROWS(F, BLOCK, T) \
    extern "C" __global__ void get_rows_##F( \
        const T *__restrict__ rows, const u32 *__restrict__ ids, f32 *__restrict__ out, i64 row_len, \
        size_t row_bytes) { \
        ggml::get_rows<BLOCK>(rows, ids, out, row_len, row_bytes); \
    }

#define MAT_VEC(F, COLUMNS) \
    extern "C" __global__ void mul_mat_vec_##F##_q8_1_cuda##COLUMNS( \
        const void *__restrict__ weights, const void *__restrict__ activations, f32 *__restrict__ out, i32 ncols, \
        i32 nrows, i32 padded, i32 out_stride) { \
        ggml::mul_mat_vec<ggml::F, COLUMNS>( \
            weights, activations, out, ncols, nrows, padded / 32, out_stride, COLUMNS); \
    }
// Of many columns workgroups are larger, and read them once for all their teams.
#define MAT_VEC_MANY(F, COLUMNS) \
    extern "C" PARITY_CROWDED(512, 512, 2) void mul_mat_vec_##F##_q8_1_cuda##COLUMNS( \
        const void *__restrict__ weights, const void *__restrict__ activations, f32 *__restrict__ out, i32 ncols, \
        i32 nrows, i32 padded, i32 out_stride) { \
        ggml::mul_mat_vec_shared<ggml::F, COLUMNS>( \
            weights, activations, out, ncols, nrows, padded / 32, out_stride, COLUMNS); \
    }
#define MAT_VEC_OF(F, NAME, T) \
    extern "C" PARITY_CROWDED(512, 512, 2) void mmvq_gguf_##NAME##_##T##_plain( \
        const void *__restrict__ weights, const void *__restrict__ activations, T *__restrict__ out, i32 ncols, \
        i32 nrows, i32 stride, i32 out_stride, i32 columns) { \
        ggml::mul_mat_vec_shared<ggml::F, 8>( \
            weights, activations, out, ncols, nrows, stride, out_stride, u32(columns)); \
    }
#define MAT_VEC_FLOATS(F, T) \
    extern "C" PARITY_CROWDED(1, 1024, ggml::CROWD<ggml::F>) void mul_mat_vec_##F##_##T( \
        const void *__restrict__ weights, const T *__restrict__ x, T *__restrict__ out, i32 ncols, i32 nrows) { \
        ggml::mul_mat_vec_floats<ggml::F>(weights, x, out, ncols, nrows, row_of_quants); \
    }
#define DEQUANTIZE_MAT_VEC(F, NAME) \
    extern "C" __global__ void dequantize_mul_mat_vec_##NAME( \
        const void *__restrict__ weights, const f32 *__restrict__ y, f32 *__restrict__ out, i32 ncols, i32) { \
        ggml::dequantize_mul_mat_vec<ggml::F>(weights, y, out, ncols); \
    }
#define MULTIPLY(F, NAME) \
    extern "C" __global__ void mul_mat_##F( \
        const void *__restrict__ weights, const void *__restrict__ activations, f32 *__restrict__ out, i32 ncols, \
        i32 nrows, i32 columns, i32 padded, i32 out_stride) { \
        ggml::mul_mat<ggml::F>(weights, activations, out, ncols, nrows, columns, padded, out_stride); \
    } \
    MAT_VEC(F, 1) MAT_VEC(F, 2) MAT_VEC(F, 3) MAT_VEC(F, 4) \
    MAT_VEC_MANY(F, 5) MAT_VEC_MANY(F, 6) MAT_VEC_MANY(F, 7) MAT_VEC_MANY(F, 8) \
    MAT_VEC_OF(F, NAME, bf16) MAT_VEC_OF(F, NAME, f16) \
    MAT_VEC_FLOATS(F, f32) MAT_VEC_FLOATS(F, bf16) MAT_VEC_FLOATS(F, f16)
#define MOE(F, NAME) \
    extern "C" __global__ void indexed_moe_forward_##NAME##_q8_1( \
        const void *__restrict__ weights, const void *__restrict__ activations, const u32 *__restrict__ ids, \
        f32 *__restrict__ out, i32 nrows, i32 ncols, i32, i32 topk, i32 padded, i32 rows_a_token) { \
        ggml::indexed_moe<ggml::F>(weights, activations, ids, out, nrows, ncols, topk, padded, rows_a_token); \
    }

#define SMALL(F, DMMV, NAME) \
    GET_ROWS(F, ggml::F, void) \
    DEQUANTIZE_MAT_VEC(F, DMMV) \
    MULTIPLY(F, NAME)
#define SUPER(F, DMMV, NAME) \
    DEQUANTIZE_SUPER(F, f32) \
    DEQUANTIZE_SUPER(F, f16) \
    DEQUANTIZE_SUPER(F, bf16_pair) \
    GET_ROWS(F, ggml::F, void) \
    MULTIPLY(F, NAME)

SMALL_FORMATS(SMALL)
SUPER_FORMATS(SUPER)
SUPER(q5_K, , q5_k)

DEQUANTIZE_ALL(q4_0, ggml::q4_0, 32)
DEQUANTIZE_ALL(q4_1, ggml::q4_1, 32)
DEQUANTIZE_ALL(q5_0, ggml::q5_0, 1)
DEQUANTIZE_ALL(q5_1, ggml::q5_1, 1)
DEQUANTIZE_ALL(q8_0, ggml::q8_0, 32)
DEQUANTIZE(q8_1, ggml::q8_1, 32)
DEQUANTIZE_SUPER(q8_K, f32)
DEQUANTIZE_SUPER(q8_K, f16)

#define PLAIN(T) \
    GET_ROWS(T, ggml::Plain<T>, T) \
    DEQUANTIZE(T, ggml::Plain<T>, 1)
PLAIN(f32)
PLAIN(f16)
PLAIN(bf16)
GET_ROWS(q8_1, ggml::q8_1, void)
GET_ROWS(q8_K, ggml::q8_K, void)

#define DEQUANTIZE_MAT_VEC_ROW(F, DMMV, NAME) DEQUANTIZE_MAT_VEC(F, DMMV)
SUPER_FORMATS(DEQUANTIZE_MAT_VEC_ROW)
extern "C" __global__ void dequantize_mul_mat_vec_q5_k(
    const void *__restrict__ weights, const f32 *__restrict__ y, f32 *__restrict__ out, i32 ncols) {
    ggml::dequantize_mul_mat_vec<ggml::q5_K>(weights, y, out, ncols);
}

MOE(q2_K, q2k)
MOE(q3_K, q3k)
MOE(q4_K, q4k)
MOE(q5_K, q5k)
MOE(q6_K, q6k)
MOE(q8_0, q8_0)

#define QUANTIZE(NAME, T) \
    extern "C" __global__ void NAME(const T *__restrict__ x, void *__restrict__ out, i32 ncols, i32 padded) { \
        ggml::quantize_q8_1(x, out, ncols, padded); \
    }
QUANTIZE(quantize_q8_1, f32)
QUANTIZE(mmvq_gguf_quantize_q8_1_bf16, bf16)
QUANTIZE(mmvq_gguf_quantize_q8_1_f16, f16)

#define TWICE(T) \
    extern "C" __global__ void twice_##T(size_t numel, const T *__restrict__ x, bf16_pair *__restrict__ out) { \
        ggml::twice(numel, x, out); \
    }
TWICE(f32)
TWICE(f16)
TWICE(bf16)
