// Rotary embeddings of contiguous tensors, a thread a rotated pair. A pair is turned in the wide type of the dtype and
// rounded once. Not here: which angles (cos and sin are inputs).
//
// cos and sin hold half as many elements a position as there are in a head. `stride_b` is the number of elements of a
// batch where each batch has cos and sin of its own, 0 where all share one.
#pragma once
#include "dtype.h"

namespace parity {
namespace rope {

template <typename T>
PARITY_FN void turn(const T *src, T *dst, size_t first, size_t second, T cosine, T sine) {
    const auto x = widen(src[first]), y = widen(src[second]), c = widen(cosine), s = widen(sine);
    dst[first] = narrow<T>(x * c - y * s);
    dst[second] = narrow<T>(x * s + y * c);
}

// Calls f with the number of each of this thread's pairs, in 32 bits: the launching side cuts what has more.
template <typename F> PARITY_FN void each_pair(size_t elements, F f) {
    for (size_t pair = first_index(); pair < elements / 2; pair += index_step()) {
        f(u32(pair));
    }
}

// Where the cos and sin of the batch of `pair` begin, for `per_batch` of them.
PARITY_FN size_t batch_start(u32 pair, u32 stride_b, size_t per_batch) {
    return stride_b == 0 ? 0 : pair / (stride_b / 2) * per_batch;
}

// bh heads of td elements, pairs of neighbours.
template <typename T>
PARITY_FN void interleaved(const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 stride_b) {
    const u32 per_head = td / 2;
    each_pair(size_t(bh) * td, [&](u32 pair) {
        const size_t angle = batch_start(pair, stride_b, per_head) + pair % per_head;
        turn(src, dst, 2 * size_t(pair), 2 * size_t(pair) + 1, cos[angle], sin[angle]);
    });
}

// bh heads of td elements, pairs half a head dimension apart.
template <typename T>
PARITY_FN void halves(const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 d, u32 stride_b) {
    const u32 per_head = td / 2, half = d / 2;
    each_pair(size_t(bh) * td, [&](u32 pair) {
        const size_t angle = batch_start(pair, stride_b, per_head) + pair % per_head;
        const size_t first = size_t(pair / half) * d + pair % half;
        turn(src, dst, first, first + half, cos[angle], sin[angle]);
    });
}

// b batches of t positions of h heads, pairs half a head dimension apart.
template <typename T>
PARITY_FN void halves_thd(
    const T *src, const T *cos, const T *sin, T *dst, u32 b, u32 t, u32 h, u32 d, u32 stride_b) {
    const u32 half = d / 2;
    each_pair(size_t(b) * t * h * d, [&](u32 pair) {
        const u32 head = pair / half;
        const u32 within = pair - head * half;
        const size_t angle = batch_start(pair, stride_b, size_t(t) * half) + size_t(head / h % t) * half + within;
        const size_t first = size_t(head) * d + within;
        turn(src, dst, first, first + half, cos[angle], sin[angle]);
    });
}

} // namespace rope
} // namespace parity
