//! Functions of one element: the formula of each.

use std::cmp::Ordering;

use parity_model::DType;
use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::{Binary, Unary};

use super::nn::sigmoid;
use super::{Answer, binary, exact};
use crate::Element;
use crate::dd::Dd;
use crate::expected::Call;
use crate::formula::exact::Exact;
use crate::formula::integer::Integers;
use crate::formula::interval::{Interval, Intervals};
use crate::formula::{Arithmetic, Var};
use crate::limit;

/// sqrt(2/pi).
const GELU: Dd = Dd {
    hi: 0.797_884_560_802_865_4,
    lo: -4.984_654_404_555_46e-17,
};
/// gelu's cubic coefficient, 0.044715.
const CUBIC: Dd = Dd {
    hi: 0.044_715,
    lo: 2.196_021_142_708_559_5e-18,
};
/// 1/sqrt 2.
const FRAC_1_SQRT_2: Dd = Dd {
    hi: std::f64::consts::FRAC_1_SQRT_2,
    lo: -4.833_646_656_726_457e-17,
};
/// sqrt(2/pi) as the constants of a derivative's formula are.
const GELU_F64: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

/// The op on `x`. `p` are its parameters.
pub(crate) fn formula<'a, A: Arithmetic>(op: Unary, p: &[f64], x: Var<'a, A>) -> Var<'a, A> {
    match op {
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => x.tanh(),
        Unary::Erf => x.erf(),
        Unary::Powf => x.powf(p[0]),
        Unary::Abs => x.abs(),
        Unary::Neg => -x,
        Unary::Recip => 1.0 / x,
        Unary::Sqr => x.sqr(),
        Unary::Sqrt => x.sqrt(),
        Unary::Relu => x.at_least(0.0),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round(),
        Unary::Sign => x.sign(),
        Unary::Affine => x * p[0] + p[1],
        Unary::Clamp => x.at_least(p[0]).at_most(p[1]),
        Unary::RoundTo => round_to(x, p[0]),
        Unary::Gelu => gelu(x),
        Unary::GeluErf => gelu_erf(x),
        Unary::Silu => silu(x),
        Unary::Elu => elu(x, p[0]),
        Unary::DivNumber => x.wide(|x| x / p[0]),
        Unary::EqNumber => binary::formula(Binary::Eq, x, x.constant(p[0])),
        Unary::NeNumber => binary::formula(Binary::Ne, x, x.constant(p[0])),
        Unary::LtNumber => binary::formula(Binary::Lt, x, x.constant(p[0])),
        Unary::LeNumber => binary::formula(Binary::Le, x, x.constant(p[0])),
        Unary::GtNumber => binary::formula(Binary::Gt, x, x.constant(p[0])),
        Unary::GeNumber => binary::formula(Binary::Ge, x, x.constant(p[0])),
    }
}

/// x to so many decimals; both powers and both products are numbers of the dtype.
fn round_to<A: Arithmetic>(x: Var<'_, A>, decimals: f64) -> Var<'_, A> {
    let power = 10_f64.powi(decimals as i32);
    let (up, down) = (x.constant(power).held(), x.constant(1.0 / power).held());
    ((x * up).held().round() * down).held()
}

/// As candle's CPU backend and as its kernels have it.
fn gelu<'a, A: Arithmetic>(x: Var<'a, A>) -> Var<'a, A> {
    let of = |inner: Var<'a, A>| x * 0.5 * (1.0 + inner.tanh());
    let cpu = of(x * GELU * (1.0 + x * CUBIC * x));
    let kernel = of((x + x * x * x * CUBIC) * GELU);
    cpu.either(kernel).with_slope(x, || {
        let cube = x.power(3);
        let tanh = (cube * (GELU_F64 * CUBIC.hi) + x * GELU_F64).tanh();
        let inner = cube * (0.5 * 3.0 * GELU_F64 * CUBIC.hi) + x * (0.5 * GELU_F64);
        tanh * 0.5 + inner * (1.0 - tanh.power(2)) + 0.5
    })
}

/// As candle's CPU backend has it, in f32 at least, and as its kernels have it, x normcdf(x).
fn gelu_erf<A: Arithmetic>(x: Var<'_, A>) -> Var<'_, A> {
    // The sum is a number of f64 before the product: recordings hold answers that were made so.
    let cpu = x.wide(|x| ((x * FRAC_1_SQRT_2).erf() + 1.0).held() * (x * 0.5));
    let kernel = x * x.normcdf();
    cpu.either(kernel).with_slope(x, || {
        let bell = (x * x * -0.5).exp() * (0.5 * GELU_F64) * x;
        (bell + 0.5) + (x * FRAC_1_SQRT_2.hi).erf() * 0.5
    })
}

pub(crate) fn silu<A: Arithmetic>(x: Var<'_, A>) -> Var<'_, A> {
    let y = x / (1.0 + (-x).exp());
    y.with_slope(x, || sigmoid(x) * (1.0 - y) + y)
}

fn elu<A: Arithmetic>(x: Var<'_, A>, alpha: f64) -> Var<'_, A> {
    let y = x.above(0.0, x, (x.exp() - 1.0) * alpha);
    y.with_slope(x, || x.above(0.0, x.constant(1.0), y + alpha))
}

/// -1, 0 or 1, which is to 0 as an integer is to a number. The number may lie between two integers, or beyond those of the dtype.
fn order(x: i64, number: f64) -> i64 {
    let floor = number.floor();
    let above = i64::from(floor < number);
    match i128::from(x).cmp(&(floor as i128)) {
        Ordering::Less => -1,
        Ordering::Equal => -above,
        Ordering::Greater => 1,
    }
}

/// The parameters as the op sees them: numbers of its dtype.
pub(crate) fn parameters(params: &[f64], format: Format) -> Vec<f64> {
    params.iter().map(|p| format.round(*p)).collect()
}

pub(crate) fn answer(call: &Call<'_>, op: Unary) -> Answer {
    let (case, x) = (call.case, &call.args[0]);
    let Some(format) = Format::of(case.dtype) else {
        let integers = Integers(case.dtype);
        let compares = matches!(
            op,
            Unary::EqNumber
                | Unary::NeNumber
                | Unary::LtNumber
                | Unary::LeNumber
                | Unary::GtNumber
                | Unary::GeNumber
        );
        let element = |i| {
            let x = decode_int(case.dtype, x.bits(i));
            let (x, params) = match compares {
                true => (order(x, case.params[0]), &[0.0][..]),
                false => (x, &case.params[..]),
            };
            exact(encode_int(
                call.dtype,
                formula(op, params, Var::new(&integers, x)).number,
            ))
        };
        return ((0..x.len()).map(element).collect(), limit::INTEGERS.to_owned());
    };
    // The number of a division is one of f32 where the dtype is narrower.
    let wide = Format::of(DType::F32)
        .filter(|wide| op == Unary::DivNumber && wide.mantissa_bits > format.mantissa_bits);
    let params = parameters(&case.params, wide.unwrap_or(format));
    let (wide, intervals) = (Exact(format), Intervals::of(case.dtype));
    let interval = |x: f64| formula(op, &params, Var::new(&intervals, Interval::point(x))).number;
    let element = |i| {
        let x = format.decode(x.bits(i));
        let value = formula(op, &params, Var::new(&wide, x.into())).number.value();
        if call.dtype != case.dtype {
            return exact(value as u64);
        }
        let bits = format.encode(value);
        Element {
            bits,
            limit: limit::of(interval(x), case.dtype, format.decode(bits)),
        }
    };
    // A formula may have another branch on either side of zero.
    let source = limit::source(&[interval(-1.0), interval(1.0)], case.dtype);
    ((0..x.len()).map(element).collect(), source)
}

#[cfg(test)]
mod tests {
    use parity_model::Op;

    use super::*;
    use crate::formula::ball::{Ball, Balls};
    use crate::tape::Tape;

    /// The right answer in f64.
    fn value(op: Unary, params: &[f64], x: f64) -> f64 {
        let wide = Exact(Format::of(DType::F64).unwrap());
        formula(op, params, Var::new(&wide, x.into())).number.value()
    }

    /// How far the formula may take an output of `dtype` from the right answer.
    fn limit(op: Unary, params: &[f64], dtype: DType, x: f64) -> f64 {
        let format = Format::of(dtype).unwrap();
        let intervals = Intervals::of(dtype);
        let interval = formula(op, params, Var::new(&intervals, Interval::point(x))).number;
        interval.distance(format, format.round(value(op, params, x)))
    }

    /// Parameters that every op takes as many of as it likes.
    const PARAMS: [f64; 2] = [0.75, 1.5];

    fn check(op: Unary, params: &[f64], rows: &[(f64, f64)]) {
        for &(x, want) in rows {
            let got = value(op, params, x);
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
        let gelu = [
            (0.5, 0.34571400982514394),
            (-0.5, -0.15428599017485609),
            (3.25, 3.2484313728552525),
            (-3.25, -0.0015686271447474687),
            (-8.0, -3.1077829375011112e-21),
            (-20.0, -3.3754509563109673e-261),
            (1e-09, 5.000000003989423e-10),
        ];
        check(Unary::Gelu, &[], &gelu);
        let gelu_erf = [
            (0.5, 0.34573123063700656),
            (-0.5, -0.15426876936299344),
            (3.25, 3.24812466861223),
            (-3.25, -0.0018753313877699928),
            (-8.0, -4.976768459417427e-15),
            (-20.0, -5.507248237212468e-88),
            (1e-09, 5.000000003989423e-10),
        ];
        check(Unary::GeluErf, &[], &gelu_erf);
        let silu = [
            (0.5, 0.3112296656009273),
            (-0.5, -0.18877033439907273),
            (20.0, 19.99999995877693),
            (-20.0, -4.122307236380407e-08),
            (-700.0, -6.90177358063184e-302),
            (-744.0, -5.706e-321),
            (1e-09, 5.000000002500001e-10),
        ];
        check(Unary::Silu, &[], &silu);
        let elu = [
            (-0.5, -0.29510200521552493),
            (-1e-09, -7.49999999625e-10),
            (-0.34, -0.21617225792804273),
            (-20.0, -0.7499999984541348),
            (-40.0, -0.75),
        ];
        check(Unary::Elu, &[0.75], &elu);
    }

    #[test]
    fn infinities_and_nan_follow_the_op_table() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let ends = [
            (inf, inf),
            (-inf, nan),
            (nan, nan),
            (f64::MAX, f64::MAX),
            (f64::MIN, -0.0),
        ];
        for op in [Unary::Gelu, Unary::GeluErf, Unary::Silu] {
            check(op, &[], &ends);
        }
        let elu = [(inf, inf), (-inf, -0.5), (nan, nan), (0.0, 0.0)];
        check(Unary::Elu, &[0.5], &elu);
        let relu = [(inf, inf), (-inf, 0.0), (nan, nan), (-3.0, 0.0)];
        check(Unary::Relu, &[], &relu);
        let sign = [(inf, 1.0), (-inf, -1.0), (nan, 0.0), (-0.0, 0.0)];
        check(Unary::Sign, &[], &sign);
        check(Unary::Powf, &[0.0], &[(nan, 1.0), (inf, 1.0), (0.0, 1.0)]);
        check(Unary::Log, &[], &[(0.0, -inf), (-1.0, nan), (inf, inf)]);
        check(Unary::Sin, &[], &[(inf, nan), (0.0, 0.0)]);
        let halves = [
            (0.5, 1.0),
            (1.5, 2.0),
            (2.5, 3.0),
            (-0.5, -1.0),
            (-2.5, -3.0),
            (2.4, 2.0),
        ];
        check(Unary::Round, &[], &halves);
    }

    #[test]
    fn an_integer_is_compared_with_a_number_and_not_with_what_the_dtype_makes_of_it() {
        let orders = [2.5, 2.0, -2.5, -1.0, 300.0, f64::INFINITY, f64::NEG_INFINITY, 0.5];
        assert_eq!(orders.map(|number| order(2, number)), [-1, 0, 1, 1, -1, -1, 1, 1]);
        assert_eq!([-3.0, -2.5, -2.0].map(|number| order(-3, number)), [0, -1, -1]);
        // The next f64 is 2^63.
        assert_eq!(
            [9.223_372_036_854_775e18, 9.3e18].map(|number| order(i64::MAX, number)),
            [1, -1]
        );
    }

    #[test]
    fn parameters_of_integers_convert_as_rust_does() {
        let affine = |dtype, params: &[f64], x| {
            let integers = Integers(dtype);
            formula(Unary::Affine, params, Var::new(&integers, x)).number
        };
        assert_eq!(affine(DType::U32, &[-1.0, 5.0], 7), 5);
        assert_eq!(affine(DType::I64, &[0.5, 3.0], 7), 3);
        assert_eq!(
            affine(DType::U8, &[300.0, 0.0], 2),
            510,
            "wrapped to u8 by the caller"
        );
    }

    #[test]
    fn every_op_that_accepts_integers_has_an_integer_answer() {
        for &op in Op::ALL {
            let Op::Unary(unary) = op else { continue };
            if op.accepts(DType::I32) {
                let integers = Integers(DType::I32);
                formula(unary, &PARAMS, Var::new(&integers, 1));
            }
        }
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
                let want = f64::from(value(op, &[], f64::from(x)) as f32);
                let error = (f64::from(in_f32(op, x)) - want).abs();
                let limit = limit(op, &[], DType::F32, f64::from(x));
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
        for op in [Unary::Silu, Unary::Gelu, Unary::GeluErf, Unary::Elu] {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
                let format = Format::of(dtype).unwrap();
                for x in [0.5, 1.0, 2.0, 5.0] {
                    let ulps = limit(op, &[1.0], dtype, x) / format.ulp(value(op, &[1.0], x));
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
            .round(value(Unary::Silu, &[], -12.0));
        let allowed = limit(Unary::Silu, &[], DType::F16, -12.0) / want.abs();
        assert!((1.0..1.01).contains(&allowed), "{allowed} of the value");
        let near = limit(Unary::Silu, &[], DType::F16, -5.0);
        let far = limit(Unary::Silu, &[], DType::F32, -12.0);
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

    /// The op and its derivative at `x`, times 3, on a tape of f64.
    fn on_tape(op: Unary, x: f64) -> (Ball, Ball) {
        let tape = Tape::new(Balls::of(DType::F64, &crate::sums::TableSums));
        let x = tape.argument(&[1], &[x]);
        let y = formula(op, &PARAMS, x);
        (y.values()[0], tape.gradient(y, &[3.0], x)[0])
    }

    #[test]
    fn on_a_tape_values_are_the_right_ones_and_derivatives_their_slopes() {
        for &op in Op::ALL {
            let Op::Unary(op) = op else { continue };
            let positive = matches!(op, Unary::Log | Unary::Sqrt | Unary::Powf);
            for i in 0..40 {
                let x = 0.071 + 0.083 * f64::from(i);
                let x = if i % 2 == 1 && !positive { -x } else { x };
                let (y, gradient) = on_tape(op, x);
                let want = value(op, &PARAMS, x);
                let error = (want - y.mid.hi).abs();
                // A tail such as gelu's is a difference of numbers near 1, each good to half an ulp of 1.
                assert!(
                    error <= 1e-14 * want.abs().max(2e-2),
                    "{op}({x}): {want:e} and {:e}",
                    y.mid.hi
                );
                // Central differences of the tape's own values: good to h^2 and to their own rounding over h.
                let h = 2_f64.powi(-18);
                let slope = ((on_tape(op, x + h).0.mid + -on_tape(op, x - h).0.mid) / (2.0 * h).into()).hi;
                let error = (gradient.mid.hi - 3.0 * slope).abs();
                assert!(
                    error < 1e-6 * (1.0 + slope.abs()),
                    "{op} at {x}: {} and {slope}",
                    gradient.mid.hi
                );
                assert!(
                    gradient.rad < 1e-12 * (1.0 + slope.abs()),
                    "{op} at {x}: {:e}",
                    gradient.rad
                );
            }
        }
    }

    #[test]
    fn a_kink_leaves_every_slope_between_its_sides_open() {
        let at_zero = |op| {
            let (_, ball) = on_tape(op, 0.0);
            (ball.mid.hi - ball.rad, ball.mid.hi + ball.rad)
        };
        assert_eq!(at_zero(Unary::Relu), (0.0, 3.0));
        assert_eq!(at_zero(Unary::Abs), (-3.0, 3.0));
    }
}
