//! Numbers with a bound on their error: what a formula gives exactly, and how far from it a backend may come that rounds
//! after each step.
//!
//! The midpoint is computed in double-double arithmetic and is the mathematical value; the radius is a running error
//! analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.3): every step adds the rounding
//! of the format it is computed in to what the errors of its operands make of it, second-order terms included. A step
//! whose result is a number of the format, made of operands without error, has none. Fusing or widening steps only takes
//! roundings away.

use std::cmp::Ordering;

use parity_model::DType;
use parity_model::float::Format;

use super::exact::{called, slope};
use super::steps::{Steps, ulp};
use super::{Arithmetic, Library, Pair, Primitive, Var};
use crate::Element;
use crate::dd::{self, Dd};
use crate::dot::gamma;
use crate::limit::Limit;

/// A number and the bound of its error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub(crate) mid: Dd,
    pub(crate) rad: f64,
}

impl Ball {
    pub(crate) const ZERO: Ball = Ball::whole(0.0);
    pub(crate) const ONE: Ball = Ball::whole(1.0);

    const fn whole(x: f64) -> Ball {
        Ball {
            mid: Dd { hi: x, lo: 0.0 },
            rad: 0.0,
        }
    }

    /// A number that everyone has exactly.
    pub(crate) fn exact(x: f64) -> Ball {
        Ball::whole(x)
    }

    fn is_exactly(self, x: f64) -> bool {
        self.rad == 0.0 && self.mid.hi == x && self.mid.lo == 0.0
    }

    /// The largest magnitude inside.
    fn magnitude(self) -> f64 {
        self.mid.hi.abs() + self.rad
    }

    pub(crate) fn negated(self) -> Ball {
        Ball {
            mid: -self.mid,
            rad: self.rad,
        }
    }

    /// With room for an error more.
    pub(crate) fn widened(self, by: f64) -> Ball {
        Ball {
            mid: self.mid,
            rad: self.rad + by,
        }
    }
}

/// The format in which partial sums are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulation {
    /// In the accumulator: f32, or f64 for f64.
    Wide,
    /// In the dtype itself, one after the other.
    InDtype,
}

/// How balls grow: by the roundings of a dtype's steps.
#[derive(Clone, Copy)]
pub(crate) struct Balls {
    steps: Steps,
    /// The format of partial sums, where they are not exact.
    narrow: Option<Format>,
}

impl Balls {
    /// For steps in `dtype`, a float.
    pub(crate) fn of(dtype: DType, sums: &dyn crate::Sums) -> Balls {
        Balls {
            steps: Steps::of(dtype),
            narrow: sums.accumulator(dtype),
        }
    }

    /// Steps in f32 where the dtype is narrower: for layers that convert before they compute.
    pub(crate) fn widened(self) -> Balls {
        Balls {
            steps: self.steps.widened(),
            ..self
        }
    }

    /// The number rounded to the format; nothing is lost if it is one of its numbers.
    pub(crate) fn round(self, x: Ball) -> Ball {
        // Infinities and NaN are what they are.
        if !x.mid.hi.is_finite() {
            return x;
        }
        let held = x.rad == 0.0 && x.mid.lo == 0.0 && self.steps.format.round(x.mid.hi) == x.mid.hi;
        if held {
            return x;
        }
        // Without infinities, what is too large becomes the largest number.
        let format = &self.steps.format;
        let lost = match format.infinities {
            true => 0.0,
            false => format.lost_to_overflow(x.magnitude()),
        };
        x.widened(self.steps.unit * x.magnitude() + self.steps.tiny + lost)
    }

    pub(crate) fn add(self, a: Ball, b: Ball) -> Ball {
        if a.is_exactly(0.0) {
            return b;
        }
        if b.is_exactly(0.0) {
            return a;
        }
        beyond(a, b, a.mid.hi + b.mid.hi).unwrap_or_else(|| {
            self.round(Ball {
                mid: a.mid + b.mid,
                rad: a.rad + b.rad,
            })
        })
    }

    fn sub(self, a: Ball, b: Ball) -> Ball {
        self.add(a, b.negated())
    }

    /// The product before it is rounded. Of an infinity and a number that may be zero, nothing is known: it may be NaN.
    fn product(a: Ball, b: Ball) -> Ball {
        let infinite = a.mid.hi.is_infinite() || b.mid.hi.is_infinite();
        if infinite && [a, b].iter().any(|x| x.rad > 0.0 && x.rad >= x.mid.hi.abs()) {
            return Ball::exact(f64::INFINITY).widened(f64::INFINITY);
        }
        // 0 times an error without an end would be NaN.
        let rad = match a.rad == f64::INFINITY || b.rad == f64::INFINITY {
            true => f64::INFINITY,
            false => a.mid.hi.abs() * b.rad + b.mid.hi.abs() * a.rad + a.rad * b.rad,
        };
        beyond(a, b, a.mid.hi * b.mid.hi).unwrap_or_else(|| Ball {
            mid: a.mid * b.mid,
            rad,
        })
    }

    pub(crate) fn mul(self, a: Ball, b: Ball) -> Ball {
        match (a.is_exactly(1.0), b.is_exactly(1.0)) {
            (true, _) => b,
            (_, true) => a,
            (false, false) => self.round(Self::product(a, b)),
        }
    }

    /// For a divisor that is zero, or not zero anywhere inside; else nothing is known.
    pub(crate) fn div(self, a: Ball, b: Ball) -> Ball {
        if let Some(quotient) = beyond(a, b, a.mid.hi / b.mid.hi)
            && (b.rad == 0.0 || !b.mid.hi.is_finite())
        {
            return quotient;
        }
        let least = b.mid.hi.abs() - b.rad;
        if least <= 0.0 {
            return Ball {
                mid: a.mid / b.mid,
                rad: f64::INFINITY,
            };
        }
        let mid = a.mid / b.mid;
        let rad = (a.rad + mid.hi.abs() * b.rad) / least;
        // A divisor that a narrow format does not hold has become an infinity, and the quotient 0.
        let vanishes = b.magnitude() > self.steps.format.max;
        self.round(Ball {
            mid,
            rad: if vanishes { rad.max(mid.hi.abs()) } else { rad },
        })
    }

    /// The sum of the terms, in any order.
    pub(crate) fn sum(self, terms: impl Iterator<Item = Ball>, sums: Accumulation) -> Ball {
        let unit = match sums {
            Accumulation::Wide => self.steps.accumulator,
            Accumulation::InDtype => self.steps.unit,
        };
        self.total(terms, unit, 0)
    }

    /// The sum of the products, in any order.
    pub(crate) fn dot(self, terms: impl Iterator<Item = (Ball, Ball)>) -> Ball {
        let products = terms.map(|(a, b)| Self::product(a, b));
        self.total(products, self.steps.accumulator, 1)
    }

    /// A sum in a format of unit roundoff `unit`, each term of which has been rounded `before` times in it.
    fn total(self, terms: impl Iterator<Item = Ball>, unit: f64, before: usize) -> Ball {
        let (mut sum, mut narrow) = (Dd::from(0.0), 0.0);
        let (mut rad, mut magnitude, mut count, mut whole) = (0.0, 0.0, 0_usize, true);
        let mut plain = 0.0;
        for term in terms.filter(|term| !term.is_exactly(0.0)) {
            sum = sum + term.mid;
            plain += term.mid.hi;
            rad += term.rad;
            magnitude += term.magnitude();
            count += 1;
            whole &= term.rad == 0.0 && term.mid.lo == 0.0 && term.mid.hi.fract() == 0.0;
            narrow = self
                .narrow
                .map_or(0.0, |format| format.round(narrow + term.mid.hi));
        }
        if !plain.is_finite() {
            let terms = Ball { mid: sum, rad };
            return beyond(terms, terms, plain).unwrap_or(terms);
        }
        // Below 1 / unit whole numbers and their sums are exact.
        if !(whole && magnitude * unit <= 1.0) {
            rad += gamma((count + before).saturating_sub(1), unit) * magnitude;
        }
        let mid = if self.narrow.is_some() && count > 1 {
            narrow.into()
        } else {
            sum
        };
        self.round(Ball { mid, rad })
    }

    /// What a library makes of `x`.
    fn library(self, f: Library, x: Ball) -> Ball {
        let library = self.steps.library * ulp(f);
        if f == Library::Exp {
            let mid = dd::exp(x.mid);
            if let Some(power) = beyond(x, x, mid.hi) {
                return power;
            }
            let spread = mid.hi * core_math::expm1(x.rad);
            return self.round(Ball {
                mid,
                rad: spread + library * (mid.hi + spread),
            });
        }
        let at = called(f, x.mid.hi);
        let spread = match f {
            Library::Sin | Library::Cos => x.rad,
            Library::Exp
            | Library::Log
            | Library::Tanh
            | Library::Erf
            | Library::Normcdf
            | Library::Powf(_) => match x.rad == 0.0 {
                true => 0.0,
                false => {
                    let (below, above) = (called(f, x.mid.hi - x.rad), called(f, x.mid.hi + x.rad));
                    (above - at).abs().max((at - below).abs())
                }
            },
        };
        let lower = if x.mid.lo == 0.0 {
            0.0
        } else {
            slope(f, x.mid.hi) * x.mid.lo
        };
        let mid = Dd::from(at) + lower.into();
        // The value in f64 is itself half an ulp from the exact one.
        let own = f64::EPSILON / 2.0;
        self.round(Ball {
            mid,
            rad: spread + (own + library) * (at.abs() + spread),
        })
    }

    /// x^n as a library's `pow` has it, for n above zero and x of any sign.
    fn power(self, x: Ball, n: u32) -> Ball {
        let exact = (1..n).fold(x, |power, _| Self::product(power, x));
        let library = self.steps.library * ulp(Library::Powf(f64::from(n)));
        self.round(exact.widened(library * exact.magnitude()))
    }

    /// Correctly rounded, as IEEE 754 asks.
    fn sqrt(self, x: Ball) -> Ball {
        let mid = dd::sqrt(x.mid);
        let rad = if x.rad == 0.0 {
            0.0
        } else {
            x.rad / (mid.hi + (x.mid.hi - x.rad).max(0.0).sqrt())
        };
        self.round(Ball { mid, rad })
    }

    /// The output's element: the right answer, and as far from it as the ball reaches. The expected value is itself half
    /// an ulp from the exact one. A ball without an end allows anything.
    pub(crate) fn element(self, x: Ball) -> Element {
        let bits = self.steps.format.encode(x.mid.hi);
        let limit = if x.rad == 0.0 || !x.mid.hi.is_finite() && x.rad != f64::INFINITY {
            Limit::EXACT
        } else {
            Limit { ulp: 0.5, abs: x.rad }
        };
        Element { bits, limit }
    }
}

/// A step on infinities or NaN, or whose result `hi` f64 does not hold: what f64 has. A double-double of them would be NaN.
/// An operand of which nothing is known leaves nothing known.
fn beyond(a: Ball, b: Ball, hi: f64) -> Option<Ball> {
    let held = [a.mid.hi, b.mid.hi, hi].iter().all(|x| x.is_finite());
    (!held).then(|| Ball {
        mid: hi.into(),
        rad: if (a.rad + b.rad).is_finite() {
            0.0
        } else {
            f64::INFINITY
        },
    })
}

/// A ball around `f` of the midpoint, for functions that move numbers apart by no more than they were.
fn contracted(x: Ball, f: impl Fn(f64) -> f64) -> Ball {
    let same = x.mid.hi == f(x.mid.hi);
    let mid = if same { x.mid } else { f(x.mid.hi).into() };
    Ball { mid, rad: x.rad }
}

impl Arithmetic for Balls {
    type Number = Ball;

    /// A constant as candle has it, a number of f64, which a backend rounds to the format.
    fn constant(&self, c: Dd) -> Ball {
        self.round(Ball::exact(c.hi))
    }

    fn one(&self, f: Primitive, x: Ball) -> Ball {
        match f {
            Primitive::Neg => x.negated(),
            Primitive::Abs if x.mid.hi < 0.0 => x.negated(),
            Primitive::Abs | Primitive::Held => x,
            Primitive::Sign => contracted(x, |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
            Primitive::Floor => contracted(x, f64::floor),
            Primitive::Ceil => contracted(x, f64::ceil),
            Primitive::Round => contracted(x, f64::round),
            Primitive::Sqr => self.mul(x, x),
            Primitive::Sqrt => self.sqrt(x),
            Primitive::Power(exponent) => self.power(x, exponent),
            Primitive::Library(f) => self.library(f, x),
            // A NaN stays one.
            Primitive::AtLeast(least) => contracted(x, |x| if x < least { least } else { x }),
            Primitive::AtMost(most) => contracted(x, |x| if x > most { most } else { x }),
            Primitive::Times(c) => self.mul(x, self.constant(c)),
            Primitive::Plus(c) => self.add(x, self.constant(c)),
            Primitive::Rounded => self.round(x),
        }
    }

    fn two(&self, f: Pair, a: Ball, b: Ball) -> Ball {
        match f {
            Pair::Add => self.add(a, b),
            Pair::Sub => self.sub(a, b),
            Pair::Mul => self.mul(a, b),
            Pair::Div => self.div(a, b),
            Pair::Maximum | Pair::Minimum if a.mid.hi.is_nan() => a,
            Pair::Maximum if a.mid.hi >= b.mid.hi => a,
            Pair::Minimum if a.mid.hi <= b.mid.hi => a,
            Pair::Maximum | Pair::Minimum => b,
            Pair::Pow => self.library(Library::Exp, self.mul(b, self.library(Library::Log, a))),
        }
    }

    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: Ball, b: Ball) -> Ball {
        match holds(a.mid.hi.partial_cmp(&b.mid.hi)) {
            true => Ball::ONE,
            false => Ball::ZERO,
        }
    }

    fn above(&self, x: Ball, bound: f64, yes: Ball, no: Ball) -> Ball {
        if x.mid.hi > bound { yes } else { no }
    }

    fn rectified(&self, x: Ball, below: &dyn Fn(Ball) -> Ball) -> Ball {
        if x.mid.hi < 0.0 { below(x) } else { x }
    }

    /// candle's composition, which is the other one, and the greater error.
    fn either(&self, one: Ball, other: Ball) -> Ball {
        Ball {
            rad: one.rad.max(other.rad),
            ..other
        }
    }

    fn composed(&self, _right: Ball, composed: Ball) -> Ball {
        composed
    }

    fn wide(&self, x: Ball, formula: &dyn Fn(Var<'_, Self>) -> Ball) -> Ball {
        self.round(formula(Var::new(&self.widened(), x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single() -> Balls {
        Balls::of(DType::F32, &crate::sums::TableSums)
    }

    /// Numbers of both signs, up to about 8.
    fn samples() -> impl Iterator<Item = f32> {
        (1..500).map(|i| ((i as f32) * 0.618_034).sin() * 8.0 / (1 + i % 7) as f32)
    }

    #[test]
    fn sums_of_infinities_are_those_of_f64() {
        let (inf, balls) = (f64::INFINITY, single());
        let sum = |terms: &[f64]| balls.sum(terms.iter().map(|x| Ball::exact(*x)), Accumulation::Wide);
        let is = |ball: Ball, want: f64| ball.mid.hi == want && ball.rad == 0.0;
        assert!(is(sum(&[inf]), inf) && is(sum(&[1.0, -inf, 2.0]), -inf));
        assert!(sum(&[inf, 1.0, -inf]).mid.hi.is_nan());
        let products = [(2.0, inf), (1.0, 3.0)].map(|(a, b)| (Ball::exact(a), Ball::exact(b)));
        assert!(is(balls.dot(products.into_iter()), inf));
        assert!(is(sum(&[1.0, 2.0]), 3.0), "the control");
        // A term of which nothing is known leaves nothing known.
        let unknown = [Ball::exact(inf), Ball::ONE.widened(inf)];
        assert_eq!(balls.sum(unknown.into_iter(), Accumulation::Wide).rad, inf);
    }

    fn inside(ball: Ball, got: f32) -> bool {
        (f64::from(got) - ball.mid.hi).abs() <= ball.rad
    }

    #[test]
    fn a_nan_on_either_side_stays_one_in_maxima_and_minima() {
        let steps = single();
        let (nan, one) = (Ball::exact(f64::NAN), Ball::exact(1.0));
        for f in [Pair::Maximum, Pair::Minimum] {
            assert!(steps.two(f, nan, one).mid.hi.is_nan() && steps.two(f, one, nan).mid.hi.is_nan());
        }
        for f in [Primitive::AtLeast(0.0), Primitive::AtMost(0.0)] {
            assert!(steps.one(f, nan).mid.hi.is_nan());
        }
    }

    #[test]
    fn steps_in_f32_stay_inside_and_the_bound_is_not_slack() {
        let steps = single();
        let mut used: f64 = 0.0;
        for (x, y) in samples().zip(samples().skip(1)) {
            let (a, b) = (Ball::exact(f64::from(x)), Ball::exact(f64::from(y)));
            let product = steps.mul(a, b);
            let ball = steps.add(
                steps.div(product, steps.one(Primitive::Plus(1.0.into()), steps.mul(b, b))),
                a,
            );
            let got = x * y / (y * y + 1.0) + x;
            assert!(inside(ball, got), "{x} {y}");
            used = used.max((f64::from(got) - ball.mid.hi).abs() / ball.rad);
        }
        assert!(used > 0.2, "{used} of the bound: it would let mistakes through");
    }

    #[test]
    fn functions_of_an_inexact_number_reach_their_ends() {
        let steps = single();
        for x in samples().map(f64::from) {
            let ball = Ball::exact(x).widened(1e-3);
            for end in [x - 1e-3, x + 1e-3] {
                let rows = [
                    (steps.library(Library::Exp, ball), end.exp()),
                    (steps.library(Library::Tanh, ball), end.tanh()),
                    (steps.library(Library::Sin, ball), end.sin()),
                    (steps.library(Library::Cos, ball), end.cos()),
                    (steps.library(Library::Erf, ball), core_math::erf(end)),
                ];
                for (i, (ball, value)) in rows.into_iter().enumerate() {
                    assert!((value - ball.mid.hi).abs() <= ball.rad, "function {i} at {end}");
                    assert!(
                        ball.rad < 1e-2 * (1.0 + ball.mid.hi.abs()),
                        "the control: function {i} at {end}"
                    );
                }
            }
            let positive = Ball::exact(x.abs() + 0.01).widened(1e-3);
            for end in [positive.mid.hi - 1e-3, positive.mid.hi + 1e-3] {
                let log = steps.library(Library::Log, positive);
                assert!((end.ln() - log.mid.hi).abs() <= log.rad);
                assert!((end.sqrt() - steps.sqrt(positive).mid.hi).abs() <= steps.sqrt(positive).rad);
                let power = steps.library(Library::Powf(-1.5), positive);
                assert!((end.powf(-1.5) - power.mid.hi).abs() <= power.rad);
            }
        }
    }

    #[test]
    fn numbers_of_the_format_leave_no_room() {
        let steps = single();
        let three = Ball::exact(3.0);
        assert_eq!(steps.mul(three, Ball::exact(0.5)).rad, 0.0);
        assert_eq!(steps.sum([three, three].into_iter(), Accumulation::Wide).rad, 0.0);
        assert_eq!(steps.element(steps.add(three, three)).limit, Limit::EXACT);
        assert!(steps.mul(three, Ball::exact(0.1)).rad > 0.0, "the control");
        assert!(steps.div(Ball::ONE, three).rad > 0.0, "the control");
    }

    #[test]
    fn a_divisor_that_may_be_zero_leaves_nothing_known() {
        let quotient = single().div(Ball::ONE, Ball::exact(1e-9).widened(1e-8));
        assert_eq!(quotient.rad, f64::INFINITY);
        assert_eq!(single().element(quotient).limit.abs, f64::INFINITY);
        let known = single().div(Ball::ONE, Ball::exact(1e-7).widened(1e-8));
        assert!(single().element(known).limit.abs < 1e7, "the control");
    }

    #[test]
    fn infinities_and_what_f64_does_not_hold_are_those_of_ieee_754() {
        let steps = single();
        let inf = Ball::exact(f64::INFINITY);
        let exp = |x| steps.library(Library::Exp, Ball::exact(x));
        // x / (1 + e^-x) of an infinity, of what overflows, and of the two infinities that make a NaN.
        let silu = |x: f64| steps.div(Ball::exact(x), steps.add(Ball::ONE, exp(-x)));
        for (x, wanted) in [
            (f64::INFINITY, f64::INFINITY),
            (-1e6, -0.0),
            (-1e300, -0.0),
            (f64::MIN, -0.0),
        ] {
            let element = steps.element(silu(x));
            assert_eq!(
                f32::from_bits(element.bits as u32).to_bits(),
                (wanted as f32).to_bits(),
                "{x}"
            );
            assert_eq!(element.limit, Limit::EXACT, "{x}");
        }
        assert!(silu(f64::NEG_INFINITY).mid.hi.is_nan());
        let nan = steps.add(Ball::ONE, steps.mul(Ball::exact(f64::NAN), Ball::exact(0.1)));
        assert_eq!(steps.element(steps.mul(nan, nan)).limit, Limit::EXACT);
        assert!(steps.mul(inf, Ball::ZERO).mid.hi.is_nan());
        assert_eq!(steps.mul(inf, Ball::exact(-2.0)).mid.hi, f64::NEG_INFINITY);
        assert_eq!(steps.div(Ball::exact(-3.0), Ball::ZERO).mid.hi, f64::NEG_INFINITY);
        assert_eq!(
            steps.mul(Ball::exact(1e200), Ball::exact(1e200)).mid.hi,
            f64::INFINITY
        );
        let unknown = Ball::exact(1.0).widened(f64::INFINITY);
        assert_eq!(steps.mul(inf, unknown).rad, f64::INFINITY, "the control");
        assert_eq!(steps.mul(Ball::exact(3.0), unknown).rad, f64::INFINITY);
        // f32 has no half of its smallest number: an infinity times 0 is NaN, and times the half an infinity.
        let vanishes = steps.div(Ball::exact(f64::from(f32::from_bits(1))), Ball::exact(2.0));
        assert_eq!(steps.element(steps.mul(vanishes, inf)).limit.abs, f64::INFINITY);
    }

    #[test]
    fn what_a_format_does_not_hold_saturates_or_makes_a_quotient_vanish() {
        let of = |dtype| Balls::of(dtype, &crate::sums::TableSums);
        let narrow = of(DType::F8E4M3).round(Ball::exact(1600.0));
        assert!(narrow.mid.hi - narrow.rad <= 448.0, "{narrow:?}");
        let held = of(DType::F8E4M3).round(Ball::exact(400.0));
        assert!(held.rad < 30.0, "the control: {held:?}");
        let half = |x| of(DType::F16).div(Ball::ONE, Ball::exact(x));
        assert!(
            half(147_000.0).rad >= half(147_000.0).mid.hi,
            "65504 is the largest of f16"
        );
        assert!(half(14_700.0).rad < 0.01 * half(14_700.0).mid.hi, "the control");
    }

    #[test]
    fn sums_in_any_order_are_inside_and_a_lost_term_is_not() {
        let terms: Vec<f32> = samples().collect();
        let ball = single().sum(
            terms.iter().map(|x| Ball::exact(f64::from(*x))),
            Accumulation::Wide,
        );
        let sum = |order: &mut dyn Iterator<Item = &f32>| order.fold(0_f32, |sum, x| sum + x);
        assert!(inside(ball, sum(&mut terms.iter())) && inside(ball, sum(&mut terms.iter().rev())));
        assert!(!inside(ball, sum(&mut terms.iter().skip(3))), "the control");
    }
}
