//! Error bounds of composite ops: candle's formulas, evaluated in intervals that grow by one rounding a step.
//!
//! A formula such as `x / (1 + exp(-x))` rounds after each step, in the dtype itself on candle's CPU backend and in most
//! of its CUDA kernels. The bound is the hull of everything those steps may return: every step widens the interval by
//! the rounding of the format it is computed in, and every library call by the ULP of the worst library. Cancellation,
//! underflow and the overflow of an intermediate are in the result because they are in the formula. Fusing or widening
//! steps, as a contracted `a * b + c` or f32 math for bf16 does, only takes roundings away.

use parity_model::DType;
use parity_model::float::Format;
use parity_model::op::{Nn, Unary};

/// An interval.
#[derive(Clone, Copy, Debug)]
struct Iv {
    lo: f64,
    hi: f64,
}

impl Iv {
    fn point(x: f64) -> Iv {
        Iv { lo: x, hi: x }
    }

    fn hull(self, other: Iv) -> Iv {
        Iv {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }
}

/// A format to compute in.
#[derive(Clone, Copy)]
struct Steps {
    format: Format,
    /// Relative error of one rounding. Doubled for f64: the interval's own ends are f64 and round too.
    unit: f64,
    /// Absolute error of one rounding to a subnormal.
    tiny: f64,
    /// Relative error of a library call before it is rounded to the format: that of f32's for narrower formats.
    library: f64,
}

/// ULP of exp, tanh and erf in the worst library: see `limit`.
const LIBRARY_ULP: f64 = 2.0;
/// ULP of CUDA's `normcdf` and `normcdff` (CUDA C++ programming guide, table of standard functions).
const NORMCDF_ULP: f64 = 5.0;

impl Steps {
    fn new(format: Format) -> Steps {
        let own = if format.mantissa_bits == 52 { 2.0 } else { 1.0 };
        let unit = format.unit_roundoff() * own;
        let f32_unit = f64::from(f32::EPSILON) / 2.0;
        Steps {
            format,
            unit,
            tiny: format.min_subnormal() / 2.0,
            library: 2.0 * unit.min(f32_unit),
        }
    }

    /// Rounds outwards. A number past the largest may also come back as what the format makes of it, infinity or the
    /// largest number; that it may not is for whoever computes in a wider format.
    fn round(self, iv: Iv) -> Iv {
        let (lo, hi) = (iv.lo.min(iv.hi), iv.hi.max(iv.lo));
        let mut lo = lo - self.unit * finite(lo).abs() - self.tiny;
        let mut hi = hi + self.unit * finite(hi).abs() + self.tiny;
        let max = self.format.max;
        if self.format.infinities {
            lo = if lo < -max { f64::NEG_INFINITY } else { lo };
            hi = if hi > max { f64::INFINITY } else { hi };
        } else {
            (lo, hi) = (lo.min(max), hi.max(-max));
        }
        Iv { lo, hi }
    }

    fn add(self, a: Iv, b: Iv) -> Iv {
        self.round(Iv {
            lo: a.lo + b.lo,
            hi: a.hi + b.hi,
        })
    }

    fn mul(self, a: Iv, b: Iv) -> Iv {
        let product = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
        let ends = [
            product(a.lo, b.lo),
            product(a.lo, b.hi),
            product(a.hi, b.lo),
            product(a.hi, b.hi),
        ];
        let (lo, hi) = ends.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
            (l.min(*x), h.max(*x))
        });
        self.round(Iv { lo, hi })
    }

    /// For a divisor that does not hold zero; a divisor that overflowed gives zero.
    fn div(self, a: Iv, b: Iv) -> Iv {
        let quotient = |x: f64, y: f64| if x == 0.0 || y.is_infinite() { 0.0 } else { x / y };
        let ends = [
            quotient(a.lo, b.lo),
            quotient(a.lo, b.hi),
            quotient(a.hi, b.lo),
            quotient(a.hi, b.hi),
        ];
        let (lo, hi) = ends.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
            (l.min(*x), h.max(*x))
        });
        self.round(Iv { lo, hi })
    }

    /// A non-decreasing library function of `ulp`, rounded to the format.
    fn call(self, f: impl Fn(f64) -> f64, ulp: f64, x: Iv) -> Iv {
        let (lo, hi) = (f(x.lo), f(x.hi));
        let slack = self.library * ulp;
        self.round(Iv {
            lo: lo - slack * finite(lo).abs(),
            hi: hi + slack * finite(hi).abs(),
        })
    }

    /// A constant: itself or its rounding.
    fn constant(self, c: f64) -> Iv {
        self.round(Iv::point(c))
    }
}

/// Zero in the place of an infinity, which has no relative error.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

fn within_one(iv: Iv) -> Iv {
    Iv {
        lo: iv.lo.clamp(-1.0, 1.0),
        hi: iv.hi.clamp(-1.0, 1.0),
    }
}

const ONE: Iv = Iv { lo: 1.0, hi: 1.0 };
const HALF: Iv = Iv { lo: 0.5, hi: 0.5 };

/// How far candle's formula for `op` may take an output of `dtype` from `want`, in absolute terms; `None` for ops that
/// are not composites. `x` and `want` are numbers of the dtype.
pub(crate) fn composite(op: Unary, params: &[f64], dtype: DType, x: f64, want: f64) -> Option<f64> {
    let format = Format::of(dtype)?;
    let steps = Steps::new(format);
    let iv = match op {
        Unary::Gelu => gelu(steps, x),
        Unary::GeluErf => gelu_erf(steps, x),
        Unary::Silu => {
            let e = steps.call(core_math::exp, LIBRARY_ULP, Iv::point(-x));
            steps.div(Iv::point(x), steps.add(ONE, e))
        }
        Unary::Elu if x > 0.0 => Iv::point(x),
        Unary::Elu => {
            let e = steps.call(core_math::exp, LIBRARY_ULP, Iv::point(x));
            steps.mul(Iv::point(params[0]), steps.add(e, Iv::point(-1.0)))
        }
        Unary::Affine => steps.add(
            steps.mul(Iv::point(x), Iv::point(params[0])),
            Iv::point(params[1]),
        ),
        Unary::Exp
        | Unary::Log
        | Unary::Sin
        | Unary::Cos
        | Unary::Abs
        | Unary::Neg
        | Unary::Recip
        | Unary::Sqr
        | Unary::Sqrt
        | Unary::Erf
        | Unary::Relu
        | Unary::Tanh
        | Unary::Floor
        | Unary::Ceil
        | Unary::Round
        | Unary::Sign
        | Unary::Clamp
        | Unary::RoundTo
        | Unary::Powf => return None,
    };
    Some(distance(format, iv, want))
}

/// As [`composite`], for candle-nn's `1 / (1 + e^-x)`.
pub(crate) fn sigmoid(dtype: DType, x: f64, want: f64) -> Option<f64> {
    let format = Format::of(dtype)?;
    let steps = Steps::new(format);
    let e = steps.call(core_math::exp, LIBRARY_ULP, Iv::point(-x));
    Some(distance(format, steps.div(ONE, steps.add(ONE, e)), want))
}

/// As [`composite`], for candle's `exp(b * log(a))`.
pub(crate) fn pow(dtype: DType, a: f64, b: f64, want: f64) -> Option<f64> {
    let format = Format::of(dtype)?;
    let steps = Steps::new(format);
    let log = steps.call(core_math::log, LIBRARY_ULP, Iv::point(a));
    let iv = steps.call(core_math::exp, LIBRARY_ULP, steps.mul(Iv::point(b), log));
    Some(distance(format, iv, want))
}

/// As [`composite`], for candle-nn's activations.
pub(crate) fn activation(op: Nn, params: &[f64], dtype: DType, x: f64, want: f64) -> Option<f64> {
    let format = Format::of(dtype)?;
    let steps = Steps::new(format);
    let at = Iv::point(x);
    let iv = match op {
        Nn::HardSigmoid => {
            let moved = steps.add(at, Iv::point(3.0));
            // A quotient, or a product with the rounded sixth.
            let sixth = steps.mul(moved, steps.constant(1.0 / 6.0));
            let iv = steps.div(moved, Iv::point(6.0)).hull(sixth);
            Iv {
                lo: iv.lo.clamp(0.0, 1.0),
                hi: iv.hi.clamp(0.0, 1.0),
            }
        }
        Nn::LeakyRelu if x < 0.0 => steps.mul(at, Iv::point(params[0])),
        Nn::LeakyRelu => at,
        Nn::Mish => {
            let s = steps.add(ONE, steps.call(core_math::exp, LIBRARY_ULP, at));
            let log = steps.call(core_math::log, LIBRARY_ULP, s);
            let tanh = within_one(steps.call(core_math::tanh, LIBRARY_ULP, log));
            steps.mul(at, tanh)
        }
        Nn::Selu if x > 0.0 => steps.mul(at, Iv::point(params[1])),
        Nn::Selu => {
            let alpha = Iv::point(params[0]);
            let scaled = steps.mul(steps.call(core_math::exp, LIBRARY_ULP, at), alpha);
            let less = Iv {
                lo: -params[0],
                hi: -params[0],
            };
            steps.mul(steps.add(scaled, less), Iv::point(params[1]))
        }
        Nn::Sigmoid
        | Nn::Swiglu
        | Nn::SoftmaxLastDim
        | Nn::Softmax
        | Nn::LogSoftmax
        | Nn::RmsNorm
        | Nn::LayerNorm
        | Nn::Rope
        | Nn::RopeI
        | Nn::RopeThd => return None,
    };
    Some(distance(format, iv, want))
}

/// As [`composite`], for candle-nn's `silu(gate) * value`.
pub(crate) fn swiglu(dtype: DType, gate: f64, value: f64, want: f64) -> Option<f64> {
    let format = Format::of(dtype)?;
    let steps = Steps::new(format);
    let e = steps.call(core_math::exp, LIBRARY_ULP, Iv::point(-gate));
    let silu = steps.div(Iv::point(gate), steps.add(ONE, e));
    Some(distance(format, steps.mul(silu, Iv::point(value)), want))
}

/// How far the further end of an interval is from `want`. An infinite end is the first number past the largest: one step
/// further, not infinitely far.
fn distance(format: Format, iv: Iv, want: f64) -> f64 {
    let cap = |x: f64| x.clamp(-format.overflow(), format.overflow());
    let want = cap(want);
    (cap(iv.hi) - want).max(want - cap(iv.lo)).max(0.0)
}

/// `(0.5 x) (1 + tanh((c x) (1 + (0.044715 x) x)))`, as candle's CPU backend has it, and
/// `(0.5 x) (1 + tanh(c (x + 0.044715 ((x x) x))))`, as its kernels have it.
fn gelu(steps: Steps, x: f64) -> Iv {
    let x = Iv::point(x);
    let c = steps.constant((2.0 / std::f64::consts::PI).sqrt());
    let cubic = steps.constant(0.044_715);
    let cpu = steps.mul(steps.mul(c, x), steps.add(ONE, steps.mul(steps.mul(cubic, x), x)));
    let kernel = steps.mul(c, steps.add(x, steps.mul(cubic, steps.mul(steps.mul(x, x), x))));
    let finish = |inner: Iv| {
        let tanh = within_one(steps.call(core_math::tanh, LIBRARY_ULP, inner));
        steps.mul(steps.mul(HALF, x), steps.add(ONE, tanh))
    };
    finish(cpu).hull(finish(kernel))
}

/// `(erf(x / sqrt 2) + 1) 0.5 x`, computed in f32 at least and rounded to the dtype once, as candle's CPU backend has
/// it, and `x normcdf(x)`, both steps rounded to the dtype, as its kernels have it.
fn gelu_erf(steps: Steps, x: f64) -> Iv {
    let wide = match Format::of(DType::F32) {
        Some(single) if steps.format.mantissa_bits < single.mantissa_bits => Steps::new(single),
        Some(_) | None => steps,
    };
    let x = Iv::point(x);
    let erf = wide.mul(x, wide.constant(std::f64::consts::FRAC_1_SQRT_2));
    let erf = within_one(wide.call(core_math::erf, LIBRARY_ULP, erf));
    let cpu = steps.round(wide.mul(wide.mul(wide.add(erf, ONE), HALF), x));
    let normcdf = |x: f64| 0.5 * core_math::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    cpu.hull(steps.mul(x, steps.call(normcdf, NORMCDF_ULP, x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::unary;

    fn limit(op: Unary, params: &[f64], dtype: DType, x: f64) -> f64 {
        let want = Format::of(dtype).unwrap().round(unary(op, params, x));
        composite(op, params, dtype, x, want).unwrap()
    }

    /// candle's CPU formulas in f32, one rounding a step by construction.
    fn in_f32(op: Unary, x: f32) -> f32 {
        match op {
            Unary::Silu => x / (1.0 + (-x).exp()),
            Unary::Gelu => {
                let c = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2;
                0.5 * x * (1.0 + (c * x * (1.0 + 0.044_715 * x * x)).tanh())
            }
            _ => panic!("{op:?} is not a row of this test"),
        }
    }

    #[test]
    fn the_formulas_stay_inside_and_the_bound_is_not_slack() {
        for op in [Unary::Silu, Unary::Gelu] {
            let mut used: f64 = 0.0;
            for i in -4000..4000 {
                let x = i as f32 * 0.01 + 0.001;
                let want = f64::from(unary(op, &[], f64::from(x)) as f32);
                let error = (f64::from(in_f32(op, x)) - want).abs();
                let limit = composite(op, &[], DType::F32, f64::from(x), want).unwrap();
                assert!(error <= limit, "{op:?}({x}): {error:e} is outside {limit:e}");
                used = used.max(error / limit);
            }
            assert!(
                used > 0.1,
                "{op:?} uses {used} of its limit: the bound would let mistakes through"
            );
        }
    }

    #[test]
    fn away_from_cancellation_a_composite_is_good_to_a_few_ulp() {
        for (op, params) in [
            (Unary::Silu, &[][..]),
            (Unary::Gelu, &[]),
            (Unary::GeluErf, &[]),
            (Unary::Elu, &[1.0]),
        ] {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
                let format = Format::of(dtype).unwrap();
                for x in [0.5, 1.0, 2.0, 5.0] {
                    let ulps = limit(op, params, dtype, x) / format.ulp(unary(op, params, x));
                    // The interval of f64 steps has ends that round as well.
                    let few = if dtype == DType::F64 { 24.0 } else { 12.0 };
                    assert!(ulps <= few, "{op:?}({x}) of {dtype} is allowed {ulps} ULP");
                }
            }
        }
    }

    #[test]
    fn overflow_of_an_intermediate_allows_zero_and_nothing_beyond() {
        // e^12 is above f16's largest number, so silu(-12) is -12 / inf = -0 by the formula.
        let want = Format::of(DType::F16)
            .unwrap()
            .round(unary(Unary::Silu, &[], -12.0));
        let allowed = limit(Unary::Silu, &[], DType::F16, -12.0) / want.abs();
        assert!((1.0..1.01).contains(&allowed), "{allowed} of the value");
        let (near, far) = (
            limit(Unary::Silu, &[], DType::F16, -5.0),
            limit(Unary::Silu, &[], DType::F32, -12.0),
        );
        assert!(
            near < 1e-3 && far < 1e-10,
            "the control: without overflow the bound is tight: {near:e}, {far:e}"
        );
    }

    #[test]
    fn affine_is_one_rounding_of_the_product_and_one_of_the_sum() {
        // 3 * 1.25 - 3.75 cancels: only the product's rounding is left, as an absolute error.
        let unit = 2_f64.powi(-24);
        let limit = limit(Unary::Affine, &[3.0, -3.75], DType::F32, 1.25);
        assert!(
            limit > 0.9 * 3.75 * unit && limit < 1.1 * 3.75 * unit,
            "{limit:e}"
        );
    }
}
