// What conv_nvidia.hip needs of a GPU, on the host: 128 threads of a workgroup that take turns, each until it waits for others, and the
// instructions of a warp by their definition in PTX. Then convolutions by its kernels, against loops. nvidia_conv.rs compiles this file, with a
// folder on its path in which layout.h and workgroup.h are empty.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

using u32 = unsigned;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;
#define PARITY_FN static inline
#define PARITY_MEMBER inline
#define PARITY_INLINED
#define PARITY_CROWDED(least, most, groups)
#define __shared__
constexpr unsigned WAVE = 32, PACK_BYTES = 16, THREADS = 128;

namespace parity {
// That of layout.h.
struct Divisor {
    u32 factor, shift;
    explicit Divisor(size_t word) : factor(u32(word)), shift(u32(word >> 32)) {}
    u32 quotient(u32 number) const { return (u32(u64(number) * factor >> 32) + number) >> shift; }
};
} // namespace parity

static unsigned running, workgroup;
static ucontext_t threads[THREADS], host;
static bool has_ended[THREADS];

// Another thread's turn, if there is one.
static void yield() {
    const unsigned me = running;
    for (unsigned i = 1; i < THREADS; ++i) {
        const unsigned next = (me + i) % THREADS;
        if (!has_ended[next]) {
            running = next;
            swapcontext(&threads[me], &threads[next]);
            return;
        }
    }
}

struct Barrier {
    unsigned size, waiting = 0, passed = 0;

    void wait() {
        if (++waiting == size) {
            waiting = 0;
            ++passed;
            return;
        }
        for (const unsigned before = passed; passed == before;) {
            yield();
        }
    }
};
static Barrier all{THREADS}, warps[THREADS / WAVE] = {{WAVE}, {WAVE}, {WAVE}, {WAVE}};

#define __syncthreads() all.wait()
#define __builtin_amdgcn_workitem_id_x() running
#define __builtin_amdgcn_workgroup_id_x() workgroup

// Addresses are distances from here: all of a workgroup's memory is static.
static char origin;
static unsigned shared_address(const void *at) { return unsigned(i32((const char *)at - &origin)); }

// ldmatrix: register i of lane l is word l % 4 of the row that lane 8 i + l / 4 names.
static void load_words(unsigned (&words)[4], unsigned at) {
    static unsigned rows[THREADS / WAVE][WAVE];
    const unsigned warp = running / WAVE, lane = running % WAVE;
    rows[warp][lane] = at;
    warps[warp].wait();
    for (unsigned i = 0; i < 4; ++i) {
        memcpy(&words[i], &origin + i32(rows[warp][8 * i + lane / 4]) + 4 * (lane % 4), 4);
    }
    warps[warp].wait();
}

static double tf32(unsigned bits) {
    bits &= 0xffffe000u;
    return double(__builtin_bit_cast(float, bits));
}

// mma.m16n8k8 of TF32, whose sums are truncated.
static void multiply_tf32(float (&sum)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    static unsigned lefts[THREADS / WAVE][WAVE][4], rights[THREADS / WAVE][WAVE][2];
    const unsigned warp = running / WAVE, lane = running % WAVE;
    memcpy(lefts[warp][lane], left, sizeof left);
    memcpy(rights[warp][lane], right, sizeof right);
    warps[warp].wait();
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned half = i / 2, col = 2 * (lane % 4) + i % 2;
        double exact = sum[i];
        for (unsigned k = 0; k < 8; ++k) {
            exact += tf32(lefts[warp][lane / 4 * 4 + k % 4][half + k / 4 * 2]) * tf32(rights[warp][col * 4 + k % 4][k / 4]);
        }
        const float nearest = float(exact);
        sum[i] = isfinite(nearest) && fabs(double(nearest)) > fabs(exact) ? nextafterf(nearest, 0) : nearest;
    }
    warps[warp].wait();
}

#include "conv_nvidia.hip"

// That of view.rs.
static size_t divisor(u64 size) {
    u64 power = 1, log2 = 0;
    for (; power < size; power *= 2) {
        ++log2;
    }
    return (((power - size) << 32) / size + 1) | log2 << 32;
}

struct Case {
    u32 batch, channels, height, width, c_out, taps_y, taps_x, stride, padding, dilation;
    enum { Plain, OddPixels, OddWeight, Tiny, Huge } numbers;
};
static const Case CASES[] = {
    {1, 8, 9, 11, 70, 3, 3, 1, 1, 1, Case::Plain},     {2, 8, 9, 11, 20, 3, 3, 2, 2, 2, Case::Plain},
    {3, 12, 1, 40, 130, 1, 5, 1, 2, 1, Case::Plain},   {2, 5, 7, 8, 200, 2, 4, 1, 3, 1, Case::Plain},
    {1, 64, 4, 4, 64, 1, 1, 1, 0, 1, Case::Plain},     {1, 8, 9, 11, 70, 3, 3, 1, 1, 1, Case::OddPixels},
    {1, 8, 9, 11, 20, 3, 3, 1, 1, 1, Case::OddWeight}, {1, 8, 9, 11, 20, 3, 3, 1, 1, 1, Case::Tiny},
    {1, 8, 9, 11, 20, 3, 3, 1, 1, 1, Case::Huge},
};

// What the threads of a launch are given.
static u32 sizes[17];
static size_t divisors[4];
static const f32 *x, *weights;
static f32 *out;
static bool is_high;

static void thread() {
    const auto kernel = is_high ? conv_128_f32 : conv_64_f32;
    const u32 *s = sizes;
    kernel(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], divisors[0],
           divisors[1], divisors[2], divisors[3], x, weights, out);
    has_ended[running] = true;
    yield();
    setcontext(&host);
}

static void launch(unsigned workgroups) {
    constexpr size_t STACK = 1 << 17;
    static char stacks[THREADS][STACK];
    for (workgroup = 0; workgroup < workgroups; ++workgroup) {
        for (unsigned t = 0; t < THREADS; ++t) {
            getcontext(&threads[t]);
            threads[t].uc_stack.ss_sp = stacks[t];
            threads[t].uc_stack.ss_size = STACK;
            makecontext(&threads[t], thread, 0);
            has_ended[t] = false;
        }
        running = 0;
        swapcontext(&host, &threads[0]);
    }
}

static f32 *numbers(size_t count) {
    f32 *const all = (f32 *)aligned_alloc(16, (count * sizeof(f32) + 15) / 16 * 16);
    for (size_t i = 0; i < count; ++i) {
        all[i] = f32(i * 7919 % 1009) / 1009.0f - 0.4f;
    }
    return all;
}

// Whether all results are those of multiply-adds where these are not finite, and else within 12 units of 2^-24 of the terms.
static bool is_right(const Case &c, bool high) {
    const bool is_row = c.height == 1;
    const u32 pad_y = is_row ? 0 : c.padding;
    const u32 out_h = (c.height + 2 * pad_y - c.dilation * (c.taps_y - 1) - 1) / c.stride + 1;
    const u32 out_w = (c.width + 2 * c.padding - c.dilation * (c.taps_x - 1) - 1) / c.stride + 1;
    // Elements, rows, channels and images lie apart.
    const u32 row = is_row ? 0 : 2 * c.width + 3, channel = c.height * (2 * c.width + 3) + 5, image = c.channels * channel + 7;
    const u32 depth = c.channels * c.taps_y * c.taps_x, pixels = out_h * out_w, results = c.batch * c.c_out * pixels, behind = 64;
    f32 *const from = numbers(c.batch * image), *const by = numbers(c.c_out * depth), *const to = numbers(results + behind);
    for (u32 i = 0; i < results + behind; ++i) {
        to[i] = 7;
    }
    if (c.numbers == Case::OddPixels) {
        from[100] = INFINITY;
        from[300] = NAN;
    } else if (c.numbers == Case::OddWeight) {
        by[200] = INFINITY;
    }
    for (u32 i = 0; i < c.batch * image; ++i) {
        from[i] *= c.numbers == Case::Tiny ? 0x1p-140f : c.numbers == Case::Huge ? 0x1p110f : 1;
    }
    const u32 wanted[17] = {c.c_out,  depth,     c.batch * pixels, pixels,   out_w,   c.taps_y, c.taps_x, c.stride, c.dilation,
                            pad_y,    c.padding, c.height,         c.width,  image,   channel,  row,      2};
    memcpy(sizes, wanted, sizeof sizes);
    const size_t dividing[4] = {divisor(c.taps_y * c.taps_x), divisor(c.taps_x), divisor(pixels), divisor(out_w)};
    memcpy(divisors, dividing, sizeof divisors);
    x = from, weights = by, out = to, is_high = high;
    const u32 tile_high = high ? 128 : 64, tile_wide = high ? 64 : 128;
    launch((c.c_out + tile_high - 1) / tile_high * ((c.batch * pixels + tile_wide - 1) / tile_wide));

    u32 wrong = 0;
    for (u32 i = 0; i < results; ++i) {
        const u32 out_x = i % out_w, out_y = i / out_w % out_h, o = i / pixels % c.c_out, b = i / pixels / c.c_out;
        double sum = 0, terms = 0;
        f32 chain = 0;
        for (u32 k = 0; k < depth; ++k) {
            const u32 tap_x = k % c.taps_x, tap_y = k / c.taps_x % c.taps_y, from_channel = k / c.taps_x / c.taps_y;
            const u32 in_y = out_y * c.stride + tap_y * c.dilation - pad_y, in_x = out_x * c.stride + tap_x * c.dilation - c.padding;
            const bool is_inside = in_y < c.height && in_x < c.width;
            const f32 value = is_inside ? from[b * image + from_channel * channel + in_y * row + in_x * 2] : 0;
            const f32 weight = by[o * depth + k];
            sum += double(value) * weight;
            terms += fabs(double(value) * weight);
            chain = fmaf(value, weight, chain);
        }
        if (!isfinite(chain)) {
            wrong += isnan(chain) ? !isnan(to[i]) : to[i] != chain;
        } else {
            wrong += !(fabs(to[i] - sum) <= 12 * 0x1p-24 * terms + 0x1p-149);
        }
    }
    for (u32 i = results; i < results + behind; ++i) {
        wrong += to[i] != 7;
    }
    free(from);
    free(by);
    free(to);
    return wrong == 0;
}

int main() {
    for (const Case &c : CASES) {
        for (unsigned high = 0; high < 2; ++high) {
            if (!is_right(c, high == 1)) {
                printf("case %d, %s\n", int(&c - CASES), high ? "conv_128_f32" : "conv_64_f32");
                return 1;
            }
        }
    }
    return 0;
}
