//! Double-double arithmetic: a number as the unevaluated sum of two `f64`, about 106 significant bits.
//!
//! Only what the oracle's composite functions need. The error-free transformations are Knuth's and Dekker's (with a
//! fused multiply-add); see Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic building blocks of
//! double-word arithmetic", ACM TOMS 44 (2017).

use std::ops::{Add, Div, Mul, Neg};

/// `hi + lo`, where `hi` is the sum rounded to f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dd {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// ln 2.
pub(crate) const LN_2: Dd = Dd {
    hi: std::f64::consts::LN_2,
    lo: 2.319_046_813_846_299_6e-17,
};

fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let bb = hi - a;
    Dd {
        hi,
        lo: (a - (hi - bb)) + (b - bb),
    }
}

/// As [`two_sum`], for |a| >= |b|.
fn quick_two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    Dd { hi, lo: b - (hi - a) }
}

fn two_prod(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd {
        hi,
        lo: a.mul_add(b, -hi),
    }
}

impl From<f64> for Dd {
    fn from(hi: f64) -> Dd {
        Dd { hi, lo: 0.0 }
    }
}

impl Add for Dd {
    type Output = Dd;

    fn add(self, rhs: Dd) -> Dd {
        let s = two_sum(self.hi, rhs.hi);
        let t = two_sum(self.lo, rhs.lo);
        let v = quick_two_sum(s.hi, s.lo + t.hi);
        quick_two_sum(v.hi, t.lo + v.lo)
    }
}

impl Mul for Dd {
    type Output = Dd;

    fn mul(self, rhs: Dd) -> Dd {
        let p = two_prod(self.hi, rhs.hi);
        quick_two_sum(p.hi, p.lo + self.hi.mul_add(rhs.lo, self.lo * rhs.hi))
    }
}

impl Div for Dd {
    type Output = Dd;

    fn div(self, rhs: Dd) -> Dd {
        let q1 = self.hi / rhs.hi;
        let r = self + -(rhs * q1.into());
        let q2 = r.hi / rhs.hi;
        let r = r + -(rhs * q2.into());
        quick_two_sum(q1, q2) + (r.hi / rhs.hi).into()
    }
}

impl Neg for Dd {
    type Output = Dd;

    fn neg(self) -> Dd {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

/// e^r - 1 for |r| <= ln 2 / 2: Taylor's series after halving nine times, then doubling back with
/// expm1(2x) = 2 expm1(x) + expm1(x)^2, which loses no relative accuracy near zero.
pub(crate) fn expm1_reduced(r: Dd) -> Dd {
    const HALVINGS: i32 = 9;
    const TERMS: i32 = 10; // (ln 2 / 2^10)^10 / 10! is below 2^-116.
    let x = r * (0.5_f64.powi(HALVINGS)).into();
    let mut sum = Dd::from(1.0);
    for n in (2..=TERMS).rev() {
        sum = Dd::from(1.0) + x * sum / f64::from(n).into();
    }
    let mut p = x * sum;
    for _ in 0..HALVINGS {
        p = p * 2.0.into() + p * p;
    }
    p
}

/// e^a as (m, k), where e^a = m 2^k and m is near 1. `a` is finite and |a| is below 1e6.
pub(crate) fn exp_parts(a: Dd) -> (Dd, i32) {
    let k = (a.hi / LN_2.hi).round();
    let r = a + -(LN_2 * k.into());
    (Dd::from(1.0) + expm1_reduced(r), k as i32)
}

/// m 2^k; in two steps, for 2^k alone may be out of range.
pub(crate) fn scale(m: Dd, k: i32) -> Dd {
    let by = |x: f64| {
        let half = k / 2;
        x * 2_f64.powi(half) * 2_f64.powi(k - half)
    };
    Dd {
        hi: by(m.hi),
        lo: by(m.lo),
    }
}

/// e^x; zero for minus infinity, and an infinity for what f64 does not hold.
pub(crate) fn exp(x: Dd) -> Dd {
    if x.hi < -1500.0 {
        return 0.0.into();
    }
    if x.hi > 710.0 {
        return f64::INFINITY.into();
    }
    let (m, k) = exp_parts(x);
    scale(m, k)
}

/// The natural logarithm of a number of at least 1, by one step of Newton's from that of its upper half.
pub(crate) fn ln(x: Dd) -> Dd {
    let guess = Dd::from(core_math::log(x.hi));
    guess + (x * exp(-guess) + (-1.0).into())
}

/// The square root of a number above zero, by one step of Newton's; of zero, zero.
pub(crate) fn sqrt(x: Dd) -> Dd {
    let guess = x.hi.sqrt();
    if guess == 0.0 || !guess.is_finite() {
        return guess.into();
    }
    let guess = Dd::from(guess);
    guess + (x + -(guess * guess)) / (guess * 2.0.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with all 53 bits in use, both signs, |x| up to about 700.
    fn samples() -> impl Iterator<Item = f64> {
        (1..400)
            .map(|i| (f64::from(i) * 0.618_033_988_749_894_9).sin() * 700.0 / f64::from(1 + i % 17).powi(3))
    }

    #[test]
    fn exp_agrees_with_the_correctly_rounded_one() {
        for x in samples() {
            let (m, k) = exp_parts(x.into());
            assert_eq!(scale(m, k).hi, core_math::exp(x), "exp({x:e})");
        }
    }

    #[test]
    fn expm1_agrees_with_the_correctly_rounded_one() {
        for x in samples()
            .filter(|x| x.abs() < 0.34)
            .chain([1e-300, -1e-10, 0.339])
        {
            assert_eq!(expm1_reduced(x.into()).hi, core_math::expm1(x), "expm1({x:e})");
        }
    }

    #[test]
    fn exp_has_twice_the_precision_of_f64() {
        // e^x e^-x = 1 to 2^-98.
        for x in samples() {
            let ((a, i), (b, j)) = (exp_parts(x.into()), exp_parts((-x).into()));
            let product = scale(a * b, i + j) + (-1.0).into();
            assert!(product.hi.abs() < 2_f64.powi(-98), "{x:e}: {:e}", product.hi);
        }
    }

    #[test]
    fn quotients_multiply_back() {
        for x in samples() {
            let third = Dd::from(x) / 3.0.into();
            assert!(
                ((third * 3.0.into()) + (-x).into()).hi.abs() <= x.abs() * 2_f64.powi(-100),
                "{x:e}"
            );
        }
    }

    #[test]
    fn double_double_roots_and_logarithms_invert() {
        for x in [1.0, 1.5, 3.0, 1024.0, 1e10] {
            let x = Dd::from(x) + 1e-20.into();
            let root = sqrt(x);
            let back = root * root + -x;
            assert!(back.hi.abs() <= x.hi * 1e-30, "sqrt {}: {:e}", x.hi, back.hi);
            let back = exp(ln(x)) + -x;
            assert!(back.hi.abs() <= x.hi * 1e-28, "ln {}: {:e}", x.hi, back.hi);
        }
    }
}
