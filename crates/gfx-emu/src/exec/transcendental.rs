//! The approximate instructions: reciprocal, square root, exponential, logarithm, sine, and the range reduction's table.
//!
//! AMD promises an error of about one unit in the last place and publishes no tables, so results need not agree with a
//! card in the last bit. Here they are computed in f64, with the pure-Rust `libm` where the host's library would differ
//! from machine to machine, and rounded once. The single-precision forms flush denormals as documented.

use crate::fp::{F64, FloatFormat, HostFloat as _, Mode, nan};

/// The source as f64; single-precision denormals count as zero.
#[inline(always)]
fn source<F: FloatFormat>(a: F::Bits) -> f64 {
    F::host(if F::APPROXIMATE_FLUSHES && F::is_denormal(a) {
        F::signed(0, F::is_negative(a))
    } else {
        a
    })
    .wide()
}

/// Rounds the result; single-precision denormals become zero.
#[inline(always)]
fn finish<F: FloatFormat>(mode: Mode, value: f64, a: F::Bits) -> F::Bits {
    let bits = F::round(value);
    let flushed = if F::APPROXIMATE_FLUSHES && F::is_denormal(bits) {
        F::signed(0, F::is_negative(bits))
    } else {
        bits
    };
    if !mode.any_nan && value.is_nan() {
        nan::<F>(&[a])
    } else {
        flushed
    }
}

/// `(ln 2)^k / k!`: the series of `2^r`.
pub(super) const EXP2_SERIES: [f64; 15] = {
    let mut series = [1.0; 15];
    let mut k = 1;
    while k < series.len() {
        series[k] = series[k - 1] * std::f64::consts::LN_2 / k as f64;
        k += 1;
    }
    series
};

/// Adding and taking away 1.5 * 2^52 rounds to an integer, whose bits then are the low ones of the sum.
pub(super) const EXP2_ROUND: f64 = 6_755_399_441_055_744.0;

/// `2^x` of an `x` that came from a narrower format: within an f64's last place or so where the result fits such a format,
/// and out of their range where it does not. Plain sums and products, which vectorise and are the same everywhere.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let x = x.clamp(-200.0, 200.0);
    let shifted = x + EXP2_ROUND;
    let rest = x - (shifted - EXP2_ROUND);
    let mut sum = EXP2_SERIES[14];
    for term in EXP2_SERIES[..14].iter().rev() {
        sum = sum * rest + term;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// `2^a`.
#[inline(always)]
pub(super) fn exp<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, exp2(source::<F>(a)), a)
}

/// The logarithm to base 2.
#[inline(always)]
pub(super) fn log<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, libm::log2(source::<F>(a)), a)
}

/// `1 / a`.
#[inline(always)]
pub(super) fn rcp<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, 1.0 / source::<F>(a), a)
}

/// `1 / sqrt(a)`.
#[inline(always)]
pub(super) fn rsq<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, 1.0 / source::<F>(a).sqrt(), a)
}

/// The square root.
#[inline(always)]
pub(super) fn sqrt<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, source::<F>(a).sqrt(), a)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    finish::<F>(mode, libm::tanh(source::<F>(a)), a)
}

/// Largest argument, in turns, for which the sine is defined.
const MAX_TURNS: f64 = 256.0;

/// `sin(2π turns)`; exact for multiples of a quarter turn.
#[inline(always)]
fn sin_turns(turns: f64) -> f64 {
    // Half turns change the sign only; the rest is within a quarter turn of zero and known exactly.
    let half_turns = (2.0 * turns).round_ties_even();
    let rest = turns - half_turns / 2.0;
    if rest == 0.0 {
        return 0.0;
    }
    let value = if rest.abs() == 0.25 {
        4.0 * rest
    } else {
        libm::sin(rest * std::f64::consts::TAU)
    };
    if half_turns % 2.0 == 0.0 { value } else { -value }
}

/// `sin(2π a)`; 0 out of range.
#[inline(always)]
pub(super) fn sin<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    let turns = F::host(a).wide();
    finish::<F>(
        mode,
        if turns.is_finite() {
            if turns.abs() > MAX_TURNS {
                0.0
            } else {
                sin_turns(turns)
            }
        } else {
            f64::NAN
        },
        a,
    )
}

/// `cos(2π a)`; 1 out of range.
#[inline(always)]
pub(super) fn cos<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    let turns = F::host(a).wide().abs();
    let value = if turns > MAX_TURNS {
        1.0
    } else {
        sin_turns(turns + 0.25)
    };
    finish::<F>(mode, if turns.is_finite() { value } else { f64::NAN }, a)
}

/// The first 1201 bits of 2/π after the binary point, highest first.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// 53 bits of 2/π for the reduction of a large angle: segment `segment`, skipped ahead by the exponent of `a`, scaled to
/// its place.
#[inline(always)]
pub(super) fn trig_preop(_: Mode, a: u64, segment: u32) -> u64 {
    let exponent = F64::exponent(a);
    let skip = (segment & 31) as i32 * 53 + (exponent - 1077).max(0);
    let (word, bit) = (skip as usize / 64, skip % 64);
    let at = |i: usize| u128::from(TWO_OVER_PI.get(i).copied().unwrap_or(0));
    let bits = ((at(word) << 64 | at(word + 1)) << bit >> 64 << 64 >> 75) as u64;
    // Large angles are scaled down, so that products with them do not overflow.
    let scale = -53 - skip + if exponent >= 1968 { 128 } else { 0 };
    libm::scalbn(bits as f64, scale).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fp::F32;

    #[test]
    fn a_power_of_two_is_within_one_unit_of_the_rounded_exponential() {
        let step = |i: u32| f32::from_bits(i.wrapping_mul(9_973) % 0x4318_0000);
        for x in (0..200_000).flat_map(|i| [step(i), -step(i)]) {
            let got = exp::<F32>(Mode::NONE, x.to_bits());
            let want = finish::<F32>(Mode::NONE, libm::exp2(source::<F32>(x.to_bits())), 0);
            assert!(got.abs_diff(want) <= 1, "2^{x:e} is {got:#x}, not {want:#x}");
        }
    }

    #[test]
    fn a_power_of_two_of_an_integer_is_exact_and_special_operands_give_what_ieee_says() {
        for n in -126..=127 {
            assert_eq!(
                exp::<F32>(Mode::NONE, (n as f32).to_bits()),
                2_f32.powi(n).to_bits()
            );
        }
        let special = [
            (f32::INFINITY, f32::INFINITY),
            (f32::NEG_INFINITY, 0.0),
            (128.0, f32::INFINITY),
            (-127.0, 0.0),
            (-0.0, 1.0),
        ];
        for (x, want) in special {
            assert_eq!(exp::<F32>(Mode::NONE, x.to_bits()), want.to_bits(), "2^{x}");
        }
        assert_eq!(exp::<F32>(Mode::NONE, 0x7f80_0001), 0x7fc0_0001);
    }
}
