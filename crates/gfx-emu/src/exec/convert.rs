//! Conversions between formats: saturation, rounding, packing.

use super::matrix::bf16_of_f32;
use crate::fp::{self, F16, F32, F64, FloatFormat, Mode, directed};

/// A NaN of one format in another: sign and the top of the payload, quieted.
#[inline(always)]
fn nan_of<From: FloatFormat, To: FloatFormat>(a: From::Bits) -> To::Bits {
    let payload = From::magnitude(a) << (63 - From::MANTISSA_BITS) << 1 >> (63 - To::MANTISSA_BITS) >> 1;
    To::quiet(To::signed(To::infinity_bits() | payload, From::is_negative(a)))
}

/// A number in another format, rounded to nearest even.
#[inline(always)]
fn float_of<From: FloatFormat, To: FloatFormat>(a: From::Bits) -> To::Bits {
    use fp::HostFloat as _;
    if From::is_nan(a) {
        nan_of::<From, To>(a)
    } else {
        To::round(From::host(a).wide())
    }
}

macro_rules! functions {
    ($($name:ident($a:ident: $from:ty) -> $to:ty { $body:expr })*) => {$(
        #[inline(always)]
        pub(super) fn $name(_: Mode, $a: $from) -> $to { $body }
    )*};
}

#[rustfmt::skip] // one conversion a line
functions! {
    f32_of_i32(a: u32) -> u32 { (a as i32 as f32).to_bits() }
    f32_of_u32(a: u32) -> u32 { (a as f32).to_bits() }
    f64_of_i32(a: u32) -> u64 { f64::from(a as i32).to_bits() }
    f64_of_u32(a: u32) -> u64 { f64::from(a).to_bits() }
    f16_of_u16(a: u16) -> u16 { F16::round(f64::from(a)) }
    f16_of_i16(a: u16) -> u16 { F16::round(f64::from(a as i16)) }
    f16_of_f32(a: u32) -> u16 { fp::f16_of_f32(F32::host(a)) }
    f32_of_f16(a: u16) -> u32 { super::lane::single(a) }
    f32_of_high_f16(a: u32) -> u32 { super::lane::single((a >> 16) as u16) }
    f32_of_f64(a: u64) -> u32 { float_of::<F64, F32>(a) }
    f64_of_f32(a: u32) -> u64 { float_of::<F32, F64>(a) }
    // Integers saturate, NaN gives 0: what Rust's `as` does.
    u16_of_f16(a: u16) -> u16 { F16::host(a) as u16 }
    i16_of_f16(a: u16) -> u16 { F16::host(a) as i16 as u16 }
    nearest_i32(a: u32) -> u32 { (f64::from(F32::host(a)) + 0.5).floor() as i32 as u32 }
    floor_i32(a: u32) -> u32 { F32::host(a).floor() as i32 as u32 }
    // A signed 4-bit number in sixteenths.
    off_f32_i4(a: u32) -> u32 { (((a << 28) as i32 >> 28) as f32 / 16.0).to_bits() }
}

/// Double to single precision, rounded as the mode says, and so are integers below.
pub(super) fn f32_of_f64_directed(mode: Mode, a: u64) -> u32 {
    directed::f32_of_f64(mode, a, float_of::<F64, F32>)
}

pub(super) fn f32_of_i32_directed(mode: Mode, a: u32) -> u32 {
    directed::of_integer::<F32>(mode, i64::from(a as i32))
}

pub(super) fn f32_of_u32_directed(mode: Mode, a: u32) -> u32 {
    directed::of_integer::<F32>(mode, i64::from(a))
}

pub(super) fn f16_of_u16_directed(mode: Mode, a: u16) -> u16 {
    directed::of_integer::<F16>(mode, i64::from(a))
}

pub(super) fn f16_of_i16_directed(mode: Mode, a: u16) -> u16 {
    directed::of_integer::<F16>(mode, i64::from(a as i16))
}

/// Towards zero, saturating; NaN gives 0.
#[inline(always)]
pub(super) fn u32_of<F: FloatFormat>(_: Mode, a: F::Bits) -> u32 {
    use fp::HostFloat as _;
    F::host(a).wide() as u32
}

/// Towards zero, saturating; NaN gives 0.
#[inline(always)]
pub(super) fn i32_of<F: FloatFormat>(_: Mode, a: F::Bits) -> u32 {
    use fp::HostFloat as _;
    F::host(a).wide() as i32 as u32
}

/// Byte `N` as a number.
#[inline(always)]
pub(super) fn f32_of_byte<const N: u32>(_: Mode, a: u32) -> u32 {
    ((a >> (8 * N) & 255) as f32).to_bits()
}

/// -1..=1 in units of 1/32767, to nearest even; NaN gives 0.
#[inline(always)]
pub(super) fn norm_i16<F: FloatFormat>(_: Mode, a: F::Bits) -> u16 {
    use fp::HostFloat as _;
    (F::host(a).wide().clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16
}

/// 0..=1 in units of 1/65535, to nearest even; NaN gives 0.
#[inline(always)]
pub(super) fn norm_u16<F: FloatFormat>(_: Mode, a: F::Bits) -> u16 {
    use fp::HostFloat as _;
    (F::host(a).wide().clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

#[inline(always)]
fn joined(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// Two [`norm_i16`].
#[inline(always)]
pub(super) fn pk_norm_i16<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> u32 {
    joined(norm_i16::<F>(mode, a), norm_i16::<F>(mode, b))
}

/// Two [`norm_u16`].
#[inline(always)]
pub(super) fn pk_norm_u16<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> u32 {
    joined(norm_u16::<F>(mode, a), norm_u16::<F>(mode, b))
}

/// Two signed 16-bit integers, towards zero, saturating.
#[inline(always)]
pub(super) fn pk_i16_f32(_: Mode, a: u32, b: u32) -> u32 {
    joined(F32::host(a) as i16 as u16, F32::host(b) as i16 as u16)
}

/// Two unsigned 16-bit integers, towards zero, saturating.
#[inline(always)]
pub(super) fn pk_u16_f32(_: Mode, a: u32, b: u32) -> u32 {
    joined(F32::host(a) as u16, F32::host(b) as u16)
}

/// Two halves, rounded to nearest even.
pub(super) fn pk_f16_f32(mode: Mode, a: u32, b: u32) -> u32 {
    u32::from(f16_of_f32(mode, a)) | u32::from(f16_of_f32(mode, b)) << 16
}

/// Two numbers in the 16-bit brain format, rounded to nearest even.
pub(super) fn pk_bf16_f32(_: Mode, a: u32, b: u32) -> u32 {
    u32::from(bf16_of_f32(a)) | u32::from(bf16_of_f32(b)) << 16
}

/// A number in the 16-bit brain format in single precision.
pub(super) fn f32_of_bf16(_: Mode, a: u16) -> u32 {
    u32::from(a) << 16
}

/// Two halves, rounded towards zero: what is too large becomes the largest half.
#[inline(always)]
pub(super) fn pk_rtz_f16_f32(_: Mode, a: u32, b: u32) -> u32 {
    let half = |a: u32| {
        if F32::is_nan(a) {
            return nan_of::<F32, F16>(a);
        }
        let value = f64::from(F32::host(a));
        let nearest = F16::round(value);
        // The next bit pattern towards zero, where rounding to nearest went away from it.
        nearest - u16::from(f64::from(F16::host(nearest)).abs() > value.abs())
    };
    joined(half(a), half(b))
}

/// The number as a byte, towards zero, saturating, put at byte `b` of `c`.
#[inline(always)]
pub(super) fn pk_u8_f32(_: Mode, a: u32, b: u32, c: u32) -> u32 {
    let shift = 8 * (b & 3);
    c & !(0xff << shift) | u32::from(F32::host(a) as u8) << shift
}
