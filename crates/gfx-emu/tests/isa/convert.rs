//! Conversions: saturation, rounding, NaN.

use crate::wave::check;

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn floats_to_integers_go_towards_zero_and_saturate() {
    check(&[
        (
            "v_cvt_i32_f32 v0, v1",
            &[("v1", f(-2.9))],
            &[("v0", -2i32 as u32)],
        ),
        ("v_cvt_i32_f32 v0, v1", &[("v1", f(3e9))], &[("v0", 0x7fff_ffff)]),
        ("v_cvt_i32_f32 v0, v1", &[("v1", f(-3e9))], &[("v0", 0x8000_0000)]),
        ("v_cvt_i32_f32 v0, v1", &[("v1", f(f32::NAN))], &[("v0", 0)]),
        ("v_cvt_u32_f32 v0, v1", &[("v1", f(-1.0))], &[("v0", 0)]),
        ("v_cvt_u32_f32 v0, v1", &[("v1", f(5e9))], &[("v0", u32::MAX)]),
        (
            "v_cvt_i32_f64 v0, v[2:3]",
            &[("v3", 0xc1e0_0000)],
            &[("v0", 0x8000_0000)],
        ),
        (
            "v_cvt_u32_f64 v0, v[2:3]",
            &[("v3", 0x7ff0_0000)],
            &[("v0", u32::MAX)],
        ),
        ("v_cvt_u16_f16 v0, v1", &[("v1", 0x7c00)], &[("v0", 0xffff)]),
        ("v_cvt_i16_f16 v0, v1", &[("v1", 0xfc00)], &[("v0", 0x8000)]),
        ("v_cvt_nearest_i32_f32 v0, v1", &[("v1", f(2.5))], &[("v0", 3)]),
        (
            "v_cvt_floor_i32_f32 v0, v1",
            &[("v1", f(-2.5))],
            &[("v0", -3i32 as u32)],
        ),
    ]);
}

#[test]
fn integers_to_floats_round_to_nearest_even() {
    check(&[
        (
            "v_cvt_f32_u32 v0, v1",
            &[("v1", 0x0100_0001)],
            &[("v0", f(16_777_216.0))],
        ),
        ("v_cvt_f32_i32 v0, v1", &[("v1", u32::MAX)], &[("v0", f(-1.0))]),
        (
            "v_cvt_f64_u32 v[0:1], v2",
            &[("v2", u32::MAX)],
            &[("v0", 0xffe0_0000), ("v1", 0x41ef_ffff)],
        ),
        (
            "v_cvt_f32_ubyte2 v0, v1",
            &[("v1", 0x0012_3456)],
            &[("v0", f(18.0))],
        ),
        ("v_cvt_f16_u16 v0, v1", &[("v1", 0xffff)], &[("v0", 0x7c00)]),
        ("v_cvt_f16_i16 v0, v1", &[("v1", 0xffff)], &[("v0", 0xbc00)]),
        ("v_cvt_off_f32_i4 v0, v1", &[("v1", 8)], &[("v0", f(-0.5))]),
    ]);
}

#[test]
fn halves_round_once_and_keep_denormals_and_nan_payloads() {
    check(&[
        ("v_cvt_f16_f32 v0, v1", &[("v1", f(65519.0))], &[("v0", 0x7bff)]),
        ("v_cvt_f16_f32 v0, v1", &[("v1", f(65520.0))], &[("v0", 0x7c00)]),
        (
            "v_cvt_f16_f32 v0, v1",
            &[("v1", f(2.0f32.powi(-24)))],
            &[("v0", 1)],
        ),
        (
            "v_cvt_f16_f32 v0, v1",
            &[("v1", f(2.0f32.powi(-25)))],
            &[("v0", 0)],
        ),
        (
            "v_cvt_f16_f32 v0, v1",
            &[("v1", f(2.0f32.powi(-25)) + 1)],
            &[("v0", 1)],
        ),
        ("v_cvt_f16_f32 v0, v1", &[("v1", 0xff80_2000)], &[("v0", 0xfe01)]),
        // Half-way between two halves, and just above.
        ("v_cvt_f16_f32 v0, v1", &[("v1", 0x3f80_1000)], &[("v0", 0x3c00)]),
        ("v_cvt_f16_f32 v0, v1", &[("v1", 0x3f80_1001)], &[("v0", 0x3c01)]),
        (
            "v_cvt_f32_f16 v0, v1",
            &[("v1", 1)],
            &[("v0", f(2.0f32.powi(-24)))],
        ),
        ("v_cvt_f32_f16 v0, v1", &[("v1", 0xfc01)], &[("v0", 0xffc0_2000)]),
        // The other half of the destination is kept.
        (
            "v_cvt_f16_f32 v0, v1",
            &[("v0", 0x1234_5678), ("v1", f(1.0))],
            &[("v0", 0x1234_3c00)],
        ),
        (
            "v_cvt_f32_f64 v0, v[2:3]",
            &[("v2", 1), ("v3", 0x3ff0_0000)],
            &[("v0", f(1.0))],
        ),
        ("v_cvt_f32_f64 v0, v[2:3]", &[("v3", 0x36a0_0000)], &[("v0", 1)]),
        (
            "v_cvt_f64_f32 v[0:1], v2",
            &[("v2", 1)],
            &[("v0", 0), ("v1", 0x36a0_0000)],
        ),
        (
            "v_cvt_f64_f32 v[0:1], v2",
            &[("v2", 0x7f80_0001)],
            &[("v0", 0x2000_0000), ("v1", 0x7ff8_0000)],
        ),
    ]);
}

#[test]
fn packing_conversions_limit_each_half() {
    check(&[
        (
            "v_cvt_pk_rtz_f16_f32 v0, v1, v2",
            &[("v1", f(1.0009)), ("v2", f(1e6))],
            &[("v0", 0x7bff_3c00)],
        ),
        (
            "v_cvt_pk_rtz_f16_f32 v0, v1, v2",
            &[("v1", f(-1.0019)), ("v2", f(f32::INFINITY))],
            &[("v0", 0x7c00_bc01)],
        ),
        (
            "v_cvt_pk_norm_i16_f32 v0, v1, v2",
            &[("v1", f(-2.0)), ("v2", f(1.0))],
            &[("v0", 0x7fff_8001)],
        ),
        (
            "v_cvt_pk_norm_u16_f32 v0, v1, v2",
            &[("v1", f(0.5)), ("v2", f(f32::NAN))],
            &[("v0", 0x8000)],
        ),
        (
            "v_cvt_pk_u16_u32 v0, v1, v2",
            &[("v1", 0x1_0000), ("v2", 7)],
            &[("v0", 0x0007_ffff)],
        ),
        (
            "v_cvt_pk_i16_i32 v0, v1, v2",
            &[("v1", 0x1_0000), ("v2", -0x1_0000i32 as u32)],
            &[("v0", 0x8000_7fff)],
        ),
        (
            "v_cvt_pk_u8_f32 v0, v1, 2, v2",
            &[("v1", f(300.0)), ("v2", 0x1111_1111)],
            &[("v0", 0x11ff_1111)],
        ),
        (
            "v_sat_pk_u8_i16 v0, v1",
            &[("v1", 0xffff_0100)],
            &[("v0", 0x00ff)],
        ),
        (
            "v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]",
            &[("v1", 0xaaaa_bbbb), ("v2", 0xcccc_dddd)],
            &[("v0", 0xdddd_aaaa)],
        ),
    ]);
}
