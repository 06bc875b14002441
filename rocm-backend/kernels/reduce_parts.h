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

// What is reduced: the type it is computed in, how two values meet, and what a thread without a term begins with.
template <typename T> struct Adding {
    using A = sum_t<T>;
    static PARITY_MEMBER A join(A x, A y) { return x + y; }
    static PARITY_MEMBER A begin(A) { return A(0); }
};
// An extreme that is there twice is the same extreme.
template <typename Order, typename T> struct Choosing {
    using A = order_t<T>;
    static PARITY_MEMBER A join(A x, A y) { return better<Order>(x, y); }
    static PARITY_MEMBER A begin(A first) { return first; }
};
template <typename T> using Largest = Choosing<Max, T>;
template <typename T> using Smallest = Choosing<Min, T>;

// scratch[row * parts + part], of contiguous rows in parts of `chunk` elements.
template <template <typename> typename Fold, typename T, typename A>
PARITY_FN void fold_parts(size_t rows, size_t per_row, size_t parts, size_t chunk, const T *src, A *scratch) {
    using F = Fold<T>;
    __shared__ A lds[MAX_WAVES];
    constexpr unsigned N = PackLen<T>::value;
    for_groups(parts, rows, 1, [&](size_t part, size_t row, size_t) {
        const size_t first = part * chunk;
        const size_t count = per_row - first < chunk ? per_row - first : chunk;
        const T *run = src + row * per_row + first;
        A mine = F::begin(static_cast<A>(*run));
        Run<N>(run, count, true)
            .each(
                thread_index(), thread_count(),
                [&](size_t i) {
                    const Pack<T, N> pack = load_pack<N>(run + i);
#pragma unroll
                    for (unsigned e = 0; e < N; ++e) {
                        mine = F::join(mine, static_cast<A>(pack.at[e]));
                    }
                },
                [&](size_t i) { mine = F::join(mine, static_cast<A>(run[i])); });
        mine = fold(lds, mine, [](A x, A y) { return F::join(x, y); });
        if (thread_index() == 0) {
            scratch[row * parts + part] = mine;
        }
    });
}

// dst[row]: what the row's parts make together.
template <template <typename> typename Fold, typename T, typename A>
PARITY_FN void join_parts(size_t rows, size_t parts, const A *scratch, T *dst) {
    using F = Fold<T>;
    __shared__ A lds[MAX_WAVES];
    for (size_t row = first_row(); row < rows; row += row_step()) {
        const A *run = scratch + row * parts;
        A mine = F::begin(run[0]);
        for (size_t at = thread_index(); at < parts; at += thread_count()) {
            mine = F::join(mine, run[at]);
        }
        mine = fold(lds, mine, [](A x, A y) { return F::join(x, y); });
        if (thread_index() == 0) {
            dst[row] = static_cast<T>(mine);
        }
    }
}

// What a launch over columns is told: `outer` blocks of `per_row` rows of `inner` adjacent elements, the blocks and the rows
// so many elements apart; and the parts, of `chunk` rows each.
struct Columns {
    size_t outer, inner, per_row, outer_stride, row_stride, parts, chunk;
};

// V columns a thread. scratch[(block * inner + column) * parts + part].
template <template <typename> typename Fold, unsigned V, typename T, typename A>
PARITY_FN void fold_columns(const Columns &x, const T *src, A *lds, A *scratch) {
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
            const Pack<T, V> top = load_pack<V>(from + first * x.row_stride);
#pragma unroll
            for (unsigned e = 0; e < V; ++e) {
                mine[e] = F::begin(static_cast<A>(top.at[e]));
            }
#pragma unroll 4
            for (size_t row = first + depth; row < end; row += DEPTH) {
                const Pack<T, V> pack = load_pack<V>(from + row * x.row_stride);
#pragma unroll
                for (unsigned e = 0; e < V; ++e) {
                    mine[e] = F::join(mine[e], static_cast<A>(pack.at[e]));
                }
            }
        }
        for (u32 half = DEPTH / 2; half > 0; half /= 2) {
            if (is_inside && depth >= half && depth < 2 * half) {
#pragma unroll
                for (unsigned e = 0; e < V; ++e) {
                    lds[((depth - half) * V + e) * LANES + lane] = mine[e];
                }
            }
            barrier();
            if (is_inside && depth < half) {
#pragma unroll
                for (unsigned e = 0; e < V; ++e) {
                    mine[e] = F::join(mine[e], lds[(depth * V + e) * LANES + lane]);
                }
            }
            barrier(); // so that the next step does not write what a slow thread still reads
        }
        if (is_inside && depth == 0) {
#pragma unroll
            for (unsigned e = 0; e < V; ++e) {
                scratch[(block * x.inner + column + e) * x.parts + part] = mine[e];
            }
        }
    });
}

// Columns in packs where the rows are whole packs and fill a wave with them.
template <template <typename> typename Fold, typename T, typename A>
PARITY_FN void fold_columns(const Columns &x, const T *src, A *scratch) {
    constexpr unsigned V = PackLen<T>::value;
    __shared__ A lds[DEPTH / 2 * LANES * V];
    if (x.inner % V == 0 && x.inner >= LANES * V) {
        fold_columns<Fold, V>(x, src, lds, scratch);
    } else {
        fold_columns<Fold, 1>(x, src, lds, scratch);
    }
}

} // namespace reduce
} // namespace parity
