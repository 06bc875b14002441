//! The matrix products of RDNA3 in every element type against a product written out.

use half::{bf16, f16};

use gfx_emu::WaveProbe;

use crate::lines::ask_together;
use crate::llvm::{Card, RDNA3, RDNA3_WAVE64};
use crate::wave::{Numbers, probe, program_on, run};

/// Mnemonic, bits of an element of A and B, how a small integer is encoded there, and how in C and D.
type Row = (&'static str, u32, fn(i64) -> u32, fn(i64) -> u32);

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("v_wmma_f32_16x16x16_f16", 16, |n| u32::from(f16::from_f64(n as f64).to_bits()), |n| (n as f32).to_bits()),
    ("v_wmma_f32_16x16x16_bf16", 16, |n| u32::from(bf16::from_f64(n as f64).to_bits()), |n| (n as f32).to_bits()),
    ("v_wmma_f16_16x16x16_f16", 16, |n| u32::from(f16::from_f64(n as f64).to_bits()), |n| u32::from(f16::from_f64(n as f64).to_bits())),
    ("v_wmma_bf16_16x16x16_bf16", 16, |n| u32::from(bf16::from_f64(n as f64).to_bits()), |n| u32::from(bf16::from_f64(n as f64).to_bits())),
    ("v_wmma_i32_16x16x16_iu8", 8, |n| n as u32 & 0xff, |n| n as u32),
    ("v_wmma_i32_16x16x16_iu4", 4, |n| n as u32 & 0xf, |n| n as u32),
];

#[test]
fn every_type_multiplies_sixteen_by_sixteen() {
    products::<32>(RDNA3);
}

#[test]
fn waves_of_64_lanes_hold_sums_in_half_as_many_registers() {
    products::<64>(RDNA3_WAVE64);
}

fn products<const W: usize>(card: Card) {
    // Registers of C and D, and how many rows further on the same lane's next register is.
    let (registers, step) = (256 / W, W / 16);
    let asm = |&(name, bits, ..): &Row| {
        let last = bits as usize / 2 - 1;
        // Signed elements where they are integers; the float types have no sign to choose.
        let signs = if bits < 16 { " neg_lo:[1,1,0]" } else { "" };
        format!(
            "{name} v[24:{}], v[0:{last}], v[8:{}], v[16:{}]{signs}",
            23 + registers,
            8 + last,
            15 + registers
        )
    };
    ask_together(card, ROWS.iter().map(asm));
    let mut numbers = Numbers(16);
    for row in ROWS {
        let &(name, bits, factor, sum) = row;
        let last = bits as usize / 2 - 1;
        let code = program_on(card, &asm(row));
        let mut wave = WaveProbe::<W>::new(card.target, &code).unwrap();
        // Sums stay small enough for eight bits of fraction.
        let mut table = |below: i64| -> Vec<i64> {
            (0..256)
                .map(|_| (numbers.next() % (2 * below as u64 + 1)) as i64 - below)
                .collect()
        };
        let (a, b, c) = (table(1), table(2), table(8));
        for lane in 0..W {
            let line = lane % 16;
            for register in 0..=last {
                let packed = |element: &dyn Fn(usize) -> i64| {
                    let each = 32 / bits as usize;
                    (0..each).fold(0, |all, i| {
                        all | factor(element(register * each + i)) << (bits * i as u32)
                    })
                };
                wave.set_vgpr(register as u16, lane, packed(&|k| a[16 * line + k]));
                wave.set_vgpr(8 + register as u16, lane, packed(&|k| b[16 * k + line]));
            }
            for v in 0..registers {
                wave.set_vgpr(16 + v as u16, lane, sum(c[16 * (step * v + lane / 16) + line]));
            }
        }
        run(&mut wave).unwrap();
        for (lane, v) in (0..W).flat_map(|lane| (0..registers).map(move |v| (lane, v))) {
            let (row, column) = (step * v + lane / 16, lane % 16);
            let product: i64 = (0..16).map(|k| a[16 * row + k] * b[16 * k + column]).sum();
            let want = sum(product + c[16 * row + column]);
            let got = wave.vgpr(24 + v as u16, lane).unwrap();
            let halves = name.starts_with("v_wmma_f16") || name.starts_with("v_wmma_bf16");
            let mask = if halves { 0xffff } else { u32::MAX };
            assert_eq!(got & mask, want, "{name}: row {row}, column {column}");
        }
    }
}

#[test]
fn integer_products_saturate_with_clamp() {
    for (clamp, want) in [
        (" clamp", 0x7fff_ffff),
        ("", 0x7fff_ff00_u32.wrapping_add(16 * 127 * 127)),
    ] {
        let mut wave = probe(&format!(
            "v_wmma_i32_16x16x16_iu8 v[24:31], v[0:3], v[8:11], v[16:23] neg_lo:[1,1,0]{clamp}"
        ));
        for lane in 0..32 {
            (0..4).for_each(|v| wave.set_vgpr(v, lane, 0x7f7f_7f7f));
            (8..12).for_each(|v| wave.set_vgpr(v, lane, 0x7f7f_7f7f));
            (16..24).for_each(|v| wave.set_vgpr(v, lane, 0x7fff_ff00));
        }
        run(&mut wave).unwrap();
        assert_eq!(wave.vgpr(31, 31), Some(want), "{clamp}");
    }
}
