//! Conversions between `f64` and the bits of every dtype: one rounding, to nearest, ties to even.
//!
//! Written out because the crates at hand round twice in places (`half` may go through `f32` on its way from `f64`)
//! and because what `f8e4m3` does above its largest number is a decision, not a fact: here it saturates, as candle's
//! CPU backend and CUDA's converters do.

use crate::DType;

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of an element.
    pub bits: u32,
    /// Stored bits of the significand.
    pub mantissa_bits: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The largest finite number.
    pub max: f64,
    /// Whether there are infinities; without them, overflow saturates at [`Format::max`].
    pub infinities: bool,
}

const F8E4M3: Format = Format {
    bits: 8,
    mantissa_bits: 3,
    min_exponent: -6,
    max: 448.0,
    infinities: false,
};
const BF16: Format = Format {
    bits: 16,
    mantissa_bits: 7,
    min_exponent: -126,
    max: 338_953_138_925_153_547_590_470_800_371_487_866_880.0,
    infinities: true,
};
const F16: Format = Format {
    bits: 16,
    mantissa_bits: 10,
    min_exponent: -14,
    max: 65504.0,
    infinities: true,
};
const F32: Format = Format {
    bits: 32,
    mantissa_bits: 23,
    min_exponent: -126,
    max: f32::MAX as f64,
    infinities: true,
};
const F64: Format = Format {
    bits: 64,
    mantissa_bits: 52,
    min_exponent: -1022,
    max: f64::MAX,
    infinities: true,
};

impl Format {
    /// The format of a floating-point dtype; `None` for integers.
    pub const fn of(dtype: DType) -> Option<Format> {
        match dtype {
            DType::F8E4M3 => Some(F8E4M3),
            DType::BF16 => Some(BF16),
            DType::F16 => Some(F16),
            DType::F32 => Some(F32),
            DType::F64 => Some(F64),
            DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 => None,
        }
    }

    /// 2^-p: the largest relative error of rounding to a normal number of p significant bits.
    pub fn unit_roundoff(&self) -> f64 {
        exp2(-(self.mantissa_bits as i32) - 1)
    }

    /// The smallest number above zero.
    pub fn min_subnormal(&self) -> f64 {
        exp2(self.min_exponent - self.mantissa_bits as i32)
    }

    /// The smallest number above zero of full precision.
    pub fn min_normal(&self) -> f64 {
        exp2(self.min_exponent)
    }

    /// The unit in the last place of the numbers in `x`'s binade: the gap to the next one away from zero. That of the
    /// largest binade for infinities; NaN for NaN.
    pub fn ulp(&self, x: f64) -> f64 {
        if x.is_nan() {
            return x;
        }
        let x = x.abs().min(self.max);
        exp2(exponent(x).max(self.min_exponent) - self.mantissa_bits as i32)
    }

    /// Where rounding overflows to: one ulp above [`Format::max`] (`f64::MAX` for f64, which has no room above).
    pub fn overflow(&self) -> f64 {
        (self.max + self.ulp(self.max)).min(f64::MAX)
    }

    /// The error that overflow makes of a number of this magnitude. A format with infinities rounds a number above
    /// [`Format::max`] to infinity, one without rounds it to [`Format::max`]. 0 for a number that the format holds.
    pub fn lost_to_overflow(&self, magnitude: f64) -> f64 {
        match (magnitude > self.max, self.infinities) {
            (false, _) => 0.0,
            (true, true) => f64::INFINITY,
            (true, false) => magnitude - self.max,
        }
    }

    /// The bits of `x`, rounded to nearest, ties to even. NaN gives the canonical quiet NaN.
    pub fn encode(&self, x: f64) -> u64 {
        let mantissa = self.mantissa_bits;
        let sign = u64::from(x.is_sign_negative()) << (self.bits - 1);
        let exponent_mask = (1_u64 << (self.bits - 1 - mantissa)) - 1;
        if x.is_nan() {
            return if self.infinities {
                exponent_mask << mantissa | 1 << (mantissa - 1)
            } else {
                0x7F
            };
        }
        // What the processor does as well; a test holds it to what is below.
        if self.mantissa_bits == F64.mantissa_bits {
            return x.to_bits();
        }
        if self.mantissa_bits == F32.mantissa_bits {
            return u64::from((x as f32).to_bits());
        }
        self.encode_by_steps(x, sign, exponent_mask)
    }

    /// [`Format::encode`] of a number, in units of the last place, for any format.
    fn encode_by_steps(&self, x: f64, sign: u64, exponent_mask: u64) -> u64 {
        let mantissa = self.mantissa_bits;
        let ulp = self.ulp(x);
        // Exact: a division by a power of two, then a rounding to an integer below 2^(mantissa + 1).
        let steps = (x.abs().min(self.overflow()) / ulp).round_ties_even();
        let rounded = steps * ulp;
        if rounded > self.max {
            return sign
                | if self.infinities {
                    exponent_mask << mantissa
                } else {
                    self.encode(self.max)
                };
        }
        if rounded < self.min_normal() {
            return sign | (rounded / self.min_subnormal()) as u64;
        }
        let e = exponent(rounded);
        let biased = (e - self.min_exponent + 1) as u64;
        let fraction = (rounded / exp2(e - mantissa as i32)) as u64 - (1 << mantissa);
        sign | biased << mantissa | fraction
    }

    /// The number that `bits` encode.
    pub fn decode(&self, bits: u64) -> f64 {
        let mantissa = self.mantissa_bits;
        if mantissa == F64.mantissa_bits {
            return f64::from_bits(bits);
        }
        if mantissa == F32.mantissa_bits {
            let x = f64::from(f32::from_bits(bits as u32));
            return if x.is_nan() { f64::NAN.copysign(x) } else { x };
        }
        self.decode_by_steps(bits)
    }

    /// [`Format::decode`] for any format but f64, which has no wider one.
    fn decode_by_steps(&self, bits: u64) -> f64 {
        let mantissa = self.mantissa_bits;
        let exponent_mask = (1_u64 << (self.bits - 1 - mantissa)) - 1;
        let biased = bits >> mantissa & exponent_mask;
        let fraction = bits & ((1 << mantissa) - 1);
        let magnitude = if biased == exponent_mask && self.infinities {
            if fraction == 0 { f64::INFINITY } else { f64::NAN }
        } else if !self.infinities && bits & 0x7F == 0x7F {
            f64::NAN
        } else if biased == 0 {
            fraction as f64 * self.min_subnormal()
        } else {
            (fraction + (1 << mantissa)) as f64
                * exp2(self.min_exponent + biased as i32 - 1 - mantissa as i32)
        };
        if bits >> (self.bits - 1) & 1 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }

    /// `x` rounded to this format.
    pub fn round(&self, x: f64) -> f64 {
        self.decode(self.encode(x))
    }
}

/// 2^e, exact, subnormals included; zero or infinity outside f64's range.
fn exp2(e: i32) -> f64 {
    match e {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (e + 1074)),
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

/// The exponent of finite `x`'s leading bit; that of the smallest number for zero.
fn exponent(x: f64) -> i32 {
    let bits = x.to_bits() & !(1 << 63);
    let biased = (bits >> 52) as i32;
    if biased > 0 {
        biased - 1023
    } else {
        -1074 + bits.max(1).ilog2() as i32
    }
}

/// The integer that `bits` of an integer dtype encode.
///
/// # Panics
/// For floating-point dtypes: that would be a bug in the caller.
pub fn decode_int(dtype: DType, bits: u64) -> i64 {
    match dtype {
        DType::U8 | DType::U32 => bits as i64,
        DType::I16 => i64::from(bits as i16),
        DType::I32 => i64::from(bits as i32),
        DType::I64 => bits as i64,
        DType::F8E4M3 | DType::BF16 | DType::F16 | DType::F32 | DType::F64 => {
            panic!("{dtype} is not an integer dtype")
        }
    }
}

/// The bits of `x` in an integer dtype, wrapped to its width.
pub fn encode_int(dtype: DType, x: i64) -> u64 {
    let bits = 8 * dtype.size() as u32;
    x as u64 & (u64::MAX >> (64 - bits))
}

/// Smallest and largest value of an integer dtype; `None` for floating-point ones.
pub const fn int_range(dtype: DType) -> Option<(i64, i64)> {
    match dtype {
        DType::U8 => Some((0, u8::MAX as i64)),
        DType::U32 => Some((0, u32::MAX as i64)),
        DType::I16 => Some((i16::MIN as i64, i16::MAX as i64)),
        DType::I32 => Some((i32::MIN as i64, i32::MAX as i64)),
        DType::I64 => Some((i64::MIN, i64::MAX)),
        DType::F8E4M3 | DType::BF16 | DType::F16 | DType::F32 | DType::F64 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that a 16-bit-wide sweep of f64's upper half gives: every exponent, few significand bits, and the
    /// neighbours of ties, where a second rounding would show.
    fn awkward() -> impl Iterator<Item = f64> {
        (0..=u16::MAX).flat_map(|top| {
            let x = f64::from_bits(u64::from(top) << 48);
            [
                x,
                f64::from_bits(x.to_bits() + 1),
                f64::from_bits(x.to_bits().wrapping_sub(1)),
            ]
        })
    }

    #[test]
    fn f32_conversion_agrees_with_the_compiler() {
        for x in awkward().filter(|x| !x.is_nan()) {
            let sign = u64::from(x.is_sign_negative()) << 31;
            assert_eq!(F32.encode_by_steps(x, sign, 0xff), F32.encode(x), "{x:e}");
        }
        for top in 0..=u16::MAX {
            let x = f32::from_bits(u32::from(top) << 16 | u32::from(top));
            assert!(
                F32.decode_by_steps(u64::from(x.to_bits())) == f64::from(x) || x.is_nan(),
                "{x:e}"
            );
        }
    }

    #[test]
    fn sixteen_bit_decoding_agrees_with_half_on_every_pattern() {
        for bits in 0..=u16::MAX {
            let f16 = half::f16::from_bits(bits).to_f64();
            let bf16 = half::bf16::from_bits(bits).to_f64();
            assert!(F16.decode(u64::from(bits)) == f16 || f16.is_nan(), "{bits:#06x}");
            assert!(
                BF16.decode(u64::from(bits)) == bf16 || bf16.is_nan(),
                "{bits:#06x}"
            );
            assert_eq!(F16.decode(u64::from(bits)).is_nan(), f16.is_nan());
            assert_eq!(BF16.decode(u64::from(bits)).is_nan(), bf16.is_nan());
        }
    }

    #[test]
    fn bf16_encoding_agrees_with_half_where_half_rounds_once() {
        // From f32, half's conversion is a single rounding.
        for x in awkward().map(|x| x as f32).filter(|x| !x.is_nan()) {
            assert_eq!(
                BF16.encode(f64::from(x)),
                u64::from(half::bf16::from_f32(x).to_bits()),
                "{x:e}"
            );
            assert_eq!(
                F16.encode(f64::from(x)),
                u64::from(half::f16::from_f32(x).to_bits()),
                "{x:e}"
            );
        }
    }

    #[test]
    fn every_number_of_the_small_formats_encodes_back_to_its_bits() {
        for format in [F8E4M3, BF16, F16] {
            for bits in 0..1_u64 << format.bits {
                let x = format.decode(bits);
                if !x.is_nan() {
                    assert_eq!(format.encode(x), bits, "{format:?} {bits:#x} is {x:e}");
                }
            }
        }
    }

    #[test]
    fn f8e4m3_agrees_with_float8_on_all_256_patterns() {
        for bits in 0..=u8::MAX {
            let theirs = float8::F8E4M3::from_bits(bits).to_f64();
            let ours = F8E4M3.decode(u64::from(bits));
            assert!(
                ours == theirs || ours.is_nan() && theirs.is_nan(),
                "{bits:#04x}: {ours} and {theirs}"
            );
        }
    }

    #[test]
    fn f8e4m3_rounds_to_the_nearest_of_its_numbers_and_saturates() {
        let numbers: Vec<f64> = (0..0x7F).map(|bits| F8E4M3.decode(bits)).collect();
        for (i, pair) in numbers.windows(2).enumerate() {
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = if i % 2 == 0 { i } else { i + 1 };
            assert_eq!(
                F8E4M3.encode(middle),
                even as u64,
                "the tie {middle} goes to the even significand"
            );
            assert_eq!(F8E4M3.encode(middle * (1.0 - 1e-12)), i as u64);
            assert_eq!(F8E4M3.encode(middle * (1.0 + 1e-12)), i as u64 + 1);
        }
        for (x, bits) in [
            (464.0, 0x7E),
            (1e300, 0x7E),
            (f64::INFINITY, 0x7E),
            (f64::NEG_INFINITY, 0xFE),
        ] {
            assert_eq!(F8E4M3.encode(x), bits, "{x}");
        }
        assert_eq!(F8E4M3.encode(f64::NAN), 0x7F);
        assert_eq!(F8E4M3.encode(-0.0), 0x80);
    }

    #[test]
    fn a_tie_after_f32_is_not_rounded_twice() {
        // Just above the middle of 1 and its f16 successor; f32 would drop the last bit and make it a tie.
        let x = 1.0 + exp2(-11) + exp2(-40);
        assert_eq!(F16.encode(x), 0x3C01);
        assert_eq!(
            F16.encode(f64::from(x as f32)),
            0x3C00,
            "the control: two roundings differ"
        );
    }

    #[test]
    fn ulp_is_the_gap_to_the_next_number() {
        for x in [1.0_f32, 1.5, 3.0e38, 1e-40, f32::MIN_POSITIVE, 0.0] {
            let next = f64::from(x.next_up());
            if next.is_finite() {
                assert_eq!(F32.ulp(f64::from(x)), next - f64::from(x), "{x:e}");
            }
        }
        assert_eq!(F32.ulp(f64::INFINITY), F32.ulp(F32.max));
        assert_eq!(F32.overflow(), exp2(128));
        assert_eq!(F64.ulp(1.0), f64::EPSILON);
    }

    #[test]
    fn integers_wrap_to_their_width() {
        assert_eq!(encode_int(DType::U8, -1), 0xFF);
        assert_eq!(
            decode_int(DType::I16, encode_int(DType::I16, 40_000)),
            40_000 - 65_536
        );
        assert_eq!(decode_int(DType::I64, encode_int(DType::I64, i64::MIN)), i64::MIN);
    }
}
