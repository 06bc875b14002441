//! Floating-point ops on `f64`: the exact result rounded to f64, or within an ulp of f64 of that where it says so.
//!
//! For dtypes narrower than f64 one more rounding follows, in [`crate::expected()`]. For `+ - * / sqrt` and the fused
//! `affine` that second rounding is innocuous: f64's 53 bits are at least 2p + 2 for the p = 4, 8, 11, 24 significant
//! bits of the narrower formats (Figueroa, "When is double rounding innocuous?", SIGNUM 1995), and where the result is
//! subnormal there are fewer bits still.

use parity_model::Op;

use crate::dd::{Dd, exp_parts, expm1, scale};

/// sqrt(8/pi): twice the factor in gelu's tanh.
const SQRT_8_OVER_PI: Dd = Dd {
    hi: 1.595_769_121_605_730_8,
    lo: -9.969_308_809_110_92e-17,
};
/// gelu's cubic coefficient.
const GELU_CUBIC: Dd = Dd {
    hi: 0.044_715,
    lo: 2.196_021_142_708_559_5e-18,
};
/// 1/sqrt 2.
const FRAC_1_SQRT_2: Dd = Dd {
    hi: std::f64::consts::FRAC_1_SQRT_2,
    lo: -4.833_646_656_726_457e-17,
};

/// The op on `x`. `params` are values of the op's dtype. `None` for ops that are not unary.
pub(crate) fn unary(op: Op, params: &[f64], x: f64) -> Option<f64> {
    Some(match op {
        Op::Exp => core_math::exp(x),
        Op::Log => core_math::log(x),
        Op::Sin => core_math::sin(x),
        Op::Cos => core_math::cos(x),
        Op::Tanh => core_math::tanh(x),
        Op::Erf => core_math::erf(x),
        Op::Powf => core_math::pow(x, params[0]),
        Op::Abs => x.abs(),
        Op::Neg => -x,
        Op::Recip => 1.0 / x,
        Op::Sqr => x * x,
        Op::Sqrt => x.sqrt(),
        Op::Relu => maximum(x, 0.0),
        Op::Floor => x.floor(),
        Op::Ceil => x.ceil(),
        Op::Round => x.round(),
        Op::Sign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        Op::Gelu => gelu(x),
        Op::GeluErf => gelu_erf(x),
        Op::Silu => times_sigmoid(x, x.into()),
        Op::Affine => params[0].mul_add(x, params[1]),
        Op::Elu => elu(params[0], x),
        Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Maximum
        | Op::Minimum
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => return None,
    })
}

/// The op on `a` and `b`; truth is 1. `None` for ops that are not binary.
pub(crate) fn binary(op: Op, a: f64, b: f64) -> Option<f64> {
    let truth = |condition: bool| f64::from(u8::from(condition));
    Some(match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => a / b,
        Op::Maximum => maximum(a, b),
        Op::Minimum => -maximum(-a, -b),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Abs
        | Op::Neg
        | Op::Recip
        | Op::Sqr
        | Op::Sqrt
        | Op::Gelu
        | Op::GeluErf
        | Op::Erf
        | Op::Relu
        | Op::Silu
        | Op::Tanh
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::Sign
        | Op::Affine
        | Op::Powf
        | Op::Elu => return None,
    })
}

/// IEEE 754-2019 `maximum`: NaN if either is, and +0 above -0.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        if a.is_sign_positive() { a } else { b }
    } else {
        a.max(b)
    }
}

/// x / (1 + e^-t), in double-double; for t below zero as x e^t / (1 + e^t), where nothing overflows.
fn times_sigmoid(x: f64, t: Dd) -> f64 {
    // NaN, and infinities: inf / 1 is inf, -inf / inf is NaN.
    if !x.is_finite() {
        return x / (1.0 + core_math::exp(-x));
    }
    // Beyond these, e^t is below every f64's ulp, or the product below every f64.
    if t.hi > 100.0 {
        return x;
    }
    if t.hi < -1500.0 {
        return -0.0;
    }
    let one = Dd::from(1.0);
    if t.hi >= 0.0 {
        let (m, k) = exp_parts(-t);
        return (Dd::from(x) / (one + scale(m, k))).hi;
    }
    let (m, k) = exp_parts(t);
    let scaled = Dd::from(x) * m / (one + scale(m, k));
    scale(scaled, k).hi
}

/// 0.5 x (1 + tanh u) = x / (1 + e^-2u) for u = sqrt(2/pi) (x + 0.044715 x^3).
fn gelu(x: f64) -> f64 {
    // Past 1e3 the sigmoid is 0 or 1 in every format, and x^3 might overflow.
    if !x.is_finite() || x.abs() > 1e3 {
        return times_sigmoid(x, x.into());
    }
    let d = Dd::from(x);
    times_sigmoid(x, SQRT_8_OVER_PI * (d + GELU_CUBIC * d * d * d))
}

/// 0.5 x (1 + erf(x / sqrt 2)) = 0.5 x erfc(-x / sqrt 2); within an ulp of f64.
///
/// The argument's rounding error e would be amplified up to 1450 times in the tail, so it is put back with
/// erfc(a + e) = erfc(a) - 2 e^(-a^2) e / sqrt pi.
fn gelu_erf(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if !x.is_finite() {
        return x;
    }
    let a = Dd::from(-x) * FRAC_1_SQRT_2;
    let correction = -std::f64::consts::FRAC_2_SQRT_PI * core_math::exp(-a.hi * a.hi) * a.lo;
    (Dd::from(core_math::erfc(a.hi)) + correction.into()).hi * (0.5 * x)
}

/// x above zero, alpha (e^x - 1) below.
fn elu(alpha: f64, x: f64) -> f64 {
    if x > 0.0 || x.is_nan() {
        return x;
    }
    (expm1(x.max(-1000.0)) * alpha.into()).hi
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(op: Op, params: &[f64], rows: &[(f64, f64)]) {
        for &(x, want) in rows {
            let got = unary(op, params, x).unwrap();
            // gelu_erf is documented to be within an ulp; the others are the nearest f64.
            let near = op == Op::GeluErf && (got == want.next_up() || got == want.next_down());
            assert!(
                got == want || near || got.is_nan() && want.is_nan(),
                "{op}({x:e}) is {got:e}, not {want:e}"
            );
        }
    }

    /// Values from mpmath 1.3 at 60 digits, rounded to f64.
    #[test]
    fn composites_agree_with_multiple_precision() {
        check(
            Op::Gelu,
            &[],
            &[
                (0.5, 0.34571400982514394),
                (-0.5, -0.15428599017485609),
                (3.25, 3.2484313728552525),
                (-3.25, -0.0015686271447474687),
                (-8.0, -3.1077829375011112e-21),
                (-20.0, -3.3754509563109673e-261),
                (1e-09, 5.000000003989423e-10),
            ],
        );
        check(
            Op::GeluErf,
            &[],
            &[
                (0.5, 0.34573123063700656),
                (-0.5, -0.15426876936299344),
                (3.25, 3.24812466861223),
                (-3.25, -0.0018753313877699928),
                (-8.0, -4.976768459417427e-15),
                (-20.0, -5.507248237212468e-88),
                (1e-09, 5.000000003989423e-10),
            ],
        );
        check(
            Op::Silu,
            &[],
            &[
                (0.5, 0.3112296656009273),
                (-0.5, -0.18877033439907273),
                (20.0, 19.99999995877693),
                (-20.0, -4.122307236380407e-08),
                (-700.0, -6.90177358063184e-302),
                (-744.0, -5.706e-321),
                (1e-09, 5.000000002500001e-10),
            ],
        );
        check(
            Op::Elu,
            &[0.75],
            &[
                (-0.5, -0.29510200521552493),
                (-1e-09, -7.49999999625e-10),
                (-0.34, -0.21617225792804273),
                (-20.0, -0.7499999984541348),
                (-40.0, -0.75),
            ],
        );
    }

    #[test]
    fn infinities_and_nan_follow_the_op_table() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        check(
            Op::Gelu,
            &[],
            &[
                (inf, inf),
                (-inf, nan),
                (nan, nan),
                (f64::MAX, f64::MAX),
                (f64::MIN, -0.0),
            ],
        );
        check(
            Op::GeluErf,
            &[],
            &[
                (inf, inf),
                (-inf, nan),
                (nan, nan),
                (f64::MAX, f64::MAX),
                (f64::MIN, -0.0),
            ],
        );
        check(
            Op::Silu,
            &[],
            &[
                (inf, inf),
                (-inf, nan),
                (nan, nan),
                (f64::MAX, f64::MAX),
                (f64::MIN, -0.0),
            ],
        );
        check(
            Op::Elu,
            &[0.5],
            &[(inf, inf), (-inf, -0.5), (nan, nan), (0.0, 0.0)],
        );
        check(Op::Relu, &[], &[(inf, inf), (-inf, 0.0), (nan, nan), (-3.0, 0.0)]);
        check(
            Op::Sign,
            &[],
            &[(inf, 1.0), (-inf, -1.0), (nan, 0.0), (-0.0, 0.0)],
        );
        check(Op::Powf, &[0.0], &[(nan, 1.0), (inf, 1.0), (0.0, 1.0)]);
        check(Op::Log, &[], &[(0.0, -inf), (-1.0, nan), (inf, inf)]);
        check(Op::Sin, &[], &[(inf, nan), (0.0, 0.0)]);
    }

    #[test]
    fn halves_round_away_from_zero() {
        check(
            Op::Round,
            &[],
            &[
                (0.5, 1.0),
                (1.5, 2.0),
                (2.5, 3.0),
                (-0.5, -1.0),
                (-2.5, -3.0),
                (2.4, 2.0),
            ],
        );
    }

    #[test]
    fn maximum_and_minimum_propagate_nan_from_either_side() {
        for op in [Op::Maximum, Op::Minimum] {
            assert!(binary(op, f64::NAN, 1.0).unwrap().is_nan());
            assert!(binary(op, 1.0, f64::NAN).unwrap().is_nan());
        }
        assert_eq!(binary(Op::Maximum, 1.0, 2.0), Some(2.0));
        assert_eq!(binary(Op::Minimum, 1.0, 2.0), Some(1.0));
        assert!(binary(Op::Maximum, -0.0, 0.0).unwrap().is_sign_positive());
        assert!(binary(Op::Minimum, 0.0, -0.0).unwrap().is_sign_negative());
    }

    #[test]
    fn comparisons_with_nan_are_false_except_ne() {
        for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
            assert_eq!(binary(op, f64::NAN, f64::NAN), Some(0.0), "{op}");
        }
        assert_eq!(binary(Op::Ne, f64::NAN, f64::NAN), Some(1.0));
    }

    #[test]
    fn every_op_has_an_oracle() {
        for &op in Op::ALL {
            let params = vec![1.0; op.params().len()];
            assert_eq!(unary(op, &params, 1.0).is_some(), op.arity() == 1, "{op}");
            assert_eq!(binary(op, 1.0, 2.0).is_some(), op.arity() == 2, "{op}");
        }
    }
}
