//! 16-bit operands: which half, packed pairs, mixed precision, dot products, matrices; and dual instructions.

use crate::wave::{check, get, probe, run, set};

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn op_sel_chooses_the_half_of_each_operand() {
    check(&[
        (
            "v_add_f16 v0, v1, v2",
            &[("v0", 0xffff_0000), ("v1", 0x3c00), ("v2", 0x4000)],
            &[("v0", 0xffff_4200)],
        ),
        (
            "v_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0,1]",
            &[
                ("v0", 0x1111),
                ("v1", 0x3c00_0000),
                ("v2", 0x4000),
                ("v3", 0x3c00),
            ],
            &[("v0", 0x4200_1111)],
        ),
        (
            "v_sub_nc_u16 v0, v1, v2 op_sel:[0,1,1]",
            &[("v0", 0x1111), ("v1", 9), ("v2", 0x2_0000)],
            &[("v0", 0x0007_1111)],
        ),
        (
            "v_fma_f16 v0, v1, v2, v3",
            &[("v1", 0x3c03), ("v2", 0x3c03), ("v3", 0xbc00)],
            &[("v0", 0x1e02)],
        ),
        (
            "v_mad_u32_u16 v0, v1, v2, v3 op_sel:[1,0,0,0]",
            &[("v1", 0x3_0000), ("v2", 5), ("v3", 1)],
            &[("v0", 16)],
        ),
    ]);
}

#[test]
fn a_half_moves_into_either_half_and_leaves_the_other_alone() {
    let before = [("v0", 0x1111_2222), ("v1", 0x3333_4444)];
    check(&[
        ("v_mov_b16 v0.l, v1.h", &before, &[("v0", 0x1111_3333)]),
        ("v_mov_b16 v0.h, v1.l", &before, &[("v0", 0x4444_2222)]),
        ("v_mov_b16 v0.h, 0x5678", &before, &[("v0", 0x5678_2222)]),
    ]);
}

#[test]
fn half_precision_is_rounded_once() {
    // 2049 * 2049 is 4198401; with 2^-24 added it is just above a tie that rounding twice would send down.
    let numbers = [0x6801u16, 0x3c01, 0x0001, 0x7bff, 0x8001, 0x1400, 0xe401];
    for a in numbers {
        for b in numbers {
            let wide = |bits: u16| f64::from(half(bits));
            let product = wide(a) * wide(b);
            let before = [("v1", u32::from(a)), ("v2", u32::from(b))];
            check(&[(
                "v_mul_f16 v0, v1, v2",
                &before,
                &[("v0", u32::from(nearest_half(product)))],
            )]);
        }
    }
}

/// The value of a half, by the definition of the format.
fn half(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    match exponent {
        0 => sign * mantissa * 2.0f32.powi(-24),
        31 => sign * f32::INFINITY,
        _ => sign * (1024.0 + mantissa) * 2.0f32.powi(exponent - 25),
    }
}

/// The nearest half by trying all of them; the even one on a tie.
fn nearest_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.abs() >= 65520.0 {
        return sign | 0x7c00;
    }
    let distance = |bits: u16| (f64::from(half(bits)) - value.abs()).abs();
    let best = (0..0x7c00).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    sign | best.unwrap()
}

#[test]
fn packed_operations_work_on_both_halves_with_signs_of_their_own() {
    check(&[
        (
            "v_pk_add_f16 v0, v1, v2",
            &[("v1", 0x4000_3c00), ("v2", 0x3c00_3c00)],
            &[("v0", 0x4200_4000)],
        ),
        (
            "v_pk_add_f16 v0, v1, v2 neg_lo:[0,1] neg_hi:[1,0]",
            &[("v1", 0x4000_3c00), ("v2", 0x3c00_3c00)],
            &[("v0", 0xbc00_0000)],
        ),
        (
            "v_pk_mul_f16 v0, v1, v2 op_sel_hi:[1,0]",
            &[("v1", 0x4000_3c00), ("v2", 0x7c00_4000)],
            &[("v0", 0x4400_4000)],
        ),
        (
            "v_pk_fma_f16 v0, v1, v2, v3",
            &[("v1", 0x4000_3c00), ("v2", 0x4000_3c00), ("v3", 0x3c00_3c00)],
            &[("v0", 0x4500_4000)],
        ),
        (
            "v_pk_add_u16 v0, v1, v2",
            &[("v1", 0xffff_0001), ("v2", 0x0001_0001)],
            &[("v0", 2)],
        ),
        (
            "v_pk_add_u16 v0, v1, v2 clamp",
            &[("v1", 0xffff_0001), ("v2", 0x0001_0001)],
            &[("v0", 0xffff_0002)],
        ),
        (
            "v_pk_lshrrev_b16 v0, 4, v1 op_sel_hi:[0,1]",
            &[("v1", 0xff00_1230)],
            &[("v0", 0x0ff0_0123)],
        ),
        (
            "v_pk_max_i16 v0, v1, v2",
            &[("v1", 0x8000_0001), ("v2", 0x0001_ffff)],
            &[("v0", 0x0001_0001)],
        ),
        (
            "v_pk_mad_u16 v0, v1, v2, v3",
            &[("v1", 0x0002_0003), ("v2", 0x0005_0007), ("v3", 0x0001_0001)],
            &[("v0", 0x000b_0016)],
        ),
        // An inline constant fills the low half only.
        (
            "v_pk_add_f16 v0, v1, 1.0",
            &[("v1", 0x4000_4000)],
            &[("v0", 0x4000_4200)],
        ),
    ]);
}

#[test]
fn mixed_precision_reads_halves_and_singles() {
    check(&[
        (
            "v_fma_mix_f32 v0, v1, v2, v3",
            &[("v1", f(2.0)), ("v2", f(3.0)), ("v3", f(1.0))],
            &[("v0", f(7.0))],
        ),
        (
            "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
            &[("v1", 0x4000_0000), ("v2", f(3.0)), ("v3", f(1.0))],
            &[("v0", f(7.0))],
        ),
        (
            "v_fma_mix_f32 v0, -v1, |v2|, 1.0 op_sel_hi:[1,0,0]",
            &[("v1", 0x4000), ("v2", f(-3.0))],
            &[("v0", f(-5.0))],
        ),
        (
            "v_fma_mixlo_f16 v0, v1, v2, v3",
            &[
                ("v0", 0xabcd_0000),
                ("v1", f(2.0)),
                ("v2", f(3.0)),
                ("v3", f(1.0)),
            ],
            &[("v0", 0xabcd_4700)],
        ),
        (
            "v_fma_mixhi_f16 v0, v1, v2, v3",
            &[("v0", 0xabcd), ("v1", f(2.0)), ("v2", f(3.0)), ("v3", f(1.0))],
            &[("v0", 0x4700_abcd)],
        ),
    ]);
}

#[test]
fn dot_products_add_both_halves() {
    check(&[
        (
            "v_dot2_f32_f16 v0, v1, v2, v3",
            &[("v1", 0x4000_3c00), ("v2", 0x4200_4400), ("v3", f(1.0))],
            &[("v0", f(11.0))],
        ),
        (
            "v_dot2_f32_bf16 v0, v1, v2, v3",
            &[("v1", 0x4000_3f80), ("v2", 0x4040_4080), ("v3", f(1.0))],
            &[("v0", f(11.0))],
        ),
        (
            "v_dot2acc_f32_f16 v0, v1, v2",
            &[("v0", f(1.0)), ("v1", 0x4000_3c00), ("v2", 0x4200_4400)],
            &[("v0", f(11.0))],
        ),
        (
            "v_dot2_f16_f16 v0, v1, v2, v3",
            &[("v1", 0x4000_3c00), ("v2", 0x4200_4400), ("v3", 0x3c00)],
            &[("v0", 0x4980)],
        ),
    ]);
}

#[test]
fn dual_halves_read_before_either_writes() {
    check(&[
        // The first half writes what the second reads.
        (
            "v_dual_mov_b32 v4, v1 :: v_dual_mov_b32 v7, v4",
            &[("v1", 1), ("v4", 4)],
            &[("v4", 1), ("v7", 4)],
        ),
        // The second half writes what the first reads.
        (
            "v_dual_mov_b32 v4, v7 :: v_dual_mov_b32 v7, v2",
            &[("v2", 2), ("v7", 7)],
            &[("v4", 7), ("v7", 2)],
        ),
        // Each writes what the other reads.
        (
            "v_dual_mov_b32 v4, v7 :: v_dual_mov_b32 v7, v4",
            &[("v4", 4), ("v7", 7)],
            &[("v4", 7), ("v7", 4)],
        ),
        (
            "v_dual_cndmask_b32 v4, v7, v1 :: v_dual_add_f32 v7, v4, v2",
            &[
                ("v1", 0),
                ("v2", f(1.0)),
                ("v4", f(4.0)),
                ("v7", f(7.0)),
                ("vcc", 0),
            ],
            &[("v4", f(7.0)), ("v7", f(5.0))],
        ),
        (
            "v_dual_fmac_f32 v4, v1, v3 :: v_dual_fmaak_f32 v7, v4, v9, 0x3f800000",
            &[("v1", f(2.0)), ("v3", f(3.0)), ("v4", f(4.0)), ("v9", f(5.0))],
            &[("v4", f(10.0)), ("v7", f(21.0))],
        ),
        (
            "v_dual_mov_b32 v4, v7 :: v_dual_lshlrev_b32 v7, 3, v4",
            &[("v4", 1), ("v7", 7)],
            &[("v4", 7), ("v7", 8)],
        ),
    ]);
}

#[test]
fn a_dual_instruction_counts_once() {
    let mut dual = probe("v_dual_mov_b32 v4, v7 :: v_dual_mov_b32 v7, v4");
    assert_eq!(run(&mut dual).unwrap(), 2);
}

#[test]
fn matrix_products_spread_rows_over_lanes() {
    // A is the identity, B[k][n] = 16 k + n, C is 1: D = B + 1.
    let mut wave = probe("v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[16:23]");
    let half = |n: u32| u32::from(nearest_half(f64::from(n)));
    for lane in 0..32 {
        let column = lane as u32 % 16;
        for k in 0..8 {
            let one = |at: u32| if at == column { 0x3c00 } else { 0 };
            wave.set_vgpr(k, lane, one(2 * u32::from(k)) | one(2 * u32::from(k) + 1) << 16);
            let element = |row: u32| half(16 * row + column);
            wave.set_vgpr(
                8 + k,
                lane,
                element(2 * u32::from(k)) | element(2 * u32::from(k) + 1) << 16,
            );
        }
    }
    (16..24).for_each(|n| set(&mut wave, &format!("v{n}"), f(1.0)));
    run(&mut wave).unwrap();
    for lane in 0..32u32 {
        for v in 0..8 {
            let (row, column) = (2 * v + lane / 16, lane % 16);
            let got = get(&wave, &format!("v{}@{lane}", 24 + v));
            assert_eq!(
                got,
                f((16 * row + column + 1) as f32),
                "row {row}, column {column}"
            );
        }
    }
}
