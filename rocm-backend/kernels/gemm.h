// Products of matrices of any size and strides, in tiles: operands go through LDS, 64 bytes of k at a time, to the matrix
// cores of a wave (matrix_core.h), which have 32 by 32 results each. A workgroup is one wave with a tile of 32 by 32, or
// four with one of 64 by 64. Not here: products with a few vectors (gemv.h).
#pragma once
#include "matrix.h"
#include "matrix_core.h"

namespace parity {
namespace gemm {

using matrix_core::BLOCK;
using matrix_core::PACKS;

// Blocks along a side of a wave's results.
constexpr unsigned BLOCKS = 2;
constexpr unsigned WAVE_SIDE = BLOCKS * BLOCK;
constexpr unsigned MAX_SIDE = 2 * WAVE_SIDE, MAX_WAVES = 4;

template <typename T> using staged_t = typename matrix_core::CoreOf<T>::Staged;
template <typename T> using core_t = typename matrix_core::CoreOf<T>::Core;
// Elements of a pack in LDS, and k of a stage.
template <typename T> constexpr unsigned EACH = PackLen<staged_t<T>>::value;
template <typename T> constexpr unsigned DEPTH = PACKS * EACH<T>;

template <typename T> using StagedPack = Pack<staged_t<T>, EACH<T>>;

// An operand's part of a stage. Rows are a pack longer than they need: eight of them, which are read together, begin in
// as many different banks.
template <typename T> struct alignas(PACK_BYTES) Slab {
    struct alignas(PACK_BYTES) Line {
        pack_bits_t<staged_t<T>, EACH<T>> pack[PACKS + 1];
    };
    Line line[MAX_SIDE];

    PARITY_MEMBER StagedPack<T> load(unsigned row, unsigned pack) const {
        return __builtin_bit_cast(StagedPack<T>, line[row].pack[pack]);
    }
    PARITY_MEMBER void store(unsigned row, unsigned pack, StagedPack<T> values) {
        line[row].pack[pack] = __builtin_bit_cast(decltype(line[row].pack[pack] + 0), values);
    }
};

// Two stages of both operands: one is filled while the other is multiplied.
template <typename T> struct Slabs {
    Slab<T> left[2], right[2];
};

template <typename T> PARITY_FN staged_t<T> staged(T x) { return static_cast<staged_t<T>>(x); }
#if (defined(PARITY_WMMA) && !defined(__GFX12__)) || (defined(PARITY_MFMA) && !defined(PARITY_MFMA_HALVES))
PARITY_FN f16 staged(f8_e4m3 x) { return f16(f32(x)); }
#endif

// What a thread of `Waves` waves carries of an operand from device memory to LDS: some packs of some rows. k lies along
// the columns of the operand; rows from `rows` on and k from `ks` on are zeros.
template <unsigned Waves, typename T> struct Carrier {
    static constexpr unsigned SIDE = Waves == 1 ? WAVE_SIDE : MAX_SIDE;
    static constexpr unsigned THREADS = Waves * WAVE;
    static constexpr unsigned EACH_THREAD = SIDE * PACKS / THREADS;
    // Rows that are loaded together where they are adjacent.
    static constexpr unsigned PAIR = EACH_THREAD % 2 == 0 && sizeof(T) == 2 ? 2 : 1;

    StagedPack<T> packs[EACH_THREAD];
    unsigned rows;
    bool by_rows; // adjacent threads have adjacent rows, else adjacent packs of k

    PARITY_MEMBER Carrier(const Matrix<T> &matrix, unsigned rows) : rows(rows), by_rows(matrix.col != 1) {}

    PARITY_MEMBER unsigned row(unsigned thread, unsigned i) const {
        const unsigned unit = thread + i / PAIR * THREADS;
        return by_rows ? unit % (SIDE / PAIR) * PAIR + i % PAIR : unit / PACKS + i % PAIR * (SIDE / PAIR);
    }
    PARITY_MEMBER unsigned pack(unsigned thread, unsigned i) const {
        const unsigned unit = thread + i / PAIR * THREADS;
        return by_rows ? unit / (SIDE / PAIR) : unit % PACKS;
    }

    // `from` is the first row's first k of the stage. Strides are hidden: else the compiler computes all places of
    // a stage before the first one and keeps them, in more registers than there are.
    PARITY_MEMBER void fetch(const Matrix<T> &matrix, unsigned ks, unsigned thread) {
        const Matrix<T> from = {matrix.at, opaque(matrix.row), opaque(matrix.col)};
        const bool whole = ks == DEPTH<T> && rows == SIDE;
        if (matrix.col == 1 && ks == DEPTH<T>) {
            along_k(from, thread);
        } else if (whole && (PAIR == 1 || matrix.row == 1)) {
            along_rows(from, thread);
        } else {
            one_by_one(from, ks, thread);
        }
    }

    PARITY_MEMBER void put(Slab<T> &slab, unsigned thread) const {
#pragma unroll
        for (unsigned i = 0; i < EACH_THREAD; ++i) {
            slab.store(row(thread, i), pack(thread, i), packs[i]);
        }
    }

  private:
    // All of a pack in one load. Missing rows are replaced by the first row: what is computed from them is not
    // stored.
    PARITY_MEMBER void along_k(const Matrix<T> &from, unsigned thread) {
#pragma unroll
        for (unsigned i = 0; i < EACH_THREAD; ++i) {
            const unsigned r = row(thread, i);
            const auto loaded = load_pack<EACH<T>>(from.at + (r < rows ? r : 0) * from.row + pack(thread, i) * EACH<T>);
#pragma unroll
            for (unsigned e = 0; e < EACH<T>; ++e) {
                packs[i].at[e] = staged(loaded.at[e]);
            }
        }
    }
    // Of adjacent rows two in one load; k by k.
    PARITY_MEMBER void along_rows(const Matrix<T> &from, unsigned thread) {
#pragma unroll
        for (unsigned i = 0; i < EACH_THREAD; i += PAIR) {
            const T *at = from.at + row(thread, i) * from.row + pack(thread, i) * EACH<T> * from.col;
#pragma unroll
            for (unsigned e = 0; e < EACH<T>; ++e, at += from.col) {
                const auto loaded = load_pack<PAIR>(at);
#pragma unroll
                for (unsigned r = 0; r < PAIR; ++r) {
                    packs[i + r].at[e] = staged(loaded.at[r]);
                }
            }
        }
    }
    // What is missing is read from the row's first element, or the first row's, and not used: no branch.
    PARITY_MEMBER void one_by_one(const Matrix<T> &from, unsigned ks, unsigned thread) {
#pragma unroll
        for (unsigned i = 0; i < EACH_THREAD; ++i) {
            const unsigned r = row(thread, i), first = pack(thread, i) * EACH<T>;
            const unsigned count = r < rows && first < ks ? ks - first : 0;
            const T *line = from.at + (r < rows ? r : 0) * from.row;
            const T *at = line + first * from.col;
#pragma unroll
            for (unsigned e = 0; e < EACH<T>; ++e, at += from.col) {
                const T value = *(e < count ? at : line);
                packs[i].at[e] = e < count ? staged(value) : staged_t<T>(0);
            }
        }
    }
};

// One tile: `height` x `width` results from `out` on, of rows of `lhs` and columns of `rhs`. finish(sum, row, column) makes a result of
// the tile.
template <unsigned Waves, typename T, typename O, typename Finish>
PARITY_FN void tile(Slabs<T> &slabs, Matrix<T> lhs, Matrix<T> rhs, O *out, size_t pitch, unsigned height, unsigned width,
                    size_t k, Finish finish) {
    using Core = core_t<T>;
    const unsigned thread = __builtin_amdgcn_workitem_id_x(), lane = thread % WAVE;
    const unsigned wave = unsigned(__builtin_amdgcn_readfirstlane(int(thread / WAVE)));
    // As a carrier sees them, both operands have k along the columns.
    rhs = {rhs.at, rhs.col, rhs.row};
    Carrier<Waves, T> left(lhs, height), right(rhs, width);
    const unsigned first_row = wave / 2 * WAVE_SIDE, first_col = wave % 2 * WAVE_SIDE;
    typename Core::Sum sums[BLOCKS][BLOCKS];
    unsigned multiplied = 0; // k of the stage before
    for (unsigned stage = 0;; stage ^= 1) {
        const unsigned ks = k < DEPTH<T> ? unsigned(k) : DEPTH<T>;
        if (ks > 0) {
            left.fetch(lhs, ks, thread);
            right.fetch(rhs, ks, thread);
            lhs.at += DEPTH<T> * lhs.col;
            rhs.at += DEPTH<T> * rhs.col;
            k -= ks;
        }
        if (first_row < height && first_col < width) {
            const Slab<T> &from_left = slabs.left[stage ^ 1], &from_right = slabs.right[stage ^ 1];
            for (unsigned step = 0; step * Core::STEP < multiplied; ++step) {
                typename Core::Left l[BLOCKS];
                typename Core::Right r[BLOCKS];
#pragma unroll
                for (unsigned b = 0; b < BLOCKS; ++b) {
                    const auto load_left = [&](unsigned row, unsigned pack) {
                        return from_left.load(first_row + b * BLOCK + row, pack);
                    };
                    const auto load_right = [&](unsigned col, unsigned pack) {
                        return from_right.load(first_col + b * BLOCK + col, pack);
                    };
                    l[b] = Core::left(load_left, lane, step);
                    r[b] = Core::right(load_right, lane, step);
                }
#pragma unroll
                for (unsigned b = 0; b < BLOCKS * BLOCKS; ++b) {
                    Core::multiply(sums[b / BLOCKS][b % BLOCKS], l[b / BLOCKS], r[b % BLOCKS]);
                }
            }
        }
        if (ks > 0) {
            left.put(slabs.left[stage], thread);
            right.put(slabs.right[stage], thread);
        }
        barrier();
        if (ks == 0) {
            break;
        }
        multiplied = ks;
    }
    const auto store = [&](auto is_there) {
#pragma unroll
        for (unsigned b = 0; b < BLOCKS * BLOCKS; ++b) {
#pragma unroll
            for (unsigned i = 0; i < Core::RESULTS; ++i) {
                const unsigned row = first_row + b / BLOCKS * BLOCK + Core::row(lane, i);
                const unsigned col = first_col + b % BLOCKS * BLOCK + Core::col(lane, i);
                if (is_there(row, col)) {
                    out[row * pitch + col] = finish(sums[b / BLOCKS][b % BLOCKS].at[i], row, col);
                }
            }
        }
    };
    if (first_row + WAVE_SIDE <= height && first_col + WAVE_SIDE <= width) {
        store([](unsigned, unsigned) { return true; });
    } else {
        store([&](unsigned row, unsigned col) { return row < height && col < width; });
    }
}

// A batch of products: out[m][n] = lhs[m][k] * rhs[k][n].
template <typename T, typename O = T> struct Batch {
    size_t m, n, k, count, lhs_dims;
    const size_t *lhs_info;
    Matrix<T> lhs;
    size_t rhs_dims;
    const size_t *rhs_info;
    Matrix<T> rhs;
    O *out;
};

// Groups stride over columns, rows and batch of tiles. finish(sum, row, column) makes a result.
template <unsigned Waves, typename T, typename O, typename Finish>
PARITY_FN void tiles(Slabs<T> &slabs, const Batch<T, O> &all, Finish finish) {
    constexpr unsigned SIDE = Carrier<Waves, T>::SIDE;
    const auto extent = [](size_t size, size_t first) { return size - first < SIDE ? unsigned(size - first) : SIDE; };
    for (size_t number = group(2); number < all.count; number += __ockl_get_num_groups(2)) {
        const T *lhs = all.lhs.at + batch_offset(all.lhs_dims, all.lhs_info, number);
        const T *rhs = all.rhs.at + batch_offset(all.rhs_dims, all.rhs_info, number);
        for (size_t row = size_t(group(1)) * SIDE; row < all.m; row += __ockl_get_num_groups(1) * SIDE) {
            for (size_t col = size_t(group(0)) * SIDE; col < all.n; col += __ockl_get_num_groups(0) * SIDE) {
                const auto finish_tile = [&](auto sum, unsigned r, unsigned c) { return finish(sum, row + r, col + c); };
                tile<Waves, T>(slabs, {lhs + row * all.lhs.row, all.lhs.row, all.lhs.col},
                               {rhs + col * all.rhs.col, all.rhs.row, all.rhs.col},
                               all.out + (number * all.m + row) * all.n + col, all.n, extent(all.m, row),
                               extent(all.n, col), all.k, finish_tile);
            }
        }
    }
}

template <typename T, typename O, typename Finish> PARITY_FN void multiply(const Batch<T, O> &all, Finish finish) {
    __shared__ static Slabs<T> slabs;
    if (thread_count() == WAVE) {
        tiles<1, T>(slabs, all, finish);
    } else {
        tiles<MAX_WAVES, T>(slabs, all, finish);
    }
}

} // namespace gemm
} // namespace parity
