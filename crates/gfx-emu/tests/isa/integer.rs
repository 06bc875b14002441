//! Integer lane functions: shifts, fields, carries, saturation, byte sums.

use crate::wave::check;

#[test]
fn addition_wraps_and_with_clamp_saturates() {
    check(&[
        (
            "v_add_nc_u32 v0, v1, v2",
            &[("v1", u32::MAX), ("v2", 2)],
            &[("v0", 1)],
        ),
        (
            "v_add_nc_u32 v0, v1, v2 clamp",
            &[("v1", u32::MAX), ("v2", 2)],
            &[("v0", u32::MAX)],
        ),
        (
            "v_sub_nc_u32 v0, v1, v2 clamp",
            &[("v1", 1), ("v2", 2)],
            &[("v0", 0)],
        ),
        (
            "v_subrev_nc_u32 v0, v1, v2",
            &[("v1", 1), ("v2", 5)],
            &[("v0", 4)],
        ),
        (
            "v_add_nc_i32 v0, v1, v2 clamp",
            &[("v1", 0x7fff_ffff), ("v2", 1)],
            &[("v0", 0x7fff_ffff)],
        ),
        (
            "v_sub_nc_i32 v0, v1, v2 clamp",
            &[("v1", 0x8000_0000), ("v2", 1)],
            &[("v0", 0x8000_0000)],
        ),
        (
            "v_add_nc_i16 v0, v1, v2 clamp",
            &[("v1", 0x7fff), ("v2", 1)],
            &[("v0", 0x7fff)],
        ),
        (
            "v_sub_nc_u16 v0, v1, v2 clamp",
            &[("v1", 1), ("v2", 2)],
            &[("v0", 0)],
        ),
        (
            "v_sub_nc_i16 v0, v1, v2 clamp",
            &[("v1", 0x8000), ("v2", 1)],
            &[("v0", 0x8000)],
        ),
        (
            "v_sub_nc_i16 v0, v1, v2 clamp",
            &[("v1", 0x7fff), ("v2", 0xffff)],
            &[("v0", 0x7fff)],
        ),
        (
            "v_sub_nc_i16 v0, v1, v2",
            &[("v1", 0x7fff), ("v2", 0xffff)],
            &[("v0", 0x8000)],
        ),
        (
            "v_add3_u32 v0, v1, v2, v3",
            &[("v1", u32::MAX), ("v2", 1), ("v3", 7)],
            &[("v0", 7)],
        ),
    ]);
}

#[test]
fn carries_go_through_masks() {
    check(&[
        // Lane 0 carries, lane 1 does not; lanes that are off have no bit.
        (
            "v_add_co_u32 v0, s4, v1, v2",
            &[("v1", 1), ("v2@0", u32::MAX), ("v2@1", 5), ("exec", 3)],
            &[("v0@0", 0), ("v0@1", 6), ("s4", 1)],
        ),
        (
            "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo",
            &[("v1", u32::MAX), ("v2", 0), ("vcc", 1), ("exec", 3)],
            &[("v0@0", 0), ("v0@1", u32::MAX), ("vcc", 1)],
        ),
        (
            "v_sub_co_ci_u32_e64 v0, s5, v1, v2, s4",
            &[("v1", 0), ("v2", 0), ("s4", 2), ("exec", 3)],
            &[("v0@0", 0), ("v0@1", u32::MAX), ("s5", 2)],
        ),
        (
            "v_sub_co_u32 v0, null, v1, v2",
            &[("v1", 3), ("v2", 5)],
            &[("v0", -2i32 as u32)],
        ),
        (
            "v_subrev_co_u32 v0, vcc_lo, v1, v2",
            &[("v1", 3), ("v2", 5)],
            &[("v0", 2), ("vcc", 0)],
        ),
        // A 64-bit sum in two steps.
        (
            "v_add_co_u32 v0, vcc_lo, v2, v4\nv_add_co_ci_u32 v1, vcc_lo, v3, v5, vcc_lo",
            &[("v2", 0xffff_fff0), ("v3", 1), ("v4", 0x20), ("v5", 2)],
            &[("v0", 0x10), ("v1", 4), ("vcc", 0)],
        ),
    ]);
}

#[test]
fn products_of_every_width() {
    check(&[
        (
            "v_mul_lo_u32 v0, v1, v2",
            &[("v1", 0x1_0001), ("v2", 0x1_0001)],
            &[("v0", 0x2_0001)],
        ),
        (
            "v_mul_hi_u32 v0, v1, v2",
            &[("v1", u32::MAX), ("v2", u32::MAX)],
            &[("v0", 0xffff_fffe)],
        ),
        (
            "v_mul_hi_i32 v0, v1, v2",
            &[("v1", u32::MAX), ("v2", 5)],
            &[("v0", u32::MAX)],
        ),
        (
            "v_mul_i32_i24 v0, v1, v2",
            &[("v1", 0xff_ffff), ("v2", 3)],
            &[("v0", -3i32 as u32)],
        ),
        (
            "v_mul_hi_i32_i24 v0, v1, v2",
            &[("v1", 0xff_ffff), ("v2", 3)],
            &[("v0", u32::MAX)],
        ),
        (
            "v_mul_u32_u24 v0, v1, v2",
            &[("v1", 0xff00_0003), ("v2", 4)],
            &[("v0", 12)],
        ),
        (
            "v_mad_u32_u24 v0, v1, v2, v3",
            &[("v1", 3), ("v2", 4), ("v3", 5)],
            &[("v0", 17)],
        ),
        (
            "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]",
            &[("v2", u32::MAX), ("v3", u32::MAX), ("v4", 1), ("v5", 1)],
            &[("v0", 2), ("v1", 0xffff_ffff)],
        ),
        (
            "v_mad_u64_u32 v[0:1], s6, v2, v3, v[4:5]",
            &[
                ("v2", 1),
                ("v3", 1),
                ("v4", u32::MAX),
                ("v5", u32::MAX),
                ("exec", 1),
            ],
            &[("v0", 0), ("v1", 0), ("s6", 1)],
        ),
        (
            "v_mad_i64_i32 v[0:1], null, v2, v3, v[4:5]",
            &[("v2", u32::MAX), ("v3", 3)],
            &[("v0", -3i32 as u32), ("v1", u32::MAX)],
        ),
        (
            "v_mad_u16 v0, v1, v2, v3",
            &[("v0", 0xabcd_0000), ("v1", 300), ("v2", 300), ("v3", 7)],
            &[("v0", 0xabcd_0000 | (90_007 & 0xffff))],
        ),
        (
            "v_mad_i32_i16 v0, v1, v2, v3",
            &[("v1", 0xffff), ("v2", 5), ("v3", 1)],
            &[("v0", -4i32 as u32)],
        ),
        (
            "v_mul_lo_u16 v0, v1, v2",
            &[("v1", 0x101), ("v2", 0x101)],
            &[("v0", 0x201)],
        ),
    ]);
}

#[test]
fn shifts_use_the_low_bits_of_the_amount() {
    check(&[
        ("v_lshlrev_b32 v0, v1, v2", &[("v1", 33), ("v2", 1)], &[("v0", 2)]),
        (
            "v_lshrrev_b32 v0, v1, v2",
            &[("v1", 31), ("v2", 0x8000_0000)],
            &[("v0", 1)],
        ),
        (
            "v_ashrrev_i32 v0, v1, v2",
            &[("v1", 31), ("v2", 0x8000_0000)],
            &[("v0", u32::MAX)],
        ),
        (
            "v_lshlrev_b64 v[0:1], v2, v[4:5]",
            &[("v2", 36), ("v4", 1)],
            &[("v0", 0), ("v1", 16)],
        ),
        (
            "v_lshrrev_b64 v[0:1], 4, v[4:5]",
            &[("v4", 0x10), ("v5", 1)],
            &[("v0", 0x1000_0001), ("v1", 0)],
        ),
        (
            "v_ashrrev_i64 v[0:1], 63, v[4:5]",
            &[("v5", 0x8000_0000)],
            &[("v0", u32::MAX), ("v1", u32::MAX)],
        ),
        (
            "v_lshlrev_b16 v0, v1, v2",
            &[("v0", 0xffff_0000), ("v1", 17), ("v2", 3)],
            &[("v0", 0xffff_0006)],
        ),
        (
            "v_ashrrev_i16 v0, v1, v2",
            &[("v1", 15), ("v2", 0x8000)],
            &[("v0", 0xffff)],
        ),
        (
            "v_alignbit_b32 v0, v1, v2, v3",
            &[("v1", 0x1234_5678), ("v2", 0x9abc_def0), ("v3", 8)],
            &[("v0", 0x789a_bcde)],
        ),
        (
            "v_alignbyte_b32 v0, v1, v2, v3",
            &[("v1", 0x1234_5678), ("v2", 0x9abc_def0), ("v3", 3)],
            &[("v0", 0x3456_789a)],
        ),
        (
            "v_lshl_add_u32 v0, v1, 3, v2",
            &[("v1", 5), ("v2", 2)],
            &[("v0", 42)],
        ),
        (
            "v_add_lshl_u32 v0, v1, v2, 3",
            &[("v1", 5), ("v2", 2)],
            &[("v0", 56)],
        ),
        (
            "v_lshl_or_b32 v0, v1, 4, v2",
            &[("v1", 5), ("v2", 2)],
            &[("v0", 0x52)],
        ),
    ]);
}

#[test]
fn fields_and_bits() {
    check(&[
        ("v_bfe_u32 v0, v1, 8, 4", &[("v1", 0xabcd)], &[("v0", 0xb)]),
        ("v_bfe_u32 v0, v1, 8, 0", &[("v1", 0xabcd)], &[("v0", 0)]),
        (
            "v_bfe_i32 v0, v1, 8, 4",
            &[("v1", 0xabcd)],
            &[("v0", 0xffff_fffb)],
        ),
        (
            "v_bfi_b32 v0, v1, v2, v3",
            &[("v1", 0xff00), ("v2", 0x1234_5678), ("v3", 0x9abc_def0)],
            &[("v0", 0x9abc_56f0)],
        ),
        ("v_bfm_b32 v0, v1, v2", &[("v1", 4), ("v2", 8)], &[("v0", 0xf00)]),
        ("v_bfrev_b32 v0, v1", &[("v1", 1)], &[("v0", 0x8000_0000)]),
        ("v_clz_i32_u32 v0, v1", &[("v1", 0x10)], &[("v0", 27)]),
        ("v_clz_i32_u32 v0, v1", &[], &[("v0", u32::MAX)]),
        ("v_ctz_i32_b32 v0, v1", &[("v1", 0x10)], &[("v0", 4)]),
        ("v_cls_i32 v0, v1", &[("v1", 0xffff_0000)], &[("v0", 16)]),
        ("v_cls_i32 v0, v1", &[("v1", u32::MAX)], &[("v0", u32::MAX)]),
        (
            "v_bcnt_u32_b32 v0, v1, v2",
            &[("v1", 0xff), ("v2", 100)],
            &[("v0", 108)],
        ),
        (
            "v_xor3_b32 v0, v1, v2, v3",
            &[("v1", 1), ("v2", 3), ("v3", 8)],
            &[("v0", 10)],
        ),
        (
            "v_and_or_b32 v0, v1, v2, v3",
            &[("v1", 6), ("v2", 3), ("v3", 8)],
            &[("v0", 10)],
        ),
        (
            "v_xad_u32 v0, v1, v2, v3",
            &[("v1", 6), ("v2", 3), ("v3", 8)],
            &[("v0", 13)],
        ),
        ("v_xnor_b32 v0, v1, v2", &[("v1", 6), ("v2", 3)], &[("v0", !5)]),
        (
            "v_perm_b32 v0, v1, v2, v3",
            &[("v1", 0x8122_3344), ("v2", 0x5566_7788), ("v3", 0x0700_0c0b)],
            &[("v0", 0x8188_00ff)],
        ),
    ]);
}

#[test]
fn order_statistics_and_comparisons_are_signed_or_not() {
    check(&[
        (
            "v_min_i32 v0, v1, v2",
            &[("v1", u32::MAX), ("v2", 1)],
            &[("v0", u32::MAX)],
        ),
        (
            "v_min_u32 v0, v1, v2",
            &[("v1", u32::MAX), ("v2", 1)],
            &[("v0", 1)],
        ),
        (
            "v_med3_i32 v0, v1, v2, v3",
            &[("v1", u32::MAX), ("v2", 1), ("v3", 5)],
            &[("v0", 1)],
        ),
        (
            "v_med3_u32 v0, v1, v2, v3",
            &[("v1", u32::MAX), ("v2", 1), ("v3", 5)],
            &[("v0", 5)],
        ),
        (
            "v_max3_i16 v0, v1, v2, v3",
            &[("v1", 0xffff), ("v2", 1), ("v3", 0x8000)],
            &[("v0", 1)],
        ),
        (
            "v_cmp_lt_i32 vcc_lo, v1, v2",
            &[("v1", u32::MAX), ("v2", 1), ("exec", 1)],
            &[("vcc", 1)],
        ),
        (
            "v_cmp_lt_u32 vcc_lo, v1, v2",
            &[("v1", u32::MAX), ("v2", 1), ("exec", 1)],
            &[("vcc", 0)],
        ),
        (
            "v_cmp_gt_i64 vcc_lo, v[2:3], v[4:5]",
            &[("v3", u32::MAX), ("exec", 1)],
            &[("vcc", 0)],
        ),
        (
            "v_cmp_gt_u64 vcc_lo, v[2:3], v[4:5]",
            &[("v3", u32::MAX), ("exec", 1)],
            &[("vcc", 1)],
        ),
        (
            "v_cmp_eq_u64 vcc_lo, 0, v[4:5]",
            &[("v5", 1), ("exec", 1)],
            &[("vcc", 0)],
        ),
        (
            "v_cmp_ne_u16 vcc_lo, v1, v2",
            &[("v1", 0x1_0002), ("v2", 2), ("exec", 1)],
            &[("vcc", 0)],
        ),
        (
            "v_cmp_lt_i16 vcc_lo, v1, v2",
            &[("v1", 0xffff), ("v2", 2), ("exec", 1)],
            &[("vcc", 1)],
        ),
    ]);
}

#[test]
fn sums_of_bytes() {
    let before = [("v1", 0x0102_0304), ("v2", 0x0400_0201), ("v3", 10)];
    check(&[
        ("v_sad_u8 v0, v1, v2, v3", &before, &[("v0", 10 + 3 + 2 + 1 + 3)]),
        ("v_sad_hi_u8 v0, v1, v2, v3", &before, &[("v0", (9 << 16) + 10)]),
        ("v_msad_u8 v0, v1, v2, v3", &before, &[("v0", 10 + 3 + 1 + 3)]),
        (
            "v_sad_u32 v0, v1, v2, v3",
            &[("v1", 5), ("v2", 9), ("v3", 1)],
            &[("v0", 5)],
        ),
        (
            "v_lerp_u8 v0, v1, v2, v3",
            &[("v1", 0x0000_0003), ("v2", 0x0000_0004), ("v3", 1)],
            &[("v0", 4)],
        ),
        ("v_dot4_u32_u8 v0, v1, v2, v3", &before, &[("v0", 10 + 4 + 6 + 4)]),
        (
            "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]",
            &[("v1", 0xff), ("v2", 0xff), ("v3", 0)],
            &[("v0", -255i32 as u32)],
        ),
        (
            "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0]",
            &[("v1", 0xff), ("v2", 0xff), ("v3", 0)],
            &[("v0", 1)],
        ),
        (
            "v_dot8_i32_iu4 v0, v1, v2, v3 neg_lo:[1,1,0]",
            &[("v1", 0xf8), ("v2", 0x12), ("v3", 0)],
            &[("v0", -17i32 as u32)],
        ),
    ]);
}

#[test]
fn inactive_lanes_keep_their_values() {
    check(&[(
        "v_mov_b32 v0, 7",
        &[("v0", 1), ("exec", 0b101)],
        &[("v0@0", 7), ("v0@1", 1), ("v0@2", 7), ("v0@3", 1)],
    )]);
}

#[test]
fn sums_with_a_carry_and_integer_dot_products_saturate_with_clamp() {
    let all = u32::MAX;
    check(&[
        (
            "v_add_co_u32 v0, vcc_lo, v1, v2 clamp",
            &[("v1", all), ("v2", 2)],
            &[("v0", all), ("vcc", all)],
        ),
        (
            "v_add_co_u32 v0, vcc_lo, v1, v2 clamp",
            &[("v1", 3), ("v2", 2)],
            &[("v0", 5), ("vcc", 0)],
        ),
        (
            "v_sub_co_u32 v0, vcc_lo, v1, v2 clamp",
            &[("v1", 1), ("v2", 2)],
            &[("v0", 0), ("vcc", all)],
        ),
        (
            "v_subrev_co_u32 v0, vcc_lo, v1, v2 clamp",
            &[("v1", 1), ("v2", 2)],
            &[("v0", 1), ("vcc", 0)],
        ),
        (
            "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo clamp",
            &[("v1", all - 1), ("v2", 1), ("vcc", all), ("vcc_hi", all)],
            &[("v0", all), ("vcc", all)],
        ),
        (
            "v_sub_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo clamp",
            &[("v1", 2), ("v2", 2), ("vcc", all), ("vcc_hi", all)],
            &[("v0", 0), ("vcc", all)],
        ),
        // 4 * 127 * 127 beyond the largest sum, and 4 * -128 * 127 beyond the smallest.
        (
            "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp",
            &[("v1", 0x7f7f_7f7f), ("v2", 0x7f7f_7f7f), ("v3", 0x7fff_fff0)],
            &[("v0", 0x7fff_ffff)],
        ),
        (
            "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp",
            &[("v1", 0x8080_8080), ("v2", 0x7f7f_7f7f), ("v3", 0x8000_0010)],
            &[("v0", 0x8000_0000)],
        ),
        (
            "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0]",
            &[("v1", 0x7f7f_7f7f), ("v2", 0x7f7f_7f7f), ("v3", 0x7fff_fff0)],
            &[("v0", 0x7fff_fff0 + 4 * 127 * 127)],
        ),
    ]);
}
