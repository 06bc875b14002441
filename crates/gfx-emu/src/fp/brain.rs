//! The 16-bit brain format on bits: conversions, and the fused sum. Everything is computed in single precision.

/// The value; exact.
#[inline(always)]
pub(crate) fn f32_of_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to nearest even. A NaN keeps its sign and the top of its payload, quieted.
#[inline(always)]
pub(crate) fn bf16_of_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// [`bf16_of_f32`] of an f64, rounded once.
#[inline(always)]
pub(crate) fn bf16_of_f64(value: f64) -> u16 {
    bf16_of_f32(odd(value))
}

/// `a * b + c`, rounded to odd. The product of two brain floats is exact in f64.
#[inline(always)]
pub(super) fn fused(_: bool, a: f32, b: f32, c: f32) -> f32 {
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    // What the sum lost, exactly; NaN when something is infinite. See `fused_f32` in format.rs.
    let part = sum - product;
    let lost = (product - (sum - part)) + (addend - part);
    let inexact = lost.abs() > 0.0;
    if !inexact {
        return odd(sum);
    }
    let bits = sum.to_bits();
    let outward = (lost > 0.0) == (sum > 0.0);
    odd(f64::from_bits(match (bits & 1, outward) {
        (0, true) => bits | 1,
        (0, false) => bits - 1,
        _ => bits,
    }))
}

/// In single precision, rounded to odd: the last bit of what is not exact is set, so that a second rounding to fewer bits is the only one.
#[inline(always)]
fn odd(value: f64) -> f32 {
    let near = value as f32;
    let exact = f64::from(near);
    if exact == value || value.is_nan() {
        return near;
    }
    // Towards zero, then the last bit. Beyond the largest number that is the largest number, which is odd.
    let bits = near.to_bits();
    let inward = if exact.abs() > value.abs() { bits - 1 } else { bits };
    f32::from_bits(inward | 1)
}

#[cfg(test)]
mod tests {
    use crate::fp::{Bf16, FloatFormat as _, Mode, add, fma};
    use rustc_apfloat::ieee::BFloat;
    use rustc_apfloat::{Float, FloatConvert as _, Round};

    /// A sequence of bits with every exponent in it (a linear congruence, its high bits).
    fn patterns() -> impl Iterator<Item = u32> {
        let mut state = 7_u64;
        std::iter::from_fn(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Some((state >> 32) as u32)
        })
    }

    #[track_caller]
    fn same(got: u16, want: BFloat) {
        assert!(
            u128::from(got) == want.to_bits() || Bf16::is_nan(got) && want.is_nan(),
            "{got:#x}, not {want:?}"
        );
    }

    #[test]
    fn sums_are_rounded_once() {
        let mut bits = patterns();
        for _ in 0..300_000 {
            let [a, b, mut c] = [(); 3].map(|()| (bits.next().unwrap() >> 16) as u16);
            if bits.next().unwrap() & 1 != 0 {
                // Near the product, where a sum cancels or lies between two numbers.
                let exponent = (i32::from(a >> 7 & 255) + i32::from(b >> 7 & 255) - 127).clamp(0, 254) as u16;
                c = c & 0x807f | exponent << 7;
            }
            let [x, y, z] = [a, b, c].map(|bits| BFloat::from_bits(bits.into()));
            same(
                fma::<Bf16>(Mode::NONE, a, b, c),
                x.mul_add_r(y, z, Round::NearestTiesToEven).value,
            );
            same(add::<Bf16>(Mode::NONE, a, b), (x + y).value);
        }
    }

    #[test]
    fn single_and_double_precision_round_once() {
        let mut bits = patterns();
        for _ in 0..300_000 {
            let single = bits.next().unwrap();
            let want: BFloat = rustc_apfloat::ieee::Single::from_bits(single.into())
                .convert(&mut false)
                .value;
            same(Bf16::guest(f32::from_bits(single)), want);
            // Near the middle between two brain floats.
            let double = f64::from(f32::from_bits(single & !0xffff | 0x8000)).to_bits();
            let double = double.wrapping_add_signed(i64::from(bits.next().unwrap() % 3) - 1);
            let want: BFloat = rustc_apfloat::ieee::Double::from_bits(double.into())
                .convert(&mut false)
                .value;
            same(Bf16::round(f64::from_bits(double)), want);
        }
    }
}
