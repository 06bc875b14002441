// A copy that swaps which dimension is adjacent in memory: by square tiles through LDS, so that threads beside each other read
// adjacent elements, and write adjacent elements. Not here: copies of other views (layout.h).
#pragma once
#include "layout.h"
#include "workgroup.h"

namespace parity {

// Element (batch, row, col) is src[batch * src_batch + row + col * src_col] and dst[batch * dst_batch + row * dst_row + col].
struct Swap {
    size_t batches, rows, cols, src_batch, src_col, dst_batch, dst_row;
};

// The side of a tile, and the threads of a workgroup.
constexpr u32 SIDE = 64;
constexpr u32 SWAPPERS = 256;

template <typename T> PARITY_FN void transpose(const Swap &x, const T *src, T *dst) {
    // A column of the tile lies in the banks one after the other, as a row does.
    __shared__ T tile[SIDE][SIDE + 1];
    const u32 along = thread_index() % SIDE, first = thread_index() / SIDE;
    constexpr u32 STEP = SWAPPERS / SIDE;
    for_groups((x.cols + SIDE - 1) / SIDE, (x.rows + SIDE - 1) / SIDE, x.batches, [&](size_t across, size_t down, size_t batch) {
        const size_t row = down * SIDE, col = across * SIDE;
        if (row + along < x.rows) {
            // A place after the other, of a distance that is hidden: else the compiler keeps all sixteen from tile to tile, in 150
            // registers of a thread on NVIDIA.
            const size_t distance = opaque(STEP * x.src_col);
            const T *from = src + batch * x.src_batch + row + along + (col + first) * x.src_col;
#pragma unroll
            for (u32 turn = 0; turn < SIDE / STEP; ++turn, from += distance) {
                const u32 i = first + turn * STEP;
                if (col + i < x.cols) {
                    tile[i][along] = *from;
                }
            }
        }
        barrier();
        if (col + along < x.cols) {
            const size_t distance = opaque(STEP * x.dst_row);
            T *to = dst + batch * x.dst_batch + col + along + (row + first) * x.dst_row;
#pragma unroll
            for (u32 turn = 0; turn < SIDE / STEP; ++turn, to += distance) {
                const u32 i = first + turn * STEP;
                if (row + i < x.rows) {
                    *to = tile[along][i];
                }
            }
        }
        barrier(); // so that the next tile does not overwrite what a slow thread still reads
    });
}

} // namespace parity
