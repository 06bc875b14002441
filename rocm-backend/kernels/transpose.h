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

// Elements of one or two bytes: a thread turns squares of 8 by 8 in its registers. Of 32 threads eight lie beside each other along
// the rows, which is how the source lies, and four along the columns, so that both sides move whole lines; a workgroup's squares
// are 64 rows by 256 columns.
constexpr unsigned SQUARE = 8;
constexpr u32 SQUARES_DOWN = 8 * SQUARE, SQUARES_ACROSS = SWAPPERS / 8 * SQUARE;

template <typename T> PARITY_FN bool has_squares(const Swap &x, const T *src, const T *dst) {
    const size_t distances = x.rows | x.cols | x.src_batch | x.src_col | x.dst_batch | x.dst_row;
    return sizeof(T) <= 2 && distances % SQUARE == 0 && is_whole<SQUARE>(src) && is_whole<SQUARE>(dst);
}

template <typename T> PARITY_FN void transpose_squares(const Swap &x, const T *src, T *dst) {
    const u32 lane = thread_index() % 32, team = thread_index() / 32;
    const u32 across = u32((x.cols + SQUARES_ACROSS - 1) / SQUARES_ACROSS);
    const u32 down = u32((x.rows + SQUARES_DOWN - 1) / SQUARES_DOWN);
    for (u32 at = u32(group_index()); at < u32(x.batches) * down * across; at += u32(group_count())) {
        const u32 above = at / across, batch = above / down;
        const size_t row = size_t(above - batch * down) * SQUARES_DOWN + lane % 8 * SQUARE;
        const size_t col = size_t(at - above * across) * SQUARES_ACROSS + team * 4 * SQUARE + lane / 8 * SQUARE;
        if (row < x.rows && col < x.cols) {
            const T *from = src + batch * x.src_batch + row + col * x.src_col;
            T *to = dst + batch * x.dst_batch + row * x.dst_row + col;
            Pack<T, SQUARE> columns[SQUARE];
#pragma unroll
            for (unsigned j = 0; j < SQUARE; ++j) {
                columns[j] = load_aligned_pack<SQUARE>(from + j * x.src_col);
            }
#pragma unroll
            for (unsigned i = 0; i < SQUARE; ++i) {
                Pack<T, SQUARE> line;
#pragma unroll
                for (unsigned j = 0; j < SQUARE; ++j) {
                    line.at[j] = columns[j].at[i];
                }
                store_pack<SQUARE>(to + i * x.dst_row, line);
            }
        }
    }
}

template <typename T> PARITY_FN void transpose(const Swap &x, const T *src, T *dst) {
    if constexpr (sizeof(T) <= 2) {
        if (has_squares(x, src, dst)) {
            transpose_squares(x, src, dst);
            return;
        }
    }
    // A column of the tile lies in the banks one after the other, as a row does.
    __shared__ T tile[SIDE][SIDE + 1];
    const u32 along = thread_index() % SIDE, first = thread_index() / SIDE;
    constexpr u32 STEP = SWAPPERS / SIDE;
    // The host counts tiles in 31 bits. One loop: of three, one in the other, the compiler keeps so many places from tile to tile
    // that a thread on NVIDIA takes 156 registers instead of 32, and a copy six times as long.
    const u32 across = u32((x.cols + SIDE - 1) / SIDE), down = u32((x.rows + SIDE - 1) / SIDE);
    for (u32 at = u32(group_index()); at < u32(x.batches) * down * across; at += u32(group_count())) {
        const u32 above = at / across, batch = above / down;
        const size_t row = size_t(above - batch * down) * SIDE, col = size_t(at - above * across) * SIDE;
        if (row + along < x.rows) {
            const T *from = src + batch * x.src_batch + row + along;
#pragma unroll
            for (u32 turn = 0; turn < SIDE / STEP; ++turn) {
                const u32 i = first + turn * STEP;
                if (col + i < x.cols) {
                    tile[i][along] = from[(col + i) * x.src_col];
                }
            }
        }
        barrier();
        if (col + along < x.cols) {
            T *to = dst + batch * x.dst_batch + col + along;
#pragma unroll
            for (u32 turn = 0; turn < SIDE / STEP; ++turn) {
                const u32 i = first + turn * STEP;
                if (row + i < x.rows) {
                    to[(row + i) * x.dst_row] = tile[along][i];
                }
            }
        }
        barrier(); // so that the next tile does not overwrite what a slow thread still reads
    }
}

} // namespace parity
