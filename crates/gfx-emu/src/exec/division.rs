//! The three helpers of the division sequence: scale the operands, finish with a fused step, repair the special cases.
//!
//! Compilers divide by `div_scale`, a reciprocal with Newton steps, `div_fmas` and `div_fixup`; with these three exact the
//! quotient is correctly rounded, denormals included.

use crate::fp::{self, F32, F64, FloatFormat, HostFloat as _, Mode, directed};

/// Constants of the sequence that depend on the format.
pub(super) trait Division: FloatFormat {
    /// Operands are scaled by `2^SCALE`.
    const SCALE: u32;
    /// Difference of exponents from which the quotient may overflow.
    const NEAR_MAX: i32;
    /// Exponent field up to which a numerator counts as tiny.
    const TINY: i32;
    /// Whether the value, computed in a wider range, would be a denormal of this format.
    fn quotient_is_denormal(numerator: Self::Bits, denominator: Self::Bits) -> bool;
}

impl Division for F32 {
    const SCALE: u32 = 64;
    const NEAR_MAX: i32 = 96;
    const TINY: i32 = 23;
    #[inline(always)]
    fn quotient_is_denormal(numerator: u32, denominator: u32) -> bool {
        let quotient = (F32::host(numerator).wide() / F32::host(denominator).wide()).abs();
        (quotient > 0.0) & (quotient < f64::from(f32::MIN_POSITIVE))
    }
}

impl Division for F64 {
    const SCALE: u32 = 128;
    const NEAR_MAX: i32 = 768;
    const TINY: i32 = 53;
    #[inline(always)]
    fn quotient_is_denormal(numerator: u64, denominator: u64) -> bool {
        F64::is_denormal((F64::host(numerator) / F64::host(denominator)).to_bits())
    }
}

/// One operand (`a`, which is the denominator `b` or the numerator `c`) scaled so that no step of the division overflows
/// or loses bits, and whether `div_fmas` must scale the quotient back.
#[inline(always)]
pub(super) fn scale<F: Division>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> (F::Bits, bool) {
    // All that may be the answer is computed and one of it taken, without branches: lane loops become vector code.
    let up = fp::ldexp::<F>(mode, a, F::SCALE);
    let down = fp::ldexp::<F>(mode, a, F::SCALE.wrapping_neg());
    let one = F::narrow((F::bias() as u64) << F::MANTISSA_BITS);
    let is_denominator = a == b;
    let reciprocal = F::quotient_is_denormal(one, b);
    let quotient = F::quotient_is_denormal(c, b);
    let mut value = if F::exponent(c) <= F::TINY { up } else { a };
    // The manual's text scales the denominator up where both are denormal; it is so large that this would overflow.
    value = if quotient & !reciprocal {
        if a == c { up } else { a }
    } else {
        value
    };
    value = if reciprocal & !quotient { down } else { value };
    value = if reciprocal & quotient {
        if is_denominator { down } else { a }
    } else {
        value
    };
    let mut scaled = quotient;
    let tiny = F::is_denormal(b);
    value = if tiny { up } else { value };
    scaled &= !tiny;
    // Only the denominator is scaled.
    let near = F::exponent(c) - F::exponent(b) >= F::NEAR_MAX;
    value = if near {
        if is_denominator { up } else { a }
    } else {
        value
    };
    scaled |= near;
    let invalid = F::is_zero(b) | F::is_zero(c);
    (if invalid { F::default_nan() } else { value }, scaled & !invalid)
}

/// `a * b + c`, scaled back when `scaled`; rounded once.
#[inline(always)]
pub(super) fn fmas<F: Division>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits, scaled: bool) -> F::Bits {
    if scaled {
        rescale::<F>(mode, a, b, c)
    } else {
        fp::fma::<F>(mode, a, b, c)
    }
}

/// [`fmas`], rounded as the mode says.
pub(super) fn fmas_directed<F: Division>(
    mode: Mode,
    a: F::Bits,
    b: F::Bits,
    c: F::Bits,
    scaled: bool,
) -> F::Bits {
    let n = if scaled { scale_back::<F>(c) } else { 0 };
    directed::scaled_fma::<F>(mode, a, b, c, n)
}

/// The exponent by which a quotient is scaled back, by the addend of [`fmas`].
#[inline(always)]
fn scale_back<F: Division>(c: F::Bits) -> u32 {
    if F::exponent(c) > F::bias() {
        F::SCALE
    } else {
        F::SCALE.wrapping_neg()
    }
}

/// [`fmas`] of a quotient that must be scaled back.
#[cold]
fn rescale<F: Division>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    let mode = mode.on(false);
    let sum = fp::fma::<F>(mode, a, b, c);
    if F::is_nan(sum) {
        return sum;
    }
    let n = scale_back::<F>(c);
    let result = fp::ldexp::<F>(mode, sum, n);
    if !F::is_denormal(result) && F::exponent(result) > 1 {
        return result;
    }
    // The sum was rounded, and now it was rounded again: that is wrong where the rounded sum lies half-way between two
    // results and the exact one does not.
    let back = fp::ldexp::<F>(mode, result, n.wrapping_neg());
    let lost = F::host(sum).sub(F::host(back)).wide();
    let half = libm::scalbn(
        1.0,
        -(F::bias() - 1) - F::MANTISSA_BITS as i32 - 1 + F::SCALE as i32,
    );
    let error = residue::<F>(a, b, c, sum);
    if lost.abs() != half || error == 0.0 {
        return result;
    }
    // At a tie: the neighbour on the side of the exact sum.
    let outwards = (error > 0.0) != F::is_negative(sum);
    let magnitude = F::magnitude(result);
    let rounded_outwards = (lost > 0.0) == F::is_negative(sum);
    let magnitude = match (outwards, rounded_outwards) {
        (true, false) => magnitude + 1,
        (false, true) => magnitude - 1,
        _ => magnitude,
    };
    F::signed(magnitude, F::is_negative(sum))
}

/// A number with the sign of `a * b + c - sum`, where `sum` is the rounded fused sum (Boldo and Muller, "Exact and
/// approximated error of the FMA").
fn residue<F: FloatFormat>(a: F::Bits, b: F::Bits, c: F::Bits, sum: F::Bits) -> f64 {
    let two_sum = |x: f64, y: f64| {
        let s = x + y;
        let z = s - x;
        (s, (x - (s - z)) + (y - z))
    };
    let [a, b, c, sum] = [a, b, c, sum].map(|bits| F::host(bits).wide());
    let high = a * b;
    let low = libm::fma(a, b, -high);
    let (alpha, alpha_low) = two_sum(c, low);
    let (beta, beta_low) = two_sum(high, alpha);
    ((beta - sum) + beta_low) + alpha_low
}

/// The quotient `a` of `c / b`, with sign, infinities, zeros and NaNs put right.
#[inline(always)]
pub(super) fn fixup<F: FloatFormat>(_: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    let negative = F::is_negative(b) != F::is_negative(c);
    let invalid = F::signed(F::infinity_bits() | 1 << (F::MANTISSA_BITS - 1), true);
    // Below half the least denormal, whatever the mantissas.
    let underflow = F::exponent(c) - F::exponent(b) < -(F::bias() + F::MANTISSA_BITS as i32);
    if F::is_nan(c) {
        F::quiet(c)
    } else if F::is_nan(b) {
        F::quiet(b)
    } else if F::is_zero(b) && F::is_zero(c) || F::is_infinite(b) && F::is_infinite(c) {
        invalid
    } else if F::is_zero(b) || F::is_infinite(c) {
        F::signed(F::infinity_bits(), negative)
    } else if F::is_infinite(b) || F::is_zero(c) || underflow {
        F::signed(0, negative)
    } else if F::magnitude(a) >= F::infinity_bits() {
        // The steps overflowed, to an infinity or on to a NaN. The manual's text tests the denominator here, which
        // cannot be; without this, overflowing quotients would be NaNs.
        F::signed(F::infinity_bits(), negative)
    } else {
        F::signed(F::magnitude(a), negative)
    }
}
