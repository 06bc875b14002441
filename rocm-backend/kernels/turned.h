// Results of operands that are turned: their adjacent elements lie along another dimension than the last one. Tiles of them go through
// LDS, so that threads beside each other read adjacent elements, and write adjacent elements, both in packs. Not here: copies of such a
// view (transpose.h), other walks (layout.h).
//
// The host launches kernels `<name>_turned_<dtype>` where every pack is whole and aligned, those of the result and those of each operand.
// Along a row an operand moves by one element, by none, or it is turned: then it moves along a column by one element. `info` has the words
// of `Tiles`.
#pragma once
#include "layout.h"
#include "workgroup.h"

// A kernel for dtypes that are worth one; other dtypes are copied first.
#define PARITY_TURNED_bf16(...) __VA_ARGS__
#define PARITY_TURNED_f16(...) __VA_ARGS__
#define PARITY_TURNED_f32(...) __VA_ARGS__
#define PARITY_TURNED_f64(...)
#define PARITY_TURNED_f8_e4m3(...)
#define PARITY_TURNED_u8(...)
#define PARITY_TURNED_u32(...)
#define PARITY_TURNED_i16(...)
#define PARITY_TURNED_i32(...)
#define PARITY_TURNED_i64(...)

namespace parity {

// The threads of a workgroup, the packs that lie beside each other in a row of a tile, the packs of a thread, and a tile's rows.
constexpr u32 TURNERS = 256, LINE = 8, EACH = 4, TILE_ROWS = TURNERS / LINE * EACH;

// A tile of each operand that is turned, one after the other. The host knows how many bytes that takes.
extern __shared__ __attribute__((aligned(16))) u8 tiles_in_lds[];

// Of `info`: how many tiles there are, the rows and columns of elements, what divides by the tiles across and how many that are, the same
// of those down, the distances of batches and rows in the result; then the distances of batches, rows and columns in each operand.
struct Tiles {
    using Words = const size_t PARITY_CONSTANT *;
    Words info;
    u32 batch, row, col; // where the tile begins

    PARITY_MEMBER explicit Tiles(const size_t *info) : info((Words)info) {}
    PARITY_MEMBER u32 count() const { return u32(info[0]); }
    PARITY_MEMBER bool has_row(u32 in_tile) const { return row + in_tile < u32(info[1]); }
    PARITY_MEMBER bool has_col(u32 in_tile) const { return col + in_tile < u32(info[2]); }
    PARITY_MEMBER Words result() const { return info + 7; }
    PARITY_MEMBER Words operand(unsigned number) const { return info + 9 + number * 3; }
    PARITY_MEMBER void go_to(u32 tile, u32 tile_cols) {
        const u32 above = Divisor(info[3]).quotient(tile);
        batch = Divisor(info[5]).quotient(above);
        col = (tile - above * u32(info[4])) * tile_cols;
        row = (above - batch * u32(info[6])) * TILE_ROWS;
    }
};

#if defined(__NVPTX__)
// A pack from memory to LDS, through no register, and the wait for all of them.
template <unsigned BYTES> PARITY_FN void begin_copy(void *to, const void *from) {
    asm volatile("{ .reg .u64 at; .reg .u32 lds; cvta.to.shared.u64 at, %0; cvt.u32.u64 lds, at;"
                 " cp.async.ca.shared.global [lds], [%1], %2; }"
                 :
                 : "l"(to), "l"(from), "n"(BYTES)
                 : "memory");
}
PARITY_FN void end_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#else
PARITY_FN void end_copies() {}
#endif

// An operand, in packs of N elements.
template <unsigned N, typename T> struct Operand {
    // The columns of a tile, the packs of a column, and by how many columns a thread goes on from one of its packs to the next.
    static constexpr u32 COLS = LINE * N, DOWN = TILE_ROWS / N, COLS_A_TURN = TURNERS / DOWN;
    static_assert(COLS_A_TURN * EACH == COLS && DOWN >= LINE, "each pack is one thread's, and has others to change places with");
    const T *from;
    T *tile;
    unsigned number;
    bool is_turned, is_single;

    // `used`: the bytes of LDS that operands before it have.
    PARITY_MEMBER Operand(const Tiles &tiles, unsigned number, const T *from, u32 &used)
        : from(from), tile(reinterpret_cast<T *>(tiles_in_lds + used)), number(number), is_turned(tiles.operand(number)[2] > 1),
          is_single(tiles.operand(number)[2] == 0) {
        used += is_turned ? TILE_ROWS * COLS * sizeof(T) : 0;
    }
    PARITY_MEMBER const T *at(const Tiles &tiles, u32 row, u32 col) const {
        const auto strides = tiles.operand(number);
        return from + size_t(tiles.batch) * strides[0] + size_t(tiles.row + row) * strides[1] + size_t(tiles.col + col) * strides[2];
    }
    // Element (row, col) of the tile. The packs of a column change places, by the pack of the row that the column belongs to: so neither
    // those who write packs of a column nor those who read elements of rows meet in a bank.
    PARITY_MEMBER T *in_tile(u32 row, u32 col) const {
        return tile + col * TILE_ROWS + (row / N ^ col / N % LINE) * N + row % N;
    }
    // Brings the tile of an operand that is turned to LDS, by packs of columns.
    PARITY_MEMBER void fill(const Tiles &tiles) const {
        const u32 row = thread_index() % DOWN * N, first = thread_index() / DOWN;
        if (!tiles.has_row(row)) {
            return;
        }
        const T *it = at(tiles, row, first);
        const size_t step = tiles.operand(number)[2] * COLS_A_TURN;
#if defined(__NVPTX__)
#pragma unroll 1
        for (u32 col = first; col < COLS && tiles.has_col(col); col += COLS_A_TURN, it += step) {
            begin_copy<N * sizeof(T)>(in_tile(row, col), it);
        }
#else
        Pack<T, N> packs[EACH];
#pragma unroll
        for (u32 turn = 0; turn < EACH; ++turn) {
            if (tiles.has_col(first + turn * COLS_A_TURN)) {
                packs[turn] = load_aligned_pack<N>(it + turn * step);
            }
        }
#pragma unroll
        for (u32 turn = 0; turn < EACH; ++turn) {
            const u32 col = first + turn * COLS_A_TURN;
            if (tiles.has_col(col)) {
                store_pack<N>(in_tile(row, col), packs[turn]);
            }
        }
#endif
    }
    PARITY_MEMBER void fill_if_turned(const Tiles &tiles) const {
        if (is_turned) {
            fill(tiles);
        }
    }
    // A pack of a row, of the tile.
    PARITY_MEMBER Pack<T, N> gathered(u32 row, u32 col) const {
        const T *first = in_tile(row, col);
        Pack<T, N> pack;
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            pack.at[e] = first[e * TILE_ROWS];
        }
        return pack;
    }
    // A pack in two steps: what is read before the tiles are there, which of an operand that is turned is nothing, and that as a pack.
    PARITY_MEMBER void read_early(const Tiles &tiles, u32 row, u32 col, pack_bits_t<T, N> &bits) const {
        if (!is_turned) {
            const T *it = at(tiles, row, col);
            bits = is_single ? bits_of_one<N>(it) : bits_of_pack(load_aligned_pack<N>(it));
        }
    }
    PARITY_MEMBER Pack<T, N> pack_of_early(pack_bits_t<T, N> bits, u32 row, u32 col) const {
        if (is_turned) {
            return gathered(row, col);
        }
        const auto pack = __builtin_bit_cast(Pack<T, N>, bits);
        return is_single ? pack_of<N>(pack.at[0]) : pack;
    }
    // The same of any operand.
    PARITY_MEMBER Pack<T, N> pack(const Tiles &tiles, u32 row, u32 col) const {
        return is_turned ? gathered(row, col) : plain_pack(tiles, row, col);
    }

  private:
    PARITY_MEMBER Pack<T, N> plain_pack(const Tiles &tiles, u32 row, u32 col) const {
        const T *it = at(tiles, row, col);
        return is_single ? pack_of<N>(*it) : load_aligned_pack<N>(it);
    }
};

// A pack of f(x, …) of the elements of packs.
template <typename U, unsigned N, typename F, typename... Ts> PARITY_FN Pack<U, N> pack_with(F f, const Pack<Ts, N> &...packs) {
    Pack<U, N> results;
#pragma unroll
    for (unsigned e = 0; e < N; ++e) {
        results.at[e] = f(packs.at[e]...);
    }
    return results;
}

// Of each of this workgroup's tiles: fill(), then pack(row, col) for the packs of the result.
template <unsigned N, typename U, typename Fill, typename F> PARITY_FN void each_tile(Tiles &tiles, U *out, Fill fill, F pack) {
    constexpr u32 ROWS_A_TURN = TURNERS / LINE;
    const u32 first = thread_index() / LINE, col = thread_index() % LINE * N;
    for (u32 tile = u32(group_index()); tile < tiles.count(); tile += u32(group_count())) {
        tiles.go_to(tile, LINE * N);
        fill();
        end_copies();
        barrier();
        const auto strides = tiles.result();
        U *to = out + size_t(tiles.batch) * strides[0] + size_t(tiles.row + first) * strides[1] + tiles.col + col;
        const size_t step = strides[1] * ROWS_A_TURN;
        if (tiles.has_col(col)) {
#pragma unroll 1
            for (u32 row = first; row < TILE_ROWS && tiles.has_row(row); row += ROWS_A_TURN, to += step) {
                store_pack<N>(to, pack(row, col));
            }
        }
        barrier(); // so that the next tile does not overwrite what a slow thread still reads
    }
}

// out = f(inp) of packs; `inp` is turned.
template <unsigned N, typename T, typename U, typename F> PARITY_FN void map_turned(const size_t *info, const T *inp, U *out, F f) {
    Tiles tiles(info);
    u32 used = 0;
    const Operand<N, T> x(tiles, 0, inp, used);
    each_tile<N>(
        tiles, out, [&] { x.fill(tiles); }, [&](u32 row, u32 col) { return f(x.gathered(row, col)); });
}

// out = f(lhs, rhs) of packs; one is turned, or both are.
template <unsigned N, typename T, typename U, typename F>
PARITY_FN void map_turned(const size_t *info, const T *lhs, const T *rhs, U *out, F f) {
    Tiles tiles(info);
    u32 used = 0;
    const Operand<N, T> x(tiles, 0, lhs, used), y(tiles, 1, rhs, used);
    const auto fill = [&] {
        x.fill_if_turned(tiles);
        y.fill_if_turned(tiles);
    };
    each_tile<N>(tiles, out, fill, [&](u32 row, u32 col) { return f(x.pack(tiles, row, col), y.pack(tiles, row, col)); });
}

// out = cond ? t : f in packs; one is turned, or more are. What is read where it lies, of `cond` and of one of the other two, is asked for
// before anybody waits for the tiles.
template <unsigned N, typename Cond, typename T>
PARITY_FN void select_turned(const size_t *info, const Cond *cond, const T *t, const T *f, T *out) {
    constexpr u32 ROWS_A_TURN = TURNERS / LINE;
    Tiles tiles(info);
    u32 used = 0;
    const Operand<N, Cond> s(tiles, 0, cond, used);
    const Operand<N, T> x(tiles, 1, t, used), y(tiles, 2, f, used);
    const bool is_rest_x = x.is_turned;
    const Operand<N, T> &early = is_rest_x ? y : x, &rest = is_rest_x ? x : y;
    const u32 first = thread_index() / LINE, col = thread_index() % LINE * N;
    for (u32 tile = u32(group_index()); tile < tiles.count(); tile += u32(group_count())) {
        tiles.go_to(tile, LINE * N);
        s.fill_if_turned(tiles);
        x.fill_if_turned(tiles);
        y.fill_if_turned(tiles);
        pack_bits_t<Cond, N> chosen[EACH] = {};
        pack_bits_t<T, N> some[EACH] = {};
        if (tiles.has_col(col)) {
#pragma unroll
            for (u32 turn = 0; turn < EACH; ++turn) {
                const u32 row = first + turn * ROWS_A_TURN;
                if (tiles.has_row(row)) {
                    s.read_early(tiles, row, col, chosen[turn]);
                    early.read_early(tiles, row, col, some[turn]);
                }
            }
        }
        end_copies();
        barrier();
        const auto strides = tiles.result();
        T *to = out + size_t(tiles.batch) * strides[0] + size_t(tiles.row + first) * strides[1] + tiles.col + col;
        const size_t step = strides[1] * ROWS_A_TURN;
        if (tiles.has_col(col)) {
#pragma unroll 1
            for (u32 row = first; row < TILE_ROWS && tiles.has_row(row); row += ROWS_A_TURN, to += step) {
                const Pack<Cond, N> choice = s.pack_of_early(chosen[0], row, col);
                const Pack<T, N> one = early.pack_of_early(some[0], row, col), other = rest.pack(tiles, row, col);
                store_pack<N>(to, pack_with<T>([&](Cond choice, T one, T other) {
                    return (choice != 0) == is_rest_x ? other : one;
                }, choice, one, other));
                // The next one's; no register is chosen by a number.
#pragma unroll
                for (u32 turn = 0; turn + 1 < EACH; ++turn) {
                    chosen[turn] = chosen[turn + 1];
                    some[turn] = some[turn + 1];
                }
            }
        }
        barrier(); // so that the next tile does not overwrite what a slow thread still reads
    }
}

} // namespace parity
