// Caches of keys and values in pages: kernels `paged_attn_<width>_<dtype>`, attention for heads of `width` elements at most over
// keys that lie in pages, and `rope_append_<dtype>`, which turns queries and keys by their positions and puts keys and values
// in their slots. A page has 2^log2 positions of (head, element); strides are given in elements, those of the last dimension are
// 1. A number of a page, a position or a slot that there is not, and a length that no row of the table has, touches no memory that is not
// the caches', and is reported (`Report`). candle has neither kernel: the layout of pages is that of flash-attn and vLLM, the names are
// ours.
#include "attention.h"
#include "report.h"
#include "rope.h"

using namespace parity;

// The strides of queries: of a batch, of a position, of a head. And of a cache: of a page, of a position, of a head.
struct Strides {
    size_t outer, position, head;
};

// Queries are (batch, position, head, element), of `queries` positions; with `query_starts` those of batch b are the positions of one
// sequence from `query_starts[b]` to the next start, at most as many. Batch b sees `lengths[b]` keys, whose pages are row b of `table`, of
// `columns` pages.
template <typename T, unsigned Width>
PARITY_FN void paged_attn(
    u32 batches, u32 heads, u32 shared, u32 width, size_t queries, u32 log2, u32 pages, u32 columns, Strides q_strides,
    Strides k_strides, Strides v_strides, attention::Rules rules, const T *q, const T *k, const T *v, const f32 *slopes,
    const u32 *query_starts, const u32 *table, const u32 *lengths, T *out, Report wrong_page, Report wrong_length) {
    using Tile = attention::Tile<T, Width>;
    using Rows = attention::Paged<T>;
    __shared__ static Tile tile;
    const u32 groups = u32((queries + Tile::QUERIES - 1) / Tile::QUERIES);
    for (u32 number = u32(group_index()); number < groups * heads * batches; number += u32(group_count())) {
        const u32 of_batch = number / groups, batch = of_batch / heads, head = of_batch - batch * heads;
        const size_t first = size_t(number - of_batch * groups) * Tile::QUERIES, most = size_t(columns) << log2;
        attention::Head<T, Rows> of = {};
        size_t out_row = batch * queries;
        of.queries = queries;
        of.query = q + batch * q_strides.outer + head * q_strides.head;
        if (query_starts != nullptr) {
            out_row = query_starts[batch];
            of.queries = query_starts[batch + 1] - out_row;
            of.query = q + out_row * q_strides.position + head * q_strides.head;
        }
        of.query_stride = q_strides.position;
        of.key = {k + head / shared * k_strides.head, k_strides.outer, k_strides.position, table + size_t(batch) * columns, log2, pages};
        of.value = {v + head / shared * v_strides.head, v_strides.outer, v_strides.position, of.key.pages, log2, pages};
        of.out = out + (out_row * heads + head) * width;
        of.out_stride = size_t(heads) * width;
        of.keys = lengths[batch] <= most ? lengths[batch] : 0;
        of.width = width;
        if (head == 0 && first == 0) {
            for (u32 c = thread_index(); (size_t(c) << log2) < of.keys; c += thread_count()) {
                if (of.key.pages[c] >= pages) {
                    wrong_page.note(size_t(batch) * columns + c, of.key.pages[c]);
                }
            }
            if (thread_index() == 0 && lengths[batch] > most) {
                wrong_length.note(batch, lengths[batch]);
            }
        }
        if (first >= of.queries) {
            continue;
        }
        // The last query is at the last key's place.
        rules.ahead = i64(of.keys) - i64(of.queries);
        rules.slope = slopes != nullptr ? slopes[head] : 0;
        attention::attend<128, T, Width>(tile, of, rules, first);
    }
}

// Rows of (head, element), one a token.
template <typename T> struct Tokens {
    const T *first;
    size_t token, head;
};

// A thread a pair of a head of queries, keys or values. Queries go to `out`, contiguous.
template <typename T>
PARITY_FN void rope_append(
    size_t tokens, u32 heads, u32 key_heads, u32 width, u32 neighbours, size_t positions, u32 log2, size_t slots,
    Tokens<T> q, Tokens<T> k, Tokens<T> v, Strides k_cache, Strides v_cache, const T *cos, const T *sin,
    const u32 *position_of, const u32 *slot_of, T *out, T *keys, T *values, Report wrong_position, Report wrong_slot) {
    const u32 half = width / 2, each = heads + 2 * key_heads;
    for (size_t pair = first_index(); pair < tokens * each * half; pair += index_step()) {
        // The launching side has fewer than 2^32 pairs.
        const u32 row = u32(pair) / half, at = u32(pair) - row * half, head = row % each;
        const size_t token = row / each;
        const u32 first = neighbours != 0 ? 2 * at : at, second = neighbours != 0 ? 2 * at + 1 : at + half;
        const size_t slot = slot_of[token], page = slot >> log2, inside = slot & ((size_t(1) << log2) - 1);
        if (head == 0 && at == 0) {
            if (slot >= slots) {
                wrong_slot.note(token, slot_of[token]);
            }
            if (position_of[token] >= positions) {
                wrong_position.note(token, position_of[token]);
            }
        }
        if (head >= heads + key_heads) {
            const u32 own = head - heads - key_heads;
            const T *const from = v.first + token * v.token + own * v.head;
            T *const to = values + page * v_cache.outer + inside * v_cache.position + own * v_cache.head;
            if (slot < slots) {
                to[first] = from[first];
                to[second] = from[second];
            }
            continue;
        }
        const size_t place = position_of[token] < positions ? position_of[token] : positions - 1;
        const T cosine = cos[place * half + at], sine = sin[place * half + at];
        if (head < heads) {
            const T *const from = q.first + token * q.token + head * q.head;
            rope::turn(from, out + (token * heads + head) * width, first, second, cosine, sine);
        } else if (slot < slots) {
            const u32 own = head - heads;
            const T *const from = k.first + token * k.token + own * k.head;
            T *const to = keys + page * k_cache.outer + inside * k_cache.position + own * k_cache.head;
            rope::turn(from, to, first, second, cosine, sine);
        }
    }
}

#define ATTENTION(T, WIDTH) \
    extern "C" PARITY_KERNEL_OF(WAVE, (attention::Tile<T, WIDTH>::THREADS)) void paged_attn_##WIDTH##_##T( \
        u32 batches, u32 heads, u32 shared, u32 width, size_t queries, u32 log2, u32 pages, u32 columns, size_t q_batch, \
        size_t q_position, size_t q_head, size_t k_page, size_t k_position, size_t k_head, size_t v_page, \
        size_t v_position, size_t v_head, f32 scale, f32 softcap, i64 left, i64 right, const T *__restrict__ q, \
        const T *__restrict__ k, const T *__restrict__ v, const f32 *__restrict__ slopes, \
        const u32 *__restrict__ query_starts, const u32 *__restrict__ table, const u32 *__restrict__ lengths, T *__restrict__ out, size_t wrong_page, size_t wrong_length) { \
        paged_attn<T, WIDTH>( \
            batches, heads, shared, width, queries, log2, pages, columns, {q_batch, q_position, q_head}, \
            {k_page, k_position, k_head}, {v_page, v_position, v_head}, {scale, softcap, 0, left, right, 0}, q, k, v, \
            slopes, query_starts, table, lengths, out, report_at(wrong_page), report_at(wrong_length)); \
    }
#define APPEND(T) \
    extern "C" __global__ void rope_append_##T( \
        size_t tokens, u32 heads, u32 key_heads, u32 width, u32 neighbours, size_t positions, u32 log2, size_t slots, \
        size_t q_token, size_t q_head, size_t k_token, size_t k_head, size_t v_token, size_t v_head, size_t k_page, \
        size_t k_position, size_t k_cache_head, size_t v_page, size_t v_position, size_t v_cache_head, \
        const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ cos, \
        const T *__restrict__ sin, const u32 *__restrict__ position_of, const u32 *__restrict__ slot_of, \
        T *__restrict__ out, T *__restrict__ keys, T *__restrict__ values, size_t wrong_position, size_t wrong_slot) { \
        rope_append<T>( \
            tokens, heads, key_heads, width, neighbours, positions, log2, slots, {q, q_token, q_head}, {k, k_token, k_head}, \
            {v, v_token, v_head}, {k_page, k_position, k_cache_head}, {v_page, v_position, v_cache_head}, cos, sin, \
            position_of, slot_of, out, keys, values, report_at(wrong_position), report_at(wrong_slot)); \
    }
#define KERNELS(T) ATTENTION(T, 128) ATTENTION(T, 256) APPEND(T)

KERNELS(bf16) KERNELS(f16) KERNELS(f32)
