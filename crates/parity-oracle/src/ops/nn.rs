//! candle-nn's fused ops, and softmax made of parts.
//!
//! The values come from double-double arithmetic for f64 and from f64 for the rest. The limits are running errors of the
//! formulas, to first order, with a factor for what first order leaves out: `u` is the roundoff of the accumulator (f32,
//! or f64 for f64), `t` that of the dtype, in which candle's CPU backend rounds after each step.

use parity_model::float::Format;
use parity_model::op::Nn;

use super::unary::silu;
use super::{Answer, layers};
use crate::Element;
use crate::dd::{Dd, exp, ln, sqrt};
use crate::dot::gamma;
use crate::expected::Call;
use crate::formula::exact::{Exact, maximum};
use crate::formula::interval::{Interval, Intervals};
use crate::formula::steps::accumulator_unit;
use crate::formula::{Arithmetic, Var};
use crate::limit::Limit;
use crate::numbers::{indices, ravel, reals};
use crate::program::Program;
use crate::tape::Tensor;

/// What first-order error terms are multiplied with: the terms of higher order, and limits that are themselves rounded.
const SAFETY: f64 = 1.25;
/// Relative error of an exponential in units of roundoff: 2 ULP, see `limit`.
const EXP_UNITS: f64 = 4.0;

pub(super) const SOURCE: &str =
    "first-order running error of the formula, sums in f32 (f64 for f64), each step rounded to the dtype";

/// 1/6.
const SIXTH: Dd = Dd {
    hi: 1.0 / 6.0,
    lo: 9.251_858_538_542_97e-18,
};

pub(crate) fn sigmoid<A: Arithmetic>(x: Var<'_, A>) -> Var<'_, A> {
    let y = 1.0 / (1.0 + (-x).exp());
    y.with_slope(x, || (1.0 - y) * y)
}

/// An activation of single elements. `p` are its parameters.
fn activation<'a, A: Arithmetic>(op: Nn, p: &[f64], x: Var<'a, A>) -> Var<'a, A> {
    match op {
        Nn::Sigmoid => sigmoid(x),
        // A quotient, or a product with the rounded sixth.
        Nn::HardSigmoid => {
            let share = ((x + 3.0) / 6.0).either((x + 3.0) * SIXTH);
            share.at_least(0.0).at_most(1.0)
        }
        Nn::LeakyRelu => x.rectified(|below| below * p[0]),
        Nn::Mish => x * (1.0 + x.exp()).ln().tanh(),
        Nn::Selu => x.above(0.0, x, x.exp() * p[0] - p[0]) * p[1],
        Nn::Swiglu
        | Nn::SoftmaxLastDim
        | Nn::Softmax
        | Nn::LogSoftmax
        | Nn::RmsNorm
        | Nn::LayerNorm
        | Nn::Rope
        | Nn::RopeI
        | Nn::RopeThd => panic!("{op} is not a function of single elements"),
    }
}

fn swiglu<'a, A: Arithmetic>(gate: Var<'a, A>, value: Var<'a, A>) -> Var<'a, A> {
    silu(gate) * value
}

/// x - max and e^(x - max) along `dim`.
fn exponentials(x: Tensor<'_>, dim: usize) -> [Tensor<'_>; 2] {
    let shifted = x - x.extreme(dim, false);
    [shifted, shifted.exp()]
}

/// e^(x - max) over its sum along `dim`.
pub(super) fn softmax(x: Tensor<'_>, dim: usize) -> Tensor<'_> {
    let [_, exponentials] = exponentials(x, dim);
    exponentials / exponentials.sum(&[dim])
}

/// x - max less the logarithm of the sum of its exponentials along `dim`.
pub(super) fn log_softmax(x: Tensor<'_>, dim: usize) -> Tensor<'_> {
    let [shifted, exponentials] = exponentials(x, dim);
    shifted - exponentials.sum(&[dim]).ln()
}

/// The op on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Nn) -> Tensor<'t> {
    let x = call.x(0);
    match op {
        Nn::Sigmoid | Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu => activation(op, call.params, x),
        Nn::Swiglu => {
            let (last, half) = (x.last(), x.shape()[x.last()] / 2);
            swiglu(x.narrowed(last, 0, half), x.narrowed(last, half, half))
        }
        Nn::SoftmaxLastDim => softmax(x, x.last()),
        Nn::Softmax => softmax(x, call.whole(0)),
        Nn::LogSoftmax => log_softmax(x, call.whole(0)),
        Nn::RmsNorm => layers::rms_norm(call),
        Nn::LayerNorm => layers::layer_norm(call),
        Nn::Rope => layers::rope(call),
        Nn::RopeI | Nn::RopeThd => panic!("`{op}` is not differentiated here"),
    }
}

pub(crate) fn answer(call: &Call<'_>, op: Nn) -> Answer {
    let nn = Context::new(call);
    let elements = match op {
        Nn::Sigmoid | Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu => nn.activation(op),
        Nn::Swiglu => nn.swiglu(),
        Nn::SoftmaxLastDim => nn.softmax(nn.x_shape().len() - 1, false),
        Nn::Softmax => nn.softmax(call.whole(0), false),
        Nn::LogSoftmax => nn.softmax(call.whole(0), true),
        Nn::RmsNorm => nn.rms_norm(),
        Nn::LayerNorm => nn.layer_norm(),
        Nn::Rope => nn.rope(2, |i, half| (i, i + half)),
        Nn::RopeI => nn.rope(2, |i, _| (2 * i, 2 * i + 1)),
        Nn::RopeThd => nn.rope(1, |i, half| (i, i + half)),
    };
    (elements, SOURCE.to_owned())
}

/// The elements of `log_sum_exp`: `rows` has the places of each one's terms.
pub(super) fn log_sums(call: &Call<'_>, rows: &[Vec<usize>]) -> Vec<Element> {
    let nn = Context::new(call);
    let row = |row: &Vec<usize>| nn.log_sum(&row.iter().map(|&i| nn.x[i]).collect::<Vec<_>>());
    rows.iter().map(row).collect()
}

/// The exponentials of a row.
struct Exponentials {
    max: f64,
    /// Each x - max, and its exponential.
    terms: Vec<(Dd, Dd)>,
    sum: Dd,
    /// Relative error of the sum.
    of_sum: f64,
}

struct Context<'a> {
    call: &'a Call<'a>,
    format: Format,
    x: Vec<f64>,
    /// Roundoff of the accumulator.
    u: f64,
    /// Roundoff of the dtype.
    t: f64,
}

impl<'a> Context<'a> {
    fn new(call: &'a Call<'a>) -> Context<'a> {
        let format = Format::of(call.dtype).unwrap_or_else(|| panic!("a fused op of {}", call.dtype));
        Context {
            call,
            format,
            x: reals(&call.args[0]),
            u: accumulator_unit(call.dtype),
            t: format.unit_roundoff(),
        }
    }

    fn x_shape(&self) -> &[usize] {
        &self.call.args[0].shape
    }

    /// `want` with room for the error `abs` before, and half an ulp for, the last rounding; the expected value itself is
    /// half an ulp from the exact one.
    fn element(&self, want: f64, abs: f64) -> Element {
        let abs = if abs.is_finite() { abs * SAFETY } else { 0.0 };
        Element {
            bits: self.format.encode(want),
            limit: Limit {
                ulp: 1.0,
                abs: abs + self.format.min_subnormal(),
            },
        }
    }

    /// `want` may be anywhere in the interval of its formula.
    fn of_formula(&self, want: f64, formula: Interval) -> Element {
        let bits = self.format.encode(want);
        let abs = formula.distance(self.format, self.format.decode(bits));
        Element {
            bits,
            limit: Limit { ulp: 0.0, abs },
        }
    }

    fn activation(&self, op: Nn) -> Vec<Element> {
        // A slope becomes a number of the dtype; candle-nn takes the others as f32.
        let params = self.call.case.params.iter();
        let params: Vec<f64> = params.map(|p| self.format.round(*p)).collect();
        let (wide, intervals) = (Exact(self.format), Intervals::of(self.call.dtype));
        let element = |&x: &f64| {
            let interval = activation(op, &params, Var::new(&intervals, Interval::point(x)));
            let want = activation(op, &params, Var::new(&wide, x.into()));
            self.of_formula(want.number.value(), interval.number)
        };
        self.x.iter().map(element).collect()
    }

    fn swiglu(&self) -> Vec<Element> {
        let width = self.x_shape().last().copied().unwrap_or(0);
        let (wide, intervals) = (Exact(self.format), Intervals::of(self.call.dtype));
        let element = |(&gate, &value): (&f64, &f64)| {
            let want = swiglu(Var::new(&wide, gate.into()), Var::new(&wide, value.into()));
            let [gate, value] = [gate, value].map(|x| Var::new(&intervals, Interval::point(x)));
            self.of_formula(want.number.value(), swiglu(gate, value).number)
        };
        let row = |row: &[f64]| -> Vec<Element> {
            let (gate, value) = row.split_at(width / 2);
            gate.iter().zip(value).map(element).collect()
        };
        self.x.chunks(width.max(1)).flat_map(row).collect()
    }

    fn sum(&self, terms: impl Iterator<Item = Dd>) -> Dd {
        match self.call.sums.accumulator(self.call.dtype) {
            None => terms.fold(Dd::from(0.0), |sum, term| sum + term),
            Some(narrow) => terms.fold(0.0, |sum, term| narrow.round(sum + term.hi)).into(),
        }
    }

    /// The places of each row along `dim`.
    fn rows(&self, dim: usize) -> Vec<Vec<usize>> {
        let shape = self.x_shape();
        let mut rest = shape.to_vec();
        rest[dim] = 1;
        let row = |mut index: Vec<usize>| {
            let place = |i: usize| {
                index[dim] = i;
                ravel(&index, shape)
            };
            (0..shape[dim]).map(place).collect()
        };
        indices(&rest).map(row).collect()
    }

    fn softmax(&self, dim: usize, log: bool) -> Vec<Element> {
        let mut elements = vec![self.element(0.0, 0.0); self.x.len()];
        for row in self.rows(dim) {
            let row_x: Vec<f64> = row.iter().map(|&i| self.x[i]).collect();
            for (&place, element) in row.iter().zip(self.softmax_row(&row_x, log)) {
                elements[place] = element;
            }
        }
        elements
    }

    /// Relative error of the exponential of `d`. Every step may be rounded to the dtype: d to t |d|, which its exponential
    /// shows as a relative error.
    fn of_exponential(&self, d: Dd) -> f64 {
        self.t * (d.hi.abs() + 1.0) + self.u * EXP_UNITS
    }

    /// The exponentials of a row, unless its maximum is not finite: there is NaN, +inf - +inf, or only -inf.
    fn exponentials(&self, x: &[f64]) -> Result<Exponentials, f64> {
        let max = x.iter().copied().fold(f64::NEG_INFINITY, maximum);
        if !max.is_finite() {
            return Err(max);
        }
        let shifted: Vec<Dd> = x.iter().map(|&x| difference(x, max)).collect();
        let terms: Vec<(Dd, Dd)> = shifted.iter().map(|d| (*d, exp(*d))).collect();
        let sum = self.sum(terms.iter().map(|(_, e)| *e));
        let mass = |(d, e): &(Dd, Dd)| {
            if e.hi == 0.0 {
                0.0
            } else {
                self.of_exponential(*d) * e.hi
            }
        };
        let spread = terms.iter().map(mass).sum::<f64>() / sum.hi;
        // A sum above the dtype's range becomes its largest number in a dtype without infinities.
        let lost = self.format.lost_to_overflow(sum.hi * (1.0 + spread)) / self.format.max;
        Ok(Exponentials {
            max,
            terms,
            sum,
            of_sum: spread + gamma(x.len(), self.u) + self.t + lost,
        })
    }

    fn softmax_row(&self, x: &[f64], log: bool) -> Vec<Element> {
        let Ok(row) = self.exponentials(x) else {
            return vec![self.element(f64::NAN, 0.0); x.len()];
        };
        let element = |&(d, e): &(Dd, Dd)| {
            if log {
                let log_sum = ln(row.sum);
                // The sum of a double-double with an infinite head is NaN.
                let want = if d.hi.is_finite() { (d + -log_sum).hi } else { d.hi };
                let of_log = (EXP_UNITS * self.u + 2.0 * self.t) * log_sum.hi.abs();
                let abs = self.t * d.hi.abs() + row.of_sum + of_log;
                return self.element(want, if d.hi.is_finite() { abs } else { 0.0 });
            }
            if e.hi == 0.0 {
                return self.element(0.0, 0.0);
            }
            let want = (e / row.sum).hi;
            self.element(want, want * (self.of_exponential(d) + row.of_sum + self.t))
        };
        row.terms.iter().map(element).collect()
    }

    /// max + log sum e^(x - max), by the same steps.
    fn log_sum(&self, x: &[f64]) -> Element {
        match self.exponentials(x) {
            Err(max) => self.element(max, 0.0),
            Ok(row) => {
                let log_sum = ln(row.sum);
                let abs = row.of_sum + (EXP_UNITS * self.u + self.t) * log_sum.hi.abs();
                self.element((log_sum + row.max.into()).hi, abs)
            }
        }
    }

    fn weights(&self, arg: usize) -> Vec<f64> {
        reals(&self.call.args[arg])
    }

    /// candle-nn takes `eps` as an f32.
    fn eps(&self) -> f64 {
        f64::from(self.call.case.params[0] as f32)
    }

    fn rms_norm(&self) -> Vec<Element> {
        let alpha = self.weights(1);
        let eps = self.eps();
        let width = alpha.len();
        let mut elements = Vec::with_capacity(self.x.len());
        for row in self.x.chunks(width) {
            let squares = self.sum(row.iter().map(|&x| Dd::from(x) * x.into()));
            let mean = squares / (width as f64).into() + eps.into();
            let root = sqrt(mean);
            // A sum of squares has no cancellation; the root halves its relative error. The root, the quotient and the
            // product are each rounded to the dtype.
            let relative = gamma(width + 2, self.u) / 2.0 + 4.0 * self.u + 3.0 * self.t;
            elements.extend(row.iter().zip(&alpha).map(|(&x, &alpha)| {
                let want = (Dd::from(x) * alpha.into() / root).hi;
                self.element(want, want.abs() * relative)
            }));
        }
        elements
    }

    fn layer_norm(&self) -> Vec<Element> {
        let (alpha, beta) = (self.weights(1), self.weights(2));
        let eps = self.eps();
        let width = alpha.len();
        let n = Dd::from(width as f64);
        let mut elements = Vec::with_capacity(self.x.len());
        for row in self.x.chunks(width) {
            let mean = self.sum(row.iter().map(|&x| x.into())) / n;
            let deviation = |x: f64| Dd::from(x) + -mean;
            let variance = self.sum(row.iter().map(|&x| deviation(x) * deviation(x))) / n;
            let root = sqrt(variance + eps.into());
            let magnitude = row.iter().map(|x| x.abs()).sum::<f64>() / width as f64;
            let square = row.iter().map(|x| x * x).sum::<f64>() / width as f64;
            let of_mean = gamma(width + 1, self.u) * magnitude;
            // candle's CPU and CUDA backends take the variance as E[x^2] - E[x]^2, which cancels.
            let of_variance =
                (gamma(width + 2, self.u) * square + 2.0 * magnitude * of_mean) / (2.0 * root.hi * root.hi);
            elements.extend(
                row.iter()
                    .zip(alpha.iter().zip(&beta))
                    .map(|(&x, (&alpha, &beta))| {
                        let d = deviation(x);
                        let scaled = (d * alpha.into() / root).hi;
                        let want = (d * alpha.into() / root + beta.into()).hi;
                        let of_deviation = (of_mean + self.t * d.hi.abs()) * (alpha / root.hi).abs();
                        let relative = of_variance + 4.0 * self.u + 3.0 * self.t;
                        self.element(want, of_deviation + scaled.abs() * relative + self.t * beta.abs())
                    }),
            );
        }
        elements
    }

    /// Rotates pairs of the last dimension by the angles of the step, which dimension `steps` counts.
    fn rope(&self, steps: usize, pair: impl Fn(usize, usize) -> (usize, usize)) -> Vec<Element> {
        let (cos, sin) = (self.weights(1), self.weights(2));
        let shape = self.x_shape();
        let half = shape[3] / 2;
        let mut elements = vec![self.element(0.0, 0.0); self.x.len()];
        for index in indices(&[shape[0], shape[1], shape[2], half]) {
            let place = |i: usize| ravel(&[index[0], index[1], index[2], i], shape);
            // Angles of three dimensions belong to the batch. There may be more of them than positions.
            let angle = |arg: usize| match *self.call.args[arg].shape {
                [_, positions, _] => (index[0] * positions + index[steps]) * half + index[3],
                _ => index[steps] * half + index[3],
            };
            let (first, second) = pair(index[3], half);
            let (first, second) = (place(first), place(second));
            let (a, b, c, s) = (self.x[first], self.x[second], cos[angle(1)], sin[angle(2)]);
            // Two products and their sum, each rounded to the dtype.
            let rotated = |(p, c): (f64, f64), (q, s): (f64, f64)| {
                let want = (Dd::from(p) * c.into() + Dd::from(q) * s.into()).hi;
                self.element(want, self.t * ((p * c).abs() + (q * s).abs()))
            };
            elements[first] = rotated((a, c), (-b, s));
            elements[second] = rotated((a, s), (b, c));
        }
        elements
    }
}

/// a - b, which a double-double of infinities would not give.
fn difference(a: f64, b: f64) -> Dd {
    let plain = a - b;
    if plain.is_finite() {
        Dd::from(a) + Dd::from(-b)
    } else {
        plain.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(id: &str) -> Vec<f64> {
        let case: parity_model::Case = id.parse().unwrap();
        let expected = crate::expected(&case, &case.inputs(0));
        let format = Format::of(expected.dtype).unwrap();
        expected.elements.iter().map(|e| format.decode(e.bits)).collect()
    }

    #[test]
    fn softmax_rows_sum_to_one_and_logarithms_agree() {
        let soft = values("nn/softmax(1):f64:[3,7]:contiguous:uniform(-5,5)");
        for row in soft.chunks(7) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        }
        let last = values("nn/softmax_last_dim:f64:[3,7]:contiguous:uniform(-5,5)");
        assert!(last.iter().all(|p| (0.0..1.0).contains(p)));
        let log = values("nn/log_softmax(0):f64:[7,3]:contiguous:uniform(-5,5)");
        for column in 0..3 {
            let sum: f64 = (0..7).map(|i| log[i * 3 + column].exp()).sum();
            assert!((sum - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn the_logarithm_of_the_softmax_of_minus_infinity_is_minus_infinity() {
        let case: parity_model::Case = "nn/log_softmax(0):f32:[3]:contiguous:special".parse().unwrap();
        let mut inputs = case.inputs(0);
        let row = [0_f32, f32::NEG_INFINITY, 0.0];
        inputs[0].bytes = row.iter().flat_map(|x| x.to_le_bytes()).collect();
        let log = crate::expected(&case, &inputs).elements;
        let log: Vec<f32> = log.iter().map(|e| f32::from_bits(e.bits as u32)).collect();
        // Half of the mass each.
        assert_eq!(
            log,
            [
                -std::f32::consts::LN_2,
                f32::NEG_INFINITY,
                -std::f32::consts::LN_2
            ]
        );
    }

    #[test]
    fn layer_norm_with_unit_weights_has_mean_zero_and_unit_variance() {
        let case: parity_model::Case =
            "nn/layer_norm(0):f64:[2,9],[9],[9]:contiguous,scalar,scalar:uniform(1,2)"
                .parse()
                .unwrap();
        let mut inputs = case.inputs(0);
        inputs[1].bytes = 1_f64.to_le_bytes().to_vec();
        inputs[2].bytes = 0_f64.to_le_bytes().to_vec();
        let expected = crate::expected(&case, &inputs);
        let y: Vec<f64> = expected.elements.iter().map(|e| f64::from_bits(e.bits)).collect();
        for row in y.chunks(9) {
            assert!(row.iter().sum::<f64>().abs() < 1e-13);
            assert!((row.iter().map(|y| y * y).sum::<f64>() - 9.0).abs() < 1e-13);
        }
    }

    #[test]
    fn rope_turns_and_keeps_lengths() {
        let case: parity_model::Case =
            "nn/rope:f64:[1,1,2,4],[2,2],[2,2]:contiguous,contiguous,contiguous:uniform(-1,1)"
                .parse()
                .unwrap();
        let mut inputs = case.inputs(0);
        let turn = |f: fn(f64) -> f64| {
            [0.1, 0.2, 0.3, 0.4]
                .iter()
                .flat_map(|a| f(*a).to_le_bytes())
                .collect()
        };
        inputs[1].bytes = turn(f64::cos);
        inputs[2].bytes = turn(f64::sin);
        let x = reals(&inputs[0]);
        let y: Vec<f64> = crate::expected(&case, &inputs)
            .elements
            .iter()
            .map(|e| f64::from_bits(e.bits))
            .collect();
        assert!((y[0] - (x[0] * 0.1_f64.cos() - x[2] * 0.1_f64.sin())).abs() < 1e-15);
        assert!((y[0].hypot(y[2]) - x[0].hypot(x[2])).abs() < 1e-15);
        assert_ne!(y, x);
    }
}
