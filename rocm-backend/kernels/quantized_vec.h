// Products of quantized weights with activations that the teams of a workgroup share through LDS: one row, which each workgroup
// quantizes for itself, so that no launch does it before; or several rows of q8_1 blocks, of which a workgroup reads 32 units at a time.
// The same quants, scales and order of sums as without (quantized_dot.h), and so the same bits.
#pragma once
#include "quantized_dot.h"

namespace parity {
namespace ggml {

// A row of activations as q8_1 has them, in LDS: of each unit the quants, the scale and the sums of its halves. That is an odd number of
// words: lanes, which take a unit each, meet in no bank.
struct RowOfQuants {
    static constexpr unsigned WORDS = 8, SCALE = 8, SUMS_AT = 9, STRIDE = 11;
    u32 *lds;
    u32 units;

    PARITY_MEMBER RowOfQuants(u32 *lds, u32 units) : lds(lds), units(units) {}

    // Lanes in eights do a unit, four of its activations each. All threads of the workgroup take part, and those of a wave go together: on
    // NVIDIA a lane that asks others for a word waits for the whole warp. As `quantize_q8_1`: a NaN makes the scale NaN, and with it every
    // product.
    template <bool SUMS, typename T> PARITY_MEMBER void fill(const T *x, u32 thread, u32 threads) {
        const auto larger = [](f32 l, f32 r) { return l > r || l != l ? l : r; };
        const u32 count = units * WORDS;
        for (u32 i = thread; i - i % WAVE < count; i += threads) {
            const bool is_there = i < count;
            const u32 unit = i / WORDS, at = i % WORDS;
            const Pack<T, 4> pack = load_pack<4>(x + size_t(is_there ? i : at) * 4);
            f32 most = 0;
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                most = larger(most, __builtin_fabsf(f32(pack.at[k])));
            }
            most = larger(most, f32_from_bits(swapped<4>(bits_of(most))));
            most = larger(most, f32_from_bits(swapped<2>(bits_of(most))));
            most = larger(most, f32_from_bits(swapped<1>(bits_of(most))));
            const f32 scale = most / 127;
            u32 word = 0;
            if (scale > 0 && scale < __builtin_inff()) {
#pragma unroll
                for (unsigned k = 0; k < 4; ++k) {
                    word |= u32(u8(i8(__builtin_roundf(f32(pack.at[k]) / scale)))) << (8 * k);
                }
            }
            u32 *to = lds + unit * STRIDE;
            if (is_there) {
                to[at] = word;
            }
            if (is_there && at == 0) {
                to[SCALE] = bits_of(f32(f16(scale)));
            }
            if constexpr (SUMS) {
                u32 sum = u32(dot4(0x01010101, word, 0));
                sum += swapped<2>(sum);
                sum += swapped<1>(sum);
                if (is_there && at % 4 == 0) {
                    to[SUMS_AT + at / 4] = sum;
                }
            }
        }
    }

    template <bool SUMS> PARITY_MEMBER Activations unit(u32 unit) const {
        const u32 *from = lds + unit * STRIDE;
        Activations read;
#pragma unroll
        for (unsigned k = 0; k < WORDS; ++k) {
            read.quants[k] = from[k];
        }
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            read.sums[half] = SUMS ? i32(from[SUMS_AT + half]) : 0;
        }
        read.scale = f32_from_bits(from[SCALE]);
        return read;
    }

  private:
    // The word of the lane whose number differs in one bit.
    template <unsigned DISTANCE> PARITY_MEMBER static u32 swapped(u32 word) {
        return u32(__builtin_amdgcn_ds_swizzle(int(word), 0x1f | DISTANCE << 10));
    }
};

// Units of a lane that `mul_mat_vec_floats` reads before one is multiplied: as many as measured best on an H200. Those of a block of 256 are
// long by themselves.
template <typename F> constexpr unsigned AT_ONCE = F::LEN == 32 ? 2 : 1;
template <> constexpr unsigned AT_ONCE<q4_0> = 4;
template <> constexpr unsigned AT_ONCE<q4_K> = 2;
template <> constexpr unsigned AT_ONCE<q5_K> = 2;
// Workgroups that share a processor of NVIDIA's. Two units of a block of 256 take more registers than two workgroups leave a thread.
template <typename F> constexpr unsigned CROWD = F::LEN == 256 && AT_ONCE<F> > 1 ? 1 : 2;

// out[r] = weights[r] . x, a row a team at a time: teams stride over the rows. `lds` has room for a row.
template <typename F, typename T>
PARITY_FN void mul_mat_vec_floats(const void *weights, const T *x, T *out, i32 ncols, i32 nrows, u32 *lds) {
    constexpr unsigned COUNT = AT_ONCE<F>, TEAM = 32;
    const u32 units = u32(ncols) / 32, lane = thread_index();
    const u32 teams = u32(__ockl_get_local_size(1)), y = __builtin_amdgcn_workitem_id_y();
    RowOfQuants row_of_x(lds, units);
    row_of_x.fill<F::HAS_OFFSET>(x, y * TEAM + lane, teams * TEAM);
    barrier();
    const size_t row_bytes = size_t(u32(ncols) / F::LEN) * F::BYTES;
    for (u32 row = u32(group_index()) * teams + y; row < u32(nrows); row += u32(group_count()) * teams) {
        const u8 *blocks = static_cast<const u8 *>(weights) + row * row_bytes;
        f32 sum = 0;
        u32 unit = lane;
        for (; unit + TEAM * (COUNT - 1) < units; unit += TEAM * COUNT) {
            Unit<F> loaded[COUNT];
#pragma unroll
            for (unsigned k = 0; k < COUNT; ++k) {
                loaded[k].read(blocks, unit + TEAM * k);
            }
#pragma unroll
            for (unsigned k = 0; k < COUNT; ++k) {
                sum = loaded[k].dot(row_of_x.unit<F::HAS_OFFSET>(unit + TEAM * k), sum);
            }
        }
        for (; COUNT > 1 && unit < units; unit += TEAM) {
            Unit<F> last;
            last.read(blocks, unit);
            sum = last.dot(row_of_x.unit<F::HAS_OFFSET>(unit), sum);
        }
        sum = team_sum(sum);
        if (lane == 0) {
            out[row] = static_cast<T>(sum);
        }
    }
}

// As `mul_mat_vec`, for many columns and workgroups of `SHARING` teams: units of activations, which all of them meet, are read once.
constexpr unsigned SHARING = 16;
template <typename F, unsigned COLUMNS, typename T>
PARITY_FN void mul_mat_vec_shared(const void *weights, const void *activations, T *out, i32 ncols, i32 nrows, i32 stride,
                                  i32 out_stride, u32 columns) {
    // A block is an odd number of words: lanes, which take one each, meet in no bank.
    constexpr unsigned ROWS = ROWS_AT_ONCE, TEAM = 32, WORDS = q8_1::BYTES / 4, COLUMN = TEAM * WORDS;
    static_assert(COLUMN <= SHARING * TEAM, "a thread brings one word of a column");
    __shared__ u32 lds[COLUMNS * COLUMN];
    const u32 lane = thread_index(), thread = __builtin_amdgcn_workitem_id_y() * TEAM + lane, units = u32(ncols) / 32;
    const size_t first_row = team() * ROWS;
    // A team without rows reads the first ones, because all teams bring activations to LDS; its results are not stored.
    const u32 rows = first_row < u32(nrows) ? u32(nrows) - u32(first_row) : 0;
    const size_t row_bytes = size_t(u32(ncols) / F::LEN) * F::BYTES;
    const u8 *blocks = static_cast<const u8 *>(weights) + (rows > 0 ? first_row : 0) * row_bytes;
    f32 sums[ROWS][COLUMNS] = {};
    for (u32 first = 0; first < units; first += TEAM) {
        const u32 count = units - first < TEAM ? units - first : TEAM;
        Unit<F> loaded[ROWS];
        if (lane < count) {
#pragma unroll
            for (unsigned r = 0; r < ROWS; ++r) {
                loaded[r].read(r < rows ? blocks + r * row_bytes : blocks, first + lane);
            }
        }
        barrier(); // nobody reads the units before these any more
#pragma unroll
        for (unsigned column = 0; column < COLUMNS; ++column) {
            if (column < columns && thread < count * WORDS) {
                const u8 *from = static_cast<const u8 *>(activations) + (size_t(column) * u32(stride) + first) * q8_1::BYTES;
                lds[column * COLUMN + thread] = load<4, u32>(from + thread * 4);
            }
        }
        barrier();
        if (lane < count) {
#pragma unroll
            for (unsigned column = 0; column < COLUMNS; ++column) {
                if (column < columns) {
                    Activations with;
                    with.read<F::HAS_OFFSET>(reinterpret_cast<const u8 *>(lds + column * COLUMN + lane * WORDS));
#pragma unroll
                    for (unsigned r = 0; r < ROWS; ++r) {
                        sums[r][column] = loaded[r].dot(with, sums[r][column]);
                    }
                }
            }
        }
    }
    store_sums(sums, out + first_row, u32(out_stride), columns, rows);
}

} // namespace ggml
} // namespace parity
