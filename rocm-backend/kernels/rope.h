// Rotary embeddings of contiguous tensors, a thread a rotated pair, or a pack of them. A pair is turned in the wide type of the dtype and
// rounded once. Not here: which angles (cos and sin are inputs).
//
// cos and sin hold half as many elements a position as there are in a head. `stride_b` is the number of elements of a
// batch where each batch has cos and sin of its own, 0 where all share one.
#pragma once
#include "packs.h"

namespace parity {
namespace rope {

// The second product is rounded, the first is not. A compiler left to itself fuses either one, and not the same one for a pack as for a
// pair: a tensor and its view would differ.
template <typename T> PARITY_FN T turned_left(T x, T y, T cosine, T sine) {
    return narrow<T>(device_math::fma(widen(x), widen(cosine), -(widen(y) * widen(sine))));
}
template <typename T> PARITY_FN T turned_right(T x, T y, T cosine, T sine) {
    return narrow<T>(device_math::fma(widen(x), widen(sine), widen(y) * widen(cosine)));
}
template <typename T>
PARITY_FN void turn(const T *src, T *dst, size_t first, size_t second, T cosine, T sine) {
    const T x = src[first], y = src[second];
    dst[first] = turned_left(x, y, cosine, sine);
    dst[second] = turned_right(x, y, cosine, sine);
}

// Calls f with the number of the first of each of this thread's packs of `each` pairs, in 32 bits: the launching side cuts what has
// more.
template <typename F> PARITY_FN void each_pair(size_t elements, u32 each, F f) {
    for (size_t pack = first_index(); pack < elements / 2 / each; pack += index_step()) {
        f(u32(pack) * each);
    }
}

// Where the cos and sin of the batch of `pair` begin, for `per_batch` of them.
PARITY_FN size_t batch_start(u32 pair, u32 stride_b, size_t per_batch) {
    return stride_b == 0 ? 0 : pair / (stride_b / 2) * per_batch;
}

// Whether all four begin where packs do.
template <unsigned N, typename T> PARITY_FN bool are_whole(const T *src, const T *cos, const T *sin, const T *dst) {
    return is_whole<N>(src) && is_whole<N>(cos) && is_whole<N>(sin) && is_whole<N>(dst);
}

// N pairs, whose elements lie beside each other on either side.
template <unsigned N, typename T>
PARITY_FN void turn_packs(const T *src, T *dst, size_t first, size_t second, const T *cos, const T *sin) {
    const Pack<T, N> x = load_aligned_pack<N>(src + first), y = load_aligned_pack<N>(src + second);
    const Pack<T, N> c = load_aligned_pack<N>(cos), s = load_aligned_pack<N>(sin);
    Pack<T, N> left, right;
#pragma unroll
    for (unsigned e = 0; e < N; ++e) {
        left.at[e] = turned_left(x.at[e], y.at[e], c.at[e], s.at[e]);
        right.at[e] = turned_right(x.at[e], y.at[e], c.at[e], s.at[e]);
    }
    store_pack<N>(dst + first, left);
    store_pack<N>(dst + second, right);
}

// bh heads of td elements, pairs of neighbours.
template <typename T>
PARITY_FN void interleaved(const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 stride_b) {
    constexpr unsigned N = PackLen<T>::value, EACH = N / 2;
    const u32 per_head = td / 2;
    const auto angle_of = [=](u32 pair) { return batch_start(pair, stride_b, per_head) + pair % per_head; };
    if (td % N == 0 && are_whole<N>(src, cos, sin, dst)) {
        each_pair(size_t(bh) * td, EACH, [&](u32 pair) {
            const size_t angle = angle_of(pair), first = 2 * size_t(pair);
            const Pack<T, N> x = load_aligned_pack<N>(src + first);
            const Pack<T, EACH> c = load_aligned_pack<EACH>(cos + angle), s = load_aligned_pack<EACH>(sin + angle);
            Pack<T, N> y;
#pragma unroll
            for (unsigned e = 0; e < EACH; ++e) {
                y.at[2 * e] = turned_left(x.at[2 * e], x.at[2 * e + 1], c.at[e], s.at[e]);
                y.at[2 * e + 1] = turned_right(x.at[2 * e], x.at[2 * e + 1], c.at[e], s.at[e]);
            }
            store_pack<N>(dst + first, y);
        });
        return;
    }
    each_pair(size_t(bh) * td, 1, [&](u32 pair) {
        const size_t angle = angle_of(pair);
        turn(src, dst, 2 * size_t(pair), 2 * size_t(pair) + 1, cos[angle], sin[angle]);
    });
}

// Pairs half a head dimension apart, of heads of d elements: angle(pair) is where the angle of a pair is. Neighbours in half a head
// have neighbouring angles.
template <typename T, typename Angle>
PARITY_FN void turn_halves(
    const T *src, const T *cos, const T *sin, T *dst, size_t elements, u32 d, Angle angle_of) {
    constexpr unsigned N = PackLen<T>::value;
    const u32 half = d / 2;
    const auto first_of = [=](u32 pair) {
        const u32 head = pair / half;
        return size_t(head) * d + (pair - head * half);
    };
    if (half % N == 0 && are_whole<N>(src, cos, sin, dst)) {
        each_pair(elements, N, [&](u32 pair) {
            const size_t angle = angle_of(pair), first = first_of(pair);
            turn_packs<N>(src, dst, first, first + half, cos + angle, sin + angle);
        });
        return;
    }
    each_pair(elements, 1, [&](u32 pair) {
        const size_t angle = angle_of(pair), first = first_of(pair);
        turn(src, dst, first, first + half, cos[angle], sin[angle]);
    });
}

// bh heads of td elements, pairs half a head dimension apart.
template <typename T>
PARITY_FN void halves(const T *src, const T *cos, const T *sin, T *dst, u32 bh, u32 td, u32 d, u32 stride_b) {
    const u32 per_head = td / 2;
    turn_halves(src, cos, sin, dst, size_t(bh) * td, d, [=](u32 pair) {
        return batch_start(pair, stride_b, per_head) + pair % per_head;
    });
}

// b batches of t positions of h heads, pairs half a head dimension apart.
template <typename T>
PARITY_FN void halves_thd(
    const T *src, const T *cos, const T *sin, T *dst, u32 b, u32 t, u32 h, u32 d, u32 stride_b) {
    const u32 half = d / 2;
    turn_halves(src, cos, sin, dst, size_t(b) * t * h * d, d, [=](u32 pair) {
        const u32 head = pair / half;
        return batch_start(pair, stride_b, size_t(t) * half) + size_t(head / h % t) * half + (pair - head * half);
    });
}

} // namespace rope
} // namespace parity
