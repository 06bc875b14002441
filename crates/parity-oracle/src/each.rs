//! Functions of one element and their derivatives, as formulas with a running error.
//!
//! The formulas are candle's, with the constants of mathematics in the place of truncated ones; so the midpoints are the
//! mathematical values, and the radii what rounding after each step may do.

use parity_model::op::Unary;

use crate::ball::{Ball, Steps};
use crate::dd::Dd;

/// A function of one element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Each {
    /// An op of the table, with its parameters.
    Unary(Unary, Vec<f64>),
    /// 1 / (1 + e^-x), a fused op of candle-nn's.
    Sigmoid,
    /// The identity; the numbers are rounded to the format that the layer computes in.
    Rounded,
}

/// sqrt(2/pi).
const GELU: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
/// gelu's cubic coefficient.
const CUBIC: f64 = 0.044_715;
const HALF: f64 = 0.5;

impl Each {
    /// The function at `x`.
    pub(crate) fn value(&self, s: Steps, x: Ball) -> Ball {
        match self {
            Each::Unary(op, params) => unary(*op, params, s, x),
            Each::Sigmoid => sigmoid(s, x),
            Each::Rounded => s.round(x),
        }
    }

    /// `g` times the derivative at `x`, where the function is `y`.
    pub(crate) fn gradient(&self, s: Steps, x: Ball, y: Ball, g: Ball) -> Ball {
        match self {
            Each::Unary(op, params) => unary_gradient(*op, params, s, [x, y, g]),
            Each::Sigmoid => s.mul(g, s.mul(s.sub(Ball::ONE, y), y)),
            Each::Rounded => s.round(g),
        }
    }
}

fn sigmoid(s: Steps, x: Ball) -> Ball {
    s.div(Ball::ONE, s.add(s.exp(x.negated()), Ball::ONE))
}

/// A ball around `f` of the midpoint, for functions that move numbers apart by no more than they were.
fn contracted(x: Ball, f: impl Fn(f64) -> f64) -> Ball {
    let same = x.mid.hi == f(x.mid.hi);
    let mid = if same { x.mid } else { f(x.mid.hi).into() };
    Ball { mid, rad: x.rad }
}

fn absolute(x: Ball) -> Ball {
    if x.mid.hi < 0.0 { x.negated() } else { x }
}

fn unary(op: Unary, params: &[f64], s: Steps, x: Ball) -> Ball {
    match op {
        Unary::Exp => s.exp(x),
        Unary::Log => s.ln(x),
        Unary::Sin => s.sin(x),
        Unary::Cos => s.cos(x),
        Unary::Tanh => s.tanh(x),
        Unary::Erf => s.erf(x),
        Unary::Powf => s.powf(x, params[0]),
        Unary::Abs => absolute(x),
        Unary::Neg => x.negated(),
        Unary::Recip => s.div(Ball::ONE, x),
        Unary::Sqr => s.mul(x, x),
        Unary::Sqrt => s.sqrt(x),
        Unary::Relu => contracted(x, |x| x.max(0.0)),
        Unary::Floor => contracted(x, f64::floor),
        Unary::Ceil => contracted(x, f64::ceil),
        Unary::Round => contracted(x, f64::round),
        Unary::Sign => contracted(x, |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
        Unary::Gelu => {
            let square = s.mul(s.scaled(x, CUBIC), x);
            let inner = s.mul(s.scaled(x, GELU), s.add(Ball::ONE, square));
            s.mul(s.scaled(x, HALF), s.add(Ball::ONE, s.tanh(inner)))
        }
        Unary::GeluErf => {
            let erf = s.erf(s.scaled(x, std::f64::consts::FRAC_1_SQRT_2));
            s.mul(s.scaled(x, HALF), s.add(Ball::ONE, erf))
        }
        Unary::Silu => s.div(x, s.add(Ball::ONE, s.exp(x.negated()))),
        Unary::Affine => s.shifted(s.scaled(x, params[0]), params[1]),
        Unary::Clamp => contracted(x, |x| x.max(params[0]).min(params[1])),
        Unary::RoundTo => {
            let whole = contracted(s.scaled(x, 10_f64.powi(params[0] as i32)), f64::round);
            s.scaled(whole, 10_f64.powi(-params[0] as i32))
        }
        Unary::Elu if x.mid.hi > 0.0 => x,
        Unary::Elu => s.scaled(s.sub(s.exp(x), Ball::ONE), params[0]),
    }
}

/// Every number between 0 and `g`: what a kink leaves open.
fn between_zero_and(g: Ball) -> Ball {
    let half = Dd::from(HALF) * g.mid;
    Ball {
        mid: half,
        rad: half.hi.abs() + g.rad,
    }
}

fn unary_gradient(op: Unary, params: &[f64], s: Steps, [x, y, g]: [Ball; 3]) -> Ball {
    match op {
        Unary::Exp => s.mul(g, y),
        Unary::Log => s.div(g, x),
        Unary::Sin => s.mul(g, s.cos(x)),
        Unary::Cos => s.mul(g, s.sin(x)).negated(),
        Unary::Tanh => s.mul(g, s.sub(s.mul(y, y), Ball::ONE)).negated(),
        Unary::Erf => {
            let bell = s.exp(s.mul(x, x).negated());
            s.mul(g, s.scaled(bell, std::f64::consts::FRAC_2_SQRT_PI))
        }
        Unary::Powf => s.scaled(s.mul(g, s.powf(x, params[0] - 1.0)), params[0]),
        Unary::Abs if x.mid.hi == 0.0 => Ball::ZERO.widened(g.mid.hi.abs() + g.rad),
        Unary::Abs if x.mid.hi < 0.0 => g.negated(),
        Unary::Abs => g,
        Unary::Neg => g.negated(),
        Unary::Recip => s.div(g, s.mul(x, x)).negated(),
        Unary::Sqr => s.scaled(s.mul(x, g), 2.0),
        Unary::Sqrt => s.scaled(s.div(g, y), HALF),
        Unary::Relu if x.mid.hi == 0.0 => between_zero_and(g),
        Unary::Relu if x.mid.hi < 0.0 => Ball::ZERO,
        Unary::Relu => g,
        // Constant but for the jumps.
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Sign | Unary::RoundTo => Ball::ZERO,
        Unary::Clamp if params.contains(&x.mid.hi) => between_zero_and(g),
        Unary::Clamp if x.mid.hi < params[0] || x.mid.hi > params[1] => Ball::ZERO,
        Unary::Clamp => g,
        Unary::Gelu => s.mul(g, gelu_slope(s, x)),
        Unary::GeluErf => s.mul(g, gelu_erf_slope(s, x)),
        Unary::Silu => {
            let sigmoid = sigmoid(s, x);
            s.mul(g, s.add(s.mul(sigmoid, s.sub(Ball::ONE, y)), y))
        }
        Unary::Affine => s.scaled(g, params[0]),
        Unary::Elu if x.mid.hi > 0.0 => g,
        // alpha e^x is alpha more than the function itself.
        Unary::Elu => s.mul(g, s.shifted(y, params[0])),
    }
}

/// 0.5 tanh u + 0.5 x u' sech^2 u + 0.5 for u = sqrt(2/pi) (x + 0.044715 x^3).
fn gelu_slope(s: Steps, x: Ball) -> Ball {
    let cube = s.power(x, 3);
    let inner = s.add(s.scaled(cube, GELU * CUBIC), s.scaled(x, GELU));
    let tanh = s.tanh(inner);
    let inner_slope = s.add(
        s.scaled(cube, HALF * 3.0 * GELU * CUBIC),
        s.scaled(x, HALF * GELU),
    );
    let bell = s.mul(inner_slope, s.sub(Ball::ONE, s.power(tanh, 2)));
    s.shifted(s.add(s.scaled(tanh, HALF), bell), HALF)
}

/// 0.5 + x e^(-x^2 / 2) / sqrt(2 pi) + 0.5 erf(x / sqrt 2).
fn gelu_erf_slope(s: Steps, x: Ball) -> Ball {
    let bell = s.exp(s.scaled(s.mul(x, x), -HALF));
    let bell = s.mul(s.scaled(bell, HALF * GELU), x);
    let erf = s.erf(s.scaled(x, std::f64::consts::FRAC_1_SQRT_2));
    s.add(s.shifted(bell, HALF), s.scaled(erf, HALF))
}

#[cfg(test)]
mod tests {
    use parity_model::DType;

    use super::*;
    use crate::arithmetic::Arithmetic;

    /// Every function, with parameters where it takes some.
    fn functions() -> Vec<Each> {
        let plain = [
            Unary::Exp,
            Unary::Log,
            Unary::Sin,
            Unary::Cos,
            Unary::Tanh,
            Unary::Erf,
            Unary::Abs,
            Unary::Neg,
            Unary::Recip,
            Unary::Sqr,
            Unary::Sqrt,
            Unary::Relu,
            Unary::Floor,
            Unary::Gelu,
            Unary::GeluErf,
            Unary::Silu,
        ];
        let with = [
            (Unary::Powf, vec![2.5]),
            (Unary::Affine, vec![-3.0, 2.0]),
            (Unary::Elu, vec![0.75]),
            (Unary::Clamp, vec![-1.25, 1.5]),
        ];
        let plain = plain.into_iter().map(|op| Each::Unary(op, vec![]));
        let with = with.into_iter().map(|(op, params)| Each::Unary(op, params));
        plain.chain(with).chain([Each::Sigmoid, Each::Rounded]).collect()
    }

    fn positive_only(each: &Each) -> bool {
        matches!(each, Each::Unary(Unary::Log | Unary::Sqrt | Unary::Powf, _))
    }

    #[test]
    fn derivatives_are_the_slopes_of_the_functions() {
        let steps = Steps::of(DType::F64, Arithmetic::Right);
        for each in functions() {
            let value = |x: f64| each.value(steps, Ball::exact(x)).mid;
            for i in 0..40 {
                let x = 0.071 + 0.083 * f64::from(i);
                let x = if i % 2 == 1 && !positive_only(&each) {
                    -x
                } else {
                    x
                };
                // Central differences of the oracle's own values: good to h^2 and to their own rounding over h.
                let h = 2_f64.powi(-18);
                let slope = ((value(x + h) + -value(x - h)) / (2.0 * h).into()).hi;
                let ball = each.gradient(
                    steps,
                    Ball::exact(x),
                    each.value(steps, Ball::exact(x)),
                    Ball::exact(3.0),
                );
                let error = (ball.mid.hi - 3.0 * slope).abs();
                assert!(
                    error < 1e-6 * (1.0 + slope.abs()),
                    "{each:?} at {x}: {} and {slope}",
                    ball.mid.hi
                );
                assert!(
                    ball.rad < 1e-12 * (1.0 + slope.abs()),
                    "{each:?} at {x}: {:e}",
                    ball.rad
                );
            }
        }
    }

    #[test]
    fn values_are_those_of_the_table() {
        let steps = Steps::of(DType::F64, Arithmetic::Right);
        for each in functions() {
            let Each::Unary(op, params) = &each else { continue };
            for i in 1..30 {
                let x = 0.13 * f64::from(i);
                let (want, got) = (
                    crate::real::unary(*op, params, x),
                    each.value(steps, Ball::exact(x)),
                );
                let error = (want - got.mid.hi).abs();
                assert!(
                    error <= 1e-15 * want.abs().max(1e-3),
                    "{op} of {x}: {want:e} and {:e}",
                    got.mid.hi
                );
            }
        }
    }

    #[test]
    fn a_kink_leaves_every_slope_between_its_sides_open() {
        let steps = Steps::of(DType::F32, Arithmetic::Right);
        let at_zero = |op| {
            let each = Each::Unary(op, vec![]);
            let ball = each.gradient(steps, Ball::ZERO, Ball::ZERO, Ball::exact(2.0));
            (ball.mid.hi - ball.rad, ball.mid.hi + ball.rad)
        };
        assert_eq!(at_zero(Unary::Relu), (0.0, 2.0));
        assert_eq!(at_zero(Unary::Abs), (-2.0, 2.0));
    }
}
