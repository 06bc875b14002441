//! What a formula is: mathematics written once, over whichever arithmetic is asked for.
//!
//! An op's formula is a function of [`Var`]s, such as `x / (1.0 + (-x).exp())`. In [`exact`] arithmetic it gives the right
//! answer, in [`interval`] arithmetic the hull of what a backend may compute that rounds after each step, and on a
//! [`crate::tape`] the running error of each element and the gradient. This file has the words of formulas. It computes
//! nothing.

pub(crate) mod ball;
pub(crate) mod exact;
pub(crate) mod integer;
pub(crate) mod interval;
pub(crate) mod steps;

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::dd::Dd;

/// A function of one number that every arithmetic knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Primitive {
    Neg,
    Abs,
    /// -1, 0 or 1; 0 for NaN.
    Sign,
    Floor,
    Ceil,
    /// Halves away from zero.
    Round,
    /// The square, of one rounding.
    Sqr,
    Sqrt,
    /// The power, as a library's `pow` has it.
    Power(u32),
    /// A function of the mathematics library.
    Library(Library),
    /// The greater of the number and a constant.
    AtLeast(f64),
    /// The lesser of the number and a constant.
    AtMost(f64),
    /// Times a constant.
    Times(Dd),
    /// Plus a constant.
    Plus(Dd),
    /// The number of the dtype that candle's composition makes of it: an error, but no other answer.
    Rounded,
    /// The number of the dtype that the op's definition makes of it.
    Held,
}

/// A function of a mathematics library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Library {
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Erf,
    /// The cumulative normal distribution.
    Normcdf,
    /// A power with a constant exponent.
    Powf(f64),
}

/// A function of two numbers that every arithmetic knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
    /// IEEE 754's `pow`.
    Pow,
}

/// Numbers, and how they are computed with.
pub(crate) trait Arithmetic: Sized {
    /// A number, or a tensor of numbers.
    type Number: Copy;

    /// A constant of a formula.
    fn constant(&self, c: Dd) -> Self::Number;

    /// A function of one number.
    fn one(&self, f: Primitive, x: Self::Number) -> Self::Number;

    /// A function of two numbers.
    fn two(&self, f: Pair, a: Self::Number, b: Self::Number) -> Self::Number;

    /// One where `holds` says yes to how the numbers compare, zero elsewhere.
    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: Self::Number, b: Self::Number) -> Self::Number;

    /// `yes` where `x` is above `bound`, `no` elsewhere.
    fn above(&self, x: Self::Number, bound: f64, yes: Self::Number, no: Self::Number) -> Self::Number;

    /// `x` where it is not below zero, else what `below` makes of it. candle writes max(x, 0) + below(min(x, 0)).
    fn rectified(&self, x: Self::Number, below: &dyn Fn(Self::Number) -> Self::Number) -> Self::Number;

    /// The same number by two formulas that candle's backends have.
    fn either(&self, one: Self::Number, other: Self::Number) -> Self::Number;

    /// `right` as the op table defines it, where candle computes `composed`.
    fn composed(&self, right: Self::Number, composed: Self::Number) -> Self::Number;

    /// What `formula` makes of `x` in f32 at least, rounded to the dtype at the end.
    fn wide(&self, x: Self::Number, formula: &dyn Fn(Var<'_, Self>) -> Self::Number) -> Self::Number;

    /// `y`, a function of `x`, whose derivative candle computes by a formula of its own.
    fn with_slope(
        &self,
        _x: Self::Number,
        y: Self::Number,
        _slope: &dyn Fn() -> Self::Number,
    ) -> Self::Number {
        y
    }
}

/// A number in a formula, with the arithmetic that it is computed in.
pub(crate) struct Var<'a, A: Arithmetic> {
    pub(crate) arithmetic: &'a A,
    pub(crate) number: A::Number,
}

impl<A: Arithmetic> Clone for Var<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arithmetic> Copy for Var<'_, A> {}

impl<'a, A: Arithmetic> Var<'a, A> {
    pub(crate) fn new(arithmetic: &'a A, number: A::Number) -> Var<'a, A> {
        Var { arithmetic, number }
    }

    /// Another number of the same arithmetic.
    fn with(self, number: A::Number) -> Var<'a, A> {
        Var { number, ..self }
    }

    /// A constant in the arithmetic of this number.
    pub(crate) fn constant(self, c: impl Into<Dd>) -> Var<'a, A> {
        self.with(self.arithmetic.constant(c.into()))
    }

    fn one(self, f: Primitive) -> Var<'a, A> {
        self.with(self.arithmetic.one(f, self.number))
    }

    fn two(self, f: Pair, other: Var<'a, A>) -> Var<'a, A> {
        self.with(self.arithmetic.two(f, self.number, other.number))
    }

    pub(crate) fn maximum(self, other: Var<'a, A>) -> Var<'a, A> {
        self.two(Pair::Maximum, other)
    }

    pub(crate) fn minimum(self, other: Var<'a, A>) -> Var<'a, A> {
        self.two(Pair::Minimum, other)
    }

    pub(crate) fn pow(self, exponent: Var<'a, A>) -> Var<'a, A> {
        self.two(Pair::Pow, exponent)
    }

    pub(crate) fn powf(self, exponent: f64) -> Var<'a, A> {
        self.one(Primitive::Library(Library::Powf(exponent)))
    }

    pub(crate) fn power(self, exponent: u32) -> Var<'a, A> {
        self.one(Primitive::Power(exponent))
    }

    pub(crate) fn at_least(self, least: f64) -> Var<'a, A> {
        self.one(Primitive::AtLeast(least))
    }

    pub(crate) fn at_most(self, most: f64) -> Var<'a, A> {
        self.one(Primitive::AtMost(most))
    }

    /// One where `holds` says yes to how this number compares with another, zero elsewhere.
    pub(crate) fn truth(self, other: Var<'a, A>, holds: fn(Option<Ordering>) -> bool) -> Var<'a, A> {
        self.with(self.arithmetic.truth(holds, self.number, other.number))
    }

    /// `yes` where this number is above `bound`, `no` elsewhere.
    pub(crate) fn above(self, bound: f64, yes: Var<'a, A>, no: Var<'a, A>) -> Var<'a, A> {
        self.with(self.arithmetic.above(self.number, bound, yes.number, no.number))
    }

    /// This number where it is not below zero, else what `below` makes of it.
    pub(crate) fn rectified(self, below: impl Fn(Var<'a, A>) -> Var<'a, A>) -> Var<'a, A> {
        let below = |x| below(self.with(x)).number;
        self.with(self.arithmetic.rectified(self.number, &below))
    }

    /// The same number by another formula that a backend of candle's has.
    pub(crate) fn either(self, other: Var<'a, A>) -> Var<'a, A> {
        self.with(self.arithmetic.either(self.number, other.number))
    }

    /// This number as the op table defines it, where candle computes `composed`.
    pub(crate) fn composed(self, composed: Var<'a, A>) -> Var<'a, A> {
        self.with(self.arithmetic.composed(self.number, composed.number))
    }

    /// What `formula` makes of this number in f32 at least, rounded to the dtype at the end.
    pub(crate) fn wide(self, formula: impl Fn(Var<'_, A>) -> Var<'_, A>) -> Var<'a, A> {
        let formula = |x: Var<'_, A>| formula(x).number;
        self.with(self.arithmetic.wide(self.number, &formula))
    }

    /// This function of `x`, whose derivative candle computes by the formula `slope`.
    pub(crate) fn with_slope(self, x: Var<'a, A>, slope: impl Fn() -> Var<'a, A>) -> Var<'a, A> {
        let slope = || slope().number;
        self.with(self.arithmetic.with_slope(x.number, self.number, &slope))
    }
}

macro_rules! functions {
    ($($name:ident: $f:expr;)*) => {
        impl<'a, A: Arithmetic> Var<'a, A> {
            $(pub(crate) fn $name(self) -> Var<'a, A> {
                self.one($f)
            })*
        }
    };
}

functions! {
    abs: Primitive::Abs;
    sign: Primitive::Sign;
    floor: Primitive::Floor;
    ceil: Primitive::Ceil;
    round: Primitive::Round;
    sqr: Primitive::Sqr;
    sqrt: Primitive::Sqrt;
    exp: Primitive::Library(Library::Exp);
    ln: Primitive::Library(Library::Log);
    sin: Primitive::Library(Library::Sin);
    cos: Primitive::Library(Library::Cos);
    tanh: Primitive::Library(Library::Tanh);
    erf: Primitive::Library(Library::Erf);
    normcdf: Primitive::Library(Library::Normcdf);
    rounded: Primitive::Rounded;
    held: Primitive::Held;
}

impl<'a, A: Arithmetic> Neg for Var<'a, A> {
    type Output = Var<'a, A>;

    fn neg(self) -> Var<'a, A> {
        self.one(Primitive::Neg)
    }
}

macro_rules! operators {
    ($($operator:ident, $method:ident, $pair:expr;)*) => {
        $(impl<'a, A: Arithmetic> $operator for Var<'a, A> {
            type Output = Var<'a, A>;

            fn $method(self, other: Var<'a, A>) -> Var<'a, A> {
                self.two($pair, other)
            }
        })*
    };
}

operators! {
    Add, add, Pair::Add;
    Sub, sub, Pair::Sub;
    Mul, mul, Pair::Mul;
    Div, div, Pair::Div;
}

macro_rules! constants {
    ($($constant:ident)*) => {
        $(
            impl<'a, A: Arithmetic> Mul<$constant> for Var<'a, A> {
                type Output = Var<'a, A>;

                fn mul(self, c: $constant) -> Var<'a, A> {
                    self.one(Primitive::Times(c.into()))
                }
            }

            impl<'a, A: Arithmetic> Add<$constant> for Var<'a, A> {
                type Output = Var<'a, A>;

                fn add(self, c: $constant) -> Var<'a, A> {
                    self.one(Primitive::Plus(c.into()))
                }
            }
        )*
    };
}

constants! { f64 Dd }

impl<'a, A: Arithmetic> Add<Var<'a, A>> for f64 {
    type Output = Var<'a, A>;

    fn add(self, x: Var<'a, A>) -> Var<'a, A> {
        x + self
    }
}

impl<'a, A: Arithmetic> Sub<f64> for Var<'a, A> {
    type Output = Var<'a, A>;

    fn sub(self, c: f64) -> Var<'a, A> {
        self + -c
    }
}

impl<'a, A: Arithmetic> Sub<Var<'a, A>> for f64 {
    type Output = Var<'a, A>;

    fn sub(self, x: Var<'a, A>) -> Var<'a, A> {
        x.constant(self) - x
    }
}

impl<'a, A: Arithmetic> Div<f64> for Var<'a, A> {
    type Output = Var<'a, A>;

    fn div(self, c: f64) -> Var<'a, A> {
        self / self.constant(c)
    }
}

impl<'a, A: Arithmetic> Div<Var<'a, A>> for f64 {
    type Output = Var<'a, A>;

    fn div(self, x: Var<'a, A>) -> Var<'a, A> {
        x.constant(self) / x
    }
}
