// Convolutions of f32 on the matrix cores of NVIDIA's GPUs, as products of matrices of which none is stored: weights, a row a channel of the
// result, times windows, a column a pixel of it. The name ends in `_nvidia`: no other target is compiled for.
//
// The cores multiply TF32, of which 11 bits are significant. Each operand is the sum of two such numbers, but for a rest that is at most 2^-23
// of it: x = hi + lo, with hi the nearest one. A product is hi hi + hi lo + lo hi; lo lo is at most 2^-22 of it and of either sign. The cores
// truncate when they add, so they form sums of 16 products only, the small ones first, and these are added up by f32 additions, which round
// to nearest. On an H200 the mean error of sums of 576 numbers of one sign was 1.5 * 2^-24, where multiply-adds of f32 had 4.8 * 2^-24.
//
// Operands are multiplied by 2^16 and results by 2^-32: so lo is no smaller than TF32 can tell, even where an operand is subnormal. A result
// that is not finite is computed again by multiply-adds: an operand was not finite, or there was not enough room above, as for a sum of 2^96.
// The padding is zeros that are multiplied as all else, there as here.
#include "layout.h"
#include "workgroup.h"

using namespace parity;

namespace parity {
namespace convolution {

// Places of a window that are multiplied between two barriers, and those of one instruction.
constexpr unsigned DEPTH = 16, STEP = 8, STEPS = DEPTH / STEP;
// Rows and columns of an instruction's result; a lane has two rows of it, and two columns.
constexpr unsigned ROWS = 16, COLUMNS = 8;
constexpr f32 SCALE = 0x1p16f, UNSCALE = 0x1p-32f;

typedef f32 F32x2 __attribute__((ext_vector_type(2)));
typedef f32 F32x4 __attribute__((ext_vector_type(4)));

// Sizes and strides in elements. `depth` is the places of a window, `count` the windows: `pixels` of each image, `width` of a row.
struct Problem {
    u32 c_out, depth, count, pixels, width;
    u32 taps_y, taps_x, stride, dilation, pad_y, pad_x;
    u32 h, w;
    u32 image, channel, row, col;
    size_t by_taps, by_taps_x, by_pixels, by_width; // `Divisor`s
    const f32 *x, *weights;
    f32 *out;
};

// A place of a window: how far it lies from the first one, and a bit each for its row and its column. Behind the last place there is none.
struct Place {
    u32 offset, bits;
};
constexpr u32 NOWHERE = 1u << 31;

PARITY_FN Place place(const Problem &p, u32 k) {
    if (k >= p.depth) {
        return {0, NOWHERE};
    }
    const u32 taps = p.taps_x * p.taps_y;
    const u32 c = Divisor(p.by_taps).quotient(k), tap = k - c * taps;
    const u32 ty = Divisor(p.by_taps_x).quotient(tap), tx = tap - ty * p.taps_x;
    return {c * p.channel + ty * p.dilation * p.row + tx * p.dilation * p.col, 1u << ty | 1u << (p.taps_y + tx)};
}

// Where a window begins, which may be before the image, and the bits of its rows and columns that are padding.
struct Window {
    const f32 *first;
    u32 missing;

    PARITY_MEMBER Window(const Problem &p, u32 n) : first(p.x), missing(~0u) {
        if (n < p.count) {
            const u32 b = Divisor(p.by_pixels).quotient(n), pixel = n - b * p.pixels;
            const u32 out_y = Divisor(p.by_width).quotient(pixel), out_x = pixel - out_y * p.width;
            const i32 y = i32(out_y * p.stride) - i32(p.pad_y), x = i32(out_x * p.stride) - i32(p.pad_x);
            first += i64(b) * i64(p.image) + i64(y) * i64(p.row) + i64(x) * i64(p.col);
            missing = NOWHERE;
            for (u32 ty = 0; ty < p.taps_y; ++ty) {
                missing |= u32(y) + ty * p.dilation < p.h ? 0 : 1u << ty;
            }
            for (u32 tx = 0; tx < p.taps_x; ++tx) {
                missing |= u32(x) + tx * p.dilation < p.w ? 0 : 1u << (p.taps_y + tx);
            }
        }
    }
    PARITY_MEMBER bool has(Place place) const { return (missing & place.bits) == 0; }
};

// A result by its definition.
PARITY_FN f32 exact(const Problem &p, u32 o, u32 n) {
    const Window window(p, n);
    const f32 *weights = p.weights + size_t(o) * p.depth;
    f32 sum = 0;
    for (u32 k = 0; k < p.depth && sum == sum; ++k) {
        const Place at = place(p, k);
        const f32 value = window.has(at) ? window.first[i32(at.offset)] : 0.0f;
        sum = __builtin_fmaf(value, weights[k], sum);
    }
    return sum;
}

// A number of two parts. The cores ignore the bits of a register that TF32 does not have.
PARITY_FN void split(f32 x, unsigned &hi, unsigned &lo) {
    hi = (__builtin_bit_cast(unsigned, x) + 0x1000u) & 0xffffe000u;
    lo = __builtin_bit_cast(unsigned, x - __builtin_bit_cast(f32, hi));
}

// `High` channels by `Wide` pixels of four warps, two by two. `Splits`: pixels are split before they are stored, else after they are
// loaded, as weights are.
template <unsigned High, unsigned Wide, bool Splits> struct Tile {
    static constexpr unsigned THREADS = 4 * WAVE;
    static constexpr unsigned WARP_HIGH = High / 2, WARP_WIDE = Wide / 2;
    // Blocks of 16 channels and quads of 4 blocks of 8 pixels of a warp.
    static constexpr unsigned BLOCKS = WARP_HIGH / ROWS, QUADS = WARP_WIDE / (4 * COLUMNS);
    // A row of weights is a channel. A row of pixels is those of a place and of the place 4 further, in turn. Both are longer than they need, so that
    // lanes that load together find them in different banks.
    static constexpr unsigned WEIGHT_ROW = DEPTH + 4, PIXEL_ROW = 2 * Wide + 8;
    static constexpr unsigned PIXELS = DEPTH / 2 * PIXEL_ROW;
    // What a thread carries: fours of weights, and pixels.
    static constexpr unsigned FOURS = High * DEPTH / 4 / THREADS, EACH = Wide * DEPTH / THREADS;
    static_assert(EACH % STEP == 0, "a thread has whole steps of a window");

    struct Stage {
        f32 weights[High * WEIGHT_ROW];
        f32 pixels[(Splits ? 2 : 1) * PIXELS];
    };
    // One stage is filled while the other one is multiplied; their places are known a stage before.
    struct alignas(PACK_BYTES) Shared {
        Stage stage[2];
        Place place[2][DEPTH];
    };

    static PARITY_MEMBER void run(Shared &lds, const Problem &p) {
        const unsigned thread = __builtin_amdgcn_workitem_id_x(), lane = thread % WAVE, warp = thread / WAVE;
        const unsigned warp_row = warp / 2 * WARP_HIGH, warp_col = warp % 2 * WARP_WIDE;
        // The lane's row and its pair of columns in an instruction's result; its place in a step of the operands.
        const unsigned high = lane / 4, across = lane % 4;
        const u32 down = (p.c_out + High - 1) / High;
        const u32 tile = __builtin_amdgcn_workgroup_id_x(), number = tile / down;
        const u32 first_row = (tile - number * down) * High, first_col = number * Wide;

        const unsigned my_pixel = thread % Wide, my_place = thread / Wide * EACH;
        const Window window(p, first_col + my_pixel);
        const unsigned my_row = thread / 4, my_four = thread % 4 * 4;
        const u32 rows = first_row + my_row < p.c_out ? p.c_out - first_row - my_row : 0;
        const f32 *const weights = p.weights + (rows > 0 ? size_t(first_row + my_row) * p.depth : 0) + my_four;
        const size_t weight_step = size_t(THREADS / 4) * p.depth;

        f32 next_pixels[EACH];
        F32x4 next_weights[FOURS];
        // Missing rows are replaced by others: what is computed of them is not stored.
        const auto fetch = [&](u32 stage) PARITY_INLINED {
            const Place *const places = lds.place[stage & 1] + my_place;
#pragma unroll
            for (unsigned i = 0; i < EACH; ++i) {
                const Place at = places[i];
                next_pixels[i] = 0;
                if (window.has(at)) {
                    next_pixels[i] = window.first[i32(at.offset)];
                }
            }
#pragma unroll
            for (unsigned i = 0; i < FOURS; ++i) {
                next_weights[i] = 0;
                if (stage * DEPTH + my_four < p.depth) {
                    const f32 *const line = weights + (i * (THREADS / 4) < rows ? i * weight_step : 0);
                    next_weights[i] = *reinterpret_cast<const F32x4 *>(line + stage * DEPTH);
                }
            }
        };
        const auto put = [&](u32 stage) PARITY_INLINED {
            Stage &to = lds.stage[stage & 1];
#pragma unroll
            for (unsigned i = 0; i < EACH / 2; ++i) {
                const unsigned first = i / 4 * STEP + i % 4;
                f32 *const at = to.pixels + (my_place / 2 + i) * PIXEL_ROW + 2 * my_pixel;
                F32x2 pair = {next_pixels[first] * SCALE, next_pixels[first + 4] * SCALE};
                if constexpr (Splits) {
                    unsigned hi[2], lo[2];
                    split(pair[0], hi[0], lo[0]);
                    split(pair[1], hi[1], lo[1]);
                    *reinterpret_cast<F32x2 *>(at + PIXELS) = __builtin_bit_cast(F32x2, lo);
                    pair = __builtin_bit_cast(F32x2, hi);
                }
                *reinterpret_cast<F32x2 *>(at) = pair;
            }
#pragma unroll
            for (unsigned i = 0; i < FOURS; ++i) {
                f32 *const at = to.weights + (my_row + i * (THREADS / 4)) * WEIGHT_ROW + my_four;
                *reinterpret_cast<F32x4 *>(at) = next_weights[i] * SCALE;
            }
        };

        f32 sums[BLOCKS][QUADS][4][4] = {};
        const unsigned weights_of_lane = (warp_row + lane % ROWS) * WEIGHT_ROW + lane / ROWS * 4;
        const auto add_stage = [&](u32 stage) PARITY_INLINED {
            const Stage &from = lds.stage[stage & 1];
            const unsigned weights_at = shared_address(from.weights + weights_of_lane);
#pragma unroll
            for (unsigned q = 0; q < QUADS; ++q) {
                // Column c of block b of the quad is pixel 16 (b / 2) + 2 c + b % 2: a load has a place's two pixels and those of the place 4 further.
                unsigned right_hi[STEPS][4][2], right_lo[STEPS][4][2];
#pragma unroll
                for (unsigned step = 0; step < STEPS; ++step) {
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half) {
                        const f32 *const at = from.pixels + (step * 4 + across) * PIXEL_ROW +
                                              2 * (warp_col + 32 * q + 16 * half + 2 * high);
                        const F32x4 four = *reinterpret_cast<const F32x4 *>(at);
                        const F32x4 low = *reinterpret_cast<const F32x4 *>(at + (Splits ? PIXELS : 0));
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i) {
                            unsigned &hi = right_hi[step][2 * half + i / 2][i % 2], &lo = right_lo[step][2 * half + i / 2][i % 2];
                            if constexpr (Splits) {
                                hi = __builtin_bit_cast(unsigned, f32(four[i]));
                                lo = __builtin_bit_cast(unsigned, f32(low[i]));
                            } else {
                                split(four[i], hi, lo);
                            }
                        }
                    }
                }
#pragma unroll
                for (unsigned b = 0; b < BLOCKS; ++b) {
                    f32 part[4][4] = {};
                    unsigned left_hi[STEPS][4], left_lo[STEPS][4];
#pragma unroll
                    for (unsigned step = 0; step < STEPS; ++step) {
                        unsigned words[4];
                        load_words(words, weights_at + (b * ROWS * WEIGHT_ROW + step * STEP) * unsigned(sizeof(f32)));
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i) {
                            split(__builtin_bit_cast(f32, words[i]), left_hi[step][i], left_lo[step][i]);
                        }
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i) {
                            multiply_tf32(part[i], left_lo[step], right_hi[step][i]);
                        }
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i) {
                            multiply_tf32(part[i], left_hi[step], right_lo[step][i]);
                        }
                    }
#pragma unroll
                    for (unsigned step = 0; step < STEPS; ++step) {
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i) {
                            multiply_tf32(part[i], left_hi[step], right_hi[step][i]);
                        }
                    }
#pragma unroll
                    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
                        for (unsigned r = 0; r < 4; ++r) {
                            sums[b][q][i][r] += part[i][r];
                        }
                    }
                }
            }
        };

        if (thread < 2 * DEPTH) {
            lds.place[thread / DEPTH][thread % DEPTH] = place(p, thread);
        }
        __syncthreads();
        fetch(0);
        put(0);
        __syncthreads();
        // One stage more than there is comes as zeros. Its places come first: what follows is one block, of which ptxas hides one part behind another.
        const u32 stages = (p.depth + DEPTH - 1) / DEPTH;
#pragma unroll 1
        for (u32 stage = 0; stage < stages; ++stage) {
            if (thread < DEPTH) {
                lds.place[stage & 1][thread] = place(p, (stage + 2) * DEPTH + thread);
            }
            fetch(stage + 1);
            add_stage(stage);
            put(stage + 1);
            __syncthreads();
        }

        // A lane has four pixels after each other of each row, sixteen of a quad apart.
        const auto out_of = [&](u32 o, u32 n) PARITY_INLINED {
            const u32 b = Divisor(p.by_pixels).quotient(n);
            return p.out + (size_t(b) * p.c_out + o) * p.pixels + (n - b * p.pixels);
        };
        const auto is_finite = [](f32 x) PARITY_INLINED { return __builtin_fabsf(x) < __builtin_inff(); };
        const u32 my_first_row = first_row + warp_row + high, my_first_col = first_col + warp_col + 4 * across;
        bool are_finite = true;
#pragma unroll
        for (unsigned half = 0; half < 2 * QUADS; ++half) {
#pragma unroll
            for (unsigned r = 0; r < 2 * BLOCKS; ++r) {
                const u32 o = my_first_row + 8 * r, n = my_first_col + 16 * half;
                F32x4 four;
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    four[i] = sums[r / 2][half / 2][half % 2 * 2 + i % 2][r % 2 * 2 + i / 2] * UNSCALE;
                    are_finite &= is_finite(four[i]);
                }
                if (o >= p.c_out) {
                    continue;
                }
                if (p.pixels % 4 == 0) {
                    if (n < p.count) {
                        *reinterpret_cast<F32x4 *>(out_of(o, n)) = four;
                    }
                } else {
#pragma unroll
                    for (unsigned i = 0; i < 4; ++i) {
                        if (n + i < p.count) {
                            *out_of(o, n + i) = four[i];
                        }
                    }
                }
            }
        }
        if (are_finite) {
            return;
        }
#pragma unroll 1
        for (unsigned i = 0; i < BLOCKS * QUADS * 16; ++i) {
            const u32 o = my_first_row + i / (8 * QUADS) * 8, n = my_first_col + i / 4 % (2 * QUADS) * 16 + i % 4;
            if (o < p.c_out && n < p.count) {
                f32 *const out = out_of(o, n);
                if (!is_finite(*out)) {
                    *out = exact(p, o, n);
                }
            }
        }
    }
};

} // namespace convolution
} // namespace parity

// Tiles of `High` channels and `Wide` pixels; a grid of one dimension has those of a row of channels next to each other. Weights lie one
// after the other from a place that 16 bytes divide, as they do a window's; `count` and all places of `x` are less than 2^31; windows
// have 31 rows and columns together at most.
#define PRODUCT(High, Wide, Splits) \
    extern "C" PARITY_CROWDED(4 * WAVE, 4 * WAVE, 2) void conv_##High##_f32( \
        u32 c_out, u32 depth, u32 count, u32 pixels, u32 width, u32 taps_y, u32 taps_x, u32 stride, u32 dilation, u32 pad_y, \
        u32 pad_x, u32 h, u32 w, u32 image, u32 channel, u32 row, u32 col, size_t by_taps, size_t by_taps_x, \
        size_t by_pixels, size_t by_width, const f32 *__restrict__ x, const f32 *__restrict__ weights, f32 *out) { \
        using Tile = convolution::Tile<High, Wide, Splits>; \
        __shared__ static Tile::Shared lds; \
        Tile::run(lds, {c_out, depth, count, pixels, width, taps_y, taps_x, stride, dilation, pad_y, pad_x, h, w, image, channel, \
                        row, col, by_taps, by_taps_x, by_pixels, by_width, x, weights, out}); \
    }

PRODUCT(128, 64, false)
PRODUCT(64, 128, true)
