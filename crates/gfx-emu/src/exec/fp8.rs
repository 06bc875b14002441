//! 8-bit floats, in the two pairs of formats that cards have. Results are rounded to nearest even.
//!
//! CDNA3's have one sign, no infinity, no negative zero, whose code is the only NaN: `fp8` has 4 exponent bits with bias 8 and 3
//! mantissa bits, `bf8` 5 with bias 16 and 2. A number beyond the largest becomes NaN, as MODE.FP16_OVFL = 0 asks.
//!
//! RDNA4's are those of the Open Compute Project ("OCP 8-bit Floating Point Specification", sections 5.1 to 5.3): `fp8` has bias 7,
//! no infinity, and NaNs whose magnitude has all bits set; `bf8` has bias 15 and what wider formats have. A number beyond the largest
//! becomes NaN or infinity, as MODE.FP16_OVFL = 0 asks. CDNA4 has these too, and shorter ones of six and four bits ("OCP Microscaling
//! Formats Specification", section 5.3) without infinity and NaN, whose largest number stands for all beyond it.

use super::lane::{self, Lane as _};
use crate::fp::{self, F32, FloatFormat as _, Mode};
use crate::isa::Inst;
use crate::wave::Wave;

/// Which codes of an 8-bit float are infinities or NaN.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// The code of minus zero is the NaN.
    MinusZero,
    /// All bits below the sign.
    AllOnes,
    /// The largest exponent has infinity and NaNs.
    Exponent,
    /// None; the largest number has this code.
    None(u8),
}

/// An 8-bit float.
#[derive(Clone, Copy)]
pub(super) struct Byte {
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

const fn format(mantissa_bits: u32, bias: i32, special: Special) -> Byte {
    Byte {
        mantissa_bits,
        bias,
        special,
    }
}

/// `fp8` of CDNA3.
pub(super) const FP8: Byte = format(3, 8, Special::MinusZero);
/// `bf8` of CDNA3.
pub(super) const BF8: Byte = format(2, 16, Special::MinusZero);
/// `fp8` of RDNA4.
pub(super) const OCP_FP8: Byte = format(3, 7, Special::AllOnes);
/// `bf8` of RDNA4.
pub(super) const OCP_BF8: Byte = format(2, 15, Special::Exponent);

/// `fp6`, with its sign in the highest bit of a byte, as the others.
pub(super) const FP6: Byte = format(3, 1, Special::None(0x1f));
/// `bf6`.
pub(super) const BF6: Byte = format(2, 3, Special::None(0x1f));
/// `fp4`.
pub(super) const FP4: Byte = format(1, 1, Special::None(0x07));

/// RDNA4's format with so many bits of mantissa.
const fn ocp(mantissa_bits: u32) -> Byte {
    if mantissa_bits == OCP_FP8.mantissa_bits {
        OCP_FP8
    } else {
        OCP_BF8
    }
}

/// The largest exponent of `bf8`, in place.
const INFINITE: u32 = 0x7c;

/// An 8-bit float as single precision; every value has one.
pub(super) fn widen(bits: u8, format: Byte) -> u32 {
    let sign = u32::from(bits >> 7) << 31;
    let magnitude = u32::from(bits & 0x7f);
    match format.special {
        Special::MinusZero if bits == 0x80 => return F32::default_nan(),
        Special::AllOnes if magnitude == 0x7f => return sign | F32::default_nan(),
        Special::Exponent if magnitude == INFINITE => return sign | f32::INFINITY.to_bits(),
        Special::Exponent if magnitude > INFINITE => {
            return sign | F32::default_nan() | (magnitude & 3) << 21;
        }
        Special::MinusZero | Special::AllOnes | Special::Exponent | Special::None(_) => {}
    }
    let mantissa_bits = format.mantissa_bits;
    let (exponent, fraction) = (magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1));
    let (exponent, fraction) = match exponent {
        0 => (1, fraction),
        _ => (exponent, fraction | 1 << mantissa_bits),
    };
    let scale = exponent as i32 - format.bias - mantissa_bits as i32;
    let value = f64::from(fraction) * 2f64.powi(scale);
    (value as f32).to_bits() | sign
}

/// A code of [`FP6`], [`BF6`] or [`FP4`] in its own bits, and the same in a byte.
fn long(code: u8, format: Byte) -> u8 {
    match format.special {
        Special::None(last) => code & last | u8::from(code & (last + 1) != 0) << 7,
        Special::MinusZero | Special::AllOnes | Special::Exponent => code,
    }
}

/// [`widen`] of a code in its own bits.
pub(super) fn widen_short(code: u8, format: Byte) -> u32 {
    widen(long(code, format), format)
}

/// [`narrow_number`] to a code in its own bits.
pub(super) fn narrow_short(number: f64, format: Byte) -> u8 {
    let code = narrow_number(number, format);
    match format.special {
        Special::None(last) => code & last | if code >> 7 != 0 { last + 1 } else { 0 },
        Special::MinusZero | Special::AllOnes | Special::Exponent => code,
    }
}

/// Single precision as an 8-bit float.
fn narrow(value: u32, format: Byte) -> u8 {
    narrow_number(f64::from(f32::from_bits(value)), format)
}

/// A number as an 8-bit float.
fn narrow_number(number: f64, format: Byte) -> u8 {
    let sign = u8::from(number.is_sign_negative()) << 7;
    let beyond = match format.special {
        Special::MinusZero => 0x80,
        Special::Exponent if !number.is_nan() => sign | INFINITE as u8,
        Special::AllOnes | Special::Exponent => sign | 0x7f,
        Special::None(last) => sign | last,
    };
    if !number.is_finite() {
        return beyond;
    }
    let lowest = 1 - format.bias;
    let magnitude = number.abs();
    let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(lowest);
    // Units of the last place at this exponent; both factors are powers of two, so only the rounding rounds.
    let units = (magnitude * 2f64.powi(format.mantissa_bits as i32 - exponent)).round_ties_even() as u32;
    // `units` carries into the exponent by itself; a subnormal has none.
    let code = ((exponent - lowest) as u32) * (1 << format.mantissa_bits) + units;
    let last = match format.special {
        Special::MinusZero => 0x7f,
        Special::AllOnes => 0x7e,
        Special::Exponent => INFINITE - 1,
        Special::None(last) => last.into(),
    };
    match code {
        0 if format.special == Special::MinusZero => 0,
        _ if code <= last => code as u8 | sign,
        _ => beyond,
    }
}

fn byte(word: u32, i: u32) -> u8 {
    (word >> (8 * i)) as u8
}

macro_rules! formats {
    ($($bits:ident: $one:ident $pair:ident;)*) => {$(
        /// The low byte.
        pub(super) fn $one(_: Mode, a: u32) -> u32 {
            widen(byte(a, 0), $bits)
        }

        /// The two low bytes.
        pub(super) fn $pair(_: Mode, a: u32) -> u64 {
            u64::from(widen(byte(a, 0), $bits)) | u64::from(widen(byte(a, 1), $bits)) << 32
        }
    )*};
}
formats! {
    FP8: f32_of_fp8 pk_f32_of_fp8;
    BF8: f32_of_bf8 pk_f32_of_bf8;
    OCP_FP8: f32_of_ocp_fp8 pk_f32_of_ocp_fp8;
    OCP_BF8: f32_of_ocp_bf8 pk_f32_of_ocp_bf8;
}

macro_rules! halves {
    ($($bits:ident: $widened:ident $narrowed:ident;)*) => {$(
        /// Two bytes as halves; every value has one but infinity and NaN, which stay what they are.
        pub(super) fn $widened(_: Mode, a: u16) -> u32 {
            [0, 1].map(|i| u32::from(half(byte(a.into(), i), $bits)) << (16 * i)).iter().sum()
        }

        /// Two halves as bytes, the first in the low one.
        pub(super) fn $narrowed(_: Mode, a: u32) -> u16 {
            let narrowed = |bits: u16| u16::from(narrow_number(f64::from(fp::f32_of_f16(bits)), $bits));
            narrowed(a as u16) | narrowed((a >> 16) as u16) << 8
        }
    )*};
}
halves! {
    OCP_FP8: pk_f16_of_ocp_fp8 pk_ocp_fp8_of_f16;
    OCP_BF8: pk_f16_of_ocp_bf8 pk_ocp_bf8_of_f16;
}

/// An 8-bit float as a half.
fn half(bits: u8, format: Byte) -> u16 {
    fp::f16_of_f32(f32::from_bits(widen(bits, format)))
}

macro_rules! packed {
    ($($bits:ident: $packed:ident;)*) => {$(
        /// Two numbers, the first in the low byte.
        pub(super) fn $packed(_: Mode, a: u32, b: u32) -> u16 {
            u16::from(narrow(a, $bits)) | u16::from(narrow(b, $bits)) << 8
        }
    )*};
}
packed! {
    FP8: pk_fp8_of_f32;
    BF8: pk_bf8_of_f32;
    OCP_FP8: pk_ocp_fp8_of_f32;
    OCP_BF8: pk_ocp_bf8_of_f32;
}

/// A byte of RDNA4's: the first bit of `op_sel` names the half of the register, the second one the byte of that.
pub(super) fn one_of<const W: usize, const MANTISSA: u32>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let place = u32::from(inst.op_sel & 1) * 2 + u32::from(inst.op_sel >> 1 & 1);
    let mut buffer = [0; W];
    let words = lane::row(wave, inst.src[0], &mut buffer);
    let out = lane::each(words, |word| widen(byte(word, place), ocp(MANTISSA)));
    lane::F32::write(wave, inst, mode, &out);
}

/// The same byte as a half.
pub(super) fn half_of<const W: usize, const MANTISSA: u32>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let place = u32::from(inst.op_sel & 1) * 2 + u32::from(inst.op_sel >> 1 & 1);
    let mut buffer = [0; W];
    let words = lane::row(wave, inst.src[0], &mut buffer);
    let out = lane::each(words, |word| half(byte(word, place), ocp(MANTISSA)));
    lane::store_half(wave, usize::from(inst.dst), inst.op_sel >> 3 & 1 != 0, &out);
}

/// The two bytes of RDNA4's in the half of the register that `op_sel` names.
pub(super) fn two_of<const W: usize, const MANTISSA: u32>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let first = u32::from(inst.op_sel & 1) * 2;
    let mut buffer = [0; W];
    let words = *lane::row(wave, inst.src[0], &mut buffer);
    for i in 0..2 {
        let out = lane::each(&words, |word| widen(byte(word, first + i), ocp(MANTISSA)));
        lane::store(wave, usize::from(inst.dst) + i as usize, &out);
    }
}

/// Products of the four bytes of two registers, of formats with so many bits of mantissa, added one after the other.
pub(super) fn dot4<const W: usize, const A: u32, const B: u32>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let mut buffers = [[0; W]; 3];
    let [a, b, c] = &mut buffers;
    let a = lane::row(wave, inst.src[0], a);
    let b = lane::row(wave, inst.src[1], b);
    let flip = u32::from(inst.neg >> 2 & 1) << 31;
    let mut sums = lane::row(wave, inst.src[2], c).map(|value| value ^ flip);
    for (lane, sum) in sums.iter_mut().enumerate() {
        for i in 0..4 {
            let (a, b) = (widen(byte(a[lane], i), ocp(A)), widen(byte(b[lane], i), ocp(B)));
            *sum = fp::fma::<F32>(mode, a, b, *sum);
        }
    }
    lane::F32::write(wave, inst, mode, &sums);
}

/// Product sums of matrix cores have no mode.
pub(super) const MODE: Mode = Mode::NONE;

/// `a * b + c` in single precision, rounded once.
pub(super) fn fma(a: u32, b: u32, c: u32) -> u32 {
    fp::fma::<F32>(MODE, a, b, c)
}
