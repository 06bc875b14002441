//! Scalar functions and SCC.

use crate::wave::check;

const MIN: u32 = 0x8000_0000;

#[test]
fn sums_give_carry_or_overflow() {
    check(&[
        (
            "s_add_u32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 2)],
            &[("s0", 1), ("scc", 1)],
        ),
        (
            "s_add_i32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 2)],
            &[("s0", 1), ("scc", 0)],
        ),
        (
            "s_add_i32 s0, s1, s2",
            &[("s1", 0x7fff_ffff), ("s2", 1)],
            &[("s0", MIN), ("scc", 1)],
        ),
        (
            "s_sub_u32 s0, s1, s2",
            &[("s1", 1), ("s2", 2)],
            &[("s0", u32::MAX), ("scc", 1)],
        ),
        (
            "s_sub_i32 s0, s1, s2",
            &[("s1", 1), ("s2", 2)],
            &[("s0", u32::MAX), ("scc", 0)],
        ),
        (
            "s_addc_u32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 0), ("scc", 1)],
            &[("s0", 0), ("scc", 1)],
        ),
        (
            "s_subb_u32 s0, s1, s2",
            &[("s1", 5), ("s2", 5), ("scc", 1)],
            &[("s0", u32::MAX), ("scc", 1)],
        ),
        ("s_addk_i32 s0, 0xffff", &[("s0", 5)], &[("s0", 4), ("scc", 0)]),
        ("s_mulk_i32 s0, 0xffff", &[("s0", 5)], &[("s0", -5i32 as u32)]),
        (
            "s_absdiff_i32 s0, s1, s2",
            &[("s1", 2), ("s2", 5)],
            &[("s0", 3), ("scc", 1)],
        ),
        (
            "s_lshl2_add_u32 s0, s1, s2",
            &[("s1", 0x4000_0000), ("s2", 5)],
            &[("s0", 5), ("scc", 1)],
        ),
        (
            "s_mul_hi_u32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", u32::MAX)],
            &[("s0", 0xffff_fffe)],
        ),
        (
            "s_mul_hi_i32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 7)],
            &[("s0", u32::MAX)],
        ),
        (
            "s_mul_i32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 7), ("scc", 1)],
            &[("s0", -7i32 as u32), ("scc", 1)],
        ),
    ]);
}

#[test]
fn logic_sets_scc_when_a_bit_is_left() {
    check(&[
        (
            "s_and_b32 s0, s1, s2",
            &[("s1", 1), ("s2", 2), ("scc", 1)],
            &[("s0", 0), ("scc", 0)],
        ),
        (
            "s_or_b64 s[0:1], s[2:3], s[4:5]",
            &[("s3", 1)],
            &[("s0", 0), ("s1", 1), ("scc", 1)],
        ),
        (
            "s_and_not1_b32 s0, s1, s2",
            &[("s1", 7), ("s2", 2)],
            &[("s0", 5), ("scc", 1)],
        ),
        (
            "s_or_not1_b32 s0, s1, s2",
            &[("s2", u32::MAX)],
            &[("s0", 0), ("scc", 0)],
        ),
        (
            "s_xnor_b32 s0, s1, s2",
            &[("s1", 7), ("s2", 2)],
            &[("s0", !5), ("scc", 1)],
        ),
        (
            "s_nand_b64 s[0:1], s[2:3], s[4:5]",
            &[("s2", 1), ("s4", 1)],
            &[("s0", !1), ("s1", !0)],
        ),
        ("s_not_b32 s0, s1", &[("s1", u32::MAX)], &[("s0", 0), ("scc", 0)]),
        (
            "s_mov_b32 null, 5\ns_mov_b32 s0, null",
            &[("s0", 9)],
            &[("s0", 0)],
        ),
        ("s_add_u32 s0, src_scc, 4", &[("scc", 1)], &[("s0", 5)]),
    ]);
}

#[test]
fn shifts_fields_and_counts() {
    check(&[
        ("s_lshl_b32 s0, s1, 33", &[("s1", 1)], &[("s0", 2), ("scc", 1)]),
        (
            "s_lshl_b64 s[0:1], s[2:3], s4",
            &[("s2", 1), ("s4", 36)],
            &[("s0", 0), ("s1", 16), ("scc", 1)],
        ),
        ("s_ashr_i32 s0, s1, 31", &[("s1", MIN)], &[("s0", u32::MAX)]),
        (
            "s_ashr_i64 s[0:1], s[2:3], 32",
            &[("s3", MIN)],
            &[("s0", MIN), ("s1", u32::MAX)],
        ),
        (
            "s_bfe_u32 s0, s1, 0x40008",
            &[("s1", 0xabcd)],
            &[("s0", 0xb), ("scc", 1)],
        ),
        (
            "s_bfe_i32 s0, s1, 0x40008",
            &[("s1", 0xabcd)],
            &[("s0", 0xffff_fffb)],
        ),
        (
            "s_bfe_u64 s[0:1], s[2:3], 0x80020",
            &[("s3", 0xabcd)],
            &[("s0", 0xcd), ("s1", 0)],
        ),
        (
            "s_bfe_i64 s[0:1], s[2:3], 0x200000",
            &[("s2", MIN)],
            &[("s0", MIN), ("s1", u32::MAX)],
        ),
        ("s_bfm_b32 s0, 4, 8", &[], &[("s0", 0xf00)]),
        ("s_bfm_b64 s[0:1], 4, 40", &[], &[("s0", 0), ("s1", 0xf00)]),
        ("s_brev_b32 s0, s1", &[("s1", 1)], &[("s0", MIN)]),
        ("s_ctz_i32_b64 s0, s[2:3]", &[("s3", 1)], &[("s0", 32)]),
        ("s_clz_i32_u32 s0, s1", &[], &[("s0", u32::MAX)]),
        ("s_cls_i32 s0, s1", &[("s1", 0xff00_0000)], &[("s0", 8)]),
        (
            "s_bcnt1_i32_b64 s0, s[2:3]",
            &[("s2", 7), ("s3", 1)],
            &[("s0", 4), ("scc", 1)],
        ),
        ("s_sext_i32_i8 s0, s1", &[("s1", 0x1280)], &[("s0", 0xffff_ff80)]),
        (
            "s_sext_i32_i16 s0, s1",
            &[("s1", 0x1_8000)],
            &[("s0", 0xffff_8000)],
        ),
        (
            "s_abs_i32 s0, s1",
            &[("s1", -7i32 as u32)],
            &[("s0", 7), ("scc", 1)],
        ),
        ("s_bitset1_b32 s0, 4", &[("s0", 1)], &[("s0", 0x11)]),
        ("s_bitset0_b64 s[0:1], 32", &[("s1", 3)], &[("s1", 2)]),
        (
            "s_bitreplicate_b64_b32 s[0:1], s2",
            &[("s2", 0x8000_0005)],
            &[("s0", 0x33), ("s1", 0xc000_0000)],
        ),
        (
            "s_pack_lh_b32_b16 s0, s1, s2",
            &[("s1", 0x1111_2222), ("s2", 0x3333_4444)],
            &[("s0", 0x3333_2222)],
        ),
        (
            "s_quadmask_b32 s0, s1",
            &[("s1", 0x0100_0010)],
            &[("s0", 0x42), ("scc", 1)],
        ),
        ("s_wqm_b32 s0, s1", &[("s1", 0x0100_0010)], &[("s0", 0x0f00_00f0)]),
    ]);
}

#[test]
fn comparisons_and_selects_use_scc() {
    check(&[
        (
            "s_cmp_lt_i32 s1, s2",
            &[("s1", u32::MAX), ("s2", 1)],
            &[("scc", 1)],
        ),
        (
            "s_cmp_lt_u32 s1, s2",
            &[("s1", u32::MAX), ("s2", 1), ("scc", 1)],
            &[("scc", 0)],
        ),
        (
            "s_cmp_eq_u64 s[2:3], s[4:5]",
            &[("s3", 1), ("scc", 1)],
            &[("scc", 0)],
        ),
        ("s_cmpk_eq_i32 s1, 0xffff", &[("s1", u32::MAX)], &[("scc", 1)]),
        ("s_cmpk_eq_u32 s1, 0xffff", &[("s1", 0xffff)], &[("scc", 1)]),
        ("s_bitcmp1_b32 s1, 5", &[("s1", 0x20)], &[("scc", 1)]),
        (
            "s_cselect_b32 s0, s1, s2",
            &[("s1", 1), ("s2", 2), ("scc", 1)],
            &[("s0", 1)],
        ),
        (
            "s_cselect_b64 s[0:1], s[2:3], 0",
            &[("s2", 1), ("scc", 0)],
            &[("s0", 0)],
        ),
        (
            "s_cmov_b32 s0, s1",
            &[("s0", 9), ("s1", 1), ("scc", 0)],
            &[("s0", 9)],
        ),
        (
            "s_cmovk_i32 s0, 0xfffe",
            &[("s0", 9), ("scc", 1)],
            &[("s0", 0xffff_fffe)],
        ),
        ("s_movk_i32 s0, 0x8000", &[], &[("s0", 0xffff_8000)]),
        (
            "s_min_i32 s0, s1, s2",
            &[("s1", u32::MAX), ("s2", 1)],
            &[("s0", u32::MAX), ("scc", 1)],
        ),
        (
            "s_max_u32 s0, s1, s2",
            &[("s1", 1), ("s2", 5)],
            &[("s0", 5), ("scc", 0)],
        ),
    ]);
}

#[test]
fn constants_of_64_bits_extend_by_their_kind() {
    check(&[
        ("s_mov_b64 s[0:1], -1", &[], &[("s0", u32::MAX), ("s1", u32::MAX)]),
        (
            "s_mov_b64 s[0:1], 0x12345678",
            &[],
            &[("s0", 0x1234_5678), ("s1", 0)],
        ),
        ("s_mov_b64 s[0:1], 1.0", &[], &[("s0", 0), ("s1", 0x3ff0_0000)]),
        ("s_mov_b32 s0, src_shared_base", &[], &[("s0", 0)]),
        (
            "s_mov_b64 s[0:1], src_shared_base",
            &[],
            &[("s0", 0), ("s1", 0x1_0000)],
        ),
    ]);
}

#[test]
fn saveexec_keeps_the_old_mask_and_makes_the_new_one() {
    let before = [("s1", 0b0110), ("exec", 0b0011)];
    check(&[
        (
            "s_and_saveexec_b32 s0, s1",
            &before,
            &[("s0", 0b0011), ("exec", 0b0010), ("scc", 1)],
        ),
        (
            "s_or_saveexec_b32 s0, s1",
            &before,
            &[("s0", 0b0011), ("exec", 0b0111)],
        ),
        ("s_xor_saveexec_b32 s0, s1", &before, &[("exec", 0b0101)]),
        ("s_and_not1_saveexec_b32 s0, s1", &before, &[("exec", 0b0100)]),
        ("s_and_not0_saveexec_b32 s0, s1", &before, &[("exec", 0b0001)]),
        ("s_or_not1_saveexec_b32 s0, s1", &before, &[("exec", !0b0001)]),
        ("s_nand_saveexec_b32 s0, s1", &before, &[("exec", !0b0010)]),
        (
            "s_and_not1_wrexec_b32 s0, s1",
            &before,
            &[("s0", 0b0100), ("exec", 0b0100)],
        ),
        (
            "s_and_saveexec_b32 s0, s1",
            &[("s1", 4), ("exec", 3)],
            &[("exec", 0), ("scc", 0)],
        ),
        // Registers of 64 bits: a wave of 32 lanes has no upper half.
        (
            "s_and_saveexec_b64 s[2:3], s[0:1]",
            &[("s0", 1), ("s1", 5), ("exec", 3)],
            &[("s2", 3), ("s3", 0), ("exec", 1)],
        ),
    ]);
}
