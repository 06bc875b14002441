//! ggml's block formats as their layouts are documented, written bit by bit: for each block its bytes, and the weights
//! they mean. Shares nothing with the kernels, which read words.

use half::{bf16, f16};
use rocm_backend::GgmlType;

/// The formats that are multiplied as blocks, which quantizes the activations.
pub(crate) const PRODUCTS: &[GgmlType] = &[
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q5_0,
    GgmlType::Q5_1,
    GgmlType::Q8_0,
    GgmlType::Q2K,
    GgmlType::Q3K,
    GgmlType::Q4K,
    GgmlType::Q5K,
    GgmlType::Q6K,
];

/// Blocks of one format, and the weights in them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Coded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) weights: Vec<f32>,
}

/// Which numbers a block is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Any quants and group scales, scales about 1/100 of either sign.
    Any,
    /// All bytes 0.
    Zero,
    /// The largest scales of f16 with the largest group scales.
    Huge,
    /// Scales that are powers of two, small group scales: sums of products with small whole numbers are exact.
    Exact,
}

/// Numbers that look random, the same in every run.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (((self.0 >> 33) * u64::from(bound)) >> 31) as u32
    }

    /// From -1 to 1.
    pub(crate) fn unit(&mut self) -> f32 {
        self.below(20001) as f32 / 10000.0 - 1.0
    }
}

/// A block in the making.
struct Block<'a> {
    bytes: Vec<u8>,
    values: Values,
    random: &'a mut Random,
}

impl Block<'_> {
    fn put(&mut self, at: usize, shift: usize, bits: u32) {
        self.bytes[at] |= (bits << shift) as u8;
    }

    /// An f16 scale at byte `at`.
    fn scale(&mut self, at: usize) -> f32 {
        let scale = f16::from_f32(match self.values {
            Values::Any => self.random.unit() / 50.0,
            Values::Zero => 0.0,
            Values::Huge => f32::from(f16::MAX),
            Values::Exact => [0.5, -0.25, 2.0][self.random.below(3) as usize],
        });
        self.bytes[at..at + 2].copy_from_slice(&scale.to_le_bytes());
        scale.to_f32()
    }

    /// A quant or a group's number below `bound`; `middle` is what means 0.
    fn code(&mut self, bound: u32, middle: u32) -> u32 {
        match self.values {
            Values::Zero => 0,
            Values::Any => self.random.below(bound),
            Values::Huge => bound - 1,
            Values::Exact => (middle + self.random.below(3)).min(bound - 1),
        }
    }

    fn quant(&mut self, bound: u32) -> u32 {
        match self.values {
            Values::Exact => self.random.below(bound),
            _ => self.code(bound, 0),
        }
    }

    /// 32 weights in nibbles from byte `nibbles` on, perhaps with fifth bits before them.
    fn small(&mut self, has_offset: bool, fifth: bool) -> Vec<f32> {
        let scale = self.scale(0);
        let offset = if has_offset { self.scale(2) } else { 0.0 };
        let fifth_bits = if has_offset { 4 } else { 2 };
        let nibbles = fifth_bits + if fifth { 4 } else { 0 };
        let bound = if fifth { 32 } else { 16 };
        let mut weights = Vec::new();
        for e in 0..32 {
            let q = self.quant(bound);
            self.put(nibbles + e % 16, e / 16 * 4, q & 15);
            if fifth {
                self.put(fifth_bits + e / 8, e % 8, q >> 4);
            }
            let centre = if has_offset { 0 } else { bound as i32 / 2 };
            let product = (q as i32 - centre) as f32 * scale;
            weights.push(if has_offset { product + offset } else { product });
        }
        weights
    }

    /// A byte a weight from byte `at` on.
    fn bytes(&mut self, at: usize, scale: f32, len: usize) -> Vec<f32> {
        (0..len)
            .map(|e| {
                let q = self.quant(256) as u8 as i8;
                self.bytes[at + e] = q as u8;
                f32::from(q) * scale
            })
            .collect()
    }

    fn q2_k(&mut self) -> Vec<f32> {
        let (d, least) = (self.scale(80), self.scale(82));
        let groups: Vec<[u32; 2]> = (0..16)
            .map(|g| {
                let numbers = [self.code(16, 0), self.code(16, 0)];
                self.put(g, 0, numbers[0]);
                self.put(g, 4, numbers[1]);
                numbers
            })
            .collect();
        (0..256)
            .map(|e| {
                let q = self.quant(4);
                self.put(16 + e / 128 * 32 + e % 32, e % 128 / 32 * 2, q);
                let [scale, min] = groups[e / 16].map(|number| number as f32);
                d * scale * q as f32 - least * min
            })
            .collect()
    }

    fn q3_k(&mut self) -> Vec<f32> {
        let d = self.scale(108);
        let groups: Vec<u32> = (0..16)
            .map(|g| {
                let number = self.code(64, 32);
                self.put(96 + g % 8, g / 8 * 4, number & 15);
                self.put(104 + g % 4, g / 4 * 2, number >> 4);
                number
            })
            .collect();
        (0..256)
            .map(|e| {
                let q = self.quant(8);
                self.put(32 + e / 128 * 32 + e % 32, e % 128 / 32 * 2, q & 3);
                self.put(e % 32, e / 32, q >> 2);
                d * (groups[e / 16] as f32 - 32.0) * (q as f32 - 4.0)
            })
            .collect()
    }

    fn q4_k(&mut self, fifth: bool) -> Vec<f32> {
        let (d, least) = (self.scale(0), self.scale(2));
        let nibbles = if fifth { 48 } else { 16 };
        let groups: Vec<[u32; 2]> = (0..8)
            .map(|g| {
                let [scale, min] = [self.code(64, 0), self.code(64, 0)];
                if g < 4 {
                    self.put(4 + g, 0, scale);
                    self.put(8 + g, 0, min);
                } else {
                    self.put(8 + g, 0, scale & 15);
                    self.put(8 + g, 4, min & 15);
                    self.put(g, 6, scale >> 4);
                    self.put(4 + g, 6, min >> 4);
                }
                [scale, min]
            })
            .collect();
        (0..256)
            .map(|e| {
                let q = self.quant(if fifth { 32 } else { 16 });
                self.put(nibbles + e / 64 * 32 + e % 32, e % 64 / 32 * 4, q & 15);
                if fifth {
                    self.put(16 + e % 32, e / 32, q >> 4);
                }
                let [scale, min] = groups[e / 32].map(|number| number as f32);
                d * scale * q as f32 - least * min
            })
            .collect()
    }

    fn q6_k(&mut self) -> Vec<f32> {
        let d = self.scale(208);
        let groups: Vec<i8> = (0..16)
            .map(|g| {
                let number = self.code(256, 0) as u8;
                self.bytes[192 + g] = number;
                number as i8
            })
            .collect();
        (0..256)
            .map(|e| {
                let q = self.quant(64);
                self.put(e / 128 * 64 + e % 64, e % 128 / 64 * 4, q & 15);
                self.put(128 + e / 128 * 32 + e % 32, e % 128 / 32 * 2, q >> 4);
                d * f32::from(groups[e / 16]) * (q as f32 - 32.0)
            })
            .collect()
    }

    fn q8_k(&mut self) -> Vec<f32> {
        let scale = match self.values {
            Values::Any => self.random.unit() / 50.0,
            Values::Zero => 0.0,
            Values::Huge => 1e30,
            Values::Exact => 0.5,
        };
        self.bytes[..4].copy_from_slice(&scale.to_le_bytes());
        self.bytes[260..].fill(0xa5); // sums that no weight depends on
        if self.values == Values::Zero {
            self.bytes[260..].fill(0);
        }
        self.bytes(4, scale, 256)
    }

    fn plain(&mut self, encode: impl Fn(f32) -> (Vec<u8>, f32)) -> Vec<f32> {
        let value = match self.values {
            Values::Any => self.random.unit(),
            Values::Zero => 0.0,
            Values::Huge => 6e4,
            Values::Exact => self.random.below(9) as f32 - 4.0,
        };
        let (bytes, weight) = encode(value);
        self.bytes = bytes;
        vec![weight]
    }

    fn weights(&mut self, ty: GgmlType) -> Vec<f32> {
        match ty {
            GgmlType::F32 => self.plain(|x| (x.to_le_bytes().to_vec(), x)),
            GgmlType::F16 => {
                self.plain(|x| (f16::from_f32(x).to_le_bytes().to_vec(), f16::from_f32(x).into()))
            }
            GgmlType::BF16 => {
                self.plain(|x| (bf16::from_f32(x).to_le_bytes().to_vec(), bf16::from_f32(x).into()))
            }
            GgmlType::Q4_0 => self.small(false, false),
            GgmlType::Q4_1 => self.small(true, false),
            GgmlType::Q5_0 => self.small(false, true),
            GgmlType::Q5_1 => self.small(true, true),
            GgmlType::Q8_0 => {
                let scale = self.scale(0);
                self.bytes(2, scale, 32)
            }
            GgmlType::Q8_1 => {
                let scale = self.scale(0);
                self.scale(2); // a sum that no weight depends on
                self.bytes(4, scale, 32)
            }
            GgmlType::Q2K => self.q2_k(),
            GgmlType::Q3K => self.q3_k(),
            GgmlType::Q4K => self.q4_k(false),
            GgmlType::Q5K => self.q4_k(true),
            GgmlType::Q6K => self.q6_k(),
            GgmlType::Q8K => self.q8_k(),
        }
    }
}

/// One block for each of `values`.
pub(crate) fn blocks(ty: GgmlType, values: &[Values], random: &mut Random) -> Coded {
    let mut coded = Coded::default();
    for &values in values {
        let mut block = Block {
            bytes: vec![0; ty.block_bytes()],
            values,
            random,
        };
        coded.weights.extend(block.weights(ty));
        assert_eq!(block.bytes.len(), ty.block_bytes());
        coded.bytes.extend(block.bytes);
    }
    assert_eq!(coded.weights.len(), values.len() * ty.block_len());
    coded
}
