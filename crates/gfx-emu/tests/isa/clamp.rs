//! The clamp bit of integer results: they stop at the largest and the smallest number of their type, and sums within stay as they are.
//!
//! AMD's manuals and LLVM's page of modifiers say so of all integer operations, and of comparisons that the bit has them signal. What
//! `control.rs` lists is refused.

use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA3, RDNA4};
use crate::wave::{Registers, Row, check, check64, program_on, run, set};
use gfx_emu::WaveProbe;

const ALL: u32 = u32::MAX;
const MOST: u32 = i32::MAX as u32;
const LEAST: u32 = i32::MIN as u32;

/// Assembly, registers before, what `v0` is with the bit and without.
type Both<'a> = (&'a str, Registers<'a>, u32, u32);

#[track_caller]
fn both(rows: &[Both<'_>]) {
    for (text, before, clamped, wrapped) in rows {
        let with = format!("{text} clamp");
        let rows: [Row<'_>; 2] = [
            (&with, before, &[("v0", *clamped)]),
            (text, before, &[("v0", *wrapped)]),
        ];
        check(&rows);
    }
}

#[test]
fn products_of_24_and_16_bits_stop_at_what_32_bits_hold() {
    both(&[
        (
            "v_mad_u32_u24 v0, v1, v2, v3",
            &[("v1", 0x10000), ("v2", 0x10000), ("v3", 7)],
            ALL,
            7,
        ),
        (
            "v_mad_u32_u24 v0, v1, v2, v3",
            &[("v1", 0xff00_0001), ("v2", 2), ("v3", ALL)],
            ALL,
            1,
        ),
        (
            "v_mad_u32_u24 v0, v1, v2, v3",
            &[("v1", 3), ("v2", 5), ("v3", 7)],
            22,
            22,
        ),
        (
            "v_mad_i32_i24 v0, v1, v2, v3",
            &[("v1", 0x7f_ffff), ("v2", 0x7f_ffff), ("v3", 0)],
            MOST,
            0xff00_0001,
        ),
        (
            "v_mad_i32_i24 v0, v1, v2, v3",
            &[("v1", 0x80_0000), ("v2", 0x7f_ffff), ("v3", 0)],
            LEAST,
            0x80_0000,
        ),
        (
            "v_mad_i32_i24 v0, v1, v2, v3",
            &[("v1", 0xff_ffff), ("v2", 1), ("v3", LEAST)],
            LEAST,
            MOST,
        ),
        (
            "v_mad_i32_i24 v0, v1, v2, v3",
            &[("v1", 0xff_ffff), ("v2", 6), ("v3", 1)],
            0xffff_fffb,
            0xffff_fffb,
        ),
        (
            "v_mul_u32_u24_e64 v0, v1, v2",
            &[("v1", 0x10000), ("v2", 0x10001)],
            ALL,
            0x10000,
        ),
        (
            "v_mul_i32_i24_e64 v0, v1, v2",
            &[("v1", 0x80_0000), ("v2", 0x80_0000)],
            MOST,
            0,
        ),
        (
            "v_mad_u32_u16 v0, v1, v2, v3",
            &[("v1", 0xffff), ("v2", 0xffff), ("v3", 0x2_0000)],
            ALL,
            1,
        ),
        (
            "v_mad_i32_i16 v0, v1, v2, v3",
            &[("v1", 0x8000), ("v2", 0x7fff), ("v3", LEAST)],
            LEAST,
            0x4000_8000,
        ),
        (
            "v_mad_i32_i16 v0, v1, v2, v3",
            &[("v1", 0x8000), ("v2", 0x8000), ("v3", MOST)],
            MOST,
            0xbfff_ffff,
        ),
    ]);
}

#[test]
fn sums_of_differences_stop_at_what_their_registers_hold() {
    let (bytes, near) = (("v1", 0x00ff_00ff), ALL - 1);
    both(&[
        (
            "v_sad_u8 v0, v1, v2, v3",
            &[bytes, ("v2", 0xff00_ff00), ("v3", near)],
            ALL,
            4 * 255 - 2,
        ),
        (
            "v_sad_u8 v0, v1, v2, v3",
            &[bytes, ("v2", 0), ("v3", 9)],
            519,
            519,
        ),
        (
            "v_sad_hi_u8 v0, v1, v2, v3",
            &[bytes, ("v2", 0), ("v3", 0xfffe_0005)],
            ALL,
            0x01fc_0005,
        ),
        (
            "v_sad_u16 v0, v1, v2, v3",
            &[("v1", ALL), ("v2", 0), ("v3", near)],
            ALL,
            0x1_fffc,
        ),
        (
            "v_sad_u32 v0, v1, v2, v3",
            &[("v1", 1), ("v2", 3), ("v3", ALL)],
            ALL,
            1,
        ),
        (
            "v_msad_u8 v0, v1, v2, v3",
            &[bytes, ("v2", 0x0100_0001), ("v3", near)],
            ALL,
            253,
        ),
    ]);
}

#[test]
fn wide_products_and_four_sums_stop_as_well() {
    let near = [("v4", ALL - 1), ("v5", ALL)];
    check(&[
        (
            "v_mad_u64_u32 v[0:1], vcc_lo, v2, v3, v[4:5] clamp",
            &[("v2", 2), ("v3", 3), near[0], near[1]],
            &[("v0", ALL), ("v1", ALL), ("vcc", ALL)],
        ),
        (
            "v_mad_u64_u32 v[0:1], vcc_lo, v2, v3, v[4:5] clamp",
            &[("v2", ALL), ("v3", ALL), ("v4", 1), ("v5", 0)],
            &[("v0", 2), ("v1", ALL - 1), ("vcc", 0)],
        ),
        (
            "v_mad_i64_i32 v[0:1], vcc_lo, v2, v3, v[4:5] clamp",
            &[("v2", MOST), ("v3", MOST), ("v4", ALL), ("v5", MOST)],
            &[("v0", ALL), ("v1", MOST), ("vcc", ALL)],
        ),
        (
            "v_mad_i64_i32 v[0:1], vcc_lo, v2, v3, v[4:5] clamp",
            &[("v2", MOST), ("v3", LEAST), ("v4", 0), ("v5", LEAST)],
            &[("v0", 0), ("v1", LEAST), ("vcc", ALL)],
        ),
        (
            "v_mad_i64_i32 v[0:1], vcc_lo, v2, v3, v[4:5] clamp",
            &[("v2", ALL), ("v3", 3), ("v4", 1), ("v5", 0)],
            &[("v0", ALL - 1), ("v1", ALL), ("vcc", 0)],
        ),
    ]);
    // Each of the four sums by itself; the windows' own are 4, 6, 7 and 7.
    check(&[(
        "v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11] clamp",
        &[
            ("v4", 0x0302_0100),
            ("v5", 4),
            ("v6", 0x0101_0101),
            ("v8", ALL),
            ("v9", 5),
            ("v10", ALL - 4),
            ("v11", 0),
        ],
        &[("v0", ALL), ("v1", 11), ("v2", ALL), ("v3", 7)],
    )]);
}

#[test]
fn what_cannot_leave_its_range_is_the_same_with_the_bit() {
    let float = f32::to_bits;
    check(&[
        (
            "v_cvt_u32_f32_e64 v0, v1 clamp",
            &[("v1", float(1e20))],
            &[("v0", ALL)],
        ),
        (
            "v_cvt_u32_f32_e64 v0, v1 clamp",
            &[("v1", float(-3.0))],
            &[("v0", 0)],
        ),
        (
            "v_cvt_u32_f32_e64 v0, v1 clamp",
            &[("v1", float(3.75))],
            &[("v0", 3)],
        ),
        (
            "v_cvt_i32_f32_e64 v0, v1 clamp",
            &[("v1", float(-1e20))],
            &[("v0", LEAST)],
        ),
        (
            "v_cvt_i32_f32_e64 v0, v1 clamp",
            &[("v1", float(f32::NAN))],
            &[("v0", 0)],
        ),
        (
            "v_cvt_i16_f16_e64 v0, v1 clamp",
            &[("v1", 0x7c00)],
            &[("v0", 0x7fff)],
        ),
        (
            "v_frexp_exp_i32_f32_e64 v0, v1 clamp",
            &[("v1", float(0.25))],
            &[("v0", ALL)],
        ),
        (
            "v_pk_min_u16 v0, v1, v2 clamp",
            &[("v1", 0x0007_fff0), ("v2", 0x0003_0005)],
            &[("v0", 0x0003_0005)],
        ),
        (
            "v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7] clamp",
            &[
                ("v2", ALL),
                ("v3", ALL),
                ("v4", 0),
                ("v6", 0x0001_fff0),
                ("v7", 0),
            ],
            &[("v0", 0x03fd_ffff), ("v1", 0x03fc_03fc)],
        ),
    ]);
    check64(&[(
        "v_cmp_lt_f32_e64 s[0:1], v0, v1 clamp",
        &[
            ("v0", float(1.0)),
            ("v1", float(2.0)),
            ("v0@3", float(f32::NAN)),
            ("v0@4", float(2.0)),
        ],
        &[("s0", ALL & !0x18), ("s1", ALL)],
    )]);
}

/// A comparison with the bit, of a number less than the other and of a NaN.
#[track_caller]
fn compares<const W: usize>(card: Card) {
    let mask = if W == 64 { "s[0:1]" } else { "s0" };
    for (name, number, nan) in [("lt", 1, 0), ("u", 0, 1), ("nlt", 0, 1)] {
        let code = program_on(card, &format!("v_cmp_{name}_f32_e64 {mask}, v0, v1 clamp"));
        let mut wave = WaveProbe::<W>::new(card.target, &code).unwrap();
        for (register, value) in [("v0", 1.0), ("v1", 2.0), ("v0@1", f32::NAN)] {
            set(&mut wave, register, value.to_bits());
        }
        run(&mut wave).unwrap();
        assert_eq!(
            [wave.sgpr(0) & 1, wave.sgpr(0) >> 1 & 1],
            [number, nan],
            "{} {name}",
            card.name
        );
    }
}

#[test]
fn comparisons_of_floats_that_signal_compare_all_the_same() {
    for card in [RDNA3, RDNA2, RDNA4] {
        compares::<32>(card);
    }
    for card in [CDNA3, CDNA2] {
        compares::<64>(card);
    }
}
