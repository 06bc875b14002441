//! Integer arithmetic: exact, wrapped to the dtype's width by whoever asks.

use std::cmp::Ordering;

use parity_model::DType;
use parity_model::float::int_range;

use super::{Arithmetic, Pair, Primitive, Var};
use crate::dd::Dd;

/// Integers of a dtype. Constants become integers as Rust's `as` has it.
pub(crate) struct Integers(pub(crate) DType);

/// What Rust's `as` makes of a float: truncated, saturated, NaN to 0.
pub(crate) fn saturate(dtype: DType, x: f64) -> i64 {
    let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
    (x as i64).clamp(min, max)
}

impl Arithmetic for Integers {
    type Number = i64;

    fn constant(&self, c: Dd) -> i64 {
        saturate(self.0, c.hi)
    }

    fn one(&self, f: Primitive, x: i64) -> i64 {
        match f {
            Primitive::Neg => x.wrapping_neg(),
            Primitive::Abs => x.wrapping_abs(),
            Primitive::Sign => x.signum(),
            Primitive::Floor | Primitive::Ceil | Primitive::Round | Primitive::Rounded | Primitive::Held => x,
            Primitive::Sqr => x.wrapping_mul(x),
            Primitive::Power(exponent) => x.wrapping_pow(exponent),
            Primitive::AtLeast(least) => x.max(saturate(self.0, least)),
            Primitive::AtMost(most) => x.min(saturate(self.0, most)),
            Primitive::Times(c) => x.wrapping_mul(self.constant(c)),
            Primitive::Plus(c) => x.wrapping_add(self.constant(c)),
            Primitive::Sqrt | Primitive::Library(_) => panic!("{f:?} has no meaning for integers"),
        }
    }

    fn two(&self, f: Pair, a: i64, b: i64) -> i64 {
        match f {
            Pair::Add => a.wrapping_add(b),
            Pair::Sub => a.wrapping_sub(b),
            Pair::Mul => a.wrapping_mul(b),
            Pair::Div if b == 0 => -1,
            Pair::Div => a.wrapping_div(b),
            Pair::Maximum => a.max(b),
            Pair::Minimum => a.min(b),
            Pair::Pow => panic!("{f:?} has no meaning for integers"),
        }
    }

    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: i64, b: i64) -> i64 {
        i64::from(holds(Some(a.cmp(&b))))
    }

    fn above(&self, x: i64, bound: f64, yes: i64, no: i64) -> i64 {
        if x > saturate(self.0, bound) { yes } else { no }
    }

    fn rectified(&self, x: i64, below: &dyn Fn(i64) -> i64) -> i64 {
        if x < 0 { below(x) } else { x }
    }

    fn either(&self, one: i64, _other: i64) -> i64 {
        one
    }

    fn composed(&self, right: i64, _composed: i64) -> i64 {
        right
    }

    fn wide(&self, x: i64, formula: &dyn Fn(Var<'_, Self>) -> i64) -> i64 {
        formula(Var::new(self, x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_zero_sets_every_bit_and_the_minimum_wraps() {
        let integers = Integers(DType::I64);
        assert_eq!(integers.two(Pair::Div, 7, 0), -1);
        assert_eq!(integers.two(Pair::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(integers.two(Pair::Div, -7, 2), -3);
    }
}
