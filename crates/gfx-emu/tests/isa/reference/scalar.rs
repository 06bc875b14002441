//! Scalar instructions: destination, SCC and EXEC against a function of sources, old destination and SCC.

use gfx_emu::{Memory, WaveProbe};

use super::{any_bits, on_each_card};
use crate::llvm::Card;
use crate::wave::{EXEC, Numbers};

/// What goes in: sources in the width of the operands, the old destination, SCC, EXEC.
#[derive(Clone, Copy)]
struct In {
    a: u64,
    b: u64,
    old: u64,
    scc: bool,
    exec: u64,
}

/// What comes out: destination, SCC, EXEC, each if the instruction writes it.
type Out = (Option<u64>, Option<bool>, Option<u64>);

/// Assembly, bits of destination and of the sources, meaning.
type Row = (&'static str, u32, [u32; 2], fn(In) -> Out);

fn value(result: u64) -> Out {
    (Some(result), None, None)
}

/// SCC says whether a bit is left.
fn logic(result: u64) -> Out {
    (Some(result), Some(result != 0), None)
}

fn flag(scc: bool) -> Out {
    (None, Some(scc), None)
}

fn saves(new: u64, old: u64) -> Out {
    (Some(old), Some(new != 0), Some(new))
}

fn writes(new: u64) -> Out {
    (Some(new), Some(new != 0), Some(new))
}

fn sign(value: u64) -> i64 {
    i64::from(value as i32)
}

/// Groups of `from` bits with a bit set, one bit each.
fn quads(value: u64) -> u64 {
    (0..16)
        .filter(|i| value >> (4 * i) & 15 != 0)
        .fold(0, |all, i| all | 1 << i)
}

fn whole_quads(value: u64) -> u64 {
    (0..16)
        .filter(|i| value >> (4 * i) & 15 != 0)
        .fold(0, |all, i| all | 15 << (4 * i))
}

/// A sum or difference of unsigned numbers: SCC says whether it left 32 bits.
fn carries(result: u64) -> Out {
    (Some(result & 0xffff_ffff), Some(result >> 32 != 0), None)
}

/// A sum or difference of signed numbers: SCC says whether it left 32 bits.
fn overflows(result: i64) -> Out {
    (
        Some(result as u64 & 0xffff_ffff),
        Some(i64::from(result as i32) != result),
        None,
    )
}

/// The field of a number that `at` describes, offset below width, unsigned and signed.
fn field(number: i128, at: u64, offsets: u64) -> (i128, i128) {
    let width = (at >> 16 & 127).min(offsets + 1) as u32;
    if width == 0 {
        return (0, 0);
    }
    let shifted = number >> (at & offsets);
    let unused = 128 - width;
    (
        (shifted as u128).wrapping_shl(unused).wrapping_shr(unused) as i128,
        shifted << unused >> unused,
    )
}

/// Leading bits equal to the sign of a number of `bits` bits; all of them: -1.
fn leading_signs(value: u64, bits: u32) -> u64 {
    let top = value >> (bits - 1) & 1;
    let count = (0..bits)
        .take_while(|i| value >> (bits - 1 - i) & 1 == top)
        .count() as u32;
    if count == bits {
        0xffff_ffff
    } else {
        u64::from(count)
    }
}

fn or_none(found: Option<u32>) -> u64 {
    found.map_or(0xffff_ffff, u64::from)
}

fn bits_of(value: u64, bits: u32) -> impl Iterator<Item = u32> {
    (0..bits).filter(move |i| value >> i & 1 != 0)
}

fn sum(scale: u32, i: In) -> Out {
    let sum = (i.a << scale) + i.b;
    (Some(sum & 0xffff_ffff), Some(sum >> 32 != 0), None)
}

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("s_mov_b32 s0, s4", 32, [32, 0], |i| value(i.a)),
    ("s_mov_b64 s[0:1], s[4:5]", 64, [64, 0], |i| value(i.a)),
    ("s_cmov_b32 s0, s4", 32, [32, 0], |i| value(if i.scc { i.a } else { i.old })),
    ("s_cmov_b64 s[0:1], s[4:5]", 64, [64, 0], |i| value(if i.scc { i.a } else { i.old })),
    ("s_brev_b32 s0, s4", 32, [32, 0], |i| value(i.a.reverse_bits() >> 32)),
    ("s_brev_b64 s[0:1], s[4:5]", 64, [64, 0], |i| value(i.a.reverse_bits())),
    ("s_ctz_i32_b32 s0, s4", 32, [32, 0], |i| value(or_none(bits_of(i.a, 32).next()))),
    ("s_ctz_i32_b64 s0, s[4:5]", 32, [64, 0], |i| value(or_none(bits_of(i.a, 64).next()))),
    ("s_clz_i32_u32 s0, s4", 32, [32, 0], |i| value(or_none(bits_of(i.a, 32).last().map(|n| 31 - n)))),
    ("s_clz_i32_u64 s0, s[4:5]", 32, [64, 0], |i| value(or_none(bits_of(i.a, 64).last().map(|n| 63 - n)))),
    ("s_cls_i32 s0, s4", 32, [32, 0], |i| value(leading_signs(i.a, 32))),
    ("s_cls_i32_i64 s0, s[4:5]", 32, [64, 0], |i| value(leading_signs(i.a, 64))),
    ("s_sext_i32_i8 s0, s4", 32, [32, 0], |i| value(i.a as i8 as u32 as u64)),
    ("s_sext_i32_i16 s0, s4", 32, [32, 0], |i| value(i.a as i16 as u32 as u64)),
    ("s_bitset0_b32 s0, s4", 32, [32, 0], |i| value(i.old & !(1 << (i.a & 31)))),
    ("s_bitset0_b64 s[0:1], s4", 64, [32, 0], |i| value(i.old & !(1 << (i.a & 63)))),
    ("s_bitset1_b32 s0, s4", 32, [32, 0], |i| value(i.old | 1 << (i.a & 31))),
    ("s_bitset1_b64 s[0:1], s4", 64, [32, 0], |i| value(i.old | 1 << (i.a & 63))),
    ("s_bitreplicate_b64_b32 s[0:1], s4", 64, [32, 0], |i| value(bits_of(i.a, 32).fold(0, |all, n| all | 3 << (2 * n)))),
    ("s_abs_i32 s0, s4", 32, [32, 0], |i| logic(u64::from((i.a as i32).unsigned_abs()))),
    ("s_bcnt0_i32_b32 s0, s4", 32, [32, 0], |i| logic(32 - bits_of(i.a, 32).count() as u64)),
    ("s_bcnt0_i32_b64 s0, s[4:5]", 32, [64, 0], |i| logic(64 - bits_of(i.a, 64).count() as u64)),
    ("s_bcnt1_i32_b32 s0, s4", 32, [32, 0], |i| logic(bits_of(i.a, 32).count() as u64)),
    ("s_bcnt1_i32_b64 s0, s[4:5]", 32, [64, 0], |i| logic(bits_of(i.a, 64).count() as u64)),
    ("s_quadmask_b32 s0, s4", 32, [32, 0], |i| logic(quads(i.a))),
    ("s_quadmask_b64 s[0:1], s[4:5]", 64, [64, 0], |i| logic(quads(i.a))),
    ("s_wqm_b32 s0, s4", 32, [32, 0], |i| logic(whole_quads(i.a))),
    ("s_wqm_b64 s[0:1], s[4:5]", 64, [64, 0], |i| logic(whole_quads(i.a))),
    ("s_not_b32 s0, s4", 32, [32, 0], |i| logic(!i.a & 0xffff_ffff)),
    ("s_not_b64 s[0:1], s[4:5]", 64, [64, 0], |i| logic(!i.a)),
    ("s_and_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(i.a & i.exec, i.exec)),
    ("s_or_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(i.a | i.exec, i.exec)),
    ("s_xor_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(i.a ^ i.exec, i.exec)),
    ("s_nand_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(!(i.a & i.exec) & 0xffff_ffff, i.exec)),
    ("s_nor_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(!(i.a | i.exec) & 0xffff_ffff, i.exec)),
    ("s_xnor_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(!(i.a ^ i.exec) & 0xffff_ffff, i.exec)),
    ("s_and_not0_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(!i.a & i.exec, i.exec)),
    ("s_or_not0_saveexec_b32 s0, s4", 32, [32, 0], |i| saves((!i.a | i.exec) & 0xffff_ffff, i.exec)),
    ("s_and_not1_saveexec_b32 s0, s4", 32, [32, 0], |i| saves(i.a & !i.exec, i.exec)),
    ("s_or_not1_saveexec_b32 s0, s4", 32, [32, 0], |i| saves((i.a | !i.exec) & 0xffff_ffff, i.exec)),
    ("s_and_not0_wrexec_b32 s0, s4", 32, [32, 0], |i| writes(!i.a & i.exec)),
    ("s_and_not1_wrexec_b32 s0, s4", 32, [32, 0], |i| writes(i.a & !i.exec)),
    ("s_and_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(i.a & i.exec, i.exec)),
    ("s_or_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(i.a | i.exec, i.exec)),
    ("s_xor_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(i.a ^ i.exec, i.exec)),
    ("s_nand_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(!(i.a & i.exec), i.exec)),
    ("s_nor_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(!(i.a | i.exec), i.exec)),
    ("s_xnor_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(!(i.a ^ i.exec), i.exec)),
    ("s_and_not0_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(!i.a & i.exec, i.exec)),
    ("s_or_not0_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(!i.a | i.exec, i.exec)),
    ("s_and_not1_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(i.a & !i.exec, i.exec)),
    ("s_or_not1_saveexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| saves(i.a | !i.exec, i.exec)),
    ("s_and_not0_wrexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| writes(!i.a & i.exec)),
    ("s_and_not1_wrexec_b64 s[0:1], s[4:5]", 64, [64, 0], |i| writes(i.a & !i.exec)),
    ("s_add_u32 s0, s4, s6", 32, [32, 32], |i| sum(0, i)),
    ("s_lshl1_add_u32 s0, s4, s6", 32, [32, 32], |i| sum(1, i)),
    ("s_lshl2_add_u32 s0, s4, s6", 32, [32, 32], |i| sum(2, i)),
    ("s_lshl3_add_u32 s0, s4, s6", 32, [32, 32], |i| sum(3, i)),
    ("s_lshl4_add_u32 s0, s4, s6", 32, [32, 32], |i| sum(4, i)),
    ("s_lshl_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a << (i.b & 31) & 0xffff_ffff)),
    ("s_lshl_b64 s[0:1], s[4:5], s6", 64, [64, 32], |i| logic(i.a << (i.b & 63))),
    ("s_lshr_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a >> (i.b & 31))),
    ("s_lshr_b64 s[0:1], s[4:5], s6", 64, [64, 32], |i| logic(i.a >> (i.b & 63))),
    ("s_ashr_i32 s0, s4, s6", 32, [32, 32], |i| logic((sign(i.a) >> (i.b & 31)) as u32 as u64)),
    ("s_ashr_i64 s[0:1], s[4:5], s6", 64, [64, 32], |i| logic((i.a as i64 >> (i.b & 63)) as u64)),
    ("s_min_i32 s0, s4, s6", 32, [32, 32], |i| (Some(sign(i.a).min(sign(i.b)) as u32 as u64), Some(sign(i.a) < sign(i.b)), None)),
    ("s_min_u32 s0, s4, s6", 32, [32, 32], |i| (Some(i.a.min(i.b)), Some(i.a < i.b), None)),
    ("s_max_i32 s0, s4, s6", 32, [32, 32], |i| (Some(sign(i.a).max(sign(i.b)) as u32 as u64), Some(sign(i.a) >= sign(i.b)), None)),
    ("s_max_u32 s0, s4, s6", 32, [32, 32], |i| (Some(i.a.max(i.b)), Some(i.a >= i.b), None)),
    ("s_and_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a & i.b)),
    ("s_and_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(i.a & i.b)),
    ("s_or_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a | i.b)),
    ("s_or_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(i.a | i.b)),
    ("s_xor_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a ^ i.b)),
    ("s_xor_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(i.a ^ i.b)),
    ("s_nand_b32 s0, s4, s6", 32, [32, 32], |i| logic(!(i.a & i.b) & 0xffff_ffff)),
    ("s_nand_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(!(i.a & i.b))),
    ("s_nor_b32 s0, s4, s6", 32, [32, 32], |i| logic(!(i.a | i.b) & 0xffff_ffff)),
    ("s_nor_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(!(i.a | i.b))),
    ("s_xnor_b32 s0, s4, s6", 32, [32, 32], |i| logic(!(i.a ^ i.b) & 0xffff_ffff)),
    ("s_xnor_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(!(i.a ^ i.b))),
    ("s_and_not1_b32 s0, s4, s6", 32, [32, 32], |i| logic(i.a & !i.b)),
    ("s_and_not1_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(i.a & !i.b)),
    ("s_or_not1_b32 s0, s4, s6", 32, [32, 32], |i| logic((i.a | !i.b) & 0xffff_ffff)),
    ("s_or_not1_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| logic(i.a | !i.b)),
    ("s_pack_ll_b32_b16 s0, s4, s6", 32, [32, 32], |i| value(i.a & 0xffff | (i.b & 0xffff) << 16)),
    ("s_pack_lh_b32_b16 s0, s4, s6", 32, [32, 32], |i| value(i.a & 0xffff | i.b >> 16 << 16)),
    ("s_pack_hh_b32_b16 s0, s4, s6", 32, [32, 32], |i| value(i.a >> 16 | i.b >> 16 << 16)),
    ("s_pack_hl_b32_b16 s0, s4, s6", 32, [32, 32], |i| value(i.a >> 16 | (i.b & 0xffff) << 16)),
    ("s_cselect_b32 s0, s4, s6", 32, [32, 32], |i| value(if i.scc { i.a } else { i.b })),
    ("s_cselect_b64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| value(if i.scc { i.a } else { i.b })),
    ("s_cmp_eq_i32 s4, s6", 0, [32, 32], |i| flag(i.a == i.b)),
    ("s_cmp_lg_i32 s4, s6", 0, [32, 32], |i| flag(i.a != i.b)),
    ("s_cmp_gt_i32 s4, s6", 0, [32, 32], |i| flag(sign(i.a) > sign(i.b))),
    ("s_cmp_ge_i32 s4, s6", 0, [32, 32], |i| flag(sign(i.a) >= sign(i.b))),
    ("s_cmp_lt_i32 s4, s6", 0, [32, 32], |i| flag(sign(i.a) < sign(i.b))),
    ("s_cmp_le_i32 s4, s6", 0, [32, 32], |i| flag(sign(i.a) <= sign(i.b))),
    ("s_cmp_eq_u32 s4, s6", 0, [32, 32], |i| flag(i.a == i.b)),
    ("s_cmp_lg_u32 s4, s6", 0, [32, 32], |i| flag(i.a != i.b)),
    ("s_cmp_gt_u32 s4, s6", 0, [32, 32], |i| flag(i.a > i.b)),
    ("s_cmp_ge_u32 s4, s6", 0, [32, 32], |i| flag(i.a >= i.b)),
    ("s_cmp_lt_u32 s4, s6", 0, [32, 32], |i| flag(i.a < i.b)),
    ("s_cmp_le_u32 s4, s6", 0, [32, 32], |i| flag(i.a <= i.b)),
    ("s_cmp_eq_u64 s[4:5], s[6:7]", 0, [64, 64], |i| flag(i.a == i.b)),
    ("s_cmp_lg_u64 s[4:5], s[6:7]", 0, [64, 64], |i| flag(i.a != i.b)),
    ("s_bitcmp0_b32 s4, s6", 0, [32, 32], |i| flag(i.a >> (i.b & 31) & 1 == 0)),
    ("s_bitcmp1_b32 s4, s6", 0, [32, 32], |i| flag(i.a >> (i.b & 31) & 1 != 0)),
    ("s_bitcmp0_b64 s[4:5], s6", 0, [64, 32], |i| flag(i.a >> (i.b & 63) & 1 == 0)),
    ("s_bitcmp1_b64 s[4:5], s6", 0, [64, 32], |i| flag(i.a >> (i.b & 63) & 1 != 0)),
    ("s_cmpk_eq_i32 s4, 0xfffe", 0, [32, 0], |i| flag(sign(i.a) == -2)),
    ("s_cmpk_lg_i32 s4, 0xfffe", 0, [32, 0], |i| flag(sign(i.a) != -2)),
    ("s_cmpk_gt_i32 s4, 0xfffe", 0, [32, 0], |i| flag(sign(i.a) > -2)),
    ("s_cmpk_ge_i32 s4, 0xffff", 0, [32, 0], |i| flag(sign(i.a) >= -1)),
    ("s_cmpk_lt_i32 s4, 0xffff", 0, [32, 0], |i| flag(sign(i.a) < -1)),
    ("s_cmpk_le_i32 s4, 0xffff", 0, [32, 0], |i| flag(sign(i.a) <= -1)),
    ("s_cmpk_eq_u32 s4, 0x1f", 0, [32, 0], |i| flag(i.a == 31)),
    ("s_cmpk_lg_u32 s4, 0x1f", 0, [32, 0], |i| flag(i.a != 31)),
    ("s_cmpk_gt_u32 s4, 0xffff", 0, [32, 0], |i| flag(i.a > 0xffff)),
    ("s_cmpk_ge_u32 s4, 0x1f", 0, [32, 0], |i| flag(i.a >= 31)),
    ("s_cmpk_lt_u32 s4, 0xffff", 0, [32, 0], |i| flag(i.a < 0xffff)),
    ("s_cmpk_le_u32 s4, 0x1f", 0, [32, 0], |i| flag(i.a <= 31)),
    ("s_movk_i32 s0, 0x8001", 32, [0, 0], |_| value(0xffff_8001)),
    ("s_cmovk_i32 s0, 0x8001", 32, [0, 0], |i| value(if i.scc { 0xffff_8001 } else { i.old })),
    ("s_addc_u32 s0, s4, s6", 32, [32, 32], |i| carries(i.a + i.b + u64::from(i.scc))),
    ("s_sub_u32 s0, s4, s6", 32, [32, 32], |i| carries(i.a.wrapping_sub(i.b))),
    ("s_subb_u32 s0, s4, s6", 32, [32, 32], |i| carries(i.a.wrapping_sub(i.b).wrapping_sub(u64::from(i.scc)))),
    ("s_add_i32 s0, s4, s6", 32, [32, 32], |i| overflows(sign(i.a) + sign(i.b))),
    ("s_sub_i32 s0, s4, s6", 32, [32, 32], |i| overflows(sign(i.a) - sign(i.b))),
    ("s_addk_i32 s0, 0xfff0", 32, [32, 0], |i| overflows(sign(i.old) - 16)),
    ("s_mulk_i32 s0, 0xfff0", 32, [32, 0], |i| value((sign(i.old) * -16) as u64 & 0xffff_ffff)),
    ("s_add_nc_u64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| value(i.a.wrapping_add(i.b))),
    ("s_sub_nc_u64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| value(i.a.wrapping_sub(i.b))),
    ("s_mul_u64 s[0:1], s[4:5], s[6:7]", 64, [64, 64], |i| value(i.a.wrapping_mul(i.b))),
    ("s_mul_i32 s0, s4, s6", 32, [32, 32], |i| value((i.a * i.b) & 0xffff_ffff)),
    ("s_mul_hi_u32 s0, s4, s6", 32, [32, 32], |i| value((i.a * i.b) >> 32)),
    ("s_mul_hi_i32 s0, s4, s6", 32, [32, 32], |i| value(((sign(i.a) * sign(i.b)) >> 32) as u64 & 0xffff_ffff)),
    ("s_absdiff_i32 s0, s4, s6", 32, [32, 32], |i| logic(sign(i.a).abs_diff(sign(i.b)) & 0xffff_ffff)),
    ("s_bfm_b32 s0, s4, s6", 32, [32, 32], |i| value((((1 << (i.a & 31)) - 1) << (i.b & 31)) & 0xffff_ffff)),
    ("s_bfm_b64 s[0:1], s4, s6", 64, [32, 32], |i| value(((1 << (i.a & 63)) - 1) << (i.b & 63))),
    ("s_bfe_u32 s0, s4, s6", 32, [32, 32], |i| logic(field(i.a.into(), i.b, 31).0 as u64)),
    ("s_bfe_i32 s0, s4, s6", 32, [32, 32], |i| logic(field(sign(i.a).into(), i.b, 31).1 as u64 & 0xffff_ffff)),
    ("s_bfe_u64 s[0:1], s[4:5], s6", 64, [64, 32], |i| logic(field(i.a.into(), i.b, 63).0 as u64)),
    ("s_bfe_i64 s[0:1], s[4:5], s6", 64, [64, 32], |i| logic(field((i.a as i64).into(), i.b, 63).1 as u64)),
];

pub(super) fn pieces() -> Vec<String> {
    ROWS.iter().map(|row| row.0.to_owned()).collect()
}

fn narrowed(value: u64, bits: u32) -> u64 {
    if bits == 64 { value } else { value & 0xffff_ffff }
}

/// Runs a row on one wave a try.
fn failures<const W: usize>(card: Card, row: &Row, code: &[u8], failures: &mut Vec<String>) {
    let (asm, bits, sources, meaning) = *row;
    let mut numbers = Numbers(asm.len() as u64);
    let width = bits.max(sources[0]);
    // A wave of 32 lanes has no upper half of EXEC that a mask could be saved from.
    let masks = W == 32 && bits == 64 && (asm.contains("saveexec") || asm.contains("wrexec"));
    let kept = if masks { 0xffff_ffff } else { u64::MAX };
    for _ in 0..40 {
        let [a, b, old, exec] = std::array::from_fn(|_| any_bits(&mut numbers) & kept);
        // Equal sources decide comparisons.
        let b = if numbers.next().is_multiple_of(4) { a } else { b };
        let scc = numbers.next() & 1 != 0;
        let input = In {
            a: narrowed(a, sources[0]),
            b: narrowed(b, sources[1]),
            old: narrowed(old, bits),
            scc,
            exec: narrowed(exec, width),
        };
        let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
        let pairs = [(0, old), (4, a), (6, b), (EXEC, exec)];
        for (register, value) in pairs {
            probe.set_sgpr(register, value as u32);
            probe.set_sgpr(register + 1, (value >> 32) as u32);
        }
        probe.set_scc(scc);
        probe
            .run(&Memory::new(0))
            .unwrap_or_else(|fault| panic!("{asm}: {fault}"));
        let pair = |n: u8| u64::from(probe.sgpr(n)) | u64::from(probe.sgpr(n + 1)) << 32;
        let (result, flag, mask) = meaning(input);
        let flag = if masks {
            mask.map(|mask| mask & kept != 0)
        } else {
            flag
        };
        let written = |new: Option<u64>, old: u64| match new {
            Some(new) if width == 64 || bits == 64 => new,
            Some(new) => new | old >> 32 << 32,
            None => old,
        };
        let single = bits == 32;
        let want_dst = match result {
            Some(result) if single => result | old >> 32 << 32,
            other => other.unwrap_or(old),
        };
        let got = (pair(0) & kept, probe.scc(), pair(EXEC) & kept);
        let want = (want_dst & kept, flag.unwrap_or(scc), written(mask, exec) & kept);
        if got != want {
            let text = format!(
                "{} {asm}: a {a:#x} b {b:#x} old {old:#x} scc {scc} exec {exec:#x}: {got:x?}, not {want:x?}",
                card.name
            );
            failures.push(text);
            break;
        }
    }
}

#[test]
fn scalar_instructions_are_the_functions_written_out_here() {
    on_each_card(ROWS, |row| row.0, 90, failures::<32>, failures::<64>);
}
