// Products of quantized weights with activations quantized to q8_1: integer dot products of 32 at a time, put together
// in f32. Not here: the formats (quantized_blocks.h).
#pragma once
#include "quantized_rows.h"

namespace parity {
namespace ggml {

// The products of four pairs of signed bytes, added to `sum`. One instruction where there is one; on newer targets a
// flag says of each operand that it is signed.
PARITY_FN i32 dot4(u32 l, u32 r, i32 sum) {
#if defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, i32(l), true, i32(r), sum, false);
#elif defined(__gfx1030__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
    return __builtin_amdgcn_sdot4(i32(l), i32(r), sum, false);
#elif defined(__NVPTX__)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(l), "r"(r));
    return sum;
#else
    for (unsigned k = 0; k < 32; k += 8) {
        sum += i32(i8(l >> k)) * i32(i8(r >> k));
    }
    return sum;
#endif
}

// One q8_1 block from 32 activations, one a work-item of a team: the scale max|x| / 127, the sum of the activations,
// both as f16, and the quants. A NaN makes the scale NaN, and with it every product: it does not vanish in a quant.
template <typename T> PARITY_FN void quantize_q8_1(const T *x, void *out, i32 ncols, i32 padded) {
    const size_t column = first_index();
    if (column >= u32(padded)) {
        return;
    }
    const size_t row =
        size_t(__builtin_amdgcn_workgroup_id_y()) * __ockl_get_local_size(1) + __builtin_amdgcn_workitem_id_y();
    const f32 value = column < u32(ncols) ? f32(x[row * u32(ncols) + column]) : 0;
    const f32 scale = team_max(__builtin_fabsf(value)) / 127;
    const f32 sum = team_sum(value);
    const f32 quant = scale > 0 && scale < __builtin_inff() ? __builtin_roundf(value / scale) : 0;
    u8 *block = static_cast<u8 *>(out) + (row * u32(padded) + column) / q8_1::LEN * q8_1::BYTES;
    const unsigned i = column % q8_1::LEN;
    block[q8_1::QUANTS + i] = u8(i8(quant));
    if (i == 0) {
        const f16 head[2] = {f16(scale), f16(sum)};
#if defined(__NVPTX__)
        // As one word: ptxas 13.0 makes wrong code of the stores of an f16's single bytes.
        __builtin_memcpy(__builtin_assume_aligned(block, 4), head, sizeof(head));
#else
        __builtin_memcpy(block, head, sizeof(head));
#endif
    }
}

// A q8_1 block of activations, read once for all the weights that it meets, and the sums of its halves.
struct Activations {
    u32 quants[8];
    i32 sums[2];
    f32 scale;

    template <bool SUMS> PARITY_MEMBER void read(const u8 *block) {
        q8_1::unit_quads(block, 0, quants);
        scale = q8_1::factor(block, 0).scale;
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            sums[half] = 0;
#pragma unroll
            for (unsigned k = 4 * half; SUMS && k < 4 * half + 4; ++k) {
                sums[half] = dot4(0x01010101, quants[k], sums[half]);
            }
        }
    }
};

// 32 weights, unpacked once for all the activations they meet.
template <typename F> struct Unit {
    u32 quants[8];
    Factor factors[2];

    PARITY_MEMBER void read(const u8 *row, u32 unit) {
        const u8 *block = row + size_t(unit / (F::LEN / 32)) * F::BYTES;
        const unsigned first = unit % (F::LEN / 32) * 32;
        F::unit_quads(block, first, quants);
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
            factors[k] = F::factor(block, first / 16 + k);
        }
    }

    // `sum` and the product with a q8_1 block. Offsets meet the sum of the quants, which is exact; the block's own sum is an f16,
    // which overflows. Fused where it is written so and nowhere else: kernels that do the same have the same bits.
    PARITY_MEMBER f32 dot(const Activations &with, f32 sum) const {
        f32 total = 0;
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            i32 products = 0;
#pragma unroll
            for (unsigned k = 4 * half; k < 4 * half + 4; ++k) {
                products = dot4(quants[k], with.quants[k], products);
            }
            total = __builtin_fmaf(factors[half].scale, f32(products), total);
            if (F::HAS_OFFSET) {
                total = __builtin_fmaf(factors[half].offset, f32(with.sums[half]), total);
            }
        }
        return __builtin_fmaf(total, with.scale, sum);
    }
};

// Rows of weights that a team does at once, for which it reads activations once. A row's sum does not depend on the others.
constexpr unsigned ROWS_AT_ONCE = 2;

// The sums of a team's lanes, for the rows and columns that there are.
template <unsigned ROWS, unsigned COLUMNS, typename T>
PARITY_FN void store_sums(const f32 (&sums)[ROWS][COLUMNS], T *out, size_t out_stride, u32 columns, u32 rows) {
#pragma unroll
    for (unsigned r = 0; r < ROWS; ++r) {
#pragma unroll
        for (unsigned column = 0; column < COLUMNS; ++column) {
            const f32 sum = team_sum(sums[r][column]);
            if (thread_index() == 0 && column < columns && r < rows) {
                out[column * out_stride + r] = static_cast<T>(sum);
            }
        }
    }
}

// out[column][r] = weights[r] . activations[column] for up to COLUMNS columns and for `rows` of up to ROWS rows, which follow one
// another, by a team.
template <typename F, unsigned COLUMNS, unsigned ROWS, typename T>
PARITY_FN void mul_mat_vec_rows(const u8 *weights, const u8 *activations, T *out, u32 ncols, size_t column_bytes,
                                size_t out_stride, u32 columns, u32 rows) {
    f32 sums[ROWS][COLUMNS] = {};
    const size_t row_bytes = size_t(ncols / F::LEN) * F::BYTES;
    for (u32 unit = thread_index(); unit < ncols / 32; unit += 32) {
        Unit<F> loaded[ROWS];
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            // Past the last row the first is read again; its result is not stored.
            loaded[r].read(r < rows ? weights + r * row_bytes : weights, unit);
        }
#pragma unroll
        for (unsigned column = 0; column < COLUMNS; ++column) {
            if (column < columns) {
                Activations with;
                with.read<F::HAS_OFFSET>(activations + column * column_bytes + size_t(unit) * q8_1::BYTES);
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r) {
                    sums[r][column] = loaded[r].dot(with, sums[r][column]);
                }
            }
        }
    }
    store_sums(sums, out, out_stride, columns, rows);
}

// `stride` is that of the activations' columns, in blocks.
template <typename F, unsigned COLUMNS, typename T>
PARITY_FN void mul_mat_vec(const void *weights, const void *activations, T *out, i32 ncols, i32 nrows, i32 stride,
                           i32 out_stride, u32 columns) {
    const size_t row = team() * ROWS_AT_ONCE;
    if (row >= u32(nrows)) {
        return;
    }
    mul_mat_vec_rows<F, COLUMNS, ROWS_AT_ONCE>(
        static_cast<const u8 *>(weights) + row * (u32(ncols) / F::LEN) * F::BYTES, static_cast<const u8 *>(activations),
        out + row, u32(ncols), size_t(u32(stride)) * q8_1::BYTES, u32(out_stride), columns, u32(nrows) - u32(row));
}

// Mixture of experts: out[token][choice] = weights[ids[token][choice]] times the token's activations, which are one row
// for all its choices or one for each. Grid: rows of the weights, tokens, choices. The ids were checked before.
template <typename F>
PARITY_FN void indexed_moe(const void *weights, const void *activations, const u32 *ids, f32 *out, i32 nrows, i32 ncols,
                           i32 topk, i32 padded, i32 rows_a_token) {
    const size_t row = team();
    if (row >= u32(nrows)) {
        return;
    }
    const size_t token = __builtin_amdgcn_workgroup_id_y();
    const size_t task = token * u32(topk) + __builtin_amdgcn_workgroup_id_z();
    const size_t expert_row = size_t(ids[task]) * u32(nrows) + row;
    const size_t input = rows_a_token == 1 ? token : task;
    mul_mat_vec_rows<F, 1, 1>(static_cast<const u8 *>(weights) + expert_row * (u32(ncols) / F::LEN) * F::BYTES,
                              static_cast<const u8 *>(activations) + input * (u32(padded) / 32) * q8_1::BYTES,
                              out + task * u32(nrows) + row, u32(ncols), 0, 0, 1, 1);
}

// The tile of results of a workgroup of 256: 64 rows of weights by 64 columns of activations, 4 by 4 a work-item. It
// takes 32 of the inner dimension at a time from LDS. Rows are 9 words apart there: one more than they have, so that
// neighbours begin in different banks.
struct Tile {
    static constexpr unsigned SIDE = 64, THREADS = 256, LANES = 16, EACH = SIDE / LANES;
    u32 weights[SIDE][9];
    Factor factors[SIDE][2];
    u32 activations[SIDE][9];
    f32 scales[SIDE];
    f32 sums[SIDE][2];

    // Rows and columns past the last one read the last one again; their results are not stored.
    template <typename F>
    PARITY_MEMBER void fill(const u8 *x, size_t first_row, size_t rows, size_t row_bytes, const u8 *y,
                            size_t first_column, size_t columns, size_t column_bytes, u32 unit) {
        const u32 thread = thread_index();
        const size_t block_at = size_t(unit / (F::LEN / 32)) * F::BYTES;
        const unsigned inside = unit % (F::LEN / 32) * 32;
        for (u32 i = thread; i < SIDE * 8; i += THREADS) {
            const size_t row = first_row + i / 8 < rows ? first_row + i / 8 : rows - 1;
            weights[i / 8][i % 8] = F::quads(x + row * row_bytes + block_at, inside + i % 8 * 4);
            const size_t column = first_column + i / 8 < columns ? first_column + i / 8 : columns - 1;
            activations[i / 8][i % 8] = q8_1::quads(y + column * column_bytes + size_t(unit) * q8_1::BYTES, i % 8 * 4);
        }
        if (thread < SIDE * 2) {
            const u32 at = thread / 2, half = thread % 2;
            const size_t row = first_row + at < rows ? first_row + at : rows - 1;
            factors[at][half] = F::factor(x + row * row_bytes + block_at, inside / 16 + half);
            const size_t column = first_column + at < columns ? first_column + at : columns - 1;
            const u8 *block = y + column * column_bytes + size_t(unit) * q8_1::BYTES;
            i32 sum = 0;
            for (unsigned k = 0; F::HAS_OFFSET && k < 4; ++k) {
                sum = dot4(0x01010101, q8_1::quads(block, half * 16 + 4 * k), sum);
            }
            sums[at][half] = f32(sum);
            scales[at] = q8_1::factor(block, 0).scale;
        }
    }

    // The products of half a unit: 16 of the inner dimension, which have one factor.
    template <typename F>
    PARITY_MEMBER void multiply(f32 (&totals)[EACH][EACH], u32 x, u32 y, unsigned half) const {
#pragma unroll
        for (unsigned a = 0; a < EACH; ++a) {
            const u32 row = x + LANES * a;
            const Factor factor = factors[row][half];
#pragma unroll
            for (unsigned b = 0; b < EACH; ++b) {
                const u32 column = y + LANES * b;
                i32 products = 0;
                for (unsigned k = 4 * half; k < 4 * half + 4; ++k) {
                    products = dot4(weights[row][k], activations[column][k], products);
                }
                f32 total = factor.scale * f32(products);
                if (F::HAS_OFFSET) {
                    total += factor.offset * sums[column][half];
                }
                totals[a][b] += total * scales[column];
            }
        }
    }
};

// out[column][row] = weights[row] . activations[column]; grid: tiles of rows, tiles of columns.
template <typename F>
PARITY_FN void mul_mat(const void *weights, const void *activations, f32 *out, i32 ncols, i32 nrows, i32 columns,
                       i32 padded, i32 out_stride) {
    __shared__ Tile tile;
    const size_t first_row = group_index() * Tile::SIDE;
    const size_t first_column = size_t(__builtin_amdgcn_workgroup_id_y()) * Tile::SIDE;
    const u32 x = thread_index() % Tile::LANES, y = thread_index() / Tile::LANES;
    f32 totals[Tile::EACH][Tile::EACH] = {};
    for (u32 unit = 0; unit < u32(ncols) / 32; ++unit) {
        tile.fill<F>(static_cast<const u8 *>(weights), first_row, u32(nrows), size_t(u32(ncols) / F::LEN) * F::BYTES,
                     static_cast<const u8 *>(activations), first_column, u32(columns),
                     size_t(u32(padded) / 32) * q8_1::BYTES, unit);
        barrier();
        tile.multiply<F>(totals, x, y, 0);
        tile.multiply<F>(totals, x, y, 1);
        barrier();
    }
#pragma unroll
    for (unsigned a = 0; a < Tile::EACH; ++a) {
#pragma unroll
        for (unsigned b = 0; b < Tile::EACH; ++b) {
            const size_t row = first_row + x + Tile::LANES * a, column = first_column + y + Tile::LANES * b;
            if (row < u32(nrows) && column < u32(columns)) {
                out[column * u32(out_stride) + row] = totals[a][b];
            }
        }
    }
}

} // namespace ggml
} // namespace parity
