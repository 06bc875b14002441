//! Functions of one element or of a pair.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::{Binary, Unary};

use super::{Answer, exact};
use crate::expected::Call;
use crate::limit::{self, Limit, Rule};
use crate::{Element, bound, integer, real};

pub(crate) fn unary(call: &Call<'_>, op: Unary) -> Answer {
    let (case, x) = (call.case, &call.args[0]);
    let (rule, source) = limit::unary(op, case.dtype);
    let Some(format) = Format::of(case.dtype) else {
        let element = |i| {
            let value = integer::unary(op, case.dtype, &case.params, decode_int(case.dtype, x.bits(i)));
            let value = value.unwrap_or_else(|| panic!("{} has no meaning for integers", case.op));
            exact(encode_int(call.dtype, value))
        };
        return ((0..x.len()).map(element).collect(), source);
    };
    // Parameters become numbers of the dtype before the op sees them.
    let params: Vec<f64> = case.params.iter().map(|p| format.round(*p)).collect();
    let element = |i| {
        let x = format.decode(x.bits(i));
        let value = match op {
            Unary::RoundTo => real::round_to(case.params[0], x, |x| format.round(x)),
            _ => real::unary(op, &params, x),
        };
        let bits = format.encode(value);
        let limit = match rule {
            Rule::Fixed(limit) => limit,
            Rule::Composite => {
                let abs = bound::composite(op, &params, case.dtype, x, format.decode(bits));
                Limit {
                    ulp: 0.0,
                    abs: abs.filter(|abs| abs.is_finite()).unwrap_or(0.0),
                }
            }
        };
        Element { bits, limit }
    };
    ((0..x.len()).map(element).collect(), source)
}

pub(crate) fn binary(call: &Call<'_>, op: Binary) -> Answer {
    let dtype = call.case.dtype;
    let (l, r) = (&call.args[0], &call.args[1]);
    let (rule, source) = limit::binary(op, dtype);
    let limit = |l: f64, r: f64, want: f64| match rule {
        Rule::Fixed(limit) => limit,
        Rule::Composite => {
            let abs = bound::pow(dtype, l, r, want);
            Limit {
                ulp: 0.0,
                abs: abs.filter(|abs| abs.is_finite()).unwrap_or(0.0),
            }
        }
    };
    let truth = call.dtype != dtype;
    let element = |i| {
        let Some(format) = Format::of(dtype) else {
            let value = integer::binary(op, decode_int(dtype, l.bits(i)), decode_int(dtype, r.bits(i)));
            return exact(encode_int(call.dtype, value));
        };
        let (l, r) = (format.decode(l.bits(i)), format.decode(r.bits(i)));
        let value = real::binary(op, l, r);
        if truth {
            return exact(value as u64);
        }
        let bits = format.encode(value);
        Element {
            bits,
            limit: limit(l, r, format.decode(bits)),
        }
    };
    ((0..l.len()).map(element).collect(), source)
}
