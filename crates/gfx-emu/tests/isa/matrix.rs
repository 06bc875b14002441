//! The matrix cores of CDNA3 and CDNA2: every shape and element type against a product written out, with the layout as AMD's matrix
//! instruction calculator states it, from lane and register to row and column.

use gfx_emu::{FaultKind, Probe64};

use crate::lines::ask_together;
use crate::llvm::{CDNA2, CDNA3, Card};
use crate::wave::{Numbers, probe64, probe64_on, run, set};

/// How an element is encoded.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Element {
    F64,
    F32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I8,
}
use Element::{Bf8, Bf16, F16, F32, F64, Fp8, I8};

impl Element {
    pub(crate) fn bits(self) -> usize {
        match self {
            F64 => 64,
            F32 => 32,
            F16 | Bf16 => 16,
            Fp8 | Bf8 | I8 => 8,
        }
    }

    /// A small integer, which every format holds exactly.
    pub(crate) fn encode(self, value: i64) -> u64 {
        let single = u64::from((value as f32).to_bits());
        let sign = u64::from(value < 0);
        // Exponent and top of the fraction of a small format, which has `fraction` bits of it and this bias.
        let small = |bias: u64, fraction: u32, sign_at: u32| match value {
            0 => 0,
            _ => {
                ((single >> (23 - fraction)) % (1 << (8 + fraction)) - ((127 - bias) << fraction))
                    | sign << sign_at
            }
        };
        match self {
            F64 => (value as f64).to_bits(),
            F32 => single,
            F16 => small(15, 10, 15),
            Bf16 => single >> 16,
            Fp8 => small(8, 3, 7),
            Bf8 => small(16, 2, 7),
            I8 => u64::from(value as i8 as u8),
        }
    }
}

/// Mnemonic, rows and columns, depth, blocks, element types of A and B.
type Shape = (&'static str, usize, usize, usize, Element, Element);

/// The shapes of CDNA2, which spells them in another way and has some of its own.
const CDNA2_SHAPES: &[Shape] = &[
    ("f32_32x32x1f32", 32, 1, 2, F32, F32),
    ("f32_16x16x1f32", 16, 1, 4, F32, F32),
    ("f32_4x4x1f32", 4, 1, 16, F32, F32),
    ("f32_32x32x2f32", 32, 2, 1, F32, F32),
    ("f32_16x16x4f32", 16, 4, 1, F32, F32),
    ("f32_32x32x4f16", 32, 4, 2, F16, F16),
    ("f32_16x16x4f16", 16, 4, 4, F16, F16),
    ("f32_4x4x4f16", 4, 4, 16, F16, F16),
    ("f32_32x32x8f16", 32, 8, 1, F16, F16),
    ("f32_16x16x16f16", 16, 16, 1, F16, F16),
    ("i32_32x32x4i8", 32, 4, 2, I8, I8),
    ("i32_16x16x4i8", 16, 4, 4, I8, I8),
    ("i32_4x4x4i8", 4, 4, 16, I8, I8),
    ("i32_32x32x8i8", 32, 8, 1, I8, I8),
    ("i32_16x16x16i8", 16, 16, 1, I8, I8),
    ("f32_32x32x4bf16_1k", 32, 4, 2, Bf16, Bf16),
    ("f32_16x16x4bf16_1k", 16, 4, 4, Bf16, Bf16),
    ("f32_4x4x4bf16_1k", 4, 4, 16, Bf16, Bf16),
    ("f32_32x32x8bf16_1k", 32, 8, 1, Bf16, Bf16),
    ("f32_16x16x16bf16_1k", 16, 16, 1, Bf16, Bf16),
    ("f32_32x32x2bf16", 32, 2, 2, Bf16, Bf16),
    ("f32_16x16x2bf16", 16, 2, 4, Bf16, Bf16),
    ("f32_4x4x2bf16", 4, 2, 16, Bf16, Bf16),
    ("f32_32x32x4bf16", 32, 4, 1, Bf16, Bf16),
    ("f32_16x16x8bf16", 16, 8, 1, Bf16, Bf16),
    ("f64_16x16x4f64", 16, 4, 1, F64, F64),
    ("f64_4x4x4f64", 4, 4, 4, F64, F64),
];

/// The shapes of CDNA3.
const CDNA3_SHAPES: &[Shape] = &[
    ("f32_32x32x1_2b_f32", 32, 1, 2, F32, F32),
    ("f32_16x16x1_4b_f32", 16, 1, 4, F32, F32),
    ("f32_4x4x1_16b_f32", 4, 1, 16, F32, F32),
    ("f32_32x32x2_f32", 32, 2, 1, F32, F32),
    ("f32_16x16x4_f32", 16, 4, 1, F32, F32),
    ("f32_16x16x8_xf32", 16, 8, 1, F32, F32),
    ("f32_32x32x4_xf32", 32, 4, 1, F32, F32),
    ("f32_32x32x4_2b_f16", 32, 4, 2, F16, F16),
    ("f32_16x16x4_4b_f16", 16, 4, 4, F16, F16),
    ("f32_4x4x4_16b_f16", 4, 4, 16, F16, F16),
    ("f32_32x32x8_f16", 32, 8, 1, F16, F16),
    ("f32_16x16x16_f16", 16, 16, 1, F16, F16),
    ("f32_32x32x4_2b_bf16", 32, 4, 2, Bf16, Bf16),
    ("f32_16x16x4_4b_bf16", 16, 4, 4, Bf16, Bf16),
    ("f32_4x4x4_16b_bf16", 4, 4, 16, Bf16, Bf16),
    ("f32_32x32x8_bf16", 32, 8, 1, Bf16, Bf16),
    ("f32_16x16x16_bf16", 16, 16, 1, Bf16, Bf16),
    ("i32_32x32x4_2b_i8", 32, 4, 2, I8, I8),
    ("i32_16x16x4_4b_i8", 16, 4, 4, I8, I8),
    ("i32_4x4x4_16b_i8", 4, 4, 16, I8, I8),
    ("i32_32x32x16_i8", 32, 16, 1, I8, I8),
    ("i32_16x16x32_i8", 16, 32, 1, I8, I8),
    ("f64_16x16x4_f64", 16, 4, 1, F64, F64),
    ("f64_4x4x4_4b_f64", 4, 4, 4, F64, F64),
    ("f32_16x16x32_bf8_bf8", 16, 32, 1, Bf8, Bf8),
    ("f32_16x16x32_bf8_fp8", 16, 32, 1, Bf8, Fp8),
    ("f32_16x16x32_fp8_bf8", 16, 32, 1, Fp8, Bf8),
    ("f32_16x16x32_fp8_fp8", 16, 32, 1, Fp8, Fp8),
    ("f32_32x32x16_bf8_bf8", 32, 16, 1, Bf8, Bf8),
    ("f32_32x32x16_bf8_fp8", 32, 16, 1, Bf8, Fp8),
    ("f32_32x32x16_fp8_bf8", 32, 16, 1, Fp8, Bf8),
    ("f32_32x32x16_fp8_fp8", 32, 16, 1, Fp8, Fp8),
];

/// The mnemonics that are tested here on a card.
pub(crate) fn names(card: Card) -> Vec<String> {
    let shapes = match card.name {
        "gfx942" => CDNA3_SHAPES,
        "gfx90a" => CDNA2_SHAPES,
        _ => &[],
    };
    shapes.iter().map(|shape| format!("v_mfma_{}", shape.0)).collect()
}

/// Row, column and block of element `v` of C or D in a lane.
pub(crate) fn place(size: usize, double: bool, lane: usize, v: usize) -> (usize, usize, usize) {
    match (size, double) {
        (32, _) => (8 * (v / 4 % 4) + 4 * (lane / 32) + v % 4, lane % 32, v / 16),
        (16, false) => (4 * (lane / 16) + v % 4, lane % 16, v / 4),
        (16, true) => (4 * v + lane / 16, lane % 16, 0),
        (_, false) => (v, lane % 4, lane / 4),
        (_, true) => (lane / 16, lane % 4, lane / 4 % 4),
    }
}

/// Fills the registers from `first` on with the elements of A (or B, whose columns go where A's rows go).
pub(crate) fn fill(
    wave: &mut Probe64,
    first: u16,
    element: Element,
    held: usize,
    value: impl Fn(usize, usize) -> i64,
) {
    for lane in 0..64 {
        for item in 0..held {
            let bits = element.bits();
            let encoded = element.encode(value(lane, item));
            for part in 0..bits.div_ceil(32) {
                let register = first + (item * bits / 32 + part) as u16;
                let shift = if bits < 32 { item * bits % 32 } else { 0 };
                let old = wave.vgpr(register, lane).unwrap();
                wave.set_vgpr(register, lane, old | ((encoded >> (32 * part)) as u32) << shift);
            }
        }
    }
}

#[test]
fn every_shape_multiplies_its_blocks() {
    multiply(CDNA3, CDNA3_SHAPES, Controls::default());
}

#[test]
fn every_shape_of_cdna2_multiplies_its_blocks() {
    multiply(CDNA2, CDNA2_SHAPES, Controls::default());
}

/// `cbsz`, `abid`, `blgp`: each `2^cbsz` blocks have that one of their blocks of A in common, and lanes of B are taken by a pattern.
#[derive(Clone, Copy, Default)]
struct Controls([usize; 3]);

/// For each pattern of lanes the quarters of the wave that B is taken from.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 1, 2, 3],
    [0, 1, 0, 1],
    [2, 3, 2, 3],
    [1, 2, 3, 0],
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [2, 2, 2, 2],
    [3, 3, 3, 3],
];

/// Shapes of several blocks share blocks of A, of 2 up to all, and every pattern of lanes of B is taken.
fn broadcast(card: Card, shapes: &[Shape]) {
    let mut all = Vec::new();
    for shape in shapes.iter().filter(|shape| shape.4 != F64) {
        let float = shape.4 == F32 && !shape.0.ends_with("xf32");
        if card.name == "gfx90a" || shape.3 > 1 || float {
            all.extend((1..8).map(|blgp| (*shape, Controls([0, 0, blgp]))));
        }
        for cbsz in 1..=shape.3.ilog2() as usize {
            let blocks = [0, (1 << cbsz) / 2, (1 << cbsz) - 1];
            all.extend(blocks.map(|abid| (*shape, Controls([cbsz, abid, (cbsz + abid) % 8]))));
        }
    }
    ask_together(card, all.iter().map(|(shape, controls)| asm(shape, *controls)));
    for (shape, controls) in all {
        multiply(card, &[shape], controls);
    }
}

#[test]
fn blocks_of_a_and_lanes_of_b_stand_in_for_others() {
    broadcast(CDNA3, CDNA3_SHAPES);
}

#[test]
fn blocks_of_a_and_lanes_of_b_stand_in_for_others_on_cdna2() {
    broadcast(CDNA2, CDNA2_SHAPES);
}

/// The product of factors in v0 and a128 and so on and sums in a64, into a0.
fn asm(&(name, size, depth, blocks, a_type, _): &Shape, Controls(controls): Controls) -> String {
    let words = if a_type == F64 { 2 } else { 1 };
    let held = size * depth * blocks / 64;
    let sums = size * size * blocks / 64;
    let last = |first: usize, count: usize| match count {
        1 => format!("{first}"),
        _ => format!("[{first}:{}]", first + count - 1),
    };
    let factors = (held * a_type.bits() / 32).max(1);
    let controls: String = ["cbsz", "abid", "blgp"]
        .iter()
        .zip(controls)
        .filter(|(_, value)| *value != 0)
        .map(|(name, value)| format!(" {name}:{value}"))
        .collect();
    format!(
        "v_mfma_{name} a{}, v{}, a{}, a{}{controls}",
        last(0, sums * words),
        last(0, factors),
        last(128, factors),
        last(64, sums * words)
    )
}

#[track_caller]
fn multiply(card: Card, shapes: &[Shape], controls: Controls) {
    ask_together(card, shapes.iter().map(|shape| asm(shape, controls)));
    let mut numbers = Numbers(4);
    for shape in shapes {
        let &(name, size, depth, blocks, a_type, b_type) = shape;
        let double = a_type == F64;
        let words = if double { 2 } else { 1 };
        let held = size * depth * blocks / 64;
        let sums = size * size * blocks / 64;
        let mut table = || -> Vec<i64> {
            (0..size * depth * blocks)
                .map(|_| (numbers.next() % 9) as i64 - 4)
                .collect()
        };
        let (a, b) = (table(), table());
        let mut wave = probe64_on(card, &asm(shape, controls));
        // A lane's elements lie one after the other in depth.
        let at = |lane: usize, item: usize| {
            let (row, block, k) = (
                lane % size,
                lane / size % blocks,
                held * (lane / (size * blocks)) + item,
            );
            (block * size + row) * depth + k
        };
        fill(&mut wave, 0, a_type, held, |lane, item| a[at(lane, item)]);
        fill(&mut wave, 256 + 128, b_type, held, |lane, item| b[at(lane, item)]);
        let encode = |value: i64| match a_type {
            F64 => F64.encode(value),
            I8 => u64::from(value as u32),
            _ => F32.encode(value),
        };
        let addend = |lane: usize, v: usize| (lane as i64 - 3 * v as i64) % 50;
        for (lane, v) in (0..64).flat_map(|lane| (0..sums).map(move |v| (lane, v))) {
            for word in 0..words {
                let bits = encode(addend(lane, v)) >> (32 * word);
                wave.set_vgpr((256 + 64 + words * v + word) as u16, lane, bits as u32);
            }
        }
        // Lanes that are switched off take part.
        set(&mut wave, "exec", 5);
        run(&mut wave).unwrap();
        for (lane, v) in (0..64).flat_map(|lane| (0..sums).map(move |v| (lane, v))) {
            let (row, column, block) = place(size, double, lane, v);
            let Controls([cbsz, abid, blgp]) = controls;
            let block_of_a = (block >> cbsz << cbsz) + abid;
            let of_b = |k: usize| {
                let lane = column + size * (block + blocks * (k / held));
                let lane = 16 * QUARTERS[blgp][lane / 16] + lane % 16;
                b[at(lane, k % held)]
            };
            let product: i64 = (0..depth)
                .map(|k| a[(block_of_a * size + row) * depth + k] * of_b(k))
                .sum();
            let got = (0..words).fold(0, |all, word| {
                let register = (256 + words * v + word) as u16;
                all | u64::from(wave.vgpr(register, lane).unwrap()) << (32 * word)
            });
            assert_eq!(
                got,
                encode(product + addend(lane, v)),
                "{name}: lane {lane}, element {v}"
            );
        }
    }
}

#[test]
fn constants_and_signs_of_a_matrix_product() {
    let mut wave = probe64("v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, 1.0");
    set(&mut wave, "v0", 2f32.to_bits());
    set(&mut wave, "v1", 3f32.to_bits());
    run(&mut wave).unwrap();
    assert_eq!(wave.vgpr(6, 63), Some(7f32.to_bits()));
    let mut wave = probe64("v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[6:7] neg:[1,0,1]");
    for (register, value) in [("v1", 2f64), ("v3", 3f64), ("v7", 5f64)] {
        set(&mut wave, register, (value.to_bits() >> 32) as u32);
    }
    run(&mut wave).unwrap();
    assert_eq!(wave.vgpr(5, 9), Some(((-29f64).to_bits() >> 32) as u32));
}

#[test]
fn broadcasts_that_there_are_not_are_refused_by_name() {
    for (card, asm) in [
        (CDNA3, "v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, v[4:7] cbsz:5"),
        (CDNA3, "v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, v[4:7] abid:1"),
        (
            CDNA3,
            "v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, v[4:7] cbsz:2 abid:4",
        ),
        (CDNA3, "v_mfma_f32_16x16x4_f32 v[4:7], v0, v1, v[4:7] cbsz:1"),
        (
            CDNA3,
            "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7] blgp:1",
        ),
        (
            CDNA3,
            "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[4:5] cbsz:1",
        ),
        (CDNA2, "v_mfma_f64_4x4x4f64 v[4:5], v[0:1], v[2:3], v[4:5] blgp:2"),
    ] {
        let fault = run(&mut probe64_on(card, asm)).unwrap_err();
        let FaultKind::Unimplemented { what } = &fault.kind else {
            panic!("{fault}")
        };
        assert!(what.contains(asm), "{what}");
    }
}
