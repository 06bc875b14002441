//! Half precision on bits: conversions, and the fused sum. Everything is computed in single precision.

/// `a * b + c` of halves, rounded to odd. Their product is exact in f32, and what the sum loses is known; see `fused_f32` in format.rs.
#[inline(always)]
pub(super) fn fused(_: bool, a: f32, b: f32, c: f32) -> f32 {
    let product = a * b;
    let sum = product + c;
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    // All ones where the sum is inexact; NaN, where something is infinite, is not.
    let inexact = if lost.abs() > 0.0 { u32::MAX } else { 0 };
    // Rounded away from zero: one step back truncates.
    let inward = ((lost.to_bits() ^ sum.to_bits()) as i32 >> 31) as u32;
    f32::from_bits(sum.to_bits().wrapping_add(inward & inexact) | inexact & 1)
}

/// The value of a half; exact. Without branches and in few steps, so that lane loops become short vector code.
#[inline(always)]
pub(crate) fn f32_of_f16(bits: u16) -> f32 {
    let bits = u32::from(bits);
    // The same fields under the other bias: 2^112 puts that right, for denormals too.
    let value = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    // What had the highest exponent keeps it.
    let special = if value >= 65536.0 { 0xff << 23 } else { 0 };
    f32::from_bits(value.to_bits() | special | (bits & 0x8000) << 16)
}

/// [`f16_of_f64`] of an f32.
#[inline(always)]
pub(crate) fn f16_of_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & !(1 << 31);
    // Denormal: units of 2^-24, the last place of 1/2.
    let denormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(f32::to_bits(0.5));
    // From 65520 on, half-way between the largest half and the next power of two, rounding gives infinity.
    let rebased = magnitude
        .min(f32::to_bits(65536.0))
        .wrapping_sub((127 - 15) << 23);
    let normal = rebased
        .wrapping_add((1 << 12) - 1)
        .wrapping_add(rebased >> 13 & 1)
        >> 13;
    // Signed comparisons are one step on most hosts.
    let number = if (magnitude as i32) < f32::to_bits(1.0 / 16384.0) as i32 {
        denormal
    } else {
        normal
    };
    let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
    (sign
        | if magnitude as i32 > 0xff << 23 {
            nan
        } else {
            number
        }) as u16
}

/// Rounds to half precision, to nearest even, once. A NaN keeps its sign and the top of its payload, quieted. Without
/// branches, as [`f32_of_f16`].
#[inline(always)]
pub(crate) fn f16_of_f64(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) & 0x8000;
    let magnitude = bits & !(1 << 63);
    // Denormal: units of 2^-24, the last place of 2^28; the host rounds to nearest even. 1024 units are the least normal
    // number.
    const UNITS: f64 = 268_435_456.0;
    let denormal = (f64::from_bits(magnitude) + UNITS)
        .to_bits()
        .wrapping_sub(UNITS.to_bits());
    let rebased = magnitude.wrapping_sub((1023 - 15) << 52);
    let normal = rebased
        .wrapping_add((1 << 41) - 1)
        .wrapping_add(rebased >> 42 & 1)
        >> 42;
    let finite = if magnitude < f64::to_bits(1.0 / 16384.0) {
        denormal
    } else {
        normal
    };
    // 65520 is half-way between the largest half and the next power of two.
    let number = if magnitude < 65520f64.to_bits() {
        finite
    } else {
        0x7c00
    };
    let nan = 0x7e00 | magnitude >> 42 & 0x3ff;
    (sign | if magnitude > 0x7ff << 52 { nan } else { number }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fp::{F16, FloatFormat as _, Mode, fma};

    /// A sequence of bits with every exponent in it (a linear congruence, its high bits).
    fn patterns() -> impl Iterator<Item = u32> {
        let mut state = 1_u64;
        std::iter::from_fn(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Some((state >> 32) as u32)
        })
    }

    /// A half by its definition.
    fn value(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
        let magnitude = match exponent {
            0 => mantissa * 2_f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + mantissa) * 2_f64.powi(exponent - 25),
        };
        if bits >> 15 == 0 { magnitude } else { -magnitude }
    }

    #[test]
    fn every_half_is_its_value_in_single_precision_and_comes_back() {
        for bits in 0..=u16::MAX {
            let single = f32_of_f16(bits);
            assert!(
                f64::from(single) == value(bits) || single.is_nan() && value(bits).is_nan(),
                "{bits:#x}"
            );
            let want = if F16::is_nan(bits) { F16::quiet(bits) } else { bits };
            assert_eq!(f16_of_f32(single), want, "{bits:#x}");
        }
    }

    #[test]
    fn single_and_double_precision_round_to_the_same_half() {
        let near = (0..=u16::MAX).flat_map(|bits| {
            let middle = f32_of_f16(bits).to_bits() | 0x1000;
            [middle - 1, middle, middle + 1]
        });
        for bits in near.chain(patterns().take(1_000_000)) {
            let single = f32::from_bits(bits);
            if !single.is_nan() {
                assert_eq!(f16_of_f32(single), f16_of_f64(f64::from(single)), "{single:e}");
            }
        }
    }

    #[test]
    fn a_fused_sum_of_halves_is_rounded_once() {
        let mut bits = patterns();
        for _ in 0..3_000_000 {
            let [a, b, c] = [(); 3].map(|()| (bits.next().unwrap() >> 16) as u16);
            // The product is exact in f64; a sum that is not cannot lie on a rounding boundary of a half.
            let want = f16_of_f64(value(a) * value(b) + value(c));
            let got = fma::<F16>(Mode::NONE, a, b, c);
            assert!(
                got == want || F16::is_nan(got) && F16::is_nan(want),
                "{a:#x} * {b:#x} + {c:#x}: {got:#x}, not {want:#x}"
            );
        }
    }
}
