// Attention: kernels `flash_attn_<width>_<dtype>`, for heads of `width` elements at most. Queries are (batch, position, head,
// element), keys and values as well, with as many heads or a divisor of them; strides are given in elements, those of the last
// dimension are 1. With `query_starts` and `key_starts` the batches are parts of one sequence each, from one start to the next.
// What crate candle-flash-attn computes, which has kernels of its own: the names are ours.
#include "attention.h"

using namespace parity;

// A tensor's strides.
struct Strides {
    size_t batch, position, head;
};

template <typename T, unsigned Width>
PARITY_FN void flash_attn(
    u32 batches, u32 heads, u32 shared, u32 width, size_t queries, size_t keys, Strides q_strides, Strides k_strides,
    Strides v_strides, attention::Rules rules, const T *q, const T *k, const T *v, const f32 *slopes,
    const u32 *query_starts, const u32 *key_starts, T *out) {
    using Tile = attention::Tile<T, Width>;
    __shared__ static Tile tile;
    const u32 groups = u32((queries + Tile::QUERIES - 1) / Tile::QUERIES);
    for (u32 number = u32(group_index()); number < groups * heads * batches; number += u32(group_count())) {
        const u32 of_batch = number / groups, batch = of_batch / heads, head = of_batch - batch * heads;
        const size_t first = size_t(number - of_batch * groups) * Tile::QUERIES;
        attention::Head<T, attention::Strided<T>> of = {};
        of.queries = queries;
        of.keys = keys;
        size_t q_batch = batch * q_strides.batch, k_batch = batch * k_strides.batch, v_batch = batch * v_strides.batch;
        size_t out_row = batch * queries;
        if (query_starts != nullptr) {
            out_row = query_starts[batch];
            of.queries = query_starts[batch + 1] - out_row;
            q_batch = out_row * q_strides.position;
            const size_t key_start = key_starts[batch];
            of.keys = key_starts[batch + 1] - key_start;
            k_batch = key_start * k_strides.position;
            v_batch = key_start * v_strides.position;
        }
        if (first >= of.queries) {
            continue;
        }
        of.query = q + q_batch + head * q_strides.head;
        of.key = {k + k_batch + head / shared * k_strides.head, k_strides.position};
        of.value = {v + v_batch + head / shared * v_strides.head, v_strides.position};
        of.out = out + (out_row * heads + head) * width;
        of.query_stride = q_strides.position;
        of.out_stride = size_t(heads) * width;
        of.width = width;
        // The last query is at the last key's place.
        rules.ahead = i64(of.keys) - i64(of.queries);
        rules.slope = slopes != nullptr ? slopes[head] : 0;
        attention::attend<32, T, Width>(tile, of, rules, first);
    }
}

#define KERNEL(T, WIDTH) \
    extern "C" PARITY_KERNEL_OF(WAVE, (attention::Tile<T, WIDTH>::THREADS)) void flash_attn_##WIDTH##_##T( \
        u32 batches, u32 heads, u32 shared, u32 width, size_t queries, size_t keys, size_t q_batch, size_t q_position, \
        size_t q_head, size_t k_batch, size_t k_position, size_t k_head, size_t v_batch, size_t v_position, \
        size_t v_head, f32 scale, f32 softcap, i64 left, i64 right, const T *__restrict__ q, const T *__restrict__ k, \
        const T *__restrict__ v, const f32 *__restrict__ slopes, const u32 *__restrict__ query_starts, \
        const u32 *__restrict__ key_starts, T *__restrict__ out) { \
        flash_attn<T, WIDTH>( \
            batches, heads, shared, width, queries, keys, {q_batch, q_position, q_head}, {k_batch, k_position, k_head}, \
            {v_batch, v_position, v_head}, {scale, softcap, 0, left, right, 0}, q, k, v, slopes, query_starts, \
            key_starts, out); \
    }
#define WIDTHS(T) KERNEL(T, 32) KERNEL(T, 64) KERNEL(T, 128) KERNEL(T, 256)

WIDTHS(bf16) WIDTHS(f16) WIDTHS(f32)
