//! CDNA4 (gfx950): products of small floats, conversions, and other instructions of its own.

use gfx_emu::{Probe64, Target};

use crate::wave::{Numbers, run};

const END: u32 = 0xbf81_0000;

/// A wave at the beginning of words of machine code.
pub(crate) fn probe(words: &[u32]) -> Probe64 {
    let code: Vec<u8> = [words, &[END]]
        .concat()
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    Probe64::new(Target::Gfx950, &code).unwrap()
}

/// VOP3: its opcode and the bits of `op_sel`, destination, sources.
fn vop3(opcode: u32, op_sel: u32, dst: u32, src: [u32; 3]) -> [u32; 2] {
    [
        0b110100 << 26 | opcode << 16 | op_sel << 11 | dst,
        src[0] | src[1] << 9 | src[2] << 18,
    ]
}

/// The code of a vector register as a source.
pub(crate) const fn v(n: u32) -> u32 {
    256 + n
}

/// A format of a factor: what `cbsz` and `blgp` call it, its bits, those of its exponent and of its mantissa.
#[derive(Clone, Copy, Debug)]
struct Small {
    code: u32,
    bits: usize,
    exponent: u32,
    mantissa: u32,
}

const fn small(code: u32, bits: usize, exponent: u32, mantissa: u32) -> Small {
    Small {
        code,
        bits,
        exponent,
        mantissa,
    }
}

const SMALL: [Small; 5] = [
    small(0, 8, 4, 3),
    small(1, 8, 5, 2),
    small(2, 6, 2, 3),
    small(3, 6, 3, 2),
    small(4, 4, 2, 1),
];

impl Small {
    /// The number of a code, by the fields of IEEE 754.
    fn number(self, code: u64) -> f64 {
        let (exponent, mantissa) = (
            code >> self.mantissa & ((1 << self.exponent) - 1),
            code & ((1 << self.mantissa) - 1),
        );
        let bias = (1 << (self.exponent - 1)) - 1;
        let unit = 2_f64.powi(1_i32.max(exponent as i32) - bias - self.mantissa as i32);
        let magnitude = (mantissa + if exponent > 0 { 1 << self.mantissa } else { 0 }) as f64 * unit;
        if code >> (self.bits - 1) & 1 != 0 {
            -magnitude
        } else {
            magnitude
        }
    }

    /// A code of a number between -2 and 2.
    fn any(self, numbers: &mut Numbers) -> u64 {
        loop {
            let code = numbers.next() & ((1 << self.bits) - 1);
            if self.number(code).abs() < 2.0 {
                return code;
            }
        }
    }
}

/// Writes elements into the registers of a lane from `first` on.
pub(crate) fn write(wave: &mut Probe64, first: u16, lane: usize, bits: usize, elements: &[u64]) {
    let mut words = vec![0_u32; (bits * elements.len()).div_ceil(32)];
    for (at, bit) in (0..bits * elements.len()).map(|at| (at, elements[at / bits] >> (at % bits) & 1)) {
        words[at / 32] |= (bit as u32) << (at % 32);
    }
    for (i, word) in words.into_iter().enumerate() {
        wave.set_vgpr(first + i as u16, lane, word);
    }
}

/// Row and column of a sum that a lane holds.
pub(crate) fn sum_place(size: usize, lane: usize, item: usize) -> (usize, usize) {
    (
        item / 4 * 4 * (64 / size) + lane / size * 4 + item % 4,
        lane % size,
    )
}

/// A product of `size` rows and columns by its machine words: A from v32 on, B from v48, C and D from v64. `a` and `b` give the lane's
/// elements and their steps, scales their lanes.
fn product(words: &[u32], size: usize, formats: [Small; 2], scales: Option<[u32; 2]>, numbers: &mut Numbers) {
    let depth = if size == 16 { 128 } else { 64 };
    let held = depth * size / 64;
    // Bytes lie in two halves of the depth, sixteen in a row; shorter elements in a row.
    let step = |format: Small, lane: usize, item: usize| match format.bits {
        8 => item / 16 * (depth / 2) + lane / size * 16 + item % 16,
        _ => lane / size * held + item,
    };
    let mut wave = probe(words);
    let mut factors = [vec![0.0; size * depth], vec![0.0; size * depth]];
    let mut powers = [vec![1.0; size * depth / 32], vec![1.0; size * depth / 32]];
    for (side, first) in [(0, 32), (1, 48)] {
        let format = formats[side];
        for lane in 0..64 {
            let codes: Vec<u64> = (0..held).map(|_| format.any(numbers)).collect();
            for (item, code) in codes.iter().enumerate() {
                factors[side][lane % size * depth + step(format, lane, item)] = format.number(*code);
            }
            write(&mut wave, first, lane, format.bits, &codes);
            let scale = 124 + numbers.next() as u32 % 7;
            let word = 0x5555_5555 & !(0xff << (8 * scales.map_or(0, |bytes| bytes[side])));
            wave.set_vgpr(
                20 + side as u16,
                lane,
                word | scale << (8 * scales.map_or(0, |bytes| bytes[side])),
            );
            if scales.is_some() {
                powers[side][lane % size * depth / 32 + lane / size] = 2_f64.powi(scale as i32 - 127);
            }
        }
    }
    let sums = size * size / 64;
    for (lane, item) in (0..64).flat_map(|lane| (0..sums).map(move |item| (lane, item))) {
        wave.set_vgpr(64 + item as u16, lane, (lane as f32 - item as f32).to_bits());
    }
    run(&mut wave).unwrap();
    for (lane, item) in (0..64).flat_map(|lane| (0..sums).map(move |item| (lane, item))) {
        let (row, column) = sum_place(size, lane, item);
        let term = |k: usize| {
            let power = powers[0][row * depth / 32 + k / 32] * powers[1][column * depth / 32 + k / 32];
            factors[0][row * depth + k] * factors[1][column * depth + k] * power
        };
        let want = (0..depth).map(term).sum::<f64>() + f64::from(lane as f32 - item as f32);
        let magnitude: f64 = (0..depth).map(|k| term(k).abs()).sum::<f64>() + 64.0;
        let got = f32::from_bits(wave.vgpr(64 + item as u16, lane).unwrap());
        let error = (f64::from(got) - want).abs();
        assert!(
            error <= magnitude * 2_f64.powi(-17),
            "{formats:?} {scales:?}: {got}, not {want}"
        );
    }
}

#[test]
fn products_of_small_floats_are_those_of_their_numbers() {
    let mut numbers = Numbers(950);
    for (opcode, size) in [(0x2d, 16), (0x2e, 32)] {
        for (a, b) in SMALL.iter().flat_map(|a| SMALL.iter().map(move |b| (*a, *b))) {
            let words = [
                0xd380_0000 | opcode << 16 | a.code << 8 | 64,
                v(32) | v(48) << 9 | v(64) << 18 | b.code << 29,
            ];
            product(&words, size, [a, b], None, &mut numbers);
            // Byte 1 of one scale and byte 2 of the other.
            let scaled = [
                0xd3ac_0800,
                v(20) | v(21) << 9 | 1 << 28,
                words[0] | 1 << 11,
                words[1],
            ];
            product(&scaled, size, [a, b], Some([1, 2]), &mut numbers);
        }
    }
}

#[test]
fn a_format_without_meaning_is_refused() {
    let words = [0xd3ad_0540, v(32) | v(48) << 9 | v(64) << 18];
    let message = run(&mut probe(&words)).unwrap_err().to_string();
    assert!(message.contains("v_mfma_f32_16x16x128_f8f6f4"), "{message}");
}

/// A dense product of 16-bit or 8-bit elements in rows of their lanes.
fn dense(opcode: u32, size: usize, depth: usize, bits: usize, encode: fn(i32) -> u64, sum: fn(i32) -> u32) {
    let mut numbers = Numbers(7);
    let mut wave = probe(&[0xd380_0000 | opcode << 16 | 64, v(32) | v(48) << 9 | v(64) << 18]);
    let held = depth * size / 64;
    let mut factors = [vec![0; size * depth], vec![0; size * depth]];
    for (side, lane) in (0..2).flat_map(|side| (0..64).map(move |lane| (side, lane))) {
        let values: Vec<i32> = (0..held).map(|_| (numbers.next() % 9) as i32 - 4).collect();
        let start = lane % size * depth + lane / size * held;
        factors[side][start..start + held].copy_from_slice(&values);
        let codes: Vec<u64> = values.iter().map(|value| encode(*value)).collect();
        write(&mut wave, 32 + 16 * side as u16, lane, bits, &codes);
    }
    let sums = size * size / 64;
    for (lane, item) in (0..64).flat_map(|lane| (0..sums).map(move |item| (lane, item))) {
        wave.set_vgpr(64 + item as u16, lane, sum(lane as i32 - item as i32));
    }
    run(&mut wave).unwrap();
    for (lane, item) in (0..64).flat_map(|lane| (0..sums).map(move |item| (lane, item))) {
        let (row, column) = sum_place(size, lane, item);
        let products = (0..depth).map(|k| factors[0][row * depth + k] * factors[1][column * depth + k]);
        let want = products.sum::<i32>() + lane as i32 - item as i32;
        assert_eq!(wave.vgpr(64 + item as u16, lane), Some(sum(want)), "{opcode:#x}");
    }
}

#[test]
fn wider_products_are_those_of_their_numbers() {
    let half = |value: i32| {
        if value == 0 {
            0
        } else {
            u64::from(
                ((value as f32).to_bits() >> 13).wrapping_sub(112 << 10) & 0x7fff
                    | u32::from(value < 0) << 15,
            )
        }
    };
    let brain = |value: i32| u64::from((value as f32).to_bits() >> 16);
    let byte = |value: i32| u64::from(value as u8);
    let single = |value: i32| (value as f32).to_bits();
    dense(0x54, 16, 32, 16, half, single);
    dense(0x55, 32, 16, 16, half, single);
    dense(0x35, 16, 32, 16, brain, single);
    dense(0x37, 32, 16, 16, brain, single);
    dense(0x36, 16, 64, 8, byte, |value| value as u32);
    dense(0x38, 32, 32, 8, byte, |value| value as u32);
    // Bytes of the Open Compute Project: 2 is 0x40 there.
    let fp8 = |value: i32| [0xc8, 0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44, 0x48][(value + 4) as usize];
    dense(0x73, 16, 32, 8, fp8, single);
    dense(0x77, 32, 16, 8, fp8, single);
}

/// What one instruction makes of registers of lane 5; destinations begin at v0.
fn lane(words: &[u32], before: &[(u16, u32)], count: u16) -> Vec<u32> {
    let mut wave = probe(words);
    for (register, value) in before {
        wave.set_vgpr(*register, 5, *value);
    }
    run(&mut wave).unwrap();
    (0..count)
        .map(|register| wave.vgpr(register, 5).unwrap())
        .collect()
}

#[test]
fn a_code_with_a_scale_is_its_number_times_the_power() {
    let one = |value: f32| value.to_bits();
    // The mantissa of the scale does not count.
    for (opcode, format) in [(0x23b, SMALL[0]), (0x23c, SMALL[1])] {
        for code in 0..0x78 {
            let got = lane(
                &vop3(opcode, 2, 0, [v(1), v(2), 0]),
                &[(1, code << 8), (2, one(7.0))],
                1,
            );
            assert_eq!(
                got[0],
                one((format.number(code.into()) * 4.0) as f32),
                "{code:#x}"
            );
        }
    }
    for code in 0..16 {
        let got = lane(
            &vop3(0x23f, 1, 0, [v(1), v(2), 0]),
            &[(1, code << 20 | 3 << 16), (2, one(0.25))],
            2,
        );
        assert_eq!(
            got,
            [one(1.5 * 0.25), one((SMALL[4].number(code.into()) * 0.25) as f32)]
        );
    }
    for (opcode, format) in [(0x256, SMALL[2]), (0x257, SMALL[3])] {
        let codes: Vec<u64> = (0..32).collect();
        let mut wave = probe(&vop3(opcode, 0, 0, [v(40), v(50), 0]));
        write(&mut wave, 40, 5, 6, &codes);
        wave.set_vgpr(50, 5, one(2.0));
        run(&mut wave).unwrap();
        for code in codes {
            let want = one((format.number(code) * 2.0) as f32);
            assert_eq!(wave.vgpr(code as u16, 5), Some(want), "{code:#x}");
        }
    }
}

#[test]
fn a_number_with_a_scale_becomes_the_nearest_code() {
    let one = |value: f32| value.to_bits();
    // The nearest of all codes, even where two are as near.
    let nearest = |format: Small, number: f64| {
        let last = if format.bits == 8 {
            0x77
        } else {
            (1 << (format.bits - 1)) - 1
        };
        let far = |code: u64| (format.number(code) - number.abs()).abs();
        let best = (0..=last)
            .min_by(|a, b| far(*a).total_cmp(&far(*b)).then((a & 1).cmp(&(b & 1))))
            .unwrap();
        best | u64::from(number < 0.0) << (format.bits - 1)
    };
    let mut numbers = Numbers(3);
    for _ in 0..500 {
        let mut any = || (numbers.next() % 4001) as f32 / 500.0 - 4.0;
        let (a, b) = (any(), any());
        for (opcode, op_sel, format) in [(0x235, 8, SMALL[0]), (0x236, 0, SMALL[1]), (0x23d, 4, SMALL[4])] {
            let words = vop3(opcode, op_sel, 0, [v(1), v(2), v(3)]);
            let got = lane(
                &words,
                &[(0, 0x1234_5678), (1, one(a)), (2, one(b)), (3, one(2.0))],
                1,
            )[0];
            let codes = [a, b].map(|number| nearest(format, f64::from(number) / 2.0) as u32);
            let pair = codes[0] | codes[1] << format.bits;
            let want = match op_sel {
                8 => 0x5678 | pair << 16,
                4 => 0x1234_0078 | pair << 8,
                _ => 0x1234_0000 | pair,
            };
            assert_eq!(got, want, "{opcode:#x} of {a} and {b}");
        }
    }
    // Sixteen and sixteen in turn; what is too large becomes the largest.
    let mut wave = probe(&vop3(0x252, 0, 0, [v(16), v(32), v(50)]));
    for i in 0..16 {
        wave.set_vgpr(16 + i, 5, one(f32::from(i)));
        wave.set_vgpr(32 + i, 5, one(-0.5));
    }
    wave.set_vgpr(50, 5, one(1.0));
    run(&mut wave).unwrap();
    let bits: Vec<u32> = (0..6).map(|n| wave.vgpr(n, 5).unwrap()).collect();
    for i in 0..32 {
        let code = (0..6).fold(0, |code, bit| {
            code | u64::from(bits[(6 * i + bit) / 32] >> ((6 * i + bit) % 32) & 1) << bit
        });
        let want = if i % 2 == 0 {
            (i as f64 / 2.0).min(7.5)
        } else {
            -0.5
        };
        assert_eq!(code, nearest(SMALL[2], want), "{i}");
    }
}

#[test]
fn single_instructions_of_gfx950() {
    let one = |value: f32| value.to_bits();
    let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
    let table = |bits: u32| {
        [
            0b110100 << 26 | 0x234 << 16 | (bits >> 3 & 7) << 8,
            v(1) | v(2) << 9 | v(3) << 18 | (bits >> 6) << 27 | bits << 29,
        ]
    };
    for (bits, want) in [
        (0xe8, a & b | a & c | b & c),
        (0x96, a ^ b ^ c),
        (0xca, a & b | !a & c),
        (0xf0, a),
        (0, 0),
    ] {
        assert_eq!(
            lane(&table(bits), &[(1, a), (2, b), (3, c)], 1),
            [want],
            "{bits:#x}"
        );
    }
    let bytes = [(1, 1000_u32), (2, (-5000_i32) as u32), (3, 4), (0, 0xdead_beef)];
    assert_eq!(
        lane(&vop3(0x265, 8, 0, [v(1), v(2), v(3)]), &bytes, 1),
        [0x803e_beef]
    );
    assert_eq!(
        lane(&vop3(0x266, 0, 0, [v(1), v(2), v(3)]), &bytes, 1),
        [0xdead_003e]
    );
    let pair = [(1, one(1.0 + 1.0 / 256.0)), (2, one(-3.0))];
    assert_eq!(lane(&vop3(0x268, 0, 0, [v(1), v(2), 0]), &pair, 1), [0xc040_3f80]);
    assert_eq!(lane(&vop3(0x267, 0, 0, [v(1), v(2), 0]), &pair, 1), [0xc200_3c04]);
    assert_eq!(lane(&[0x7e00_b100 | v(1)], &[(1, 0x8000_0001)], 1), [2 ^ 0xc5]);
    assert_eq!(lane(&[0x7e00_b600 | v(1)], &[(1, 0x1234_4040)], 1), [one(3.0)]);
    let three = [(1, one(2.0)), (2, one(-1.0)), (3, one(5.0))];
    assert_eq!(
        lane(&vop3(0x2a8, 0, 0, [v(1), v(2), v(3)]), &three, 1),
        [one(-1.0)]
    );
    assert_eq!(
        lane(&vop3(0x2a9, 0, 0, [v(1), v(2), v(3)]), &three, 1),
        [one(5.0)]
    );
}

#[test]
fn rows_of_two_registers_are_exchanged() {
    for (word, row) in [(0x7e00_b200, 16), (0x7e00_b400, 32)] {
        let mut wave = probe(&[word | v(1)]);
        for lane in 0..64 {
            wave.set_vgpr(0, lane, lane as u32);
            wave.set_vgpr(1, lane, 100 + lane as u32);
        }
        run(&mut wave).unwrap();
        for lane in 0..64 {
            let odd = lane & row != 0;
            let first = if odd { 100 + (lane ^ row) } else { lane };
            let second = if odd { 100 + lane } else { lane ^ row };
            assert_eq!(wave.vgpr(0, lane), Some(first as u32));
            assert_eq!(wave.vgpr(1, lane), Some(second as u32));
        }
    }
}
