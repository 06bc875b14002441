//! Vector instructions: the destination of every lane against a function of its sources.

use gfx_emu::{Memory, WaveProbe};
use half::{bf16, f16};

use super::{any_bits, get_wide, on_each_card, set_wide};
use crate::llvm::Card;
use crate::wave::Numbers;

/// What an operand is: no operand, bits, a number that is not a NaN, or for a result a number near the one given.
#[derive(Clone, Copy, PartialEq)]
enum Ty {
    No,
    B16,
    B32,
    B64,
    F16,
    F32,
    F64,
    /// Two halves.
    Pair,
    /// Single precision without denormals, which some approximations flush.
    Normal,
    /// Eighths from 0 to 1 as half precision.
    Quarter,
    /// Integers from -16 to 16 as single precision.
    Small,
    Near16,
    Near32,
    Near64,
    /// 16 bits that may be one more or less.
    Off1,
}
use Ty::{B16, B32, B64, F16, F32, F64, Near16, Near32, Near64, No, Normal, Off1, Pair, Quarter, Small};

/// Assembly with the result in v0, sources in v4, v6 and v8; types of the result and of them; meaning.
type Row = (&'static str, Ty, [Ty; 3], fn([u64; 3]) -> u64);

fn s(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}
fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}
fn h(bits: u64) -> f64 {
    f16::from_bits(bits as u16).to_f64()
}
fn of_s(value: f32) -> u64 {
    u64::from(value.to_bits())
}
fn of_h(value: f64) -> u64 {
    u64::from(f16::from_f64(value).to_bits())
}
fn i(bits: u64) -> i64 {
    i64::from(bits as i32)
}
fn i16_of(bits: u64) -> i64 {
    i64::from(bits as i16)
}
fn low(bits: i64) -> u64 {
    bits as u64 & 0xffff_ffff
}
fn low16(bits: i64) -> u64 {
    bits as u64 & 0xffff
}
/// A function of 16 bits on both halves.
fn both([a, b, c]: [u64; 3], f: fn(u64, u64, u64) -> u64) -> u64 {
    let half = |at: u32| f(a >> at & 0xffff, b >> at & 0xffff, c >> at & 0xffff) & 0xffff;
    half(0) | half(16) << 16
}
fn middle<T: PartialOrd + Copy>(mut values: [T; 3]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[1]
}
/// The sum of the differences of four pairs of bytes, leaving those out whose second byte is zero if `masked`.
fn bytes_apart(a: u64, b: u64, masked: bool) -> u64 {
    let byte = |word: u64, n: u32| (word >> (8 * n) & 255) as i64;
    (0..4)
        .filter(|n| !masked || byte(b, *n) != 0)
        .map(|n| (byte(a, n) - byte(b, n)).unsigned_abs())
        .sum()
}
/// Four sums of windows of an eight-byte word against four bytes, in 16 bits each.
fn windows([a, b, c]: [u64; 3], masked: bool) -> u64 {
    let window = |n: u32| bytes_apart(a >> (8 * n), b, masked) + (c >> (16 * n) & 0xffff);
    (0..4).fold(0, |all, n| all | window(n).min(0xffff) << (16 * n))
}
/// Multiplication in which zero wins over infinity.
fn zero_wins(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}
/// Mantissa in [0.5, 1) and exponent of a finite number that is not zero.
fn parts(value: f64) -> (f64, i32) {
    let (mut mantissa, mut exponent) = (value, 0);
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    while mantissa.abs() >= 1.0 {
        (mantissa, exponent) = (mantissa / 2.0, exponent + 1);
    }
    while mantissa.abs() < 0.5 {
        (mantissa, exponent) = (mantissa * 2.0, exponent - 1);
    }
    (mantissa, exponent)
}

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("v_mov_b32 v0, v4", B32, [B32, No, No], |[a, ..]| a),
    ("v_not_b32 v0, v4", B32, [B32, No, No], |[a, ..]| !a & 0xffff_ffff),
    ("v_not_b16 v0, v4", B16, [B16, No, No], |[a, ..]| !a & 0xffff),
    ("v_cvt_i32_i16 v0, v4", B32, [B16, No, No], |[a, ..]| low(i16_of(a))),
    ("v_cvt_u32_u16 v0, v4", B32, [B16, No, No], |[a, ..]| a & 0xffff),
    ("v_cvt_f64_i32 v[0:1], v4", F64, [B32, No, No], |[a, ..]| f64::from(a as i32).to_bits()),
    ("v_cvt_f64_u32 v[0:1], v4", F64, [B32, No, No], |[a, ..]| f64::from(a as u32).to_bits()),
    ("v_cvt_f32_ubyte0 v0, v4", F32, [B32, No, No], |[a, ..]| of_s(f32::from(a as u8))),
    ("v_cvt_f32_ubyte1 v0, v4", F32, [B32, No, No], |[a, ..]| of_s(f32::from((a >> 8) as u8))),
    ("v_cvt_f32_ubyte2 v0, v4", F32, [B32, No, No], |[a, ..]| of_s(f32::from((a >> 16) as u8))),
    ("v_cvt_f32_ubyte3 v0, v4", F32, [B32, No, No], |[a, ..]| of_s(f32::from((a >> 24) as u8))),
    ("v_trunc_f64 v[0:1], v[4:5]", F64, [F64, No, No], |[a, ..]| d(a).trunc().to_bits()),
    ("v_ceil_f64 v[0:1], v[4:5]", F64, [F64, No, No], |[a, ..]| d(a).ceil().to_bits()),
    ("v_floor_f64 v[0:1], v[4:5]", F64, [F64, No, No], |[a, ..]| d(a).floor().to_bits()),
    ("v_rndne_f64 v[0:1], v[4:5]", F64, [F64, No, No], |[a, ..]| d(a).round_ties_even().to_bits()),
    ("v_fract_f64 v[0:1], v[4:5]", Near64, [F64, No, No], |[a, ..]| (d(a) - d(a).floor()).to_bits()),
    ("v_rcp_iflag_f32 v0, v4", Near32, [Normal, No, No], |[a, ..]| of_s(1.0 / s(a))),
    ("v_rcp_f64 v[0:1], v[4:5]", Near64, [F64, No, No], |[a, ..]| (1.0 / d(a)).to_bits()),
    ("v_rsq_f64 v[0:1], v[4:5]", Near64, [F64, No, No], |[a, ..]| (1.0 / d(a).sqrt()).to_bits()),
    ("v_sqrt_f64 v[0:1], v[4:5]", Near64, [F64, No, No], |[a, ..]| d(a).sqrt().to_bits()),
    ("v_exp_legacy_f32 v0, v4", Near32, [Normal, No, No], |[a, ..]| of_s(s(a).exp2())),
    ("v_log_legacy_f32 v0, v4", Near32, [Normal, No, No], |[a, ..]| of_s(s(a).log2())),
    ("v_sqrt_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(h(a).sqrt())),
    ("v_rcp_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(1.0 / h(a))),
    ("v_rsq_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(1.0 / h(a).sqrt())),
    ("v_log_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(h(a).log2())),
    ("v_exp_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(h(a).exp2())),
    ("v_frexp_mant_f16 v0, v4", F16, [F16, No, No], |[a, ..]| of_h(parts(h(a)).0)),
    ("v_frexp_exp_i16_f16 v0, v4", B16, [F16, No, No], |[a, ..]| low16(parts(h(a)).1.into())),
    ("v_floor_f16 v0, v4", F16, [F16, No, No], |[a, ..]| of_h(h(a).floor())),
    ("v_ceil_f16 v0, v4", F16, [F16, No, No], |[a, ..]| of_h(h(a).ceil())),
    ("v_trunc_f16 v0, v4", F16, [F16, No, No], |[a, ..]| of_h(h(a).trunc())),
    ("v_rndne_f16 v0, v4", F16, [F16, No, No], |[a, ..]| of_h(h(a).round_ties_even())),
    ("v_fract_f16 v0, v4", Near16, [F16, No, No], |[a, ..]| of_h(h(a) - h(a).floor())),
    ("v_cvt_norm_i16_f16 v0, v4", Off1, [F16, No, No], |[a, ..]| low16((h(a).clamp(-1.0, 1.0) * 32767.0) as i64)),
    ("v_cvt_norm_u16_f16 v0, v4", Off1, [F16, No, No], |[a, ..]| low16((h(a).clamp(0.0, 1.0) * 65535.0) as i64)),
    ("v_add_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| of_s(s(a) + s(b))),
    ("v_sub_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| of_s(s(a) - s(b))),
    ("v_subrev_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| of_s(s(b) - s(a))),
    ("v_mul_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| of_s(s(a) * s(b))),
    ("v_mul_dx9_zero_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| of_s(zero_wins(s(a), s(b)))),
    ("v_mul_i32_i24 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low((i(a << 8) >> 8) * (i(b << 8) >> 8))),
    ("v_mul_u32_u24 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| ((a & 0xff_ffff) * (b & 0xff_ffff)) & 0xffff_ffff),
    ("v_mul_hi_u32_u24 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| ((a & 0xff_ffff) * (b & 0xff_ffff)) >> 32),
    ("v_max_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(i(a).max(i(b)))),
    ("v_max_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a.max(b)),
    ("v_min_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(i(a).min(i(b)))),
    ("v_min_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a.min(b)),
    ("v_and_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a & b),
    ("v_or_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a | b),
    ("v_xor_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a ^ b),
    ("v_add_nc_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a + b) & 0xffff_ffff),
    ("v_sub_nc_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(a as i64 - b as i64)),
    ("v_subrev_nc_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(b as i64 - a as i64)),
    ("v_add_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a + b) & 0xffff_ffff),
    ("v_sub_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(a as i64 - b as i64)),
    ("v_sub_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(a) - h(b))),
    ("v_subrev_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(b) - h(a))),
    ("v_max_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(a).max(h(b)))),
    ("v_min_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(a).min(h(b)))),
    ("v_mul_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], |[a, b, _]| (d(a) * d(b)).to_bits()),
    ("v_min_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], |[a, b, _]| d(a).min(d(b)).to_bits()),
    ("v_max_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], |[a, b, _]| d(a).max(d(b)).to_bits()),
    ("v_fma_f64 v[0:1], v[4:5], v[6:7], v[8:9]", F64, [F64; 3], |[a, b, c]| d(a).mul_add(d(b), d(c)).to_bits()),
    ("v_mad_i32_i24 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low((i(a << 8) >> 8) * (i(b << 8) >> 8) + i(c))),
    ("v_mad_u32_u24 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((a & 0xff_ffff) * (b & 0xff_ffff) + c) & 0xffff_ffff),
    ("v_min3_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(i(a).min(i(b)).min(i(c)))),
    ("v_min3_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a.min(b).min(c)),
    ("v_max3_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(i(a).max(i(b)).max(i(c)))),
    ("v_max3_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a.max(b).max(c)),
    ("v_med3_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(middle([i(a), i(b), i(c)]))),
    ("v_med3_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| middle([a, b, c])),
    ("v_maxmin_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(i(a).max(i(b)).min(i(c)))),
    ("v_minmax_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(i(a).min(i(b)).max(i(c)))),
    ("v_maxmin_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a.max(b).min(c)),
    ("v_minmax_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a.min(b).max(c)),
    ("v_maxmin_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| of_h(h(a).max(h(b)).min(h(c)))),
    ("v_minmax_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| of_h(h(a).min(h(b)).max(h(c)))),
    ("v_min3_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| of_h(h(a).min(h(b)).min(h(c)))),
    ("v_max3_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| of_h(h(a).max(h(b)).max(h(c)))),
    ("v_med3_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| of_h(middle([h(a), h(b), h(c)]))),
    ("v_min3_i16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| low16(i16_of(a).min(i16_of(b)).min(i16_of(c)))),
    ("v_min3_u16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| a.min(b).min(c)),
    ("v_max3_i16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| low16(i16_of(a).max(i16_of(b)).max(i16_of(c)))),
    ("v_max3_u16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| a.max(b).max(c)),
    ("v_med3_i16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| low16(middle([i16_of(a), i16_of(b), i16_of(c)]))),
    ("v_med3_u16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| middle([a, b, c])),
    ("v_mad_i16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| low16(i16_of(a) * i16_of(b) + i16_of(c))),
    ("v_mad_u16 v0, v4, v6, v8", B16, [B16; 3], |[a, b, c]| (a * b + c) & 0xffff),
    ("v_or3_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a | b | c),
    ("v_and_or_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a & b | c),
    ("v_sad_u16 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| {
        let apart = |at: u32| ((a >> at & 0xffff) as i64 - (b >> at & 0xffff) as i64).unsigned_abs();
        (apart(0) + apart(16) + c) & 0xffff_ffff
    }),
    ("v_sad_u8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (bytes_apart(a, b, false) + c) & 0xffff_ffff),
    ("v_msad_u8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (bytes_apart(a, b, true) + c) & 0xffff_ffff),
    ("v_qsad_pk_u16_u8 v[0:1], v[4:5], v6, v[8:9]", B64, [B64, B32, B64], |abc| windows(abc, false)),
    ("v_mqsad_pk_u16_u8 v[0:1], v[4:5], v6, v[8:9]", B64, [B64, B32, B64], |abc| windows(abc, true)),
    ("v_add_nc_u16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| (a + b) & 0xffff),
    ("v_sub_nc_u16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| low16(a as i64 - b as i64)),
    ("v_add_nc_i16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| (a + b) & 0xffff),
    ("v_sub_nc_i16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| low16(a as i64 - b as i64)),
    ("v_max_u16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| a.max(b)),
    ("v_min_u16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| a.min(b)),
    ("v_max_i16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| low16(i16_of(a).max(i16_of(b)))),
    ("v_min_i16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| low16(i16_of(a).min(i16_of(b)))),
    ("v_and_b16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| a & b),
    ("v_or_b16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| a | b),
    ("v_xor_b16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| a ^ b),
    ("v_lshlrev_b16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| b << (a & 15) & 0xffff),
    ("v_lshrrev_b16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| b >> (a & 15)),
    ("v_ashrrev_i16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| low16(i16_of(b) >> (a & 15))),
    ("v_mul_lo_u16 v0, v4, v6", B16, [B16, B16, No], |[a, b, _]| (a * b) & 0xffff),
    ("v_cvt_pk_norm_i16_f32 v0, v4, v6", Off1, [Small, No, No], |[a, ..]| low16((f64::from(s(a)).clamp(-1.0, 1.0) * 32767.0) as i64)),
    ("v_cvt_pk_norm_u16_f32 v0, v4, v6", Off1, [Small, No, No], |[a, ..]| low16((f64::from(s(a)).clamp(0.0, 1.0) * 65535.0) as i64)),
    ("v_cvt_pk_norm_i16_f16 v0, v4, v6", Off1, [F16, No, No], |[a, ..]| low16((h(a).clamp(-1.0, 1.0) * 32767.0) as i64)),
    ("v_cvt_pk_norm_u16_f16 v0, v4, v6", Off1, [F16, No, No], |[a, ..]| low16((h(a).clamp(0.0, 1.0) * 65535.0) as i64)),
    ("v_cvt_pk_i16_f32 v0, v4, v6", Pair, [Small, Small, No], |[a, b, _]| low16(s(a) as i64) | low16(s(b) as i64) << 16),
    ("v_cvt_pk_u16_f32 v0, v4, v6", Pair, [Small, Small, No], |[a, b, _]| low16(s(a) as u16 as i64) | low16(s(b) as u16 as i64) << 16),
    ("v_pk_mad_i16 v0, v4, v6, v8", Pair, [B32; 3], |abc| both(abc, |a, b, c| a * b + c)),
    ("v_pk_mad_u16 v0, v4, v6, v8", Pair, [B32; 3], |abc| both(abc, |a, b, c| a * b + c)),
    ("v_pk_mul_lo_u16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a * b)),
    ("v_pk_add_i16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a + b)),
    ("v_pk_sub_i16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a.wrapping_sub(b))),
    ("v_pk_add_u16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a + b)),
    ("v_pk_sub_u16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a.wrapping_sub(b))),
    ("v_pk_lshlrev_b16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| b << (a & 15))),
    ("v_pk_lshrrev_b16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| b >> (a & 15))),
    ("v_pk_ashrrev_i16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| low16(i16_of(b) >> (a & 15)))),
    ("v_pk_min_i16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| low16(i16_of(a).min(i16_of(b))))),
    ("v_pk_max_i16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| low16(i16_of(a).max(i16_of(b))))),
    ("v_pk_min_u16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a.min(b))),
    ("v_pk_max_u16 v0, v4, v6", Pair, [B32, B32, No], |abc| both(abc, |a, b, _| a.max(b))),
    ("v_pk_min_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(a).min(h(b)))),
    ("v_pk_max_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| of_h(h(a).max(h(b)))),
    ("v_dot8_u32_u4 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((0..8).map(|n| (a >> (4 * n) & 15) * (b >> (4 * n) & 15)).sum::<u64>() + c) & 0xffff_ffff),
    ("v_dot4_u32_u8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((0..4).map(|n| (a >> (8 * n) & 255) * (b >> (8 * n) & 255)).sum::<u64>() + c) & 0xffff_ffff),
    ("v_dot2_bf16_bf16 v0, v4, v6, v8", B16, [Small, Small, Small], |[a, b, c]| {
        // The low halves of small integers in single precision are zero; the high ones are they as bfloat16.
        u64::from(bf16::from_f32(s(a) * s(b) + bf16::from_bits(c as u16).to_f32()).to_bits())
    }),
    ("v_dual_mul_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(a) * s(b))),
    ("v_dual_sub_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(a) - s(b))),
    ("v_dual_subrev_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(b) - s(a))),
    ("v_dual_max_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(a).max(s(b)))),
    ("v_dual_min_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(a).min(s(b)))),
    ("v_dual_mul_dx9_zero_f32 v0, v4, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(zero_wins(s(a), s(b)))),
    ("v_dual_fmamk_f32 v0, v4, 0x40400000, v6 :: v_dual_mov_b32 v1, v9", F32, [F32, F32, No], |[a, b, _]| of_s(s(a).mul_add(3.0, s(b)))),
    ("v_dual_mov_b32 v1, v9 :: v_dual_add_nc_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a + b) & 0xffff_ffff),
    ("v_dual_mov_b32 v1, v9 :: v_dual_and_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| a & b),
    ("v_fmamk_f16 v0, v4, 0x4200, v6", Near16, [F16, F16, No], |[a, b, _]| of_h(h(a) * 3.0 + h(b))),
    ("v_fmaak_f16 v0, v4, v6, 0x4200", Near16, [F16, F16, No], |[a, b, _]| of_h(h(a) * h(b) + 3.0)),
    ("v_sin_f16 v0, v4", Near16, [Quarter, No, No], |[a, ..]| of_h((h(a) * std::f64::consts::TAU).sin())),
    ("v_cos_f16 v0, v4", Near16, [Quarter, No, No], |[a, ..]| of_h((h(a) * std::f64::consts::TAU).cos())),
    ("v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11]", B64, [B64, B32, B64], |[a, b, c]| {
        let sum = |n: u32| (bytes_apart(a >> (8 * n), b, true) + (c >> (32 * n) & 0xffff_ffff)) & 0xffff_ffff;
        sum(0) | sum(1) << 32
    }),
    ("v_mov_b32 v0, v8\nv_fmac_f16 v0, v4, v6", Near16, [F16; 3], |[a, b, c]| of_h(h(a) * h(b) + h(c))),
    ("v_mov_b32 v0, v8\nv_pk_fmac_f16 v0, v4, v6", Near16, [F16; 3], |[a, b, c]| of_h(h(a) * h(b) + h(c))),
    ("v_mov_b32 v0, v8\nv_fmac_dx9_zero_f32 v0, v4, v6", Near32, [Small; 3], |[a, b, c]| of_s(zero_wins(s(a), s(b)) + s(c))),
    ("v_add3_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (a + b + c) & 0xffff_ffff),
    ("v_add_lshl_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((a + b) << (c & 31)) & 0xffff_ffff),
    ("v_lshl_add_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((a << (b & 31)) + c) & 0xffff_ffff),
    ("v_lshl_or_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (a << (b & 31) | c) & 0xffff_ffff),
    ("v_alignbit_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (a << 32 | b) >> (c & 31) & 0xffff_ffff),
    ("v_alignbyte_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (a << 32 | b) >> (8 * (c & 3)) & 0xffff_ffff),
    ("v_lshlrev_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| b << (a & 31) & 0xffff_ffff),
    ("v_lshrrev_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| b >> (a & 31)),
    ("v_ashrrev_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(i(b) >> (a & 31))),
    ("v_lshlrev_b64 v[0:1], v4, v[6:7]", B64, [B32, B64, No], |[a, b, _]| b << (a & 63)),
    ("v_lshrrev_b64 v[0:1], v4, v[6:7]", B64, [B32, B64, No], |[a, b, _]| b >> (a & 63)),
    ("v_ashrrev_i64 v[0:1], v4, v[6:7]", B64, [B32, B64, No], |[a, b, _]| (b as i64 >> (a & 63)) as u64),
    ("v_bcnt_u32_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (u64::from(a.count_ones()) + b) & 0xffff_ffff),
    ("v_bfe_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a >> (b & 31) & ((1 << (c & 31)) - 1)),
    ("v_bfe_i32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| match c & 31 {
        0 => 0,
        width => low((i(a) >> (b & 31)) << (64 - width) >> (64 - width)),
    }),
    ("v_bfi_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a & b | !a & c & 0xffff_ffff),
    ("v_bfm_b32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (((1 << (a & 31)) - 1) << (b & 31)) & 0xffff_ffff),
    ("v_bfrev_b32 v0, v4", B32, [B32, No, No], |[a, ..]| u64::from((a as u32).reverse_bits())),
    ("v_clz_i32_u32 v0, v4", B32, [B32, No, No], |[a, ..]| if a == 0 { 0xffff_ffff } else { u64::from((a as u32).leading_zeros()) }),
    ("v_ctz_i32_b32 v0, v4", B32, [B32, No, No], |[a, ..]| if a == 0 { 0xffff_ffff } else { u64::from(a.trailing_zeros()) }),
    ("v_cls_i32 v0, v4", B32, [B32, No, No], |[a, ..]| match (a as i32).leading_zeros().max((a as u32).leading_ones()) {
        32 => 0xffff_ffff,
        count => u64::from(count),
    }),
    ("v_cvt_pk_i16_i32 v0, v4, v6", Pair, [B32, B32, No], |[a, b, _]| low16(i(a).clamp(-0x8000, 0x7fff)) | low16(i(b).clamp(-0x8000, 0x7fff)) << 16),
    ("v_cvt_pk_u16_u32 v0, v4, v6", Pair, [B32, B32, No], |[a, b, _]| a.min(0xffff) | b.min(0xffff) << 16),
    ("v_lerp_u8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (0..4).fold(0, |all, n| {
        let at = |word: u64| word >> (8 * n) & 255;
        all | ((at(a) + at(b) + (at(c) & 1)) >> 1) << (8 * n)
    })),
    ("v_mad_i32_i16 v0, v4, v6, v8", B32, [B16, B16, B32], |[a, b, c]| low(i16_of(a) * i16_of(b) + i(c))),
    ("v_mad_u32_u16 v0, v4, v6, v8", B32, [B16, B16, B32], |[a, b, c]| (a * b + c) & 0xffff_ffff),
    ("v_mad_u64_u32 v[0:1], vcc_lo, v4, v6, v[8:9]", B64, [B32, B32, B64], |[a, b, c]| (a * b).wrapping_add(c)),
    ("v_mad_i64_i32 v[0:1], vcc_lo, v4, v6, v[8:9]", B64, [B32, B32, B64], |[a, b, c]| ((i(a) * i(b)) as u64).wrapping_add(c)),
    ("v_mul_lo_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a * b) & 0xffff_ffff),
    ("v_mul_hi_u32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a * b) >> 32),
    ("v_mul_hi_i32 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low((i(a) * i(b)) >> 32)),
    ("v_mul_hi_i32_i24 v0, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(((i(a << 8) >> 8) * (i(b << 8) >> 8)) >> 32)),
    ("v_pack_b32_f16 v0, v4, v6", Pair, [B16, B16, No], |[a, b, _]| a | b << 16),
    ("v_add_co_u32 v0, vcc_lo, v4, v6", B32, [B32, B32, No], |[a, b, _]| (a + b) & 0xffff_ffff),
    ("v_sub_co_u32 v0, vcc_lo, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(a as i64 - b as i64)),
    ("v_subrev_co_u32 v0, vcc_lo, v4, v6", B32, [B32, B32, No], |[a, b, _]| low(b as i64 - a as i64)),
    ("v_sad_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| (a.abs_diff(b) + c) & 0xffff_ffff),
    ("v_sad_hi_u8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((bytes_apart(a, b, false) << 16) + c) & 0xffff_ffff),
    ("v_xad_u32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| ((a ^ b) + c) & 0xffff_ffff),
    ("v_xor3_b32 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| a ^ b ^ c),
    ("v_dot4_i32_i8 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| {
        let at = |word: u64, n: u32| i64::from((word >> (8 * n)) as i8);
        low((0..4).map(|n| at(a, n) * at(b, n)).sum::<i64>() + i(c))
    }),
    ("v_dot8_i32_i4 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| {
        let at = |word: u64, n: u32| i64::from((word >> (4 * n) << 4) as i8 >> 4);
        low((0..8).map(|n| at(a, n) * at(b, n)).sum::<i64>() + i(c))
    }),
    ("v_dot2_i32_i16 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| low(i16_of(a) * i16_of(b) + i16_of(a >> 16) * i16_of(b >> 16) + i(c))),
    ("v_dot2_u32_u16 v0, v4, v6, v8", B32, [B32; 3], |[a, b, c]| {
        ((a & 0xffff) * (b & 0xffff)).wrapping_add((a >> 16) * (b >> 16)).wrapping_add(c) & 0xffff_ffff
    }),
];

pub(super) fn pieces() -> Vec<String> {
    ROWS.iter().map(|row| row.0.to_owned()).collect()
}

/// An operand of a type.
fn operand(ty: Ty, numbers: &mut Numbers) -> u64 {
    let bits = any_bits(numbers);
    match ty {
        No => 0,
        B16 => bits & 0xffff,
        B32 | Pair | Off1 => bits & 0xffff_ffff,
        B64 => bits,
        Quarter => u64::from(f16::from_f64((bits % 9) as f64 / 8.0).to_bits()),
        Small => u64::from(((bits % 33) as f32 - 16.0).to_bits()),
        F16 | Near16 if f16::from_bits(bits as u16).is_nan() => 0x7c00,
        F16 | Near16 => bits & 0xffff,
        Normal if !s(bits).is_normal() => 0x3f80_0000,
        Normal => bits & 0xffff_ffff,
        F32 | Near32 if s(bits).is_nan() => 0x7f80_0000,
        F32 | Near32 => bits & 0xffff_ffff,
        F64 | Near64 if d(bits).is_nan() => 0x7ff0_0000_0000_0000,
        F64 | Near64 => bits,
    }
}

/// Whether a result of a type is as it should be.
fn agrees(ty: Ty, got: u64, want: u64) -> bool {
    let near = |got: f64, want: f64, relative: f64, absolute: f64| {
        got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= want.abs() * relative + absolute
    };
    match ty {
        No => true,
        B16 => (got ^ want) & 0xffff == 0,
        B32 | Small | Pair | Normal | Quarter => (got ^ want) & 0xffff_ffff == 0,
        B64 => got == want,
        // Zeros of either sign; which one a minimum or maximum gives is tested in `float.rs`.
        F16 => near(h(got), h(want), 0.0, 0.0),
        F32 => near(s(got).into(), s(want).into(), 0.0, 0.0),
        F64 => near(d(got), d(want), 0.0, 0.0),
        Near16 => near(h(got), h(want), 2e-3, 3e-7),
        // The smallest normal number: smaller results may be flushed.
        Near32 => near(s(got).into(), s(want).into(), 3e-7, 1.2e-38),
        Near64 => near(d(got), d(want), 1e-15, 1e-320),
        Off1 => (i16_of(got).wrapping_sub(i16_of(want)) as i16).abs() <= 1,
    }
}

fn failures<const W: usize>(card: Card, row: &Row, code: &[u8], failures: &mut Vec<String>) {
    let (asm, result, sources, meaning) = *row;
    let mut numbers = Numbers(asm.len() as u64 + 99);
    for _ in 0..6 {
        let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
        let inputs: Vec<[u64; 3]> = (0..W)
            .map(|_| sources.map(|ty| operand(ty, &mut numbers)))
            .collect();
        for (lane, input) in inputs.iter().enumerate() {
            for (register, value) in [4, 6, 8].into_iter().zip(input) {
                // The upper register of a pair belongs to the operand; of a single one it is `v9` at most.
                set_wide(&mut probe, register, lane, *value);
            }
        }
        probe
            .run(&Memory::new(0))
            .unwrap_or_else(|fault| panic!("{} {asm}: {fault}", card.name));
        for (lane, input) in inputs.iter().enumerate() {
            let (got, want) = (get_wide(&probe, 0, lane), meaning(*input));
            if !agrees(result, got, want) {
                failures.push(format!(
                    "{} {asm}: of {input:x?}: {got:#x}, not {want:#x}",
                    card.name
                ));
                return;
            }
        }
    }
}

#[test]
fn vector_instructions_are_the_functions_written_out_here() {
    on_each_card(ROWS, |row| row.0, 90, failures::<32>, failures::<64>);
}
