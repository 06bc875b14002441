//! Arithmetic rounded in another direction than to nearest even: up, down or towards zero, as the MODE register says.
//!
//! Operands are taken apart into integers, the exact result is one integer with a power of two, and is rounded once. Kernels in
//! the usual mode do not come here: [`crate::isa::Op::directed`] names the operations that do. Source: IEEE 754-2008, section 4.3.

use super::{F16, F32, F64, FloatFormat, Mode};

/// How results are rounded, by the number that MODE has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Towards zero.
    Zero,
}

impl Rounding {
    /// By the lowest two bits.
    pub(crate) fn of(bits: u32) -> Rounding {
        [Rounding::Nearest, Rounding::Up, Rounding::Down, Rounding::Zero][(bits & 3) as usize]
    }

    /// That of results of a format.
    fn for_format<F: FloatFormat>(mode: Mode) -> Rounding {
        if F::MANTISSA_BITS == F32::MANTISSA_BITS {
            mode.single
        } else {
            mode.others
        }
    }

    /// The sign of a zero that is the sum of two numbers with other signs.
    fn zero_is_negative(self) -> bool {
        self == Rounding::Down
    }
}

/// `mantissa * 2^exponent` with a sign. Once bits were lost, the lowest bit of the mantissa is set for them.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

/// Where [`Exact::normalized`] puts the highest bit: a sum of two such mantissas fits.
const TOP: u32 = 124;

impl Exact {
    /// A finite number.
    fn of<F: FloatFormat>(bits: F::Bits) -> Exact {
        let field = F::exponent(bits);
        let fraction = u128::from(F::magnitude(bits)) & ((1 << F::MANTISSA_BITS) - 1);
        let hidden = if field == 0 { 0 } else { 1 << F::MANTISSA_BITS };
        Exact {
            negative: F::is_negative(bits),
            mantissa: fraction | hidden,
            exponent: field.max(1) - F::bias() - F::MANTISSA_BITS as i32,
        }
    }

    fn times(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            // Twice 53 bits at most.
            mantissa: self.mantissa * other.mantissa,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The same number with the highest bit of its mantissa at [`TOP`].
    fn normalized(self) -> Exact {
        let shift = self.mantissa.leading_zeros() as i32 - (127 - TOP as i32);
        Exact {
            mantissa: match u32::try_from(shift) {
                Ok(up) => self.mantissa << up,
                // A sum may have a bit more.
                Err(_) => shifted_right(self.mantissa, shift.unsigned_abs()),
            },
            exponent: self.exponent - shift,
            ..self
        }
    }

    fn plus(self, other: Exact, rounding: Rounding) -> Exact {
        if self.mantissa == 0 || other.mantissa == 0 {
            let both = self.mantissa == 0 && other.mantissa == 0;
            let sum = if self.mantissa == 0 { other } else { self };
            let negative = if both && self.negative != other.negative {
                rounding.zero_is_negative()
            } else {
                sum.negative
            };
            return Exact { negative, ..sum };
        }
        let (a, b) = (self.normalized(), other.normalized());
        let (large, small) = if (a.exponent, a.mantissa) >= (b.exponent, b.mantissa) {
            (a, b)
        } else {
            (b, a)
        };
        let aligned = shifted_right(small.mantissa, large.exponent.abs_diff(small.exponent));
        let mantissa = if large.negative == small.negative {
            large.mantissa + aligned
        } else {
            large.mantissa - aligned
        };
        let negative = if mantissa == 0 {
            rounding.zero_is_negative()
        } else {
            large.negative
        };
        Exact {
            negative,
            mantissa,
            exponent: large.exponent,
        }
    }

    /// The number of a format that it is rounded to.
    fn rounded<F: FloatFormat>(self, rounding: Rounding) -> F::Bits {
        if self.mantissa == 0 {
            return F::signed(0, self.negative);
        }
        let number = self.normalized();
        let (digits, least) = (F::MANTISSA_BITS as i32, 1 - F::bias());
        let exponent = (number.exponent + TOP as i32).max(least);
        // Bits below the last place of the result.
        let below = (exponent - digits - number.exponent).cast_unsigned();
        let kept = number.mantissa.checked_shr(below).unwrap_or(0);
        let rest = number.mantissa - kept.checked_shl(below).unwrap_or(0);
        let half = 1_u128.checked_shl(below - 1);
        let outwards = match rounding {
            Rounding::Nearest => half.is_some_and(|half| rest > half || rest == half && kept & 1 == 1),
            Rounding::Up => rest != 0 && !number.negative,
            Rounding::Down => rest != 0 && number.negative,
            Rounding::Zero => false,
        };
        // The hidden bit of a normal number adds one to the exponent's field, and so does a carry.
        let field = ((exponent - least) as u64).min(1 << F::EXPONENT_BITS);
        let magnitude = (field << F::MANTISSA_BITS) + kept as u64 + u64::from(outwards);
        let overflows = match rounding {
            Rounding::Nearest => F::infinity_bits(),
            Rounding::Up if !number.negative => F::infinity_bits(),
            Rounding::Down if number.negative => F::infinity_bits(),
            Rounding::Up | Rounding::Down | Rounding::Zero => F::infinity_bits() - 1,
        };
        let fits = magnitude < F::infinity_bits();
        F::signed(if fits { magnitude } else { overflows }, number.negative)
    }
}

/// `mantissa >> count`; the lowest bit says as well whether a bit was lost.
fn shifted_right(mantissa: u128, count: u32) -> u128 {
    match mantissa.checked_shr(count) {
        Some(kept) => kept | u128::from(kept << count != mantissa),
        None => u128::from(mantissa != 0),
    }
}

/// Whether a number is an infinity or a NaN: no rounding then.
fn is_special<F: FloatFormat>(bits: F::Bits) -> bool {
    F::magnitude(bits) >= F::infinity_bits()
}

/// One, of a format.
fn one<F: FloatFormat>() -> F::Bits {
    F::narrow((F::bias() as u64) << F::MANTISSA_BITS)
}

/// `a * b + c`, rounded once.
pub(crate) fn fma<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    scaled_fma::<F>(mode, a, b, c, 0)
}

/// `(a * b + c) * 2^n` with `n` signed, rounded once.
#[inline(never)]
pub(crate) fn scaled_fma<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits, n: u32) -> F::Bits {
    if [a, b, c].into_iter().any(is_special::<F>) {
        // Infinity or NaN, whatever the power.
        return super::fma::<F>(mode, a, b, c);
    }
    let rounding = Rounding::for_format::<F>(mode);
    let product = Exact::of::<F>(a).times(Exact::of::<F>(b));
    let mut sum = product.plus(Exact::of::<F>(c), rounding);
    sum.exponent += n as i32;
    sum.rounded::<F>(rounding)
}

/// `a + b`.
#[inline(never)]
pub(crate) fn add<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    if is_special::<F>(a) || is_special::<F>(b) {
        return super::add::<F>(mode, a, b);
    }
    fma::<F>(mode, a, one::<F>(), b)
}

/// `a - b`.
#[inline(never)]
pub(crate) fn sub<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    if is_special::<F>(a) || is_special::<F>(b) {
        return super::sub::<F>(mode, a, b);
    }
    add::<F>(mode, a, F::signed(F::magnitude(b), !F::is_negative(b)))
}

/// `b - a`.
pub(crate) fn sub_rev<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    sub::<F>(mode, b, a)
}

/// `a * b`.
#[inline(never)]
pub(crate) fn mul<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    if is_special::<F>(a) || is_special::<F>(b) {
        return super::mul::<F>(mode, a, b);
    }
    let product = Exact::of::<F>(a).times(Exact::of::<F>(b));
    product.rounded::<F>(Rounding::for_format::<F>(mode))
}

/// `a * b + c`, rounded after the product and after the sum.
pub(crate) fn mad<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    add::<F>(mode, mul::<F>(mode, a, b), c)
}

/// [`mad`] in single precision without denormals.
pub(crate) fn mad_flushed(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    let flush = |bits| super::zeroed::<F32>(bits, true);
    let product = flush(mul::<F32>(mode, flush(a), flush(b)));
    flush(add::<F32>(mode, product, flush(c)))
}

/// `a * b`, where zero times anything is zero.
pub(crate) fn mul_dx9_zero(mode: Mode, a: u32, b: u32) -> u32 {
    if F32::is_zero(a) || F32::is_zero(b) {
        0
    } else {
        mul::<F32>(mode, a, b)
    }
}

/// `a * b + c`, where zero times anything is zero.
pub(crate) fn fma_dx9_zero(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    if F32::is_zero(a) || F32::is_zero(b) {
        add::<F32>(mode, 0, c)
    } else {
        fma::<F32>(mode, a, b, c)
    }
}

/// The specular term of the old lighting model.
pub(crate) fn mullit(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    if super::is_unlit(b, c) {
        super::NEGATIVE_MAX
    } else {
        mul_dx9_zero(mode, a, b)
    }
}

/// `a * 2^n` with `n` signed.
#[inline(never)]
pub(crate) fn ldexp<F: FloatFormat>(mode: Mode, a: F::Bits, n: u32) -> F::Bits {
    if is_special::<F>(a) {
        return super::ldexp::<F>(mode, a, n);
    }
    let mut number = Exact::of::<F>(a);
    // Beyond this no format has other numbers than its extremes.
    number.exponent += (n as i32).clamp(-5000, 5000);
    number.rounded::<F>(Rounding::for_format::<F>(mode))
}

/// [`ldexp`] of a half, with `n` a signed 16-bit number.
pub(crate) fn ldexp16(mode: Mode, a: u16, n: u16) -> u16 {
    ldexp::<F16>(mode, a, n as i16 as u32)
}

/// A finite number in another format.
#[inline(never)]
fn narrowed<From: FloatFormat, To: FloatFormat>(mode: Mode, a: From::Bits) -> To::Bits {
    Exact::of::<From>(a).rounded::<To>(Rounding::for_format::<To>(mode))
}

/// Single to half precision.
pub(crate) fn f16_of_f32(mode: Mode, a: u32) -> u16 {
    if is_special::<F32>(a) {
        return super::f16_of_f32(f32::from_bits(a));
    }
    narrowed::<F32, F16>(mode, a)
}

/// Double to single precision; `special` converts infinities and NaNs.
pub(crate) fn f32_of_f64(mode: Mode, a: u64, special: impl Fn(u64) -> u32) -> u32 {
    if is_special::<F64>(a) {
        return special(a);
    }
    narrowed::<F64, F32>(mode, a)
}

/// An integer in a format.
#[inline(never)]
pub(crate) fn of_integer<F: FloatFormat>(mode: Mode, value: i64) -> F::Bits {
    let number = Exact {
        negative: value < 0,
        mantissa: u128::from(value.unsigned_abs()),
        exponent: 0,
    };
    number.rounded::<F>(Rounding::for_format::<F>(mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_apfloat::ieee::{Double, Half, Single};
    use rustc_apfloat::{Float, Round};

    const ALL: [(Rounding, Round); 4] = [
        (Rounding::Nearest, Round::NearestTiesToEven),
        (Rounding::Up, Round::TowardPositive),
        (Rounding::Down, Round::TowardNegative),
        (Rounding::Zero, Round::TowardZero),
    ];

    /// A sequence of bits (SplitMix64).
    fn patterns() -> impl Iterator<Item = u64> {
        let mut state = 0_u64;
        std::iter::from_fn(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            Some(z ^ z >> 31)
        })
    }

    fn mode(rounding: Rounding) -> Mode {
        Mode {
            single: rounding,
            others: rounding,
            ..Mode::NONE
        }
    }

    /// Every function against LLVM's soft floats, on random numbers, numbers of near exponents, denormals and extremes.
    fn agrees<F: FloatFormat, A: Float>() {
        let width = F::EXPONENT_BITS + F::MANTISSA_BITS + 1;
        let mut bits = patterns();
        let mut draw = || {
            let (kind, word) = (bits.next().unwrap(), bits.next().unwrap());
            let sign = word & F::sign_bit();
            let bias = F::bias() as u64;
            let field = match kind % 6 {
                0 => word >> 40 & ((1 << F::EXPONENT_BITS) - 1),
                1 => 0,
                2 => 1,
                3 => 2 * bias,
                _ => bias + kind / 6 % 5 - 2,
            };
            let fraction = match kind >> 32 & 3 {
                0 => 0,
                1 => (1 << F::MANTISSA_BITS) - 1,
                _ => word & ((1 << F::MANTISSA_BITS) - 1),
            };
            F::narrow(sign | field << F::MANTISSA_BITS | fraction)
        };
        let soft = |bits: F::Bits| A::from_bits(u128::from(F::widen(bits)));
        for number in 0..300_000 {
            let [a, b, c] = [draw(), draw(), draw()];
            let (rounding, round) = ALL[number % 4];
            let m = mode(rounding);
            let n = (number as i32 % 90 - 45).cast_unsigned();
            let (x, y, z) = (soft(a), soft(b), soft(c));
            for (name, got, want) in [
                ("fma", fma::<F>(m, a, b, c), x.mul_add_r(y, z, round).value),
                ("add", add::<F>(m, a, b), x.add_r(y, round).value),
                ("sub", sub::<F>(m, a, b), x.sub_r(y, round).value),
                ("mul", mul::<F>(m, a, b), x.mul_r(y, round).value),
                ("ldexp", ldexp::<F>(m, a, n), x.scalbn_r(n.cast_signed(), round)),
            ] {
                let same = F::widen(got) as u128 == want.to_bits() || F::is_nan(got) && want.is_nan();
                assert!(
                    same,
                    "{width} bits, {name}, {rounding:?}: {:#x}, {:#x}, {:#x} give {:#x}, not {:#x}",
                    F::widen(a),
                    F::widen(b),
                    F::widen(c),
                    F::widen(got),
                    want.to_bits()
                );
            }
        }
    }

    #[test]
    fn halves_are_rounded_as_llvm_rounds_them() {
        agrees::<F16, Half>();
    }

    #[test]
    fn single_precision_is_rounded_as_llvm_rounds_it() {
        agrees::<F32, Single>();
    }

    #[test]
    fn double_precision_is_rounded_as_llvm_rounds_it() {
        agrees::<F64, Double>();
    }

    #[test]
    fn conversions_are_rounded_as_llvm_rounds_them() {
        use rustc_apfloat::FloatConvert as _;
        for (number, word) in patterns().take(300_000).enumerate() {
            let (rounding, round) = ALL[number % 4];
            let m = mode(rounding);
            let single = word as u32;
            let want: Half = Single::from_bits(u128::from(single))
                .convert_r(round, &mut false)
                .value;
            let got = f16_of_f32(m, single);
            assert!(
                u128::from(got) == want.to_bits() || F16::is_nan(got) && want.is_nan(),
                "{single:#x}"
            );
            // Near single precision's range.
            let wide = word & 0x800f_ffff_ffff_ffff | (1023 - 160 + word % 320) << 52;
            let want: Single = Double::from_bits(u128::from(wide))
                .convert_r(round, &mut false)
                .value;
            assert_eq!(
                u128::from(f32_of_f64(m, wide, |_| 0)),
                want.to_bits(),
                "{wide:#x}"
            );
            let integer = word.cast_signed() >> (word % 63);
            let want = Single::from_i128_r(i128::from(integer), round).value;
            assert_eq!(
                u128::from(of_integer::<F32>(m, integer)),
                want.to_bits(),
                "{integer}"
            );
        }
    }

    #[test]
    fn the_sum_of_a_number_and_its_negative_is_minus_zero_only_downwards() {
        for (rounding, _) in ALL {
            let zero = add::<F32>(mode(rounding), 0x3f80_0000, 0xbf80_0000);
            assert_eq!(
                zero,
                if rounding == Rounding::Down {
                    0x8000_0000
                } else {
                    0
                }
            );
        }
    }
}
