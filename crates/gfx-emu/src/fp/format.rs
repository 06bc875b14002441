//! The formats of guest numbers: how their bits are laid out, and which host type computes them.

use super::brain;
use super::half::{self, f16_of_f32, f16_of_f64, f32_of_f16};

/// The arithmetic a host type lends.
pub(crate) trait HostFloat: Copy + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn trunc(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn rndne(self) -> Self;
    fn wide(self) -> f64;
}

macro_rules! host {
    ($($ty:ident)*) => {$(
        impl HostFloat for $ty {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn trunc(self) -> Self { $ty::trunc(self) }
            #[inline(always)]
            fn floor(self) -> Self { $ty::floor(self) }
            #[inline(always)]
            fn ceil(self) -> Self { $ty::ceil(self) }
            #[inline(always)]
            fn rndne(self) -> Self { self.round_ties_even() }
            #[inline(always)]
            fn wide(self) -> f64 { self as f64 }
        }
    )*};
}
host! { f32 f64 }

/// `a * b + c` in f64, rounded once.
#[inline(always)]
fn fma_f64(native: bool, a: f64, b: f64, c: f64) -> f64 {
    if native {
        a.mul_add(b, c)
    } else {
        // `mul_add` is a call into the host's C library here.
        libm::fma(a, b, c)
    }
}

/// `a * b + c` in f32, rounded once.
#[inline(always)]
fn fma_f32(native: bool, a: f32, b: f32, c: f32) -> f32 {
    if native {
        a.mul_add(b, c)
    } else {
        fused_f32(a, b, c)
    }
}

/// `a * b + c` in f32, rounded once: `f32::mul_add` for a host without FMA instructions, in a form that vectorises.
///
/// The product is exact in f64. The sum is rounded to odd there: the last bit of an inexact sum is set, so that the
/// second rounding, 29 bits above, sees on which side of a tie the sum lay. That is right when the wider format has at least
/// two bits more than twice the narrower one's (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved
/// algorithms using rounding to odd", 2008); f64 has 53, f32 needs 50.
#[inline(always)]
pub(super) fn fused_f32(a: f32, b: f32, c: f32) -> f32 {
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    // What the sum lost, exactly (Knuth's two-sum); NaN when something is infinite.
    let part = sum - product;
    let lost = (product - (sum - part)) + (addend - part);
    let bits = sum.to_bits();
    let is_even = bits & 1 == 0;
    let outward = (lost > 0.0) == (sum > 0.0);
    let inexact = lost.abs() > 0.0;
    let odd = if outward { bits | 1 } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact && is_even { odd } else { bits }) as f32
}

/// A guest format: how its bits are laid out and which host type computes it.
pub(crate) trait FloatFormat: Copy {
    /// The bits.
    type Bits: Copy + Eq + Default;
    /// The host type that computes it.
    type Host: HostFloat;
    /// Bits of the exponent field.
    const EXPONENT_BITS: u32;
    /// Bits of the mantissa field.
    const MANTISSA_BITS: u32;
    /// Whether the approximate f32 instructions (reciprocal, exponential, …) flush denormals.
    const APPROXIMATE_FLUSHES: bool;

    /// The bits, zero-extended.
    fn widen(bits: Self::Bits) -> u64;
    /// The low bits.
    fn narrow(bits: u64) -> Self::Bits;
    /// The value; a NaN is any NaN.
    fn host(bits: Self::Bits) -> Self::Host;
    /// Rounds to nearest even; a NaN is any NaN.
    fn guest(value: Self::Host) -> Self::Bits;
    /// Rounds an f64 to nearest even, once.
    fn round(value: f64) -> Self::Bits;
    /// Whether the bits are a NaN.
    fn is_nan(bits: Self::Bits) -> bool;
    /// Whether the bits are a signalling NaN.
    fn is_signalling(bits: Self::Bits) -> bool;
    /// The NaN with its quiet bit set.
    fn quiet(bits: Self::Bits) -> Self::Bits;
    /// `a * b + c`, rounded once; `native` when the code is compiled for a host that has an instruction for it.
    fn fused(native: bool, a: Self::Host, b: Self::Host, c: Self::Host) -> Self::Host;

    /// The NaN an invalid operation gives.
    #[inline(always)]
    fn default_nan() -> Self::Bits {
        Self::narrow(Self::infinity_bits() | 1 << (Self::MANTISSA_BITS - 1))
    }
    /// Bits of plus infinity.
    #[inline(always)]
    fn infinity_bits() -> u64 {
        ((1 << Self::EXPONENT_BITS) - 1) << Self::MANTISSA_BITS
    }
    /// The sign bit.
    #[inline(always)]
    fn sign_bit() -> u64 {
        1 << (Self::EXPONENT_BITS + Self::MANTISSA_BITS)
    }
    /// Whether the sign bit is set.
    #[inline(always)]
    fn is_negative(bits: Self::Bits) -> bool {
        Self::widen(bits) & Self::sign_bit() != 0
    }
    /// The bits without sign.
    #[inline(always)]
    fn magnitude(bits: Self::Bits) -> u64 {
        Self::widen(bits) & !Self::sign_bit()
    }
    /// The biased exponent field.
    #[inline(always)]
    fn exponent(bits: Self::Bits) -> i32 {
        (Self::magnitude(bits) >> Self::MANTISSA_BITS) as i32
    }
    /// Bias of the exponent field.
    #[inline(always)]
    fn bias() -> i32 {
        (1 << (Self::EXPONENT_BITS - 1)) - 1
    }
    /// Whether the value is plus or minus infinity.
    #[inline(always)]
    fn is_infinite(bits: Self::Bits) -> bool {
        Self::magnitude(bits) == Self::infinity_bits()
    }
    /// Whether the value is plus or minus zero.
    #[inline(always)]
    fn is_zero(bits: Self::Bits) -> bool {
        Self::magnitude(bits) == 0
    }
    /// Whether the value is a denormal.
    #[inline(always)]
    fn is_denormal(bits: Self::Bits) -> bool {
        Self::exponent(bits) == 0 && !Self::is_zero(bits)
    }
    /// The magnitude of `bits` with the sign of `negative`.
    #[inline(always)]
    fn signed(magnitude: u64, negative: bool) -> Self::Bits {
        Self::narrow(magnitude | if negative { Self::sign_bit() } else { 0 })
    }
}

/// Half precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F16;
/// The 16-bit brain format: single precision without the lower half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bf16;
/// Single precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32;
/// Double precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F64;

macro_rules! format {
    ($name:ident, $bits:ident, $host:ident, $exponent:literal, $mantissa:literal, $flushes:literal, $to:expr, $from:expr, $round:expr, $fma:path) => {
        impl FloatFormat for $name {
            type Bits = $bits;
            type Host = $host;
            const EXPONENT_BITS: u32 = $exponent;
            const MANTISSA_BITS: u32 = $mantissa;
            const APPROXIMATE_FLUSHES: bool = $flushes;

            #[inline(always)]
            fn widen(bits: $bits) -> u64 {
                u64::from(bits)
            }
            #[inline(always)]
            fn narrow(bits: u64) -> $bits {
                bits as $bits
            }
            #[inline(always)]
            fn host(bits: $bits) -> $host {
                $to(bits)
            }
            #[inline(always)]
            fn guest(value: $host) -> $bits {
                $from(value)
            }
            #[inline(always)]
            fn round(value: f64) -> $bits {
                $round(value)
            }
            #[inline(always)]
            fn is_nan(bits: $bits) -> bool {
                const INFINITY: $bits = ((1 << $exponent) - 1) << $mantissa;
                bits & ($bits::MAX >> 1) > INFINITY
            }
            #[inline(always)]
            fn is_signalling(bits: $bits) -> bool {
                Self::is_nan(bits) && bits >> ($mantissa - 1) & 1 == 0
            }
            #[inline(always)]
            fn quiet(bits: $bits) -> $bits {
                bits | 1 << ($mantissa - 1)
            }
            #[inline(always)]
            fn fused(native: bool, a: $host, b: $host, c: $host) -> $host {
                $fma(native, a, b, c)
            }
        }
    };
}
format!(
    F16,
    u16,
    f32,
    5,
    10,
    false,
    f32_of_f16,
    f16_of_f32,
    f16_of_f64,
    half::fused
);
format!(
    Bf16,
    u16,
    f32,
    8,
    7,
    false,
    brain::f32_of_bf16,
    brain::bf16_of_f32,
    brain::bf16_of_f64,
    brain::fused
);
format!(
    F32,
    u32,
    f32,
    8,
    23,
    true,
    f32::from_bits,
    f32::to_bits,
    |value: f64| (value as f32).to_bits(),
    fma_f32
);
format!(
    F64,
    u64,
    f64,
    11,
    52,
    false,
    f64::from_bits,
    f64::to_bits,
    f64::to_bits,
    fma_f64
);
