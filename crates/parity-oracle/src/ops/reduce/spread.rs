//! Variances.

use parity_model::float::Format;

use crate::Element;
use crate::dd::Dd;
use crate::dot::gamma;
use crate::expected::Call;
use crate::formula::steps::accumulator_unit;
use crate::limit::Limit;

/// What first-order error terms are multiplied with: the terms of higher order, and limits that are themselves rounded.
const SAFETY: f64 = 1.25;

pub(super) const SOURCE: &str = "first-order running error of the mean, the distances, their squares and the quotient, \
                                 sums in f32 (f64 for f64), each step rounded to the dtype";

pub(super) fn variances(call: &Call<'_>, rows: &[Vec<usize>]) -> Vec<Element> {
    let format = Format::of(call.dtype).unwrap_or_else(|| panic!("a variance of {}", call.dtype));
    let decode = |place: &usize| format.decode(call.args[0].bits(*place));
    let variance = |row: &Vec<usize>| of_row(call, &format, &row.iter().map(decode).collect::<Vec<_>>());
    rows.iter().map(variance).collect()
}

fn of_row(call: &Call<'_>, format: &Format, x: &[f64]) -> Element {
    let (u, t) = (accumulator_unit(call.dtype), format.unit_roundoff());
    let (n, degrees) = (x.len() as f64, x.len() as f64 - 1.0);
    let narrow = call.sums.accumulator(call.dtype);
    let sum = |terms: &mut dyn Iterator<Item = Dd>| match narrow {
        None => terms.fold(Dd::from(0.0), |sum, term| sum + term),
        Some(narrow) => terms.fold(0.0, |sum, term| narrow.round(sum + term.hi)).into(),
    };
    if !x.iter().all(|x| x.is_finite()) {
        return Element {
            bits: format.encode(f64::NAN),
            limit: Limit::EXACT,
        };
    }
    let mean = sum(&mut x.iter().map(|x| Dd::from(*x))) / n.into();
    let distances: Vec<Dd> = x.iter().map(|x| Dd::from(*x) + -mean).collect();
    let squares = sum(&mut distances.iter().map(|d| *d * *d));
    let want = (squares / degrees.into()).hi;
    // The mean is off by its sum's error and three roundings; a distance by that and one rounding of its own.
    let magnitude: f64 = x.iter().map(|x| x.abs()).sum::<f64>() / n;
    let of_mean = gamma(x.len(), u) * magnitude + 3.0 * t * mean.hi.abs() + 2.0 * format.min_subnormal();
    let of_square = |d: &Dd| {
        let off = of_mean + t * d.hi.abs();
        2.0 * d.hi.abs() * off + off * off + t * d.hi * d.hi
    };
    let of_squares: f64 = distances.iter().map(of_square).sum();
    let lost = format.lost_to_overflow(squares.hi + of_squares);
    let abs = (of_squares + lost) / degrees + (gamma(x.len(), u) + 3.0 * t) * want;
    Element {
        bits: format.encode(want),
        limit: Limit {
            ulp: 1.0,
            abs: abs * SAFETY + x.len() as f64 * format.min_subnormal(),
        },
    }
}
