//! Numbers as a mantissa and an exponent: taken apart, and scaled by powers of two.

use super::{F16, F64, FloatFormat, HostFloat, Mode};

/// The exponent `e` with `a = m * 2^e` and `0.5 <= |m| < 1`; 0 for zero, infinity and NaN.
#[inline(always)]
pub(crate) fn frexp_exp<F: FloatFormat>(_: Mode, a: F::Bits) -> u32 {
    split::<F>(a).1 as u32
}

/// [`frexp_exp`] of a half.
#[inline(always)]
pub(crate) fn frexp_exp16(_: Mode, a: u16) -> u16 {
    split::<F16>(a).1 as u16
}

/// The mantissa `m` of [`frexp_exp`]; zero, infinity and NaN give themselves.
#[inline(always)]
pub(crate) fn frexp_mant<F: FloatFormat>(_: Mode, a: F::Bits) -> F::Bits {
    if F::is_nan(a) {
        F::quiet(a)
    } else {
        split::<F>(a).0
    }
}

#[inline(always)]
fn split<F: FloatFormat>(a: F::Bits) -> (F::Bits, i32) {
    let magnitude = F::magnitude(a);
    if magnitude == 0 || magnitude >= F::infinity_bits() {
        return (a, 0);
    }
    // A denormal is shifted up until its leading one is where the hidden one would be.
    let shift = if F::exponent(a) == 0 {
        magnitude.leading_zeros() as i32 + F::MANTISSA_BITS as i32 - 63
    } else {
        0
    };
    let mantissa = magnitude << shift & ((1 << F::MANTISSA_BITS) - 1);
    let exponent = F::exponent(a).max(1) - shift - F::bias() + 1;
    (
        F::signed(
            ((F::bias() - 1) as u64) << F::MANTISSA_BITS | mantissa,
            F::is_negative(a),
        ),
        exponent,
    )
}

/// `a * 2^n` with `n` signed, rounded once.
#[inline(always)]
pub(crate) fn ldexp<F: FloatFormat>(_: Mode, a: F::Bits, n: u32) -> F::Bits {
    let scaled = if F::MANTISSA_BITS < F64::MANTISSA_BITS {
        // 2^400 takes every number of the narrower formats out of their range and no f64 out of its own: the product is
        // exact.
        let n = (n as i32).clamp(-400, 400);
        F::host(a).wide() * f64::from_bits(((n + 1023) as u64) << 52)
    } else {
        scaled(F::host(a).wide(), n as i32)
    };
    if F::is_nan(a) {
        F::quiet(a)
    } else {
        F::round(scaled)
    }
}

/// `x * 2^n`, rounded once. The lane loop becomes vector code, which a call of libm's does not.
#[inline(always)]
pub(super) fn scaled(x: f64, n: i32) -> f64 {
    // Beyond this every number is out of range.
    let mut rest = n.clamp(-2200, 2200);
    let mut x = x;
    for _ in 0..3 {
        // Downwards a step leaves 53 bits or more to the next one: what it rounds becomes zero then.
        let step = if rest < -1022 { -1022 + 53 } else { rest.min(1023) };
        x *= f64::from_bits(((step + 1023) as u64) << 52);
        rest -= step;
    }
    x
}

/// `a * 2^n` of a half, with `n` a signed 16-bit number.
#[inline(always)]
pub(crate) fn ldexp16(mode: Mode, a: u16, n: u16) -> u16 {
    ldexp::<F16>(mode, a, n as i16 as u32)
}
