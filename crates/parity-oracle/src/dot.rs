//! Sums of products, exact or nearly so, and the limit that any order of summation keeps.
//!
//! A sum of n products, each rounded and added in any order in a format of unit roundoff u, is within
//! gamma_n * sum |a b| of the exact one, gamma_n = n u / (1 - n u) (Higham, "Accuracy and Stability of Numerical
//! Algorithms", 2nd ed., section 3.1). Backends accumulate in f32 for all but f64, so u is that format's; one rounding
//! to the dtype follows.

use parity_model::DType;
use parity_model::float::{Format, encode_int};

use crate::Element;
use crate::dd::Dd;
use crate::formula::steps::accumulator_unit;
use crate::limit::Limit;
use crate::numbers::Numbers;
use crate::ops::exact;
use crate::sums::Sums;

/// Where the limits are from, for reports.
pub(crate) const SOURCE: &str = "gamma_n sum|a b|, accumulated in f32 (f64 for f64) in any order, and one rounding; exact where every partial sum is";

/// Of a mean, the sum, the reciprocal of the count and their product round by half an ulp each, and the expected value by
/// another half.
pub(crate) const MEAN_ROUNDINGS: f64 = 2.0;

/// n u / (1 - n u).
pub(crate) fn gamma(n: usize, unit: f64) -> f64 {
    let nu = n as f64 * unit;
    nu / (1.0 - nu)
}

/// A sum of products of reals in the making.
pub(crate) struct Dot {
    dtype: DType,
    /// The sum, where it is finite; for formats below f64, f64 is wide enough.
    sum: Dd,
    /// The same in plain f64: what infinities and NaN make of it.
    plain: f64,
    /// Sum of the absolute products.
    magnitude: f64,
    terms: usize,
    /// Whether every product is a whole number.
    whole: bool,
    /// The sum whose partial sums are rounded to a format, where that is asked for.
    narrow: Option<(Format, f64)>,
}

impl Dot {
    pub(crate) fn new(dtype: DType, sums: &dyn Sums) -> Dot {
        Dot {
            dtype,
            sum: 0.0.into(),
            plain: 0.0,
            magnitude: 0.0,
            terms: 0,
            whole: true,
            narrow: sums.accumulator(dtype).map(|format| (format, 0.0)),
        }
    }

    pub(crate) fn push(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.plain += product;
        self.magnitude += product.abs();
        self.terms += 1;
        self.whole &= product.fract() == 0.0;
        if self.dtype == DType::F64 && product.is_finite() {
            self.sum = self.sum + Dd::from(a) * Dd::from(b);
        }
        if let Some((format, sum)) = &mut self.narrow {
            *sum = format.round(*sum + product);
        }
    }

    /// The sum, rounded to f64.
    pub(crate) fn value(&self) -> f64 {
        if let Some((_, sum)) = self.narrow {
            return sum;
        }
        if self.dtype == DType::F64 && self.plain.is_finite() {
            self.sum.hi
        } else {
            self.plain
        }
    }

    /// How far a sum may be from the right one, before it is rounded to the dtype.
    pub(crate) fn slack(&self) -> f64 {
        let unit = accumulator_unit(self.dtype);
        // Below 1 / u whole numbers and their sums are exact.
        if self.whole && self.magnitude * unit <= 1.0 || !self.magnitude.is_finite() {
            return 0.0;
        }
        gamma(self.terms, unit) * self.magnitude
    }

    /// The sum times `factor` as an element of `format`. `roundings` counts those to the dtype that the sum takes part
    /// in: one for a plain sum.
    pub(crate) fn element(&self, format: &Format, factor: f64, roundings: f64) -> Element {
        let abs = self.slack() * factor.abs();
        let limit = if abs == 0.0 && roundings <= 1.0 {
            Limit::EXACT
        } else {
            Limit { ulp: roundings, abs }
        };
        Element {
            bits: format.encode(self.value() * factor),
            limit,
        }
    }
}

/// The sum of `a[i] b[j]` over `terms`, as an element of `dtype`: integers wrap.
pub(crate) fn dot(
    sums: &dyn Sums,
    dtype: DType,
    a: &Numbers,
    b: &Numbers,
    terms: impl Iterator<Item = (usize, usize)>,
) -> Element {
    match (a, b, Format::of(dtype)) {
        (Numbers::Reals(a), Numbers::Reals(b), Some(format)) => {
            let mut dot = Dot::new(dtype, sums);
            terms.for_each(|(i, j)| dot.push(a[i], b[j]));
            dot.element(&format, 1.0, 1.0)
        }
        (Numbers::Ints(a), Numbers::Ints(b), None) => {
            let sum = terms.fold(0_i64, |sum, (i, j)| sums.add(dtype, sum, a[i].wrapping_mul(b[j])));
            exact(encode_int(dtype, sum))
        }
        _ => panic!("a sum of {dtype} has terms of other dtypes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::TableSums;

    fn of(dtype: DType, a: &[f64], b: &[f64]) -> Element {
        let pairs = (0..a.len()).map(|i| (i, i));
        let (a, b) = (Numbers::Reals(a.to_vec()), Numbers::Reals(b.to_vec()));
        dot(&TableSums, dtype, &a, &b, pairs)
    }

    #[test]
    fn whole_numbers_leave_no_room() {
        let element = of(DType::F32, &[3.0, 4.0, -5.0], &[7.0, 8.0, 9.0]);
        assert_eq!(element, exact(u64::from(8_f32.to_bits())));
        let fraction = of(DType::F32, &[3.0, 4.5], &[7.0, 8.1]);
        assert!(fraction.limit.abs > 0.0, "the control");
        let large = of(DType::F32, &[16_777_216.0, 1.0], &[1.0, 1.0]);
        assert!(large.limit.abs > 0.0, "no f32 is 2^24 + 1");
    }

    #[test]
    fn sums_in_any_order_are_inside_and_a_lost_term_is_not() {
        let a: Vec<f64> = (0..1000).map(|i| f64::from((i as f32 * 0.37).sin())).collect();
        let b: Vec<f64> = (0..1000).map(|i| f64::from((i as f32 * 0.61).cos())).collect();
        let element = of(DType::F32, &a, &b);
        let want = f64::from(f32::from_bits(element.bits as u32));
        let sum = |order: &mut dyn Iterator<Item = usize>| {
            f64::from(order.fold(0_f32, |sum, i| sum + a[i] as f32 * b[i] as f32))
        };
        let allowed = element.limit.abs + element.limit.ulp * 1e-5;
        for got in [sum(&mut (0..1000)), sum(&mut (0..1000).rev())] {
            assert!((got - want).abs() <= allowed, "{got} is not {want}");
        }
        let got = sum(&mut (0..999));
        assert!((got - want).abs() > allowed, "the control: a term is missing");
    }

    #[test]
    fn f64_sums_cancel_without_loss() {
        let element = of(DType::F64, &[1e16, 1.0, -1e16], &[1.0, 1.0, 1.0]);
        assert_eq!(f64::from_bits(element.bits), 1.0);
    }

    #[test]
    fn infinities_stay_what_they_are() {
        let element = of(DType::F32, &[f64::INFINITY, 1.5], &[1.0, 1.0]);
        assert_eq!(f32::from_bits(element.bits as u32), f32::INFINITY);
        let element = of(DType::F32, &[f64::INFINITY, f64::NEG_INFINITY], &[1.0, 1.0]);
        assert!(f32::from_bits(element.bits as u32).is_nan());
    }

    #[test]
    fn integers_wrap() {
        let (a, b) = (Numbers::Ints(vec![200, 100]), Numbers::Ints(vec![1, 1]));
        let element = dot(&TableSums, DType::U8, &a, &b, [(0, 0), (1, 1)].into_iter());
        assert_eq!(element, exact(44));
    }
}
