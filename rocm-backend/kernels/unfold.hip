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
// of packs, rows of the matrix, images. `Bits` has the size of an element; nothing but places is computed.
template <typename Bits> PARITY_FN void unfold(const Unfold &of, const Bits *src, Bits *dst) {
    constexpr unsigned N = PACK_BYTES / sizeof(Bits);
    const u32 taps = of.taps_y * of.taps_x, packs = of.pitch / N;
    const size_t rows = of.channels * taps;
    for (size_t image = __builtin_amdgcn_workgroup_id_z(); image < of.images; image += __ockl_get_num_groups(2)) {
        for (size_t row = __builtin_amdgcn_workgroup_id_y(); row < rows; row += __ockl_get_num_groups(1)) {
            const size_t channel = row / taps;
            const u32 tap = u32(row - channel * taps), tap_y = tap / of.taps_x, tap_x = tap - tap_y * of.taps_x;
            // What a window's first tap reads, less than 0 in the padding: then some u32 that no size is greater than.
            const u32 from_y = tap_y * of.dilation - of.padding_y, from_x = tap_x * of.dilation - of.padding_x;
            const Bits *from = src + image * of.image_step + channel * of.channel_step;
            Bits *to = dst + (image * rows + row) * of.pitch;
            for (size_t pack = first_index(); pack < packs; pack += index_step()) {
                const u32 first = u32(pack) * N;
                u32 y = first / of.row, x = first - y * of.row;
                Pack<Bits, N> values;
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    const u32 in_y = y * of.stride + from_y, in_x = x * of.stride + from_x;
                    const bool is_inside = in_y < of.height && in_x < of.width && first + e < of.pixels;
                    values.at[e] = is_inside ? from[in_y * of.row_step + in_x * of.step] : Bits(0);
                    const bool is_last = ++x == of.row;
                    x = is_last ? 0 : x;
                    y += is_last;
                }
                store_pack(to + first, values);
            }
        }
    }
}

} // namespace parity

using namespace parity;

#define UNFOLD(T, BITS) \
    extern "C" __global__ void unfold_##T( \
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
