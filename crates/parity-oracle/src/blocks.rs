//! The weights that blocks of ggml's formats mean, bit by bit from the layouts in `ggml-common.h` and the formulas of
//! `dequantize_row_*` in `ggml-quants.c`: scale times quant, and for some formats a second float added or taken away.
//!
//! A scale has at most 11 bits, a group's number 6 or 7 and a quant at most 8: their product is exact in f32 for all
//! formats but q8_K, whose scale is an f32. So the order of the products does not matter, nor whether the sum is fused.

use parity_model::DType;
use parity_model::float::Format;
use parity_model::op::formats::BlockFormat;

/// One weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight {
    /// The weight, in f32 as the formula computes it.
    pub(crate) value: f32,
    /// The product of scale and quant.
    pub(crate) scaled: f64,
    /// What is added to it; zero for formats without an offset.
    pub(crate) offset: f64,
}

impl Weight {
    pub(crate) fn new(scale: f32, quant: i32, offset: f32) -> Weight {
        let product = scale * quant as f32;
        Weight {
            value: product + offset,
            scaled: f64::from(product),
            offset: f64::from(offset),
        }
    }

    /// One without an offset; adding zero would turn a product of -0 into +0.
    pub(crate) fn product(scale: f32, quant: i32) -> Weight {
        let value = scale * quant as f32;
        Weight {
            value,
            scaled: f64::from(value),
            offset: 0.0,
        }
    }
}

/// The weights of `bytes`, which are whole blocks.
pub(crate) fn weights(format: BlockFormat, bytes: &[u8]) -> Vec<Weight> {
    let blocks = bytes.chunks_exact(format.block_bytes());
    blocks
        .flat_map(|block| (0..format.block_len()).map(|i| weight(format, block, i)))
        .collect()
}

/// The float at byte `at`.
fn float(dtype: DType, block: &[u8], at: usize) -> f32 {
    let mut word = [0; 8];
    word[..dtype.size()].copy_from_slice(&block[at..at + dtype.size()]);
    let format = Format::of(dtype).unwrap_or_else(|| panic!("{dtype} in a block"));
    format.decode(u64::from_le_bytes(word)) as f32
}

fn half(block: &[u8], at: usize) -> f32 {
    float(DType::F16, block, at)
}

/// Byte `at`, shifted down and cut to `bits` bits.
fn field(block: &[u8], at: usize, shift: usize, bits: u32) -> i32 {
    i32::from(block[at] >> shift) & ((1 << bits) - 1)
}

/// Weight `i` of a block.
fn weight(format: BlockFormat, block: &[u8], i: usize) -> Weight {
    match format {
        BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16 => {
            Weight::product(float(format.floats().0, block, 0), 1)
        }
        BlockFormat::Q4_0 => Weight::product(half(block, 0), nibble_of_32(block, 2, i) - 8),
        BlockFormat::Q4_1 => Weight::new(half(block, 0), nibble_of_32(block, 4, i), half(block, 2)),
        BlockFormat::Q5_0 => {
            let quant = nibble_of_32(block, 6, i) + 16 * field(block, 2 + i / 8, i % 8, 1);
            Weight::product(half(block, 0), quant - 16)
        }
        BlockFormat::Q5_1 => {
            let quant = nibble_of_32(block, 8, i) + 16 * field(block, 4 + i / 8, i % 8, 1);
            Weight::new(half(block, 0), quant, half(block, 2))
        }
        BlockFormat::Q8_0 => Weight::product(half(block, 0), signed(block, 2 + i)),
        // The sum of the block follows the scale. Only products use it: no weight depends on it.
        BlockFormat::Q8_1 => Weight::product(half(block, 0), signed(block, 4 + i)),
        BlockFormat::Q2K => {
            let quant = pair_of_bits(block, 16, i);
            let scale = half(block, 80) * field(block, i / 16, 0, 4) as f32;
            Weight::new(
                scale,
                quant,
                -(half(block, 82) * field(block, i / 16, 4, 4) as f32),
            )
        }
        BlockFormat::Q3K => {
            let quant = pair_of_bits(block, 32, i) + 4 * bit_of_256(block, 0, i);
            Weight::product(
                half(block, 108) * (q3_k_scale(block, i / 16) - 32) as f32,
                quant - 4,
            )
        }
        BlockFormat::Q4K => k_weight(block, nibble_of_64(block, 16, i), i),
        BlockFormat::Q5K => {
            let quant = nibble_of_64(block, 48, i) + 16 * bit_of_256(block, 16, i);
            k_weight(block, quant, i)
        }
        BlockFormat::Q6K => {
            // Of 128 weights the first 64 have the low nibbles of 64 bytes, the others the high ones.
            let low = field(block, i / 128 * 64 + i % 64, i % 128 / 64 * 4, 4);
            let quant = low + 16 * pair_of_bits(block, 128, i);
            Weight::product(half(block, 208) * signed(block, 192 + i / 16) as f32, quant - 32)
        }
        // 32 bytes of sums follow the quants, for products: no weight depends on them.
        BlockFormat::Q8K => Weight::product(float(DType::F32, block, 0), signed(block, 4 + i)),
    }
}

fn signed(block: &[u8], at: usize) -> i32 {
    i32::from(block[at].cast_signed())
}

/// 16 bytes for 32 weights: the low nibbles are the first half.
fn nibble_of_32(block: &[u8], at: usize, i: usize) -> i32 {
    field(block, at + i % 16, i / 16 * 4, 4)
}

/// 32 bytes for each 64 weights: the low nibbles are the first half.
fn nibble_of_64(block: &[u8], at: usize, i: usize) -> i32 {
    field(block, at + i / 64 * 32 + i % 32, i % 64 / 32 * 4, 4)
}

/// 32 bytes for each 128 weights: the lowest two bits are the first quarter.
fn pair_of_bits(block: &[u8], at: usize, i: usize) -> i32 {
    field(block, at + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2)
}

/// 32 bytes for 256 weights: the lowest bits are the first 32.
fn bit_of_256(block: &[u8], at: usize, i: usize) -> i32 {
    field(block, at + i % 32, i / 32, 1)
}

/// q3_K's sixteen numbers of 6 bits: low nibbles in 8 bytes, then the pairs of high bits in 4.
fn q3_k_scale(block: &[u8], group: usize) -> i32 {
    let low = field(block, 96 + group % 8, group / 8 * 4, 4);
    low + 16 * field(block, 104 + group % 4, group / 4 * 2, 2)
}

/// A weight of q4_K or q5_K: for each 32 of them twelve bytes from the fourth on hold a scale and an offset, of 6 bits
/// each. The first four of both have a byte for themselves; the others have a nibble, and their upper bits lie above
/// those of the first four.
fn k_weight(block: &[u8], quant: i32, i: usize) -> Weight {
    let group = i / 32;
    let [scale, least] = if group < 4 {
        [field(block, 4 + group, 0, 6), field(block, 8 + group, 0, 6)]
    } else {
        let upper = |at: usize| 16 * field(block, at, 6, 2);
        [
            field(block, 8 + group, 0, 4) + upper(group),
            field(block, 8 + group, 4, 4) + upper(4 + group),
        ]
    };
    Weight::new(
        half(block, 0) * scale as f32,
        quant,
        -(half(block, 2) * least as f32),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a block that is all zeros except the bytes given, from byte `at` on.
    fn of(format: BlockFormat, bytes: &[(usize, &[u8])]) -> Vec<f32> {
        let mut block = vec![0; format.block_bytes()];
        for (at, bytes) in bytes {
            block[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        weights(format, &block)
            .iter()
            .map(|weight| weight.value)
            .collect()
    }

    /// Whether `values` are `others` everywhere but at the places given.
    #[track_caller]
    fn differs(values: &[f32], others: f32, places: &[(usize, f32)]) {
        for (i, &value) in values.iter().enumerate() {
            let want = places
                .iter()
                .find(|(at, _)| *at == i)
                .map_or(others, |(_, want)| *want);
            assert_eq!(value, want, "weight {i}");
        }
    }

    /// 1 and -2 as f16.
    const ONE: &[u8] = &[0x00, 0x3C];
    const MINUS_TWO: &[u8] = &[0x00, 0xC0];

    #[test]
    fn plain_formats_are_their_floats() {
        assert_eq!(of(BlockFormat::F32, &[(0, &1.5_f32.to_le_bytes())]), [1.5]);
        assert_eq!(of(BlockFormat::F16, &[(0, MINUS_TWO)]), [-2.0]);
        assert_eq!(of(BlockFormat::BF16, &[(0, &[0xC0, 0x3F])]), [1.5]);
    }

    #[test]
    fn small_formats_hold_the_first_half_in_the_low_nibbles() {
        let places = [(3, 5.0 - 8.0), (19, 15.0 - 8.0)];
        differs(&of(BlockFormat::Q4_0, &[(0, ONE), (5, &[0xF5])]), -8.0, &places);
        let block = of(BlockFormat::Q4_1, &[(0, ONE), (2, MINUS_TWO), (7, &[0xF5])]);
        differs(&block, -2.0, &[(3, 3.0), (19, 13.0)]);
        // The fifth bits of weights 3 and 20.
        let block = of(
            BlockFormat::Q5_0,
            &[(0, MINUS_TWO), (2, &[8, 0, 16, 0]), (9, &[0xF5])],
        );
        differs(&block, 32.0, &[(3, -10.0), (19, 2.0), (20, 0.0)]);
        let block = of(
            BlockFormat::Q5_1,
            &[(0, ONE), (2, ONE), (4, &[8, 0, 16, 0]), (11, &[0xF5])],
        );
        differs(&block, 1.0, &[(3, 22.0), (19, 16.0), (20, 17.0)]);
    }

    #[test]
    fn bytes_are_signed() {
        differs(
            &of(BlockFormat::Q8_0, &[(0, MINUS_TWO), (2 + 9, &[0x80])]),
            0.0,
            &[(9, 256.0)],
        );
        let sums = [(0, MINUS_TWO), (2, ONE), (4 + 9, [0x80].as_slice())];
        differs(&of(BlockFormat::Q8_1, &sums), 0.0, &[(9, 256.0)]);
        let sums = [(0, 0.5_f32.to_le_bytes()), (260, [0xFF; 4])];
        let sums = sums.each_ref().map(|(at, bytes)| (*at, bytes.as_slice()));
        let block = of(BlockFormat::Q8K, &[sums[0], sums[1], (4 + 200, &[0xFF])]);
        differs(&block, 0.0, &[(200, -0.5)]);
    }

    #[test]
    fn super_blocks_scale_groups_by_numbers_of_their_own() {
        // q2_K: group 9 (weights 144 to 159) has scale 5 and offset 3; weight 150 has quant 2.
        let block = of(
            BlockFormat::Q2K,
            &[(80, ONE), (82, ONE), (9, &[0x35]), (16 + 32 + 22, &[2])],
        );
        let group = (144..160).map(|i| (i, if i == 150 { 7.0 } else { -3.0 }));
        differs(&block, 0.0, &group.collect::<Vec<_>>());
        // q3_K: group 6 has scale 0x21 - 32 = 1, all others -32; no high bits, so that quants are -4 and weight 100 -3.
        let fields: &[(usize, &[u8])] = &[(108, ONE), (102, &[1]), (106, &[0x08]), (32 + 4, &[0x40])];
        let group = (96..112).map(|i| (i, if i == 100 { -3.0 } else { -4.0 }));
        differs(&of(BlockFormat::Q3K, fields), 128.0, &group.collect::<Vec<_>>());
        // q6_K: group 15 has scale -1, weight 255 the quant 63 - 32.
        let fields: &[(usize, &[u8])] = &[(208, ONE), (207, &[0xFF]), (127, &[0xF0]), (191, &[0xC0])];
        let group = (240..256).map(|i| (i, if i == 255 { -31.0 } else { 32.0 }));
        differs(&of(BlockFormat::Q6K, fields), 0.0, &group.collect::<Vec<_>>());
    }

    #[test]
    fn the_later_groups_of_q4_k_and_q5_k_have_their_upper_bits_elsewhere() {
        // Group 1: scale 63, offset 1. Group 5: scale 0x2A, offset 0x15. A quant of 1 for weights 32 and 160.
        let scales: &[(usize, &[u8])] = &[
            (0, ONE),
            (2, ONE),
            (5, &[0x3F | 0x80]),
            (9, &[0x01 | 0x40]),
            (13, &[0x5A]),
        ];
        let want = |i: usize| match i {
            32 => 62.0,
            33..64 => -1.0,
            160 => 42.0 - 21.0,
            161..192 => -21.0,
            _ => 0.0,
        };
        let want: Vec<f32> = (0..256).map(want).collect();
        let quants: [(usize, &[u8]); 2] = [(16, &[0x10]), (16 + 64, &[0x10])];
        assert_eq!(of(BlockFormat::Q4K, &[scales, &quants].concat()), want);
        let quants = quants.map(|(at, byte)| (at + 32, byte));
        assert_eq!(of(BlockFormat::Q5K, &[scales, &quants].concat()), want);
        let fifth = of(BlockFormat::Q5K, &[scales, &[(16, [0x20].as_slice())]].concat());
        assert_eq!((fifth[160], fifth[161]), (16.0 * 42.0 - 21.0, -21.0));
    }

    #[test]
    fn the_sign_of_zero_is_the_products() {
        let block = of(BlockFormat::Q4_0, &[(0, MINUS_TWO), (2, &[8])]);
        assert_eq!(block[0].to_bits(), (-0_f32).to_bits());
        let block = of(BlockFormat::Q4_1, &[(0, MINUS_TWO)]);
        assert_eq!(block[0].to_bits(), 0, "-0 + 0");
    }
}
