//! The right answer: a formula in double-double arithmetic, rounded once.
//!
//! A [`Wide`] number is a double-double with an exponent of its own, so that `e^-x` neither overflows nor vanishes, beside a
//! whole number that is kept apart, so that `1 + tanh x`, `e^x - 1` and `ln(1 + x)` lose nothing where they cancel.
//! Dtypes narrower than f64 are rounded from f64. For `+ - * / sqrt` and the fused `x a + b` that second rounding is
//! innocuous: f64's 53 bits are at least 2p + 2 for the p = 4, 8, 11, 24 significant bits of the narrower formats (Figueroa,
//! "When is double rounding innocuous?", SIGNUM 1995), and where the result is subnormal there are fewer bits still.

use std::cmp::Ordering;

use parity_model::DType;
use parity_model::float::Format;

use super::{Arithmetic, Library, Pair, Primitive, Var};
use crate::dd::{self, Dd, LN_2};

/// Beyond this a power of two is 0 or infinite in every format.
const FAR: i32 = 1 << 28;
/// Below this magnitude e^x - 1 is computed as a series.
const SMALL: f64 = 0.34;
/// Below this magnitude no term but the first of a series of tanh or expm1 shows.
const TINY: f64 = 1e-100;

/// `m 2^e`. The magnitude of `m` is at least 1 and below 2, unless it is zero or not finite.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    m: Dd,
    e: i32,
}

impl Scaled {
    const ZERO: Scaled = Scaled {
        m: Dd { hi: 0.0, lo: 0.0 },
        e: 0,
    };

    fn new(m: Dd, e: i32) -> Scaled {
        if m.hi == 0.0 || !m.hi.is_finite() {
            return Scaled { m: m.hi.into(), e: 0 };
        }
        let own = exponent(m.hi);
        Scaled {
            m: dd::scale(m, -own),
            e: (e + own).clamp(-FAR, FAR),
        }
    }

    fn is_ordinary(self) -> bool {
        self.m.hi != 0.0 && self.m.hi.is_finite()
    }

    fn dd(self) -> Dd {
        dd::scale(self.m, self.e)
    }

    /// The number rounded to f64, once.
    fn value(self) -> f64 {
        let rounded = self.dd().hi;
        if self.e >= -1022 || self.m.lo == 0.0 || !self.is_ordinary() {
            return rounded;
        }
        // A subnormal has fewer bits than the upper half; where that half lies between two, the lower half decides.
        let cut = self.m.hi - dd::scale(rounded.into(), -self.e).hi;
        let tie = cut.abs() == dd::scale(f64::from_bits(1).into(), -self.e).hi / 2.0;
        match (tie, cut > 0.0, self.m.lo > 0.0) {
            (true, true, true) => rounded.next_up(),
            (true, false, false) => rounded.next_down(),
            _ => rounded,
        }
    }

    fn add(self, other: Scaled) -> Scaled {
        match (self.is_ordinary(), other.is_ordinary()) {
            (true, true) => {}
            (true, false) if other.m.hi == 0.0 => return self,
            (false, true) if self.m.hi == 0.0 => return other,
            _ => return Scaled::new((self.m.hi + other.m.hi).into(), 0),
        }
        let (large, small) = if self.e >= other.e {
            (self, other)
        } else {
            (other, self)
        };
        let apart = large.e - small.e;
        if apart > 1000 {
            return large;
        }
        Scaled::new(large.m + dd::scale(small.m, -apart), large.e)
    }

    fn negated(self) -> Scaled {
        Scaled {
            m: -self.m,
            e: self.e,
        }
    }

    fn mul(self, other: Scaled) -> Scaled {
        match self.is_ordinary() && other.is_ordinary() {
            true => Scaled::new(self.m * other.m, self.e + other.e),
            false => Scaled::new((self.m.hi * other.m.hi).into(), 0),
        }
    }

    fn div(self, other: Scaled) -> Scaled {
        match self.is_ordinary() && other.is_ordinary() {
            true => Scaled::new(self.m / other.m, self.e - other.e),
            false => Scaled::new((self.m.hi / other.m.hi).into(), 0),
        }
    }

    fn sqrt(self) -> Scaled {
        let odd = self.e.rem_euclid(2);
        Scaled::new(dd::sqrt(dd::scale(self.m, odd)), (self.e - odd) / 2)
    }
}

/// The exponent of the leading bit of a finite number that is not zero.
fn exponent(x: f64) -> i32 {
    let biased = |x: f64| (x.to_bits() >> 52 & 0x7ff) as i32;
    match biased(x) {
        0 => biased(x * 2_f64.powi(64)) - 1023 - 64,
        biased => biased - 1023,
    }
}

/// A number in wider precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    /// A small whole number, to which `rest` is added.
    whole: f64,
    rest: Scaled,
    /// The number rounded to f64, where the mathematics library or IEEE 754 says it.
    rounded: Option<f64>,
}

impl From<Scaled> for Wide {
    fn from(rest: Scaled) -> Wide {
        Wide {
            whole: 0.0,
            rest,
            rounded: None,
        }
    }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Wide {
        Scaled::new(x.into(), 0).into()
    }
}

impl Wide {
    fn apart(whole: f64, rest: Scaled) -> Wide {
        Wide {
            whole,
            rest,
            rounded: None,
        }
    }

    fn known(x: f64) -> Wide {
        Wide {
            rounded: Some(x),
            ..x.into()
        }
    }

    /// Both parts as one.
    fn sum(self) -> Scaled {
        match self.whole == 0.0 {
            true => self.rest,
            false => self.rest.add(Scaled::new(self.whole.into(), 0)),
        }
    }

    /// The number rounded to f64.
    pub(crate) fn value(self) -> f64 {
        self.rounded.unwrap_or_else(|| self.sum().value())
    }

    /// The number, where it is one of f64's.
    fn exactly(self) -> Option<f64> {
        let (sum, x) = (self.sum(), self.sum().value());
        let same = Scaled::new(x.into(), 0);
        let held = x.is_nan() || same.m.hi == sum.m.hi && same.e == sum.e;
        (sum.m.lo == 0.0 && held).then_some(x)
    }

    /// The number, where it is a small whole one.
    fn small_whole(self) -> Option<f64> {
        self.exactly()
            .filter(|n| self.whole == 0.0 && n.fract() == 0.0 && *n != 0.0 && n.abs() <= 4.0)
    }

    fn negated(self) -> Wide {
        Wide {
            whole: -self.whole,
            rest: self.rest.negated(),
            rounded: self.rounded.map(|x| -x),
        }
    }

    fn add(self, other: Wide) -> Wide {
        let apart = |x: Wide| x.small_whole().map_or(x, |n| Wide::apart(n, Scaled::ZERO));
        let (a, b) = (apart(self), apart(other));
        let cancels = self.whole != 0.0 || other.whole != 0.0;
        // One and something small: the logarithm of the sum wants both.
        let small =
            |x: Wide, beside: Wide| beside.whole != 0.0 && x.whole == 0.0 && x.rest.value().abs() < SMALL;
        if cancels || small(a, b) || small(b, a) {
            return Wide::apart(a.whole + b.whole, a.rest.add(b.rest));
        }
        self.rest.add(other.rest).into()
    }
}

/// Numbers in wider precision, for an op whose output has a format.
pub(crate) struct Exact(pub(crate) Format);

impl Arithmetic for Exact {
    type Number = Wide;

    fn constant(&self, c: Dd) -> Wide {
        Scaled::new(c, 0).into()
    }

    fn one(&self, f: Primitive, x: Wide) -> Wide {
        let step = |f: fn(f64) -> f64| -> Wide { f(x.value()).into() };
        match f {
            Primitive::Neg => x.negated(),
            Primitive::Abs if x.value().is_sign_negative() => x.negated(),
            Primitive::Abs | Primitive::Rounded => x,
            Primitive::Sign => step(|x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
            Primitive::Floor => step(f64::floor),
            Primitive::Ceil => step(f64::ceil),
            Primitive::Round => step(f64::round),
            Primitive::Sqr => self.two(Pair::Mul, x, x),
            Primitive::Sqrt => match x.exactly() {
                Some(x) => Wide {
                    rounded: Some(x.sqrt()),
                    ..Scaled::new(x.into(), 0).sqrt().into()
                },
                None => x.sum().sqrt().into(),
            },
            Primitive::Power(exponent) => (1..exponent).fold(x, |power, _| self.two(Pair::Mul, power, x)),
            Primitive::Library(f) => library(f, x),
            Primitive::AtLeast(least) => self.two(Pair::Maximum, x, least.into()),
            Primitive::AtMost(most) => self.two(Pair::Minimum, x, most.into()),
            Primitive::Times(c) => self.two(Pair::Mul, x, self.constant(c)),
            Primitive::Plus(c) => self.two(Pair::Add, x, self.constant(c)),
            Primitive::Held => self.0.round(x.value()).into(),
        }
    }

    fn two(&self, f: Pair, a: Wide, b: Wide) -> Wide {
        match f {
            Pair::Add => a.add(b),
            Pair::Sub => a.add(b.negated()),
            Pair::Mul => a.sum().mul(b.sum()).into(),
            Pair::Div => a.sum().div(b.sum()).into(),
            Pair::Maximum => match maximum(a.value(), b.value()) {
                most if most.is_nan() => most.into(),
                most if most.to_bits() == a.value().to_bits() => a,
                _ => b,
            },
            Pair::Minimum => {
                let most = self.two(Pair::Maximum, a.negated(), b.negated());
                most.negated()
            }
            Pair::Pow => Wide::known(core_math::pow(a.value(), b.value())),
        }
    }

    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: Wide, b: Wide) -> Wide {
        f64::from(u8::from(holds(a.value().partial_cmp(&b.value())))).into()
    }

    fn above(&self, x: Wide, bound: f64, yes: Wide, no: Wide) -> Wide {
        if x.value() > bound { yes } else { no }
    }

    fn rectified(&self, x: Wide, below: &dyn Fn(Wide) -> Wide) -> Wide {
        if x.value() < 0.0 { below(x) } else { x }
    }

    fn either(&self, one: Wide, _other: Wide) -> Wide {
        one
    }

    fn composed(&self, right: Wide, _composed: Wide) -> Wide {
        right
    }

    fn wide(&self, x: Wide, formula: &dyn Fn(Var<'_, Self>) -> Wide) -> Wide {
        let wide = Format::of(DType::F64).map_or(Exact(self.0), Exact);
        formula(Var::new(&wide, x))
    }
}

/// IEEE 754-2019 `maximum`: NaN if either is, and +0 above -0.
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        if a.is_sign_positive() { a } else { b }
    } else {
        a.max(b)
    }
}

/// The cumulative normal distribution, correctly rounded except for the rounding of its argument.
fn normcdf(x: f64) -> f64 {
    0.5 * core_math::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// A function of the library at a number of f64, correctly rounded.
pub(crate) fn called(f: Library, x: f64) -> f64 {
    match f {
        Library::Exp => core_math::exp(x),
        Library::Log => core_math::log(x),
        Library::Sin => core_math::sin(x),
        Library::Cos => core_math::cos(x),
        Library::Tanh => core_math::tanh(x),
        Library::Erf => core_math::erf(x),
        Library::Normcdf => normcdf(x),
        Library::Powf(exponent) => core_math::pow(x, exponent),
    }
}

/// The derivative of a function of the library, near enough for the lower half of an argument.
pub(crate) fn slope(f: Library, x: f64) -> f64 {
    match f {
        Library::Exp => core_math::exp(x),
        Library::Log => 1.0 / x,
        Library::Sin => core_math::cos(x),
        Library::Cos => -core_math::sin(x),
        Library::Tanh => {
            let y = core_math::tanh(x);
            1.0 - y * y
        }
        Library::Erf => std::f64::consts::FRAC_2_SQRT_PI * core_math::exp(-x * x),
        Library::Normcdf => {
            0.5 * std::f64::consts::FRAC_2_SQRT_PI
                * std::f64::consts::FRAC_1_SQRT_2
                * core_math::exp(-0.5 * x * x)
        }
        Library::Powf(exponent) => exponent * core_math::pow(x, exponent - 1.0),
    }
}

fn library(f: Library, x: Wide) -> Wide {
    let (at, exactly) = (x.value(), x.exactly());
    if f == Library::Exp && exactly == Some(0.0) {
        return Wide::apart(1.0, Scaled::ZERO);
    }
    if at.is_nan() || exactly.is_some_and(|x| x == 0.0 || x.is_infinite()) {
        return Wide::known(called(f, at));
    }
    let wide = match f {
        Library::Exp => exp(x.sum()),
        Library::Log => ln(x),
        Library::Tanh => tanh(x.sum()),
        Library::Erf => erf(x.sum()),
        Library::Sin | Library::Cos | Library::Normcdf | Library::Powf(_) => near(f, x.sum()),
    };
    Wide {
        rounded: exactly.map(|x| called(f, x)),
        ..wide
    }
}

/// A function at a double-double, by its value and its slope at the upper half.
fn near(f: Library, x: Scaled) -> Wide {
    let x = x.dd();
    let lower = if x.lo == 0.0 { 0.0 } else { slope(f, x.hi) * x.lo };
    Scaled::new(Dd::from(called(f, x.hi)) + lower.into(), 0).into()
}

/// e^x - 1 for a number of magnitude below [`SMALL`].
fn expm1(x: Scaled) -> Scaled {
    match x.value().abs() < TINY {
        true => x,
        false => Scaled::new(dd::expm1_reduced(x.dd()), 0),
    }
}

fn exp(x: Scaled) -> Wide {
    let at = x.value();
    if at.abs() < SMALL {
        return Wide::apart(1.0, expm1(x));
    }
    if at.abs() > 1e6 {
        let e = if at > 0.0 { FAR } else { -FAR };
        return Scaled { m: 1.0.into(), e }.into();
    }
    let (m, k) = dd::exp_parts(x.dd());
    Scaled::new(m, k).into()
}

fn ln(x: Wide) -> Wide {
    let rest = x.rest.value();
    if x.whole == 1.0 && rest.abs() < SMALL {
        // One step of Newton's, in terms that do not cancel.
        if rest.abs() < TINY {
            return x.rest.into();
        }
        let (w, guess) = (x.rest.dd(), core_math::log1p(rest));
        let t = dd::expm1_reduced((-guess).into());
        return Scaled::new(Dd::from(guess) + (w + t + w * t), 0).into();
    }
    let sum = x.sum();
    if sum.m.hi < 0.0 {
        return f64::NAN.into();
    }
    if sum.m.lo == 0.0 {
        return core_math::log(sum.value()).into();
    }
    Scaled::new(dd::ln(sum.m) + LN_2 * f64::from(sum.e).into(), 0).into()
}

/// tanh x = (e^2x - 1) / (e^2x + 1), away from zero as the distance from -1 or 1.
fn tanh(x: Scaled) -> Wide {
    let at = x.value();
    let twice = x.add(x);
    if at.abs() < SMALL / 2.0 {
        let t = expm1(twice);
        return t.div(t.add(Scaled::new(2.0.into(), 0))).into();
    }
    let side = 1_f64.copysign(at);
    let far = exp(if at > 0.0 { twice } else { twice.negated() });
    let below = Scaled::new((-2.0 * side).into(), 0).div(far.add(1.0.into()).sum());
    Wide::apart(side, below)
}

/// erf, away from zero as the distance from -1 or 1.
fn erf(x: Scaled) -> Wide {
    let x = x.dd();
    let lower = slope(Library::Erf, x.hi) * x.lo;
    if x.hi.abs() < 0.5 {
        return Scaled::new(Dd::from(core_math::erf(x.hi)) + lower.into(), 0).into();
    }
    let side = 1_f64.copysign(x.hi);
    let below = Dd::from(-side * core_math::erfc(x.hi.abs())) + lower.into();
    Wide::apart(side, Scaled::new(below, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `f` at a number of f64, in exact arithmetic.
    fn at(x: f64, f: impl Fn(Var<'_, Exact>) -> Var<'_, Exact>) -> f64 {
        let exact = Exact(Format::of(DType::F64).unwrap());
        f(Var::new(&exact, x.into())).number.value()
    }

    #[test]
    fn what_cancels_loses_nothing() {
        assert_eq!(at(1e-9, |x| x.exp() - 1.0), core_math::expm1(1e-9));
        assert_eq!(at(-20.0, |x| 1.0 + x.tanh()), 2.0 * core_math::exp(-40.0));
        assert_eq!(at(-300.0, |x| (1.0 + x.exp()).ln()), core_math::exp(-300.0));
        assert_eq!(at(-5.0, |x| 1.0 + x.erf()), core_math::erfc(5.0));
        assert_eq!(at(0.25, |x| (x.exp() - 1.0) - x), 0.034025416687741486);
    }

    #[test]
    fn nothing_overflows_on_the_way() {
        assert_eq!(at(1e300, |x| x * x / x), 1e300);
        assert_eq!(at(-720.0, |x| 1.0 / (1.0 + (-x).exp())), core_math::exp(-720.0));
        assert_eq!(at(710.0, |x| x.exp().ln()), 710.0);
        assert_eq!(at(1e-320, |x| x.sqr().sqrt()), 1e-320);
        assert!(at(f64::INFINITY, |x| x / x).is_nan());
    }

    #[test]
    fn the_library_is_correctly_rounded_at_numbers_of_f64() {
        for i in 1..400 {
            let x = (f64::from(i) * 0.618_033_988_749_894_9).sin() * 40.0 / f64::from(1 + i % 17).powi(2);
            assert_eq!(at(x, |x| x.erf()), core_math::erf(x));
            assert_eq!(at(x, |x| x.tanh()), core_math::tanh(x));
            assert_eq!(at(x.abs(), |x| x.ln()), core_math::log(x.abs()));
            assert_eq!(at(x, |x| x.exp() * 1.0), core_math::exp(x), "by the series alone");
            assert_eq!(
                at(x, |x| x.tanh() * 1.0),
                core_math::tanh(x),
                "by the series alone"
            );
        }
    }

    #[test]
    fn zeros_keep_their_sign() {
        assert!(at(-0.0, |x| x.tanh()).is_sign_negative() && at(-0.0, |x| x * 2.0).is_sign_negative());
        assert!(at(-0.0, |x| x.erf()).is_sign_negative() && at(-0.0, |x| x.abs()).is_sign_positive());
        assert!(at(-0.0, |x| x.at_least(0.0)).is_sign_positive());
    }

    #[test]
    fn maximum_and_minimum_propagate_nan_from_either_side() {
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(at(a, |x| x.maximum(x.constant(b))).is_nan());
            assert!(at(a, |x| x.minimum(x.constant(b))).is_nan());
        }
        assert_eq!(at(1.0, |x| x.maximum(x.constant(2.0))), 2.0);
        assert!(at(0.0, |x| x.minimum(x.constant(-0.0))).is_sign_negative());
    }
}
