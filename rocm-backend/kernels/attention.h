// Attention in tiles: softmax(scale * q k^T + bias) v without the matrix of scores. A workgroup has some rows of queries of
// one head; it meets the keys a tile at a time and keeps, of each row, the greatest score so far, the sum of the exponentials
// and the weighted sum of the values, which it scales down when a greater score comes (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022, algorithm 1). Both products go through the
// matrix cores of a wave (matrix_core.h). Not here: which heads and lengths there are (attention.hip, paged.hip).
#pragma once
#include "gemm.h"

namespace parity {
namespace attention {

using gemm::core_t;
using gemm::DEPTH;
using gemm::EACH;
using gemm::staged;
using gemm::staged_t;
using gemm::StagedPack;
using matrix_core::BLOCK;
using matrix_core::PACKS;

constexpr f32 LOG2_E = 1.44269504088896340736f;

// The keys that a query may see, and what its scores become.
struct Rules {
    f32 scale;
    f32 softcap; // scores become cap * tanh(score / cap); 0: they stay
    f32 slope;   // of ALiBi: times the distance of query and key, taken from the score
    i64 left;    // a query sees so many keys before its own place,
    i64 right;   // and so many after it
    i64 ahead;   // the place of the first query among the keys
};

// Heads of one width, `Width` at most, a multiple of 32. A line is 64 bytes of operands and a pack more, so that lines which
// are read together begin in different banks.
template <typename T, unsigned Width> struct Tile {
    struct alignas(PACK_BYTES) Line {
        pack_bits_t<staged_t<T>, EACH<T>> pack[PACKS + 1];
    };
    static constexpr unsigned KEYS = DEPTH<T>;          // of a tile: a line of weights
    static constexpr unsigned LINES = Width / DEPTH<T>; // of a query or key
    // Of 16 queries each. The host knows their number. No dtype's tile exceeds 48 KiB, which NVIDIA has; AMD has 64.
    static constexpr unsigned WAVES = Width <= 64 ? 4 : Width <= 128 ? 2 : 1;
    static constexpr unsigned QUERIES = WAVES * BLOCK, THREADS = WAVES * WAVE;

    Line query[QUERIES * LINES];
    Line key[Width]; // KEYS keys of LINES lines; then, as the columns of the values, Width lines of KEYS
    Line weight[QUERIES];
    f32 score[QUERIES][KEYS + 1];
    f32 factor[QUERIES];

    static PARITY_MEMBER StagedPack<T> load(const Line &line, unsigned pack) {
        return __builtin_bit_cast(StagedPack<T>, line.pack[pack]);
    }
    static PARITY_MEMBER void store(Line &line, unsigned pack, StagedPack<T> values) {
        line.pack[pack] = __builtin_bit_cast(decltype(line.pack[pack] + 0), values);
    }
    static PARITY_MEMBER staged_t<T> *elements(Line &line) { return reinterpret_cast<staged_t<T> *>(&line); }
};

// EACH elements from `first` on of a row of `width`, zeros after its end.
template <typename T> PARITY_FN StagedPack<T> part_of_row(const T *row, unsigned first, unsigned width) {
    StagedPack<T> pack;
    if (first + EACH<T> <= width) {
        const auto loaded = load_pack<EACH<T>>(row + first);
#pragma unroll
        for (unsigned e = 0; e < EACH<T>; ++e) {
            pack.at[e] = staged(loaded.at[e]);
        }
        return pack;
    }
#pragma unroll
    for (unsigned e = 0; e < EACH<T>; ++e) {
        pack.at[e] = first + e < width ? staged(row[first + e]) : staged_t<T>(0);
    }
    return pack;
}

// `rows` rows into lines; from(row) is where one begins. Rows from `there` on are zeros.
template <typename T, unsigned Width, typename From>
PARITY_FN void fetch_rows(typename Tile<T, Width>::Line *lines, unsigned rows, From from, unsigned there, unsigned width) {
    using Tile = Tile<T, Width>;
    constexpr unsigned UNITS = Tile::LINES * PACKS;
#pragma clang loop unroll(disable)
    for (unsigned unit = thread_index(); unit < rows * UNITS; unit += Tile::THREADS) {
        const unsigned row = unit / UNITS, pack = unit % UNITS;
        const auto values = part_of_row(from(row < there ? row : 0), pack * EACH<T>, row < there ? width : 0);
        Tile::store(lines[row * Tile::LINES + pack / PACKS], pack % PACKS, values);
    }
}

// The same, transposed: a line has one column of KEYS rows.
template <typename T, unsigned Width, typename From>
PARITY_FN void fetch_columns(Tile<T, Width> &tile, From from, unsigned there, unsigned width) {
    using Tile = Tile<T, Width>;
    constexpr unsigned UNITS = Tile::LINES * PACKS;
#pragma clang loop unroll(disable)
    for (unsigned unit = thread_index(); unit < Tile::KEYS * UNITS; unit += Tile::THREADS) {
        const unsigned row = unit % Tile::KEYS, pack = unit / Tile::KEYS;
        const auto values = part_of_row(from(row < there ? row : 0), pack * EACH<T>, row < there ? width : 0);
#pragma unroll
        for (unsigned e = 0; e < EACH<T>; ++e) {
            Tile::elements(tile.key[pack * EACH<T> + e])[row] = values.at[e];
        }
    }
}

// A scaled score after the cap and ALiBi's part of it; the query sees the key `apart` places after its own.
PARITY_FN f32 bent(const Rules &rules, f32 score, i64 apart) {
    if (rules.softcap != 0) {
        score = rules.softcap * device_math::tanh(score / rules.softcap);
    }
    return score - rules.slope * f32(apart < 0 ? -apart : apart);
}

// A place as the number of a key of the tile: 0 if it lies before it, KEYS if after.
template <unsigned Keys> PARITY_FN unsigned within(i64 place) { return place < 0 ? 0 : place < Keys ? unsigned(place) : Keys; }

// Keys or values that lie a stride apart, and where one is whose number is `at` and so many more.
template <typename T> struct Strided {
    const T *first;
    size_t stride;
    PARITY_MEMBER const T *row(i64 at, unsigned more) const { return first + size_t(at) * stride + more * stride; }
};

// The same in pages of 2^log2 positions; `pages` has the number of each page, in the order of the positions. A number that no page has
// is that of the last one: someone else says that it is wrong.
template <typename T> struct Paged {
    const T *first;
    size_t page_stride, stride;
    const u32 *pages;
    u32 log2, count;
    PARITY_MEMBER const T *row(i64 at, unsigned more) const {
        const u32 place = u32(at) + more, page = pages[place >> log2];
        return first + (page < count ? page : count - 1) * page_stride + (place & ((u32(1) << log2) - 1)) * stride;
    }
};

// The rows of one head: `count` queries from `first` on, which are `queries` at most, and `keys` keys. Strides in elements.
template <typename T, typename Rows> struct Head {
    const T *query;
    Rows key, value;
    T *out;
    size_t query_stride, out_stride;
    size_t queries, keys;
    unsigned width;
};

// The heads of a kernel are wider than half of its width, but for those of the kernel of the `Narrowest` width.
template <unsigned Narrowest, typename T, unsigned Width, typename Rows>
PARITY_FN void attend(Tile<T, Width> &tile, const Head<T, Rows> &head, const Rules &rules, size_t first) {
    using Core = core_t<T>;
    using Tile = Tile<T, Width>;
    constexpr unsigned STEPS = DEPTH<T> / Core::STEP, COLUMNS = Width / BLOCK, PARTS = WAVE / BLOCK;
    constexpr unsigned EACH_PART = Tile::KEYS / PARTS;
    const unsigned lane = thread_index() % WAVE;
    const unsigned wave = unsigned(__builtin_amdgcn_readfirstlane(int(thread_index() / WAVE)));
    const unsigned mine = wave * BLOCK;            // the first row of this wave
    const unsigned row = mine + lane / PARTS;      // the row of which this lane folds a part
    const unsigned part = lane % PARTS * EACH_PART;
    const size_t left = head.queries - first;
    const unsigned count = left < Tile::QUERIES ? unsigned(left) : Tile::QUERIES;

    const Strided<T> query = {head.query, head.query_stride};
    fetch_rows<T, Width>(tile.query, Tile::QUERIES, [&](unsigned r) { return query.row(i64(first), r); }, count, head.width);
    typename Core::Sum sums[COLUMNS];
    f32 greatest = -__builtin_inff(), total = 0;

    // The keys that any of the queries sees.
    const i64 place = i64(first) + rules.ahead;
    const i64 begin = place - rules.left > 0 ? place - rules.left : 0;
    const i64 last = place + i64(count) + rules.right;
    const i64 end = last < i64(head.keys) ? last : i64(head.keys);
    for (i64 at = begin; at < end; at += Tile::KEYS) {
        const unsigned there = end - at < Tile::KEYS ? unsigned(end - at) : Tile::KEYS;
        fetch_rows<T, Width>(tile.key, Tile::KEYS, [&](unsigned r) { return head.key.row(at, r); }, there, head.width);
        barrier();
#pragma unroll
        for (unsigned b = 0; b < Tile::KEYS / BLOCK; ++b) {
            typename Core::Sum products = {};
#pragma clang loop unroll_count(2)
            for (unsigned line = 0; line < Tile::LINES; ++line) {
#pragma unroll
                for (unsigned step = 0; step < STEPS; ++step) {
                    const auto l = Core::left(
                        [&](unsigned r, unsigned p) { return Tile::load(tile.query[(mine + r) * Tile::LINES + line], p); },
                        lane, step);
                    const auto r = Core::right(
                        [&](unsigned c, unsigned p) { return Tile::load(tile.key[(b * BLOCK + c) * Tile::LINES + line], p); },
                        lane, step);
                    Core::multiply(products, l, r);
                }
            }
#pragma unroll
            for (unsigned i = 0; i < Core::RESULTS; ++i) {
                tile.score[mine + Core::row(lane, i)][b * BLOCK + Core::col(lane, i)] = products.at[i];
            }
        }
        barrier();

        // Each lane meets its part of a row alone. Exponents are to base 2.
        const i64 own = i64(first) + row + rules.ahead - at;
        f32 unit = rules.scale * LOG2_E;
        if (rules.softcap != 0 || rules.slope != 0) {
            unit = LOG2_E;
#pragma clang loop unroll(disable)
            for (unsigned c = part; c < part + EACH_PART; ++c) {
                tile.score[row][c] = bent(rules, tile.score[row][c] * rules.scale, i64(c) - own);
            }
        }
        const unsigned from = within<Tile::KEYS>(own - rules.left), to = within<Tile::KEYS>(own + rules.right + 1);
        const unsigned until = to < there ? to : there;
        f32 scores[EACH_PART], above = greatest;
#pragma unroll
        for (unsigned c = 0; c < EACH_PART; ++c) {
            const bool is_seen = part + c >= from && part + c < until;
            scores[c] = is_seen ? tile.score[row][part + c] * unit : -__builtin_inff();
            above = device_math::max_number(above, scores[c]);
        }
        above = fold_lanes(above, PARTS, [](f32 x, f32 y) { return device_math::max_number(x, y); });
        // A row that has seen no key yet: every exponential is 0, and not that of -inf - -inf.
        const f32 base = above == -__builtin_inff() ? 0 : above;
        const f32 factor = device_math::exp2(greatest - base);
        f32 sum = 0;
#pragma unroll
        for (unsigned p = 0; p < EACH_PART / EACH<T>; ++p) {
            StagedPack<T> weights;
#pragma unroll
            for (unsigned e = 0; e < EACH<T>; ++e) {
                const f32 weight = device_math::exp2(scores[p * EACH<T> + e] - base);
                sum += weight;
                weights.at[e] = staged(narrow<T>(weight));
            }
            Tile::store(tile.weight[row], part / EACH<T> + p, weights);
        }
        total = total * factor + fold_lanes(sum, PARTS, [](f32 x, f32 y) { return x + y; });
        greatest = above;
        tile.factor[row] = factor;
        fetch_columns<T, Width>(tile, [&](unsigned r) { return head.value.row(at, r); }, there, head.width);
        barrier();

#pragma unroll
        for (unsigned b = 0; b < COLUMNS; ++b) {
#pragma unroll
            for (unsigned i = 0; i < Core::RESULTS; ++i) {
                sums[b].at[i] *= tile.factor[mine + Core::row(lane, i)];
            }
#pragma unroll
            for (unsigned step = 0; step < STEPS; ++step) {
                const auto l = Core::left([&](unsigned r, unsigned p) { return Tile::load(tile.weight[mine + r], p); }, lane, step);
                const auto r = Core::right([&](unsigned c, unsigned p) { return Tile::load(tile.key[b * BLOCK + c], p); }, lane, step);
                Core::multiply(sums[b], l, r);
            }
        }
        barrier();
    }

    constexpr unsigned CERTAIN = Width > Narrowest ? COLUMNS / 2 : 0; // so many blocks of columns are inside of every head
    // A query that sees no key has the result 0.
    tile.factor[row] = total == 0 ? 0 : 1 / total;
    barrier();
#pragma unroll
    for (unsigned i = 0; i < Core::RESULTS; ++i) {
        const unsigned r = mine + Core::row(lane, i);
        if (r < count) {
            const f32 factor = tile.factor[r];
            T *const out = head.out + (first + r) * head.out_stride;
#pragma unroll
            for (unsigned b = 0; b < COLUMNS; ++b) {
                const unsigned column = b * BLOCK + Core::col(lane, i);
                if (b < CERTAIN || column < head.width) {
                    out[column] = narrow<T>(sums[b].at[i] * factor);
                }
            }
        }
    }
    barrier();
}

} // namespace attention
} // namespace parity
