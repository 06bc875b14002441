// The windows of a convolution as the columns of a matrix, one row for each channel and tap and one column for each pixel of the
// result, so that the convolution of an image is the product of the weights with it. im2col of columns.h has candle's order,
// windows by rows: there neighbouring threads read pixels that lie apart.
#include "packs.h"

namespace parity {

// Sizes in elements. Of the input: an image's channels, and the steps to the next image, channel, row and pixel.
struct Unfold {
    size_t images, channels, image_step, channel_step;
    u32 height, width, row_step, step; // within a channel all places are below 2^32
    u32 taps_y, taps_x;
    u32 stride, dilation, padding_y, padding_x;
    u32 pixels, row; // of the result: in all, and in a row of them
    u32 pitch;       // from one row of the matrix to the next: a whole number of packs
};

// dst (images, channels, taps in y, taps in x, pitch), zeros where a window reaches into the padding and behind the pixels. A grid
// of packs, channels, images: a thread does all taps of its pixels, whose places it finds once. `Bits` has the size of an element; nothing
// but places is computed.
template <typename Bits> PARITY_FN void unfold(const Unfold &of, const Bits *src, Bits *dst) {
    constexpr unsigned N = PACK_BYTES / sizeof(Bits);
    const u32 packs = of.pitch / N;
    const size_t taps = size_t(of.taps_y) * of.taps_x;
    for (u32 pack = u32(first_index()); pack < packs; pack += u32(index_step())) {
        // What the first tap of each pixel's window reads. In the padding that is less than 0, some u32 that no size is greater than; so is
        // the row of what is no pixel. Places wrap with them, and are right where they are inside.
        u32 y[N], x[N], place[N];
        u32 out_y = pack * N / of.row, out_x = pack * N - out_y * of.row;
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            y[e] = pack * N + e < of.pixels ? out_y * of.stride - of.padding_y : 1u << 31;
            x[e] = out_x * of.stride - of.padding_x;
            place[e] = y[e] * of.row_step + x[e] * of.step;
            const bool is_last = ++out_x == of.row;
            out_x = is_last ? 0 : out_x;
            out_y += is_last;
        }
        for (size_t image = __builtin_amdgcn_workgroup_id_z(); image < of.images; image += __ockl_get_num_groups(2)) {
            for (size_t channel = __builtin_amdgcn_workgroup_id_y(); channel < of.channels; channel += __ockl_get_num_groups(1)) {
                const Bits *from = src + image * of.image_step + channel * of.channel_step;
                Bits *to = dst + (image * of.channels + channel) * taps * of.pitch + pack * N;
                for (u32 tap_y = 0, down = 0; tap_y < of.taps_y; ++tap_y, down += of.dilation) {
                    for (u32 tap_x = 0, right = 0; tap_x < of.taps_x; ++tap_x, right += of.dilation) {
                        const u32 further = down * of.row_step + right * of.step;
                        Pack<Bits, N> values;
#pragma unroll
                        for (unsigned e = 0; e < N; ++e) {
                            const bool is_inside = y[e] + down < of.height && x[e] + right < of.width;
                            values.at[e] = is_inside ? from[place[e] + further] : Bits(0);
                        }
                        store_pack(to, values);
                        to += of.pitch;
                    }
                }
            }
        }
    }
}

} // namespace parity

using namespace parity;

#define UNFOLD(T, BITS) \
    extern "C" PARITY_CROWDED(1, 256, 4) void unfold_##T( \
        size_t images, size_t channels, size_t image_step, size_t channel_step, u32 height, u32 width, u32 row_step, u32 step, \
        u32 taps_y, u32 taps_x, u32 stride, u32 dilation, u32 padding_y, u32 padding_x, u32 pixels, u32 row, u32 pitch, \
        const BITS *__restrict__ src, BITS *__restrict__ dst) { \
        unfold<BITS>({images, channels, image_step, channel_step, height, width, row_step, step, taps_y, taps_x, stride, dilation, \
                      padding_y, padding_x, pixels, row, pitch}, \
                     src, dst); \
    }
UNFOLD(bf16, u16)
UNFOLD(f16, u16)
UNFOLD(f32, u32)
UNFOLD(f64, __UINT64_TYPE__)
