//! Floating-point arithmetic on bits, with the mode as an argument.
//!
//! Guest values are bits. Host arithmetic is used where it is exactly the guest's: IEEE operations on f32 and f64 in
//! round-to-nearest-even with denormals. What hosts differ in, NaN payloads and signs, is decided here, so that results
//! are the same everywhere. Half precision is computed in f32, whose rounding a second one to a half does not betray: f32 has
//! twice a half's bits and two more. A fused sum is rounded to odd before.

pub(crate) mod brain;
pub(crate) mod directed;
mod exponent;
mod extreme;
mod format;
mod half;
mod order;

use directed::Rounding;
pub(crate) use exponent::{frexp_exp, frexp_exp16, frexp_mant, ldexp, ldexp16};
pub(crate) use extreme::{maximum, maximum_minimum, maximum3, minimum, minimum_maximum, minimum3};
pub(crate) use format::{Bf16, F16, F32, F64, FloatFormat, HostFloat};
pub(crate) use half::{f16_of_f32, f16_of_f64, f32_of_f16};
pub(crate) use order::{
    class_relation, class_relation16, max, max3, maxmin, med3, min, min3, minmax, relation,
};

/// Which denormals are zeros, of one precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flushed {
    pub(crate) sources: bool,
    pub(crate) results: bool,
}

impl Flushed {
    /// Neither.
    pub(crate) const NONE: Flushed = Flushed {
        sources: false,
        results: false,
    };

    /// By the two bits of MODE: the lower one keeps those of sources, the upper one those of results.
    fn of(bits: u32) -> Flushed {
        Flushed {
            sources: bits & 1 == 0,
            results: bits & 2 == 0,
        }
    }

    /// Whether there are any.
    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.sources || self.results
    }
}

/// The floating-point part of the MODE register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Signalling NaNs are quieted by min, max and median, which then return them.
    pub(crate) ieee: bool,
    /// A clamped NaN becomes zero.
    pub(crate) dx10_clamp: bool,
    /// Which denormals of single precision are zeros; `exec/flush.rs` makes them so.
    pub(crate) single_flushed: Flushed,
    /// The same of half and double precision.
    pub(crate) others_flushed: Flushed,
    /// How results of single precision are rounded; `exec/flush.rs` asks.
    pub(crate) single: Rounding,
    /// How those of half and double precision are.
    pub(crate) others: Rounding,
    /// Not the guest's: the code around is compiled for a host with a fused multiply-add instruction. The results are the
    /// same bits with and without.
    pub(crate) host_fuses: bool,
    /// Not the guest's: where the result is a NaN, any NaN will do; whoever asks looks for NaNs and asks again.
    pub(crate) any_nan: bool,
}

impl Mode {
    /// For operations that follow no mode.
    pub(crate) const NONE: Mode = Mode {
        ieee: false,
        dx10_clamp: false,
        single_flushed: Flushed::NONE,
        others_flushed: Flushed::NONE,
        single: Rounding::Nearest,
        others: Rounding::Nearest,
        host_fuses: false,
        any_nan: false,
    };

    /// Whether it is another mode than the usual one: `exec/flush.rs` executes arithmetic then.
    #[inline(always)]
    pub(crate) fn is_unusual(self) -> bool {
        self.flushes() || self.is_directed()
    }

    /// Whether some denormals are zeros.
    #[inline(always)]
    pub(crate) fn flushes(self) -> bool {
        self.single_flushed.any() || self.others_flushed.any()
    }

    /// Whether some results are not rounded to nearest even.
    #[inline(always)]
    pub(crate) fn is_directed(self) -> bool {
        self.single != Rounding::Nearest || self.others != Rounding::Nearest
    }

    /// The mode in code that is compiled for a host with or without fused multiply-add.
    #[inline(always)]
    pub(crate) fn on(self, host_fuses: bool) -> Mode {
        Mode {
            host_fuses,
            any_nan: false,
            ..self
        }
    }

    /// The mode without the rules for NaNs.
    #[inline(always)]
    pub(crate) fn with_any_nan(self) -> Mode {
        Mode {
            any_nan: true,
            ..self
        }
    }

    /// Reads the MODE register: rounding of single precision in bits 1:0 and of the others in bits 3:2, denormals of single precision in bits 5:4 and of
    /// the others in bits 7:6.
    pub(crate) fn from_bits(bits: u32) -> Mode {
        Mode {
            ieee: bits >> 9 & 1 != 0,
            dx10_clamp: bits >> 8 & 1 != 0,
            single_flushed: Flushed::of(bits >> 4),
            others_flushed: Flushed::of(bits >> 6),
            single: Rounding::of(bits),
            others: Rounding::of(bits >> 2),
            host_fuses: false,
            any_nan: false,
        }
    }
}

/// What an operation with the result `value` and these operands gives: the first NaN operand, quieted; the default NaN
/// when the operation itself was invalid.
#[inline(always)]
fn result<F: FloatFormat>(mode: Mode, value: F::Host, operands: &[F::Bits]) -> F::Bits {
    let bits = F::guest(value);
    if !mode.any_nan && F::is_nan(bits) {
        nan::<F>(operands)
    } else {
        bits
    }
}

/// The NaN that follows from these operands.
#[inline(always)]
pub(crate) fn nan<F: FloatFormat>(operands: &[F::Bits]) -> F::Bits {
    let mut found = F::default_nan();
    for operand in operands.iter().rev() {
        if F::is_nan(*operand) {
            found = F::quiet(*operand);
        }
    }
    found
}

/// `a + b`.
#[inline(always)]
pub(crate) fn add<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    result::<F>(mode, F::host(a).add(F::host(b)), &[a, b])
}

/// `a - b`.
#[inline(always)]
pub(crate) fn sub<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    result::<F>(mode, F::host(a).sub(F::host(b)), &[a, b])
}

/// `b - a`.
#[inline(always)]
pub(crate) fn sub_rev<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    sub::<F>(mode, b, a)
}

/// `a * b`.
#[inline(always)]
pub(crate) fn mul<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    result::<F>(mode, F::host(a).mul(F::host(b)), &[a, b])
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub(crate) fn fma<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    let sum = F::fused(mode.host_fuses, F::host(a), F::host(b), F::host(c));
    result::<F>(mode, sum, &[a, b, c])
}

/// `a * b + c`, rounded after the product and after the sum.
#[inline(always)]
pub(crate) fn mad<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    add::<F>(mode, mul::<F>(mode, a, b), c)
}

/// [`mad`] in single precision without denormals: they are read and written as zeros of their sign.
#[inline(always)]
pub(crate) fn mad_flushed(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    let flush = |bits| zeroed::<F32>(bits, true);
    let product = flush(mul::<F32>(mode, flush(a), flush(b)));
    flush(add::<F32>(mode, product, flush(c)))
}

/// A number, a zero of its sign where it is a denormal and denormals are flushed.
#[inline(always)]
pub(crate) fn zeroed<F: FloatFormat>(bits: F::Bits, flushes: bool) -> F::Bits {
    if flushes && F::is_denormal(bits) {
        F::signed(0, F::is_negative(bits))
    } else {
        bits
    }
}

/// `a * b`, where zero times anything is zero.
#[inline(always)]
pub(crate) fn mul_dx9_zero(mode: Mode, a: u32, b: u32) -> u32 {
    if F32::is_zero(a) || F32::is_zero(b) {
        0
    } else {
        mul::<F32>(mode, a, b)
    }
}

/// `a * b + c`, where zero times anything is zero.
#[inline(always)]
pub(crate) fn fma_dx9_zero(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    if F32::is_zero(a) || F32::is_zero(b) {
        add::<F32>(mode, 0, c)
    } else {
        fma::<F32>(mode, a, b, c)
    }
}

/// The specular term of the old lighting model: `a * b` unless an operand says that the light is off.
#[inline(always)]
pub(crate) fn mullit(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    if is_unlit(b, c) {
        NEGATIVE_MAX
    } else {
        mul_dx9_zero(mode, a, b)
    }
}

/// The least number of single precision.
const NEGATIVE_MAX: u32 = 0xff7f_ffff;

/// Whether an operand of [`mullit`] says that the light is off.
#[inline(always)]
fn is_unlit(b: u32, c: u32) -> bool {
    b == NEGATIVE_MAX
        || F32::is_nan(b)
        || F32::host(b) == f32::NEG_INFINITY
        || F32::is_nan(c)
        || F32::host(c) <= 0.0
}

macro_rules! rounding {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
            result::<F>(mode, F::host(a).$name(), &[a])
        }
    )*};
}
rounding! {
    /// Rounds to an integer towards zero.
    trunc
    /// Rounds to an integer downwards.
    floor
    /// Rounds to an integer upwards.
    ceil
    /// Rounds to an integer, to nearest even.
    rndne
}

/// `a - floor(a)`, at most the largest number below one.
#[inline(always)]
pub(crate) fn fract<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    let value = F::host(a);
    let bits = result::<F>(mode, value.sub(value.floor()), &[a]);
    let below_one = ((F::bias() as u64) << F::MANTISSA_BITS) - 1;
    if !F::is_nan(bits) && F::widen(bits) > below_one && !F::is_negative(bits) {
        F::narrow(below_one)
    } else {
        bits
    }
}

/// A result with the clamp bit set: between 0 and 1.
#[inline(always)]
pub(crate) fn clamp<F: FloatFormat>(mode: Mode, a: F::Bits) -> F::Bits {
    let one = (F::bias() as u64) << F::MANTISSA_BITS;
    if F::is_nan(a) {
        if mode.dx10_clamp { F::narrow(0) } else { a }
    } else if F::is_negative(a) {
        F::narrow(0)
    } else if F::widen(a) > one {
        F::narrow(one)
    } else {
        a
    }
}

#[cfg(test)]
mod tests {
    use super::exponent::scaled;
    use super::format::fused_f32;

    /// A sequence of bits with every exponent in it (SplitMix64).
    fn patterns() -> impl Iterator<Item = u32> {
        let mut state = 0_u64;
        std::iter::from_fn(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            Some((z >> 32) as u32)
        })
    }

    #[track_caller]
    fn check(a: f32, b: f32, c: f32) {
        let (got, want) = (fused_f32(a, b, c), a.mul_add(b, c));
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{a:e} * {b:e} + {c:e}: {got:e}, not {want:e}"
        );
    }

    #[test]
    fn a_scaled_number_is_rounded_once_for_every_exponent() {
        let mut bits = patterns();
        let mut next = || bits.next().unwrap();
        for _ in 0..1_000_000 {
            let x = f64::from_bits(u64::from(next()) << 32 | u64::from(next()));
            // A denormal, a number near a tie of one, and any.
            let few = f64::from_bits(x.to_bits() & (0x8000_0000_0000_0000 | u64::MAX >> (12 + next() % 40)));
            let near = f64::from_bits(x.to_bits() & !(u64::MAX >> (12 + next() % 52)));
            let wide = next().cast_signed() % 2300;
            let down = -1022 - (x.to_bits() >> 52 & 0x7ff) as i32 + 1023 - (next() % 60) as i32;
            for x in [x, few, near] {
                for n in [wide, down, next().cast_signed()] {
                    let (got, want) = (scaled(x, n), libm::scalbn(x, n));
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{x:e} * 2^{n}: {got:e}, not {want:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_fused_sum_is_rounded_once_for_every_exponent() {
        let mut bits = patterns().map(f32::from_bits);
        let mut next = || bits.next().unwrap();
        for _ in 0..1_000_000 {
            check(next(), next(), next());
        }
    }

    #[test]
    fn a_fused_sum_is_rounded_once_where_product_and_addend_nearly_cancel_or_tie() {
        let mut bits = patterns();
        for _ in 0..1_000_000 {
            let [a, b, shift, nudge] = [(); 4].map(|()| bits.next().unwrap());
            let (a, b) = (
                f32::from_bits(a & 0x007f_ffff | 0x3f80_0000),
                f32::from_bits(b & 0x807f_ffff | 0x3f80_0000),
            );
            let near = (-a * b) * 2_f32.powi((shift % 60) as i32 - 30);
            check(
                a,
                b,
                f32::from_bits(near.to_bits().wrapping_add(nudge % 5).wrapping_sub(2)),
            );
        }
    }

    #[test]
    fn infinities_zeros_and_nans_come_out_of_a_fused_sum_as_ieee_says() {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f32::MIN_POSITIVE,
            1e-45,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        for a in special {
            for b in special {
                for c in special {
                    check(a, b, c);
                }
            }
        }
    }
}
