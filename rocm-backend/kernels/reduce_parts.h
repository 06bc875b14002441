// Reductions that are too few, or lie too far apart, for a workgroup a row. Not here: reductions of many contiguous rows (reduce.h).
//
// Few long rows are cut into parts, a workgroup each. Of a dimension that is not the last one, workgroups take columns that lie
// beside each other, so that threads read adjacent elements, and parts of the rows. Both leave a value of each part in `scratch`,
// in the type that is computed in; a launch behind them joins these. The order in which terms meet depends on the sizes alone: the
// bits are the same every time.
#pragma once
#include "reduce.h"

namespace parity {
namespace reduce {

// Threads of a workgroup of columns: so many beside each other, so many rows at once.
constexpr u32 LANES = 32;
constexpr u32 DEPTH = 8;
// Packs that a thread loads before it looks at the first: of a part of a row, and rows of columns.
template <typename A> constexpr u32 AT_ONCE = sizeof(A) > 4 ? 4 : 8;

// What is reduced: the type it is computed in and that of results, an element as one with its number in the row, how two meet, how
// an element that is behind all others does, and what a thread begins with, given the number of the first element of all threads': nothing
// is worse, so that what begins with it is that element where no other is better.
template <typename T> struct Adding {
    using A = sum_t<T>;
    using Out = T;
    static PARITY_MEMBER A term(T x, size_t) { return static_cast<A>(x); }
    static PARITY_MEMBER A join(A x, A y) { return x + y; }
    static PARITY_MEMBER A add(A x, T y, size_t) { return x + static_cast<A>(y); }
    static PARITY_MEMBER A begin(size_t) { return A(0); }
    static PARITY_MEMBER Out result(A x) { return static_cast<T>(x); }
};
// An extreme that is there twice is the same extreme.
template <typename Order, typename T> struct Choosing {
    using A = order_t<T>;
    using Out = T;
    static PARITY_MEMBER A term(T x, size_t) { return static_cast<A>(x); }
    static PARITY_MEMBER A join(A x, A y) { return better<Order>(x, y); }
    static PARITY_MEMBER A add(A x, T y, size_t) { return better<Order>(x, static_cast<A>(y)); }
    static PARITY_MEMBER A begin(size_t) { return worst<Order, A>(); }
    static PARITY_MEMBER Out result(A x) { return static_cast<T>(x); }
};
template <typename T> using Largest = Choosing<Max, T>;
template <typename T> using Smallest = Choosing<Min, T>;
template <typename Order, typename T> struct Placing {
    using A = Placed<order_t<T>>;
    using Out = u32;
    static PARITY_MEMBER A term(T x, size_t at) { return {static_cast<order_t<T>>(x), u32(at)}; }
    static PARITY_MEMBER A join(A x, A y) { return better<Order>(x, y); }
    static PARITY_MEMBER A add(A x, T y, size_t at) { return better_later<Order>(x, static_cast<order_t<T>>(y), u32(at)); }
    static PARITY_MEMBER A begin(size_t first) { return {worst<Order, order_t<T>>(), u32(first)}; }
    static PARITY_MEMBER Out result(A x) { return x.at; }
};
template <typename T> using PlaceOfLargest = Placing<Max, T>;
template <typename T> using PlaceOfSmallest = Placing<Min, T>;

// scratch[row * parts + part], of contiguous rows in parts of `chunk` elements. Threads fill their waves.
template <template <typename> typename Fold, typename T, typename A>
PARITY_FN void fold_parts(size_t rows, size_t per_row, size_t parts, size_t chunk, const T *src, A *scratch) {
    using F = Fold<T>;
    __shared__ A lds[MAX_WAVES];
    constexpr unsigned N = PackLen<T>::value;
    for_groups(parts, rows, 1, [&](size_t part, size_t row, size_t) {
        const size_t first = part * chunk;
        const size_t count = per_row - first < chunk ? per_row - first : chunk;
        const T *run = src + row * per_row + first;
        A mine = F::begin(first);
        Run<N>(run, count, true)
            .template read<AT_ONCE<A>>(
                run, thread_index(), thread_count(),
                [&](const Pack<T, N> &pack, size_t i) {
#pragma unroll
                    for (unsigned e = 0; e < N; ++e) {
                        mine = F::add(mine, pack.at[e], first + i + e);
                    }
                },
                [&](size_t i) { mine = F::join(mine, F::term(run[i], first + i)); });
        mine = fold_waves(thread_count(), lds, mine, [](A x, A y) { return F::join(x, y); });
        if (thread_index() == 0) {
            scratch[row * parts + part] = mine;
        }
    });
}

// dst[row]: what the row's parts make together.
template <typename F>
PARITY_FN void join_parts(size_t rows, size_t parts, const typename F::A *scratch, typename F::Out *dst) {
    using A = typename F::A;
    __shared__ A lds[MAX_WAVES];
    for_rows(rows, 1, [&](size_t row, bool is_there) {
        const A *run = scratch + row * parts;
        A mine = F::begin(0);
        const auto join = [&](size_t, A part) { mine = F::join(mine, part); };
        const u32 step = thread_count();
        size_t at = in_batches<4>(thread_index(), parts, step, [&](size_t at) { return read(run[at]); }, join);
        for (; at < parts; at += step) {
            join(at, read(run[at]));
        }
        mine = fold(lds, mine, [](A x, A y) { return F::join(x, y); });
        if (thread_index() == 0 && is_there) {
            dst[row] = F::result(mine);
        }
    });
}

// What a launch over columns is told: `outer` blocks of `per_row` rows of `inner` adjacent elements, the blocks and the rows
// so many elements apart; and the parts, of `chunk` rows each.
struct Columns {
    size_t outer, inner, per_row, outer_stride, row_stride, parts, chunk;
};

// V columns a thread. scratch[(block * inner + column) * parts + part]; of one part, dst[block * inner + column].
template <template <typename> typename Fold, unsigned V, typename T, typename A>
PARITY_FN void fold_columns(const Columns &x, const T *src, A *lds, A *scratch, typename Fold<T>::Out *dst) {
    using F = Fold<T>;
    const u32 lane = thread_index() % LANES, depth = thread_index() / LANES;
    const size_t tiles = (x.inner + LANES * V - 1) / (LANES * V);
    for_groups(tiles, x.parts, x.outer, [&](size_t tile, size_t part, size_t block) {
        const size_t first = part * x.chunk, column = (tile * LANES + lane) * V;
        const size_t end = x.per_row - first < x.chunk ? x.per_row : first + x.chunk;
        const bool is_inside = column < x.inner;
        A mine[V];
        if (is_inside) {
            const T *from = src + block * x.outer_stride + column;
#pragma unroll
            for (unsigned e = 0; e < V; ++e) {
                mine[e] = F::begin(first);
            }
            const auto load = [&](size_t row) { return load_aligned_pack<V>(from + row * x.row_stride); };
            const auto add = [&](size_t row, const Pack<T, V> &pack) {
#pragma unroll
                for (unsigned e = 0; e < V; ++e) {
                    mine[e] = F::add(mine[e], pack.at[e], row);
                }
            };
            const size_t row = in_batches<AT_ONCE<A>>(first + depth, end, DEPTH, load, add);
            // The rest, at once as well: a load that has no row of its own reads the last one again.
            if (row < end) {
                Pack<T, V> packs[AT_ONCE<A> - 1];
#pragma unroll
                for (unsigned k = 0; k + 1 < AT_ONCE<A>; ++k) {
                    packs[k] = load(row + k * DEPTH < end ? row + k * DEPTH : end - 1);
                }
#pragma unroll
                for (unsigned k = 0; k + 1 < AT_ONCE<A>; ++k) {
                    if (row + k * DEPTH < end) {
                        add(row + k * DEPTH, packs[k]);
                    }
                }
            }
#pragma unroll
            for (unsigned e = 0; e < V; ++e) {
                lds[(depth * V + e) * LANES + lane] = mine[e];
            }
        }
        barrier();
        // A thread a column: the upper half of its terms joins the lower one, until one is left.
        for (u32 at = thread_index(); at < LANES * V; at += LANES * DEPTH) {
            const size_t column = (tile * LANES + at % LANES) * V + at / LANES;
            if (column < x.inner) {
                A terms[DEPTH];
#pragma unroll
                for (u32 d = 0; d < DEPTH; ++d) {
                    terms[d] = read(lds[d * V * LANES + at]);
                }
#pragma unroll
                for (u32 half = DEPTH / 2; half > 0; half /= 2) {
#pragma unroll
                    for (u32 d = 0; d < half; ++d) {
                        terms[d] = F::join(terms[d], terms[d + half]);
                    }
                }
                if (x.parts == 1) {
                    dst[block * x.inner + column] = F::result(terms[0]);
                } else {
                    scratch[(block * x.inner + column) * x.parts + part] = terms[0];
                }
            }
        }
        barrier(); // so that the next columns do not write what a slow thread still reads
    });
}

// `width` columns a thread: one, or a pack where rows are whole packs. Rows that begin elsewhere are taken column by column.
template <template <typename> typename Fold, typename T, typename A>
PARITY_FN void fold_columns(const Columns &x, size_t width, const T *src, A *scratch, typename Fold<T>::Out *dst) {
    constexpr unsigned V = PackLen<T>::value;
    __shared__ A lds[DEPTH * LANES * V];
    const bool is_aligned = is_whole<V>(src) && x.row_stride % V == 0 && x.outer_stride % V == 0;
    if (width == V && is_aligned) {
        fold_columns<Fold, V>(x, src, lds, scratch, dst);
    } else {
        fold_columns<Fold, 1>(x, src, lds, scratch, dst);
    }
}

} // namespace reduce
} // namespace parity
