//! What a backend may compute that rounds after each step: candle's formula in intervals that grow by one rounding a step.
//!
//! A formula such as `x / (1 + exp(-x))` rounds after each step, in the dtype itself on candle's CPU backend and in most
//! of its CUDA kernels. The bound is the hull of everything those steps may return: every step widens the interval by
//! the rounding of the format it is computed in, and every library call by the ULP of the worst library. Cancellation,
//! underflow and the overflow of an intermediate are in the result because they are in the formula. Fusing or widening
//! steps, as a contracted `a * b + c` or f32 math for bf16 does, only takes roundings away.

use std::cmp::Ordering;

use parity_model::DType;
use parity_model::float::Format;

use super::exact::called;
use super::steps::{Steps, ulp};
use super::{Arithmetic, Library, Pair, Primitive, Var};
use crate::dd::Dd;

/// How a number was made, which says whether an interval is needed at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Made {
    /// It is an argument, or an element chosen of them.
    Given,
    /// By one step that IEEE 754 has correctly rounded, or as the op's definition rounds.
    CorrectlyRounded,
    /// By one call of the library.
    Library(Library),
    /// By more than one step.
    Composed,
}

/// An interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    lo: f64,
    hi: f64,
    pub(crate) made: Made,
}

impl Interval {
    /// A number that everyone has exactly.
    pub(crate) fn point(x: f64) -> Interval {
        Interval {
            lo: x,
            hi: x,
            made: Made::Given,
        }
    }

    /// The hull of the numbers, in any order.
    fn around(ends: &[f64], made: Made) -> Interval {
        Interval {
            lo: ends.iter().copied().fold(f64::INFINITY, f64::min),
            hi: ends.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            made,
        }
    }

    /// From one end to the other.
    fn between(one: f64, other: f64, made: Made) -> Interval {
        let (lo, hi) = if one > other { (other, one) } else { (one, other) };
        Interval { lo, hi, made }
    }

    /// Another interval for the same number.
    fn map(self, f: impl Fn(f64) -> f64) -> Interval {
        Interval {
            lo: f(self.lo),
            hi: f(self.hi),
            ..self
        }
    }

    /// How far the further end is from `want`. An infinite end is the first number past the largest of the format: one step
    /// further, not infinitely far. Nothing is allowed where no end is a number.
    pub(crate) fn distance(self, format: Format, want: f64) -> f64 {
        let cap = |x: f64| x.clamp(-format.overflow(), format.overflow());
        let want = cap(want);
        let distance = (cap(self.hi) - want).max(want - cap(self.lo)).max(0.0);
        if distance.is_finite() { distance } else { 0.0 }
    }
}

/// Zero in the place of an infinity, which has no relative error.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

/// Intervals whose ends are rounded outwards.
pub(crate) struct Intervals(Steps);

impl Intervals {
    /// For steps in `dtype`, a float.
    pub(crate) fn of(dtype: DType) -> Intervals {
        Intervals(Steps::of(dtype).outward())
    }

    /// Rounds outwards. A number past the largest may also come back as what the format makes of it, infinity or the
    /// largest number; that it may not is for whoever computes in a wider format.
    fn round(&self, x: Interval) -> Interval {
        let (lo, hi) = (x.lo.min(x.hi), x.hi.max(x.lo));
        let mut lo = lo - self.0.unit * finite(lo).abs() - self.0.tiny;
        let mut hi = hi + self.0.unit * finite(hi).abs() + self.0.tiny;
        let max = self.0.format.max;
        if self.0.format.infinities {
            lo = if lo < -max { f64::NEG_INFINITY } else { lo };
            hi = if hi > max { f64::INFINITY } else { hi };
        } else {
            (lo, hi) = (lo.min(max), hi.max(-max));
        }
        Interval { lo, hi, ..x }
    }

    /// A correctly rounded step of `operands` whose results are within `ends`.
    fn step(&self, operands: [Interval; 2], ends: Interval) -> Interval {
        let given = operands.iter().all(|x| x.made == Made::Given);
        let made = if given {
            Made::CorrectlyRounded
        } else {
            Made::Composed
        };
        self.round(Interval { made, ..ends })
    }

    /// A correctly rounded step whose extremes are among the results of `f` at the ends of `a` and `b`.
    fn at_ends(&self, a: Interval, b: Interval, f: fn(f64, f64) -> f64) -> Interval {
        let ends = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(x, y)| f(x, y));
        self.step([a, b], Interval::around(&ends, Made::Given))
    }

    fn call(&self, f: Library, x: Interval) -> Interval {
        let made = if x.made == Made::Given {
            Made::Library(f)
        } else {
            Made::Composed
        };
        let at = Interval::between(called(f, x.lo), called(f, x.hi), made);
        let slack = self.0.library * ulp(f);
        let called = self.round(Interval {
            lo: at.lo - slack * finite(at.lo).abs(),
            hi: at.hi + slack * finite(at.hi).abs(),
            made,
        });
        match f {
            Library::Tanh | Library::Erf => called.map(|x| x.clamp(-1.0, 1.0)),
            // Between its ends a function that is not monotonic moves no further than they are apart.
            Library::Sin | Library::Cos => {
                let width = x.hi - x.lo;
                Interval {
                    lo: (called.lo - width).max(-1.0),
                    hi: (called.hi + width).min(1.0),
                    made,
                }
            }
            Library::Exp | Library::Log | Library::Normcdf | Library::Powf(_) => called,
        }
    }
}

impl Arithmetic for Intervals {
    type Number = Interval;

    /// A constant: itself or its rounding.
    fn constant(&self, c: Dd) -> Interval {
        match c.lo == 0.0 && self.0.format.round(c.hi) == c.hi {
            true => Interval::point(c.hi),
            false => Interval {
                made: Made::Composed,
                ..self.round(Interval::point(c.hi))
            },
        }
    }

    fn one(&self, f: Primitive, x: Interval) -> Interval {
        match f {
            Primitive::Neg => Interval {
                lo: -x.hi,
                hi: -x.lo,
                ..x
            },
            Primitive::Abs if x.lo < 0.0 && x.hi > 0.0 => Interval {
                lo: 0.0,
                hi: x.hi.max(-x.lo),
                ..x
            },
            Primitive::Abs => Interval::around(&[x.lo.abs(), x.hi.abs()], x.made),
            Primitive::Sign => x.map(|x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
            Primitive::Floor => x.map(f64::floor),
            Primitive::Ceil => x.map(f64::ceil),
            Primitive::Round => x.map(f64::round),
            Primitive::Sqr => {
                let magnitude = self.one(Primitive::Abs, x);
                self.step([x, x], magnitude.map(|x| x * x))
            }
            Primitive::Sqrt => self.step([x, x], x.map(f64::sqrt)),
            Primitive::Power(exponent) => {
                let factors = (1..exponent).map(|_| x);
                let power = factors.fold(x, |power, x| self.two(Pair::Mul, power, x));
                self.call(Library::Powf(1.0), power)
            }
            Primitive::Library(f) => self.call(f, x),
            Primitive::AtLeast(least) => x.map(|x| if x < least { least } else { x }),
            Primitive::AtMost(most) => x.map(|x| if x > most { most } else { x }),
            Primitive::Times(c) => self.two(Pair::Mul, x, self.constant(c)),
            Primitive::Plus(c) => self.two(Pair::Add, x, self.constant(c)),
            Primitive::Rounded => self.round(x),
            Primitive::Held => Interval {
                made: Made::CorrectlyRounded,
                ..x
            },
        }
    }

    fn two(&self, f: Pair, a: Interval, b: Interval) -> Interval {
        match f {
            Pair::Add => self.step(
                [a, b],
                Interval {
                    lo: a.lo + b.lo,
                    hi: a.hi + b.hi,
                    ..a
                },
            ),
            Pair::Sub => self.two(Pair::Add, a, self.one(Primitive::Neg, b)),
            Pair::Mul => self.at_ends(a, b, |x, y| if x == 0.0 || y == 0.0 { 0.0 } else { x * y }),
            // For a divisor that does not hold zero; a divisor that overflowed gives zero.
            Pair::Div => self.at_ends(a, b, |x, y| if x == 0.0 || y.is_infinite() { 0.0 } else { x / y }),
            Pair::Maximum => Interval {
                lo: a.lo.max(b.lo),
                hi: a.hi.max(b.hi),
                made: either(a, b),
            },
            Pair::Minimum => Interval {
                lo: a.lo.min(b.lo),
                hi: a.hi.min(b.hi),
                made: either(a, b),
            },
            Pair::Pow => Interval {
                made: Made::Composed,
                ..self.at_ends(a, b, core_math::pow)
            },
        }
    }

    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: Interval, b: Interval) -> Interval {
        Interval {
            made: either(a, b),
            ..Interval::point(f64::from(u8::from(holds(a.lo.partial_cmp(&b.lo)))))
        }
    }

    fn above(&self, x: Interval, bound: f64, yes: Interval, no: Interval) -> Interval {
        if x.lo > bound { yes } else { no }
    }

    fn rectified(&self, x: Interval, below: &dyn Fn(Interval) -> Interval) -> Interval {
        if x.lo < 0.0 { below(x) } else { x }
    }

    fn either(&self, one: Interval, other: Interval) -> Interval {
        Interval {
            lo: one.lo.min(other.lo),
            hi: one.hi.max(other.hi),
            made: either(one, other),
        }
    }

    fn composed(&self, _right: Interval, composed: Interval) -> Interval {
        composed
    }

    fn wide(&self, x: Interval, formula: &dyn Fn(Var<'_, Self>) -> Interval) -> Interval {
        let wide = Intervals(self.0.widened());
        self.round(formula(Var::new(&wide, x)))
    }
}

/// How a choice between two numbers was made.
fn either(a: Interval, b: Interval) -> Made {
    if a.made == Made::Given { b.made } else { a.made }
}
