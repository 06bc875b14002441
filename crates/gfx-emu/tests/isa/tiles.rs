//! The matrix products of RDNA4 in every element type against a product written out, in waves of both widths.
//!
//! Layouts: "RDNA4 Instruction Set Architecture", section "Matrix Element Storage in VGPRs".

use gfx_emu::{FaultKind, Probe, WaveProbe};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Float8E4M3FN, Float8E5M2, Half, Single};

use crate::lines::ask_together;
use crate::llvm::{Card, RDNA4, RDNA4_WAVE64, assemble};
use crate::wave::{Numbers, program_on, run, set};

/// How an element is encoded.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Element {
    F32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I32,
    I8,
    I4,
}
use Element::{Bf8, Bf16, F16, F32, Fp8, I4, I8, I32};

impl Element {
    pub(crate) fn bits(self) -> usize {
        match self {
            F32 | I32 => 32,
            F16 | Bf16 => 16,
            Fp8 | Bf8 | I8 => 8,
            I4 => 4,
        }
    }

    /// A small integer, which every format holds exactly.
    pub(crate) fn encode(self, value: i64) -> u32 {
        fn float<F: Float>(value: i64) -> u32 {
            F::from_i128(value.into()).value.to_bits() as u32
        }
        match self {
            F32 => float::<Single>(value),
            F16 => float::<Half>(value),
            Bf16 => float::<BFloat>(value),
            Fp8 => float::<Float8E4M3FN>(value),
            Bf8 => float::<Float8E5M2>(value),
            I32 => value as u32,
            I8 => value as u32 & 0xff,
            I4 => value as u32 & 0xf,
        }
    }
}

/// Mnemonic, elements of A, of B, and of C and D, depth.
type Row = (&'static str, Element, Element, Element, usize);

const ROWS: &[Row] = &[
    ("v_wmma_f32_16x16x16_f16", F16, F16, F32, 16),
    ("v_wmma_f32_16x16x16_bf16", Bf16, Bf16, F32, 16),
    ("v_wmma_f16_16x16x16_f16", F16, F16, F16, 16),
    ("v_wmma_bf16_16x16x16_bf16", Bf16, Bf16, Bf16, 16),
    ("v_wmma_i32_16x16x16_iu8", I8, I8, I32, 16),
    ("v_wmma_i32_16x16x16_iu4", I4, I4, I32, 16),
    ("v_wmma_i32_16x16x32_iu4", I4, I4, I32, 32),
    ("v_wmma_f32_16x16x16_fp8_fp8", Fp8, Fp8, F32, 16),
    ("v_wmma_f32_16x16x16_fp8_bf8", Fp8, Bf8, F32, 16),
    ("v_wmma_f32_16x16x16_bf8_fp8", Bf8, Fp8, F32, 16),
    ("v_wmma_f32_16x16x16_bf8_bf8", Bf8, Bf8, F32, 16),
];

/// A place in the registers of a wave: group of 16 lanes, register, lowest bit.
pub(crate) type Place = (usize, usize, usize);

/// Registers that hold a matrix of 16 lines in a wave of 32 lanes.
fn registers(element: Element, depth: usize) -> usize {
    depth * element.bits() / 64
}

/// Where a wave of `W` lanes has what one of 32 has at `place`: of a lane's registers, the lanes from 32 on have the second half.
fn in_wave<const W: usize>((group, register, bit): Place, registers: usize) -> Place {
    if W == 32 || registers == 1 {
        return (group, register, bit);
    }
    let each = registers / 2;
    (group + 2 * (register / each), register % each, bit)
}

/// Where element `k` of a line of A or B is: eight bytes of a line are in the lower 16 lanes, eight in the upper ones, and so on; four
/// where the line has no more than eight.
fn factor<const W: usize>(element: Element, depth: usize, k: usize) -> Place {
    let bit = k * element.bits();
    let run = (depth * element.bits() / 2).min(64);
    let (block, within) = (bit / run, bit % run);
    let register = block / 2 * (run / 32) + within / 32;
    in_wave::<W>((block % 2, register, within % 32), registers(element, depth))
}

/// Where a row of C and D is: the lower 16 lanes have the first eight.
fn sum<const W: usize>(element: Element, row: usize) -> Place {
    let bit = row % 8 * element.bits();
    in_wave::<W>((row / 8, bit / 32, bit % 32), registers(element, 16))
}

/// Puts an element of `line` into the registers from `first` on.
pub(crate) fn put<const W: usize>(
    wave: &mut WaveProbe<W>,
    first: usize,
    line: usize,
    (group, register, bit): Place,
    code: u32,
) {
    let (register, lane) = ((first + register) as u16, line + 16 * group);
    let old = wave.vgpr(register, lane).unwrap();
    wave.set_vgpr(register, lane, old | code << bit);
}

pub(crate) fn list(first: usize, count: usize) -> String {
    match count {
        1 => format!("v{first}"),
        _ => format!("v[{first}:{}]", first + count - 1),
    }
}

/// The same number of registers in a wave of `W` lanes.
fn of_wave<const W: usize>(registers: usize) -> usize {
    (registers * 32 / W).max(1)
}

fn asm<const W: usize>(&(name, a_type, _, sum_type, depth): &Row) -> String {
    let integers = sum_type == I32;
    let signs = if integers { " neg_lo:[1,1,0]" } else { "" };
    let held = of_wave::<W>(registers(a_type, depth));
    let sums = of_wave::<W>(registers(sum_type, 16));
    format!(
        "{name} {}, {}, {}, {}{signs}",
        list(48, sums),
        list(0, held),
        list(16, held),
        list(32, sums)
    )
}

fn products<const W: usize>(card: Card) {
    ask_together(card, ROWS.iter().map(asm::<W>));
    let mut numbers = Numbers(1201);
    for row in ROWS {
        let &(name, a_type, b_type, sum_type, depth) = row;
        let code = program_on(card, &asm::<W>(row));
        let mut wave = WaveProbe::<W>::new(card.target, &code).unwrap();
        let mut table = |count: usize, below: u64| -> Vec<i64> {
            (0..count)
                .map(|_| (numbers.next() % (2 * below + 1)) as i64 - below as i64)
                .collect()
        };
        // Sums stay small enough for the eight bits that bf16 has.
        let (a, b, c) = (table(16 * depth, 2), table(16 * depth, 2), table(256, 8));
        for line in 0..16 {
            for k in 0..depth {
                let place = factor::<W>(a_type, depth, k);
                put(&mut wave, 0, line, place, a_type.encode(a[line * depth + k]));
                put(&mut wave, 16, line, place, b_type.encode(b[k * 16 + line]));
            }
            for row in 0..16 {
                let code = sum_type.encode(c[16 * row + line]);
                put(&mut wave, 32, line, sum::<W>(sum_type, row), code);
            }
        }
        // Lanes that are switched off take part.
        set(&mut wave, "exec", 5);
        run(&mut wave).unwrap();
        for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
            let product: i64 = (0..depth).map(|k| a[row * depth + k] * b[k * 16 + column]).sum();
            let (group, register, bit) = sum::<W>(sum_type, row);
            let word = wave.vgpr((48 + register) as u16, column + 16 * group).unwrap();
            let got = word >> bit & (u32::MAX >> (32 - sum_type.bits()));
            let want = sum_type.encode(product + c[16 * row + column]);
            assert_eq!(got, want, "{name} of {W} lanes: row {row}, column {column}");
        }
    }
}

fn narrow(text: &str) -> Probe {
    let code = assemble(RDNA4, &format!("{text}\ns_endpgm\n"));
    Probe::new(RDNA4.target, &code).unwrap()
}

#[test]
fn every_type_of_rdna4_multiplies_sixteen_by_sixteen() {
    products::<32>(RDNA4);
}

#[test]
fn waves_of_64_lanes_of_rdna4_have_half_of_each_operand_in_each_half() {
    products::<64>(RDNA4_WAVE64);
}

#[test]
fn integer_products_of_rdna4_saturate_with_clamp_and_have_signs_by_operand() {
    let sum = 0x7fff_ff00_u32;
    for (modifiers, want) in [
        (" neg_lo:[1,1,0] clamp", 0x7fff_ffff),
        (" neg_lo:[1,1,0]", sum.wrapping_add(16)),
        // Of all ones: 255 and -1.
        ("", sum.wrapping_add(16 * 255 * 255)),
        (" neg_lo:[1,0,0]", sum.wrapping_sub(16 * 255)),
    ] {
        let clamped = modifiers.ends_with("clamp");
        let mut wave = narrow(&format!(
            "v_wmma_i32_16x16x16_iu8 v[24:31], v[0:1], v[8:9], v[16:23]{modifiers}"
        ));
        let factor = if clamped { 0x7f7f_7f7f } else { u32::MAX };
        for register in ["v0", "v1", "v8", "v9"] {
            set(&mut wave, register, factor);
        }
        (16..24).for_each(|v| set(&mut wave, &format!("v{v}"), sum));
        run(&mut wave).unwrap();
        assert_eq!(wave.vgpr(31, 31), Some(want), "{modifiers}");
    }
}

#[test]
fn signs_of_float_products_are_refused_by_name() {
    let asm = "v_wmma_f32_16x16x16_f16 v[24:31], v[0:3], v[8:11], v[16:23] neg_lo:[1,0,0]";
    let fault = run(&mut narrow(asm)).unwrap_err();
    let FaultKind::Unimplemented { what } = &fault.kind else {
        panic!("{fault}")
    };
    assert!(what.contains(asm), "{what}");
}
