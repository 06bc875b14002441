//! Functions of one element: the formula of each.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::Unary;

use super::nn::sigmoid;
use super::{Answer, exact};
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
    let cpu = x.wide(|x| ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5 * x);
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

pub(crate) fn answer(call: &Call<'_>, op: Unary) -> Answer {
    let (case, x) = (call.case, &call.args[0]);
    let Some(format) = Format::of(case.dtype) else {
        let integers = Integers(case.dtype);
        let element = |i| {
            let x = Var::new(&integers, decode_int(case.dtype, x.bits(i)));
            exact(encode_int(call.dtype, formula(op, &case.params, x).number))
        };
        return ((0..x.len()).map(element).collect(), limit::INTEGERS.to_owned());
    };
    // Parameters become numbers of the dtype before the op sees them.
    let params: Vec<f64> = case.params.iter().map(|p| format.round(*p)).collect();
    let (wide, intervals) = (Exact(format), Intervals::of(case.dtype));
    let interval = |x: f64| formula(op, &params, Var::new(&intervals, Interval::point(x))).number;
    let element = |i| {
        let x = format.decode(x.bits(i));
        let bits = format.encode(formula(op, &params, Var::new(&wide, x.into())).number.value());
        Element {
            bits,
            limit: limit::of(interval(x), case.dtype, format.decode(bits)),
        }
    };
    // A formula may have another branch on either side of zero.
    let source = limit::source(&[interval(-1.0), interval(1.0)], case.dtype);
    ((0..x.len()).map(element).collect(), source)
}
