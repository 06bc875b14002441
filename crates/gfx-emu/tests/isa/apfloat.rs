//! Floating point against LLVM's software floating point: every bit of every result, NaNs and zeros with their signs
//! included, for special operands, random ones and ones that cancel or tie.
//!
//! `rustc_apfloat` computes with integers only, so that nothing is shared with the host's arithmetic, which the emulator
//! uses. IEEE does not say which NaN an operation gives; the rule written out here is the card's: the first NaN
//! operand, quieted, and a positive quiet NaN without payload of an operation that was invalid itself.

use gfx_emu::{Memory, WaveProbe};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::llvm::Card;
use crate::reference::{CARDS, any_bits, assemble_each, get_wide, on_each_card, set_wide};
use crate::wave::Numbers;

const NEAREST: Round = Round::NearestTiesToEven;

/// A format: bits of the exponent and of the mantissa field.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ty {
    /// No operand.
    No,
    F16,
    F32,
    F64,
    /// An integer of so many bits.
    Int(u32),
    /// An exponent: a small integer of either sign in so many bits, at times a large one.
    Exponent(u32),
    /// Two halves.
    Pair,
    /// Two numbers as bfloat16.
    BfPair,
    /// Two in single precision.
    Wide,
}
use Ty::{BfPair, Exponent, F16, F32, F64, Int, No, Pair, Wide};

impl Ty {
    /// Bits of the exponent and of the mantissa field of a number or of each of two.
    fn fields(self) -> Option<(u32, u32)> {
        match self {
            F16 | Pair => Some((5, 10)),
            F32 | Wide => Some((8, 23)),
            F64 => Some((11, 52)),
            BfPair => Some((8, 7)),
            No | Int(_) | Exponent(_) => None,
        }
    }

    /// Bits of a value.
    fn bits(self) -> u32 {
        match self {
            No => 0,
            F16 => 16,
            F32 | Pair | BfPair => 32,
            F64 | Wide => 64,
            Int(bits) | Exponent(bits) => bits,
        }
    }

    pub(crate) fn mask(self) -> u64 {
        u64::MAX.checked_shr(64 - self.bits()).unwrap_or(0)
    }
}

/// Assembly with the result in v0, sources in v4, v6 and v8; types of the result and of the sources; meaning.
pub(crate) type Row = (&'static str, Ty, [Ty; 3], fn([u64; 3]) -> u64);

/// A number from bits.
pub(crate) fn of<F: Float>(bits: u64) -> F {
    F::from_bits(u128::from(bits))
}

pub(crate) fn bits<F: Float>(value: F) -> u64 {
    value.to_bits() as u64
}

pub(crate) fn quiet<F: Float>(bits: u64) -> u64 {
    bits | bits_of_default_nan::<F>() & !bits_of_infinity::<F>()
}

fn bits_of_infinity<F: Float>() -> u64 {
    bits(F::INFINITY)
}

/// Infinity and the bit after it.
fn bits_of_default_nan<F: Float>() -> u64 {
    let infinity = bits_of_infinity::<F>();
    infinity | (infinity & infinity.wrapping_neg()) >> 1
}

/// The bits of a result, by the rule for NaNs.
pub(crate) fn result<F: Float>(operands: &[u64], value: F) -> u64 {
    if !value.is_nan() {
        return bits(value);
    }
    let nan = operands.iter().find(|operand| of::<F>(**operand).is_nan());
    nan.map_or_else(bits_of_default_nan::<F>, |operand| quiet::<F>(*operand))
}

fn add<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).add_r(of(b), NEAREST).value)
}
fn sub<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).sub_r(of(b), NEAREST).value)
}
fn mul<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).mul_r(of(b), NEAREST).value)
}
fn fma<F: Float>([a, b, c]: [u64; 3]) -> u64 {
    result::<F>(&[a, b, c], of::<F>(a).mul_add_r(of(b), of(c), NEAREST).value)
}
/// Rounded after the product and after the sum.
fn mad<F: Float>([a, b, c]: [u64; 3]) -> u64 {
    add::<F>([mul::<F>([a, b, 0]), c, 0])
}

/// The lesser or the greater: numbers win over NaNs, minus zero is less than zero, and in IEEE mode a signalling NaN wins.
pub(crate) fn extreme<F: Float>(a: u64, b: u64, greater: bool, ieee: bool) -> u64 {
    let (x, y) = (of::<F>(a), of::<F>(b));
    let signals = [a, b].into_iter().find(|bits| of::<F>(*bits).is_signaling());
    if let Some(nan) = signals.filter(|_| ieee) {
        return quiet::<F>(nan);
    }
    if x.is_nan() && y.is_nan() {
        return quiet::<F>(a);
    }
    // The 2019 operations order zeros; a NaN is gone by now, or wins there and must not here.
    let chosen = match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if greater => x.maximum(y),
        _ => x.minimum(y),
    };
    bits(chosen)
}
fn min<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, false, true)
}
fn max<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, true, true)
}
pub(crate) fn min_of_numbers<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, false, false)
}
pub(crate) fn max_of_numbers<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, true, false)
}

fn integral<F: Float>(a: u64, round: Round) -> u64 {
    result::<F>(&[a], of::<F>(a).round_to_integral(round).value)
}
fn trunc<F: Float>([a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardZero)
}
fn floor<F: Float>([a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardNegative)
}
fn ceil<F: Float>([a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardPositive)
}
fn rndne<F: Float>([a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, NEAREST)
}

fn ldexp<F: Float>(a: u64, n: i64) -> u64 {
    // Beyond that every number is zero or infinite.
    result::<F>(&[a], of::<F>(a).scalbn_r(n.clamp(-5000, 5000) as i32, NEAREST))
}
fn ldexp32<F: Float>([a, n, _]: [u64; 3]) -> u64 {
    ldexp::<F>(a, i64::from(n as i32))
}
fn ldexp16<F: Float>([a, n, _]: [u64; 3]) -> u64 {
    ldexp::<F>(a, i64::from(n as i16))
}

fn mantissa<F: Float>([a, ..]: [u64; 3]) -> u64 {
    let (value, mut exponent) = (of::<F>(a), 0);
    if value.is_nan() {
        return quiet::<F>(a);
    }
    bits(value.frexp_r(&mut exponent, NEAREST))
}
fn exponent<F: Float>([a, ..]: [u64; 3]) -> u64 {
    let value = of::<F>(a);
    if value.is_finite_non_zero() {
        (value.ilogb() + 1) as u32 as u64
    } else {
        0
    }
}
fn exponent16(abc: [u64; 3]) -> u64 {
    exponent::<Half>(abc) & 0xffff
}

/// Between formats; a NaN keeps its sign and as much of its payload as there is room for.
pub(crate) fn convert<F: Float + FloatConvert<T>, T: Float>(a: u64, round: Round) -> u64 {
    let (value, mut loses) = (of::<F>(a), false);
    if !value.is_nan() {
        return bits(value.convert_r(round, &mut loses).value);
    }
    let (from, to) = (bits_of_infinity::<F>(), bits_of_infinity::<T>());
    let fraction = (quiet::<F>(a) & ((from & from.wrapping_neg()) - 1)) << from.leading_zeros();
    // After the exponent, which the formats have in different widths: align the quiet bits.
    let fraction = fraction << from.count_ones() >> to.count_ones() >> to.leading_zeros();
    let negative = value.is_negative();
    let sign = if negative { bits(-T::ZERO) } else { 0 };
    sign | to | fraction
}
fn narrowed<F: Float + FloatConvert<T>, T: Float>([a, ..]: [u64; 3]) -> u64 {
    convert::<F, T>(a, NEAREST)
}
/// Two singles to halves, towards zero: a finite number never becomes infinite.
fn packed_towards_zero([a, b, _]: [u64; 3]) -> u64 {
    let half = |bits| convert::<Single, Half>(bits, Round::TowardZero);
    half(a) | half(b) << 16
}

/// To an integer: saturated, and zero for a NaN.
fn to_signed<F: Float>(a: u64, width: u32, round: Round) -> u64 {
    let value = of::<F>(a);
    let out = if value.is_nan() {
        0
    } else {
        value.to_i128_r(width as usize, round, &mut false).value
    };
    out as u64 & (u64::MAX >> (64 - width))
}
fn to_unsigned<F: Float>(a: u64, width: u32) -> u64 {
    let value = of::<F>(a);
    if value.is_nan() {
        return 0;
    }
    value
        .to_u128_r(width as usize, Round::TowardZero, &mut false)
        .value as u64
}
fn i32_of<F: Float>([a, ..]: [u64; 3]) -> u64 {
    to_signed::<F>(a, 32, Round::TowardZero)
}
fn u32_of<F: Float>([a, ..]: [u64; 3]) -> u64 {
    to_unsigned::<F>(a, 32)
}
fn of_signed<F: Float>(value: i64) -> u64 {
    bits(F::from_i128_r(i128::from(value), NEAREST).value)
}
fn of_i32<F: Float>([a, ..]: [u64; 3]) -> u64 {
    of_signed::<F>(i64::from(a as i32))
}
fn of_u32<F: Float>([a, ..]: [u64; 3]) -> u64 {
    of_signed::<F>(i64::from(a as u32))
}

/// A function of halves on both halves.
pub(crate) fn both([a, b, c]: [u64; 3], f: fn([u64; 3]) -> u64) -> u64 {
    let half = |at: u32| f([a, b, c].map(|bits| bits >> at & 0xffff));
    half(0) | half(16) << 16
}
/// A function of singles on both registers of a pair.
pub(crate) fn each([a, b, c]: [u64; 3], f: fn([u64; 3]) -> u64) -> u64 {
    let single = |at: u32| f([a, b, c].map(|bits| bits >> at & 0xffff_ffff));
    single(0) | single(32) << 32
}

fn single(half: u64) -> u64 {
    convert::<Half, Single>(half & 0xffff, NEAREST)
}
/// The products of the halves added one after the other, each step rounded once.
fn dot2([a, b, c]: [u64; 3], widen: fn(u64) -> u64) -> u64 {
    let step = |at: u32, sum| fma::<Single>([widen(a >> at & 0xffff), widen(b >> at & 0xffff), sum]);
    step(16, step(0, c))
}
fn mixed([a, b, c]: [u64; 3]) -> u64 {
    fma::<Single>([single(a >> 16), b, single(c)])
}

/// Between 0 and 1, and 0 for a NaN.
fn clamped<F: Float>(value: u64) -> u64 {
    let number = of::<F>(value);
    let one = of_signed::<F>(1);
    if number.is_nan() || number.is_negative() {
        0
    } else if number > of::<F>(one) {
        one
    } else {
        value
    }
}
const SIGN: u64 = 1 << 31;

/// IEEE mode off.
macro_rules! relaxed {
    ($asm:literal) => {
        concat!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n", $asm)
    };
}

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("v_add_f16 v0, v4, v6", F16, [F16, F16, No], add::<Half>),
    ("v_add_f32 v0, v4, v6", F32, [F32, F32, No], add::<Single>),
    ("v_add_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], add::<Double>),
    ("v_sub_f16 v0, v4, v6", F16, [F16, F16, No], sub::<Half>),
    ("v_sub_f32 v0, v4, v6", F32, [F32, F32, No], sub::<Single>),
    ("v_subrev_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, c]| sub::<Half>([b, a, c])),
    ("v_subrev_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, c]| sub::<Single>([b, a, c])),
    ("v_mul_f16 v0, v4, v6", F16, [F16, F16, No], mul::<Half>),
    ("v_mul_f32 v0, v4, v6", F32, [F32, F32, No], mul::<Single>),
    ("v_mul_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], mul::<Double>),
    ("v_fma_f16 v0, v4, v6, v8", F16, [F16; 3], fma::<Half>),
    ("v_fma_f32 v0, v4, v6, v8", F32, [F32; 3], fma::<Single>),
    ("v_fma_f64 v[0:1], v[4:5], v[6:7], v[8:9]", F64, [F64; 3], fma::<Double>),
    ("v_mov_b32 v0, v8\nv_fmac_f16 v0, v4, v6", F16, [F16; 3], fma::<Half>),
    ("v_mov_b32 v0, v8\nv_fmac_f32 v0, v4, v6", F32, [F32; 3], fma::<Single>),
    ("v_mov_b32 v0, v8\nv_mov_b32 v1, v9\nv_fmac_f64 v[0:1], v[4:5], v[6:7]", F64, [F64; 3], fma::<Double>),
    ("v_fmamk_f32 v0, v4, 0x40490fdb, v6", F32, [F32, F32, No], |[a, b, _]| fma::<Single>([a, 0x4049_0fdb, b])),
    ("v_fmaak_f32 v0, v4, v6, 0x40490fdb", F32, [F32, F32, No], |[a, b, _]| fma::<Single>([a, b, 0x4049_0fdb])),
    ("v_fmamk_f16 v0, v4, 0x4248, v6", F16, [F16, F16, No], |[a, b, _]| fma::<Half>([a, 0x4248, b])),
    ("v_fmaak_f16 v0, v4, v6, 0x4248", F16, [F16, F16, No], |[a, b, _]| fma::<Half>([a, b, 0x4248])),
    ("v_mad_f16 v0, v4, v6, v8", F16, [F16; 3], mad::<Half>),
    ("v_mov_b32 v0, v8\nv_mac_f16 v0, v4, v6", F16, [F16; 3], mad::<Half>),
    ("v_madmk_f16 v0, v4, 0x4248, v6", F16, [F16, F16, No], |[a, b, _]| mad::<Half>([a, 0x4248, b])),
    ("v_madak_f16 v0, v4, v6, 0x4248", F16, [F16, F16, No], |[a, b, _]| mad::<Half>([a, b, 0x4248])),
    ("v_min_f16 v0, v4, v6", F16, [F16, F16, No], min::<Half>),
    ("v_min_f32 v0, v4, v6", F32, [F32, F32, No], min::<Single>),
    ("v_min_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], min::<Double>),
    ("v_max_f16 v0, v4, v6", F16, [F16, F16, No], max::<Half>),
    ("v_max_f32 v0, v4, v6", F32, [F32, F32, No], max::<Single>),
    ("v_max_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], max::<Double>),
    (relaxed!("v_min_f16 v0, v4, v6"), F16, [F16, F16, No], min_of_numbers::<Half>),
    (relaxed!("v_min_f32 v0, v4, v6"), F32, [F32, F32, No], min_of_numbers::<Single>),
    (relaxed!("v_min_f64 v[0:1], v[4:5], v[6:7]"), F64, [F64, F64, No], min_of_numbers::<Double>),
    (relaxed!("v_max_f16 v0, v4, v6"), F16, [F16, F16, No], max_of_numbers::<Half>),
    (relaxed!("v_max_f32 v0, v4, v6"), F32, [F32, F32, No], max_of_numbers::<Single>),
    (relaxed!("v_max_f64 v[0:1], v[4:5], v[6:7]"), F64, [F64, F64, No], max_of_numbers::<Double>),
    ("v_min3_f32 v0, v4, v6, v8", F32, [F32; 3], |[a, b, c]| min::<Single>([min::<Single>([a, b, 0]), c, 0])),
    ("v_max3_f32 v0, v4, v6, v8", F32, [F32; 3], |[a, b, c]| max::<Single>([max::<Single>([a, b, 0]), c, 0])),
    ("v_min3_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| min::<Half>([min::<Half>([a, b, 0]), c, 0])),
    ("v_max3_f16 v0, v4, v6, v8", F16, [F16; 3], |[a, b, c]| max::<Half>([max::<Half>([a, b, 0]), c, 0])),
    ("v_minmax_f32 v0, v4, v6, v8", F32, [F32; 3], |[a, b, c]| max::<Single>([min::<Single>([a, b, 0]), c, 0])),
    ("v_maxmin_f32 v0, v4, v6, v8", F32, [F32; 3], |[a, b, c]| min::<Single>([max::<Single>([a, b, 0]), c, 0])),
    ("v_trunc_f16 v0, v4", F16, [F16, No, No], trunc::<Half>),
    ("v_trunc_f32 v0, v4", F32, [F32, No, No], trunc::<Single>),
    ("v_trunc_f64 v[0:1], v[4:5]", F64, [F64, No, No], trunc::<Double>),
    ("v_floor_f16 v0, v4", F16, [F16, No, No], floor::<Half>),
    ("v_floor_f32 v0, v4", F32, [F32, No, No], floor::<Single>),
    ("v_floor_f64 v[0:1], v[4:5]", F64, [F64, No, No], floor::<Double>),
    ("v_ceil_f16 v0, v4", F16, [F16, No, No], ceil::<Half>),
    ("v_ceil_f32 v0, v4", F32, [F32, No, No], ceil::<Single>),
    ("v_ceil_f64 v[0:1], v[4:5]", F64, [F64, No, No], ceil::<Double>),
    ("v_rndne_f16 v0, v4", F16, [F16, No, No], rndne::<Half>),
    ("v_rndne_f32 v0, v4", F32, [F32, No, No], rndne::<Single>),
    ("v_rndne_f64 v[0:1], v[4:5]", F64, [F64, No, No], rndne::<Double>),
    ("v_ldexp_f16 v0, v4, v6", F16, [F16, Exponent(16), No], ldexp16::<Half>),
    ("v_ldexp_f32 v0, v4, v6", F32, [F32, Exponent(32), No], ldexp32::<Single>),
    ("v_ldexp_f64 v[0:1], v[4:5], v6", F64, [F64, Exponent(32), No], ldexp32::<Double>),
    ("v_frexp_mant_f16 v0, v4", F16, [F16, No, No], mantissa::<Half>),
    ("v_frexp_mant_f32 v0, v4", F32, [F32, No, No], mantissa::<Single>),
    ("v_frexp_mant_f64 v[0:1], v[4:5]", F64, [F64, No, No], mantissa::<Double>),
    ("v_frexp_exp_i16_f16 v0, v4", Int(16), [F16, No, No], exponent16),
    ("v_frexp_exp_i32_f32 v0, v4", Int(32), [F32, No, No], exponent::<Single>),
    ("v_frexp_exp_i32_f64 v0, v[4:5]", Int(32), [F64, No, No], exponent::<Double>),
    ("v_cvt_f16_f32 v0, v4", F16, [F32, No, No], narrowed::<Single, Half>),
    ("v_cvt_f32_f16 v0, v4", F32, [F16, No, No], narrowed::<Half, Single>),
    ("v_cvt_f32_f64 v0, v[4:5]", F32, [F64, No, No], narrowed::<Double, Single>),
    ("v_cvt_f64_f32 v[0:1], v4", F64, [F32, No, No], narrowed::<Single, Double>),
    ("v_cvt_pk_rtz_f16_f32 v0, v4, v6", Pair, [F32, F32, No], packed_towards_zero),
    ("v_cvt_i32_f32 v0, v4", Int(32), [F32, No, No], i32_of::<Single>),
    ("v_cvt_i32_f64 v0, v[4:5]", Int(32), [F64, No, No], i32_of::<Double>),
    ("v_cvt_u32_f32 v0, v4", Int(32), [F32, No, No], u32_of::<Single>),
    ("v_cvt_u32_f64 v0, v[4:5]", Int(32), [F64, No, No], u32_of::<Double>),
    ("v_cvt_i16_f16 v0, v4", Int(16), [F16, No, No], |[a, ..]| to_signed::<Half>(a, 16, Round::TowardZero)),
    ("v_cvt_u16_f16 v0, v4", Int(16), [F16, No, No], |[a, ..]| to_unsigned::<Half>(a, 16)),
    ("v_cvt_floor_i32_f32 v0, v4", Int(32), [F32, No, No], |[a, ..]| to_signed::<Single>(a, 32, Round::TowardNegative)),
    ("v_cvt_f32_i32 v0, v4", F32, [Int(32), No, No], of_i32::<Single>),
    ("v_cvt_f32_u32 v0, v4", F32, [Int(32), No, No], of_u32::<Single>),
    ("v_cvt_f64_i32 v[0:1], v4", F64, [Int(32), No, No], of_i32::<Double>),
    ("v_cvt_f64_u32 v[0:1], v4", F64, [Int(32), No, No], of_u32::<Double>),
    ("v_cvt_f16_i16 v0, v4", F16, [Int(16), No, No], |[a, ..]| of_signed::<Half>(i64::from(a as i16))),
    ("v_cvt_f16_u16 v0, v4", F16, [Int(16), No, No], |[a, ..]| of_signed::<Half>(i64::from(a as u16))),
    ("v_pk_add_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, add::<Half>)),
    ("v_pk_mul_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, mul::<Half>)),
    ("v_pk_fma_f16 v0, v4, v6, v8", Pair, [Pair; 3], |abc| both(abc, fma::<Half>)),
    ("v_pk_min_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, min::<Half>)),
    ("v_pk_max_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, max::<Half>)),
    ("v_pk_add_f32 v[0:1], v[4:5], v[6:7]", Wide, [Wide, Wide, No], |abc| each(abc, add::<Single>)),
    ("v_pk_mul_f32 v[0:1], v[4:5], v[6:7]", Wide, [Wide, Wide, No], |abc| each(abc, mul::<Single>)),
    ("v_pk_fma_f32 v[0:1], v[4:5], v[6:7], v[8:9]", Wide, [Wide; 3], |abc| each(abc, fma::<Single>)),
    ("v_fma_mix_f32 v0, v4, v6, v8 op_sel:[1,0,0] op_sel_hi:[1,0,1]", F32, [Pair, F32, Pair], mixed),
    ("v_dot2_f32_f16 v0, v4, v6, v8", F32, [Pair, Pair, F32], |abc| dot2(abc, single)),
    ("v_dot2_f32_bf16 v0, v4, v6, v8", F32, [BfPair, BfPair, F32], |abc| dot2(abc, |half| bits(BFloat::from_bits(u128::from(half))) << 16)),
    ("v_add_f32 v0, -v4, |v6|", F32, [F32, F32, No], |[a, b, _]| add::<Single>([a ^ SIGN, b & !SIGN, 0])),
    ("v_mul_f32 v0, -|v4|, v6 clamp", F32, [F32, F32, No], |[a, b, _]| clamped::<Single>(mul::<Single>([a | SIGN, b, 0]))),
    ("v_fma_f64 v[0:1], v[4:5], -v[6:7], v[8:9] clamp", F64, [F64; 3], |[a, b, c]| clamped::<Double>(fma::<Double>([a, b ^ 1 << 63, c]))),
    ("v_add_f16 v0, v4, -v6 clamp", F16, [F16, F16, No], |[a, b, _]| clamped::<Half>(add::<Half>([a, b ^ 0x8000, 0]))),
];

/// A number: special, any bits, or near another one, so that sums cancel and products tie.
fn number((exponent, mantissa): (u32, u32), near: u64, numbers: &mut Numbers) -> u64 {
    let (random, choice) = (numbers.next(), numbers.next());
    let mask = u64::MAX >> (63 - exponent - mantissa);
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    let one = infinity >> 1 & infinity;
    let sign = mask ^ mask >> 1;
    let special = [
        0,
        1,
        (1 << mantissa) - 1,
        1 << mantissa,
        one,
        one + 1,
        one - 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | 1 << (mantissa - 1),
        infinity | 3 << (mantissa - 2),
    ];
    let negative = if random >> 63 != 0 { sign } else { 0 };
    match choice % 4 {
        0 => special[(random % special.len() as u64) as usize] | negative,
        // The same exponent or a few off, and mantissas of few bits.
        1 => {
            (near.wrapping_add((random % 5) << mantissa) & mask ^ negative)
                & !(random >> 8 & ((1 << mantissa) - 1))
        }
        2 => (near.wrapping_add(random % 7).wrapping_sub(3) ^ sign) & mask,
        _ => random & mask,
    }
}

pub(crate) fn operand(ty: Ty, near: u64, numbers: &mut Numbers) -> u64 {
    match (ty, ty.fields()) {
        (Pair | BfPair, Some(fields)) => {
            number(fields, near & 0xffff, numbers) | number(fields, near >> 16 & 0xffff, numbers) << 16
        }
        (Wide, Some(fields)) => {
            number(fields, near & 0xffff_ffff, numbers) | number(fields, near >> 32, numbers) << 32
        }
        (_, Some(fields)) => number(fields, near & ty.mask(), numbers),
        (Exponent(_), _) if !numbers.next().is_multiple_of(5) => {
            (numbers.next() % 240).wrapping_sub(120) & ty.mask()
        }
        _ => any_bits(numbers) & ty.mask(),
    }
}

/// Whether a result is right. Which NaN it is counts, but for sums of several steps, where the order of the operands does.
fn agrees(asm: &str, ty: Ty, got: u64, want: u64) -> bool {
    let chained = asm.contains("_dot2_") || asm.contains("v_mad_f16") || asm.contains("_mac_f16");
    let nan = |bits: u64| match ty {
        F32 => of::<Single>(bits & ty.mask()).is_nan(),
        F16 => of::<Half>(bits & ty.mask()).is_nan(),
        _ => false,
    };
    (got ^ want) & ty.mask() == 0 || chained && nan(got) && nan(want)
}

/// How often each lane computes each row.
const ROUNDS: usize = 40;

pub(crate) fn failures<const W: usize>(card: Card, row: &Row, code: &[u8], wrong: &mut Vec<String>) {
    let (asm, result, sources, meaning) = *row;
    let mut numbers = Numbers(asm.len() as u64 + 7);
    for _ in 0..ROUNDS {
        let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
        let mut inputs = Vec::with_capacity(W);
        for lane in 0..W {
            let mut near = numbers.next();
            let input = sources.map(|ty| {
                near = operand(ty, near, &mut numbers);
                near
            });
            for (register, value) in [4, 6, 8].into_iter().zip(input) {
                set_wide(&mut probe, register, lane, value);
            }
            inputs.push(input);
        }
        let ran = probe.run(&Memory::new(0));
        ran.unwrap_or_else(|fault| panic!("{} {asm}: {fault}", card.name));
        for (lane, input) in inputs.into_iter().enumerate() {
            let (got, want) = (get_wide(&probe, 0, lane), meaning(input));
            if !agrees(asm, result, got, want) {
                let got = got & result.mask();
                wrong.push(format!(
                    "{} {asm}: of {input:x?}: {got:#x}, not {want:#x}",
                    card.name
                ));
                return;
            }
        }
    }
}

#[test]
fn floating_point_is_what_llvms_software_floating_point_computes() {
    on_each_card(ROWS, |row| row.0, 60, failures::<32>, failures::<64>);
}

/// Lines of a program that computes one function of many registers.
const COPIES: usize = 32;

/// Register of the first copy's operand, after the results.
const INPUTS: usize = 2 * COPIES;

/// A row's line for as many registers.
fn copies((asm, ..): &Row) -> String {
    // Half precision in the short formats names registers up to v127.
    let lines = (0..COPIES).map(|i| {
        let (out, input) = (2 * i, INPUTS + i);
        asm.replace("v4", "INPUT")
            .replace("v[0:1]", &format!("v[{out}:{}]", out + 1))
            .replace("v0,", &format!("v{out},"))
            .replace("INPUT", &format!("v{input}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The copies of a row of one half-precision or 16-bit operand, for all its values.
fn exhaustive<const W: usize>(card: Card, row: &Row, code: &[u8]) -> Vec<String> {
    let (asm, result, _, meaning) = *row;
    let mut wrong = Vec::new();
    for start in (0..0x1_0000).step_by(COPIES * W) {
        let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
        let value = |copy: usize, lane: usize| (start + copy * W + lane) as u64;
        for (copy, lane) in places::<W>() {
            probe.set_vgpr((INPUTS + copy) as u16, lane, value(copy, lane) as u32);
        }
        probe.run(&Memory::new(0)).unwrap();
        for (copy, lane) in places::<W>() {
            let a = value(copy, lane);
            let (got, want) = (get_wide(&probe, 2 * copy as u16, lane), meaning([a, 0, 0]));
            if (got ^ want) & result.mask() != 0 {
                wrong.push(format!("{} {asm}: of {a:#x}: {got:#x}, not {want:#x}", card.name));
            }
        }
    }
    wrong
}

fn places<const W: usize>() -> impl Iterator<Item = (usize, usize)> {
    (0..COPIES).flat_map(|copy| (0..W).map(move |lane| (copy, lane)))
}

#[test]
fn functions_of_sixteen_bits_are_right_for_all_of_them() {
    let of_sixteen = |row: &&Row| row.2[0].bits() == 16 && row.2[1] == No;
    let rows: Vec<&Row> = ROWS.iter().filter(of_sixteen).collect();
    assert!(rows.len() >= 11, "{}", rows.len());
    let pieces: Vec<String> = rows.iter().map(|row| copies(row)).collect();
    for card in CARDS {
        let mut wrong = Vec::new();
        for (row, assembled) in rows.iter().zip(assemble_each(card, &pieces)) {
            let code = assembled
                .unwrap_or_else(|| panic!("{} has no `{}`", card.name, row.0))
                .code;
            wrong.extend(match card.is_rdna() {
                true => exhaustive::<32>(card, row, &code),
                false => exhaustive::<64>(card, row, &code),
            });
        }
        assert!(wrong.is_empty(), "{} values: {:?}", wrong.len(), wrong.first());
    }
}

#[test]
fn one_wrong_bit_is_seen() {
    assert!(agrees("v_add_f32", F32, 5, 5));
    assert!(!agrees("v_add_f32", F32, 5, 4));
    assert!(!agrees("v_add_f32", F32, 0x7fc0_0000, 0x7fc0_0001));
    assert!(agrees("v_add_f16", F16, 0xffff_0005, 5));
}
