//! Functions of a pair of elements, of tensors of one shape or broadcast to a common one: the formula of each.

use std::cmp::Ordering::{Equal, Greater, Less};

use parity_model::HostTensor;
use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::Binary;

use super::{Answer, exact};
use crate::Element;
use crate::expected::Call;
use crate::formula::exact::Exact;
use crate::formula::integer::Integers;
use crate::formula::interval::{Interval, Intervals};
use crate::formula::{Arithmetic, Var};
use crate::limit;
use crate::numbers::{indices, ravel};

/// The op on `a` and `b`; truth is 1.
pub(crate) fn formula<'a, A: Arithmetic>(op: Binary, a: Var<'a, A>, b: Var<'a, A>) -> Var<'a, A> {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Maximum => a.maximum(b),
        Binary::Minimum => a.minimum(b),
        Binary::Eq => a.truth(b, |order| order == Some(Equal)),
        Binary::Ne => a.truth(b, |order| order != Some(Equal)),
        Binary::Lt => a.truth(b, |order| order == Some(Less)),
        Binary::Le => a.truth(b, |order| matches!(order, Some(Less | Equal))),
        Binary::Gt => a.truth(b, |order| order == Some(Greater)),
        Binary::Ge => a.truth(b, |order| matches!(order, Some(Greater | Equal))),
        Binary::Pow => a.pow(b).composed((b * a.ln()).exp()),
    }
}

pub(crate) fn answer(call: &Call<'_>, op: Binary) -> Answer {
    let dtype = call.case.dtype;
    let (left, right) = (&call.args[0], &call.args[1]);
    let Some(format) = Format::of(dtype) else {
        let integers = Integers(dtype);
        let element = |i| {
            let [a, b] = [left, right].map(|x| Var::new(&integers, decode_int(dtype, x.bits(i))));
            exact(encode_int(call.dtype, formula(op, a, b).number))
        };
        return ((0..left.len()).map(element).collect(), limit::INTEGERS.to_owned());
    };
    let (wide, intervals) = (Exact(format), Intervals::of(dtype));
    let interval = |pair: [f64; 2]| {
        let [a, b] = pair.map(|x| Var::new(&intervals, Interval::point(x)));
        formula(op, a, b).number
    };
    let element = |i| {
        let pair = [left, right].map(|x| format.decode(x.bits(i)));
        let [a, b] = pair.map(|x| Var::new(&wide, x.into()));
        let value = formula(op, a, b).number.value();
        if call.dtype != dtype {
            return exact(value as u64);
        }
        let bits = format.encode(value);
        Element {
            bits,
            limit: limit::of(interval(pair), dtype, format.decode(bits)),
        }
    };
    let source = limit::source(&[interval([1.0, 2.0])], dtype);
    ((0..left.len()).map(element).collect(), source)
}

/// The answer for arguments that are broadcast to a common shape first.
pub(crate) fn broadcast(call: &Call<'_>, op: Binary) -> Answer {
    let args: Vec<HostTensor> = call.args.iter().map(|arg| repeated(arg, &call.shape)).collect();
    let call = Call {
        args: &args,
        shape: call.shape.clone(),
        ..*call
    };
    answer(&call, op)
}

/// The place, in a tensor of shape `own`, of the element that a broadcast to a larger shape has at `index`.
pub(crate) fn place(index: &[usize], own: &[usize]) -> usize {
    let index = &index[index.len() - own.len()..];
    let index: Vec<usize> = index
        .iter()
        .zip(own)
        .map(|(i, extent)| if *extent == 1 { 0 } else { *i })
        .collect();
    ravel(&index, own)
}

fn repeated(x: &HostTensor, shape: &[usize]) -> HostTensor {
    let size = x.dtype.size();
    let element = |index: Vec<usize>| {
        let at = place(&index, &x.shape) * size;
        x.bytes[at..at + size].to_vec()
    };
    HostTensor {
        dtype: x.dtype,
        shape: shape.to_vec(),
        bytes: indices(shape).flat_map(element).collect(),
    }
}

#[cfg(test)]
mod tests {
    use parity_model::DType;

    use super::*;

    fn value(op: Binary, a: f64, b: f64) -> f64 {
        let wide = Exact(Format::of(DType::F64).unwrap());
        let [a, b] = [a, b].map(|x| Var::new(&wide, x.into()));
        formula(op, a, b).number.value()
    }

    #[test]
    fn arithmetic_is_the_machines_own() {
        let numbers = [
            0.1,
            -3.0,
            1e308,
            -1e308,
            2.5e-320,
            -5e-324,
            1e-160,
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NAN,
        ];
        for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
            for (op, want) in [
                (Binary::Add, a + b),
                (Binary::Sub, a - b),
                (Binary::Mul, a * b),
                (Binary::Div, a / b),
            ] {
                let got = value(op, a, b);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{op}({a:e}, {b:e}) is {want:e}, not {got:e}"
                );
            }
        }
    }

    #[test]
    fn comparisons_with_nan_are_false_except_ne() {
        for op in [Binary::Eq, Binary::Lt, Binary::Le, Binary::Gt, Binary::Ge] {
            assert_eq!(value(op, f64::NAN, f64::NAN), 0.0, "{op}");
        }
        assert_eq!(value(Binary::Ne, f64::NAN, f64::NAN), 1.0);
        assert_eq!(value(Binary::Le, 1.0, 1.0) + value(Binary::Ge, 1.0, 1.0), 2.0);
    }
}
