//! The 8-bit floats of CDNA3: one sign, no infinity, no negative zero, whose code is the only NaN.
//!
//! `fp8` has 4 exponent bits with bias 8 and 3 mantissa bits, `bf8` 5 with bias 16 and 2. Results are rounded to nearest
//! even; a number beyond the largest becomes NaN, as MODE.FP16_OVFL = 0 asks.

use crate::fp::{self, F32, Format as _, Mode};

/// Mantissa bits of `fp8`; its exponent has the other four.
pub(super) const FP8: u32 = 3;
/// Mantissa bits of `bf8`.
pub(super) const BF8: u32 = 2;
/// The NaN of both.
const NAN: u8 = 0x80;

fn bias(mantissa_bits: u32) -> i32 {
    1 << (6 - mantissa_bits)
}

/// An 8-bit float as single precision; every value has one.
pub(super) fn widen(bits: u8, mantissa_bits: u32) -> u32 {
    if bits == NAN {
        return F32::default_nan();
    }
    let magnitude = u32::from(bits & 0x7f);
    let (exponent, fraction) = (magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1));
    let (exponent, fraction) = match exponent {
        0 => (1, fraction),
        _ => (exponent, fraction | 1 << mantissa_bits),
    };
    let scale = exponent as i32 - bias(mantissa_bits) - mantissa_bits as i32;
    let value = f64::from(fraction) * 2f64.powi(scale);
    (value as f32).to_bits() | u32::from(bits >> 7) << 31
}

/// Single precision as an 8-bit float.
fn narrow(value: u32, mantissa_bits: u32) -> u8 {
    let number = f64::from(f32::from_bits(value));
    let lowest = 1 - bias(mantissa_bits);
    if !number.is_finite() {
        return NAN;
    }
    let magnitude = number.abs();
    let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(lowest);
    // Units of the last place at this exponent; both factors are powers of two, so only the rounding rounds.
    let units = (magnitude * 2f64.powi(mantissa_bits as i32 - exponent)).round_ties_even() as u32;
    // `units` carries into the exponent by itself; a subnormal has none.
    let code = ((exponent - lowest) as u32) * (1 << mantissa_bits) + units;
    match code {
        0 => 0,
        1..=0x7f => code as u8 | if number < 0.0 { 0x80 } else { 0 },
        _ => NAN,
    }
}

fn byte(word: u32, i: u32) -> u8 {
    (word >> (8 * i)) as u8
}

macro_rules! formats {
    ($($bits:ident: $one:ident $pair:ident $packed:ident;)*) => {$(
        /// The low byte.
        pub(super) fn $one(_: Mode, a: u32) -> u32 {
            widen(byte(a, 0), $bits)
        }

        /// The two low bytes.
        pub(super) fn $pair(_: Mode, a: u32) -> u64 {
            u64::from(widen(byte(a, 0), $bits)) | u64::from(widen(byte(a, 1), $bits)) << 32
        }

        /// Two numbers, the first in the low byte.
        pub(super) fn $packed(_: Mode, a: u32, b: u32) -> u16 {
            u16::from(narrow(a, $bits)) | u16::from(narrow(b, $bits)) << 8
        }
    )*};
}
formats! {
    FP8: f32_of_fp8 pk_f32_of_fp8 pk_fp8_of_f32;
    BF8: f32_of_bf8 pk_f32_of_bf8 pk_bf8_of_f32;
}

/// Product sums of matrix cores have no mode.
pub(super) const MODE: Mode = Mode::NONE;

/// `a * b + c` in single precision, rounded once.
pub(super) fn fma(a: u32, b: u32, c: u32) -> u32 {
    fp::fma::<F32>(MODE, a, b, c)
}
