//! Floating-point ops on `f64`: the exact result rounded to f64, or within an ulp of f64 of that where it says so.
//!
//! For dtypes narrower than f64 one more rounding follows, in [`crate::expected()`]. For `+ - * / sqrt` and the fused
//! `affine` that second rounding is innocuous: f64's 53 bits are at least 2p + 2 for the p = 4, 8, 11, 24 significant
//! bits of the narrower formats (Figueroa, "When is double rounding innocuous?", SIGNUM 1995), and where the result is
//! subnormal there are fewer bits still.

use parity_model::op::{Binary, Nn, Unary};

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

/// The op on `x`. `params` are values of the op's dtype.
pub(crate) fn unary(op: Unary, params: &[f64], x: f64) -> f64 {
    match op {
        Unary::Exp => core_math::exp(x),
        Unary::Log => core_math::log(x),
        Unary::Sin => core_math::sin(x),
        Unary::Cos => core_math::cos(x),
        Unary::Tanh => core_math::tanh(x),
        Unary::Erf => core_math::erf(x),
        Unary::Powf => core_math::pow(x, params[0]),
        Unary::Abs => x.abs(),
        Unary::Neg => -x,
        Unary::Recip => 1.0 / x,
        Unary::Sqr => x * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Relu => maximum(x, 0.0),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round(),
        Unary::Sign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        Unary::Gelu => gelu(x),
        Unary::GeluErf => gelu_erf(x),
        Unary::Silu => times_sigmoid(x, x.into()),
        Unary::Affine => params[0].mul_add(x, params[1]),
        Unary::Elu => elu(params[0], x),
        Unary::Clamp => -maximum(-maximum(x, params[0]), -params[1]),
        Unary::RoundTo => round_to(params[0], x, |x| x),
    }
}

/// The op on `a` and `b`; truth is 1.
pub(crate) fn binary(op: Binary, a: f64, b: f64) -> f64 {
    let truth = |condition: bool| f64::from(u8::from(condition));
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Maximum => maximum(a, b),
        Binary::Minimum => -maximum(-a, -b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
        Binary::Lt => truth(a < b),
        Binary::Le => truth(a <= b),
        Binary::Gt => truth(a > b),
        Binary::Ge => truth(a >= b),
        Binary::Pow => core_math::pow(a, b),
    }
}

/// x to so many decimals, where every step is rounded by `round`.
pub(crate) fn round_to(decimals: f64, x: f64, round: impl Fn(f64) -> f64) -> f64 {
    let power = 10_f64.powi(decimals as i32);
    let digits = round(x * round(power)).round();
    round(digits * round(1.0 / power))
}

/// An activation on `x`. `params` are values of the dtype.
pub(crate) fn activation(op: Nn, params: &[f64], x: f64) -> f64 {
    match op {
        Nn::HardSigmoid => -maximum(-maximum((x + 3.0) / 6.0, 0.0), -1.0),
        Nn::LeakyRelu if x < 0.0 => params[0] * x,
        Nn::LeakyRelu => x,
        // tanh log s = (s^2 - 1) / (s^2 + 1) for s = 1 + e^x; from 40 on it is 1 in every format.
        Nn::Mish if x > 40.0 => x,
        Nn::Mish => {
            let e = core_math::exp(x);
            let w = e * (e + 2.0);
            x * (w / (w + 2.0))
        }
        Nn::Selu if x > 0.0 || x.is_nan() => params[1] * x,
        Nn::Selu => params[1] * elu(params[0], x),
        Nn::Sigmoid
        | Nn::Swiglu
        | Nn::SoftmaxLastDim
        | Nn::Softmax
        | Nn::LogSoftmax
        | Nn::RmsNorm
        | Nn::LayerNorm
        | Nn::Rope
        | Nn::RopeI
        | Nn::RopeThd => panic!("{op} is no activation of single elements"),
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

/// 1 / (1 + e^-x); within an ulp of f64.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x.is_nan() || x.is_infinite() {
        return 1.0 / (1.0 + core_math::exp(-x));
    }
    let one = Dd::from(1.0);
    if x >= 0.0 {
        let (m, k) = exp_parts((-x.min(1000.0)).into());
        return (one / (one + scale(m, k))).hi;
    }
    // Below -1000 it is less than any number.
    let (m, k) = exp_parts(x.max(-1000.0).into());
    scale(m / (one + scale(m, k)), k).hi
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

    fn check(op: Unary, params: &[f64], rows: &[(f64, f64)]) {
        for &(x, want) in rows {
            let got = unary(op, params, x);
            // gelu_erf is documented to be within an ulp; the others are the nearest f64.
            let near = op == Unary::GeluErf && (got == want.next_up() || got == want.next_down());
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
            Unary::Gelu,
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
            Unary::GeluErf,
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
            Unary::Silu,
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
            Unary::Elu,
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
            Unary::Gelu,
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
            Unary::GeluErf,
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
            Unary::Silu,
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
            Unary::Elu,
            &[0.5],
            &[(inf, inf), (-inf, -0.5), (nan, nan), (0.0, 0.0)],
        );
        check(
            Unary::Relu,
            &[],
            &[(inf, inf), (-inf, 0.0), (nan, nan), (-3.0, 0.0)],
        );
        check(
            Unary::Sign,
            &[],
            &[(inf, 1.0), (-inf, -1.0), (nan, 0.0), (-0.0, 0.0)],
        );
        check(Unary::Powf, &[0.0], &[(nan, 1.0), (inf, 1.0), (0.0, 1.0)]);
        check(Unary::Log, &[], &[(0.0, -inf), (-1.0, nan), (inf, inf)]);
        check(Unary::Sin, &[], &[(inf, nan), (0.0, 0.0)]);
    }

    #[test]
    fn halves_round_away_from_zero() {
        check(
            Unary::Round,
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
        for op in [Binary::Maximum, Binary::Minimum] {
            assert!(binary(op, f64::NAN, 1.0).is_nan());
            assert!(binary(op, 1.0, f64::NAN).is_nan());
        }
        assert_eq!(binary(Binary::Maximum, 1.0, 2.0), 2.0);
        assert_eq!(binary(Binary::Minimum, 1.0, 2.0), 1.0);
        assert!(binary(Binary::Maximum, -0.0, 0.0).is_sign_positive());
        assert!(binary(Binary::Minimum, 0.0, -0.0).is_sign_negative());
    }

    #[test]
    fn comparisons_with_nan_are_false_except_ne() {
        for op in [Binary::Eq, Binary::Lt, Binary::Le, Binary::Gt, Binary::Ge] {
            assert_eq!(binary(op, f64::NAN, f64::NAN), 0.0, "{op}");
        }
        assert_eq!(binary(Binary::Ne, f64::NAN, f64::NAN), 1.0);
    }
}
