//! The error of an output: per element, and at its worst.

use approx::AbsDiffEq;
use parity_model::float::{Format, decode_int};
use parity_model::verdict::Worst;
use parity_model::{DType, HostTensor, Metrics};

use crate::expected::Expected;
use crate::limit::Limit;
use crate::numbers::unravel;

/// The error of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ElementError {
    pub(crate) ulp: f64,
    pub(crate) abs: f64,
    /// Error as a fraction of the expected value.
    pub(crate) rel: f64,
    /// Error as a fraction of the limit.
    pub(crate) used: f64,
    pub(crate) inside: bool,
}

impl ElementError {
    const NONE: ElementError = ElementError {
        ulp: 0.0,
        abs: 0.0,
        rel: 0.0,
        used: 0.0,
        inside: true,
    };
    const INFINITE: ElementError = ElementError {
        ulp: f64::INFINITY,
        abs: f64::INFINITY,
        rel: f64::INFINITY,
        used: f64::INFINITY,
        inside: false,
    };
}

/// The error of `got` against `want`, both bits of `dtype`.
///
/// NaN agrees with NaN, whatever the payload, and with nothing else, except where the limit has no end: there nothing is
/// known of the element. An infinity against a finite number counts as the first number past the largest, so that a function
/// may overflow within its limit of the edge. The decision itself is `approx`'s absolute comparison with the element's limit
/// as its epsilon.
pub(crate) fn error(dtype: DType, bitwise: bool, want: u64, got: u64, limit: Limit) -> ElementError {
    let Some(format) = Format::of(dtype) else {
        let want = i128::from(decode_int(dtype, want));
        let distance = (want - i128::from(decode_int(dtype, got))).unsigned_abs() as f64;
        return finite_error(want as f64, distance, distance, limit.ulp + limit.abs);
    };
    let (w, g) = (format.decode(want), format.decode(got));
    if w.is_nan() || g.is_nan() {
        return if w.is_nan() && g.is_nan() || limit.abs == f64::INFINITY {
            ElementError::NONE
        } else {
            ElementError::INFINITE
        };
    }
    if bitwise && want != got {
        return ElementError {
            inside: false,
            used: f64::INFINITY,
            ..difference(&format, w, g, Limit::EXACT)
        };
    }
    difference(&format, w, g, limit)
}

fn difference(format: &Format, want: f64, got: f64, limit: Limit) -> ElementError {
    if want == got {
        return ElementError::NONE;
    }
    let edge = |x: f64| x.clamp(-format.overflow(), format.overflow());
    let (want, got) = (edge(want), edge(got));
    let ulp = format.ulp(want);
    let allowed = limit.ulp * ulp + limit.abs;
    let abs = (want - got).abs();
    ElementError {
        inside: got.abs_diff_eq(&want, allowed),
        ..finite_error(want, abs / ulp, abs, allowed)
    }
}

fn finite_error(want: f64, ulp: f64, abs: f64, allowed: f64) -> ElementError {
    let share = |of: f64| if abs == 0.0 { 0.0 } else { abs / of };
    ElementError {
        ulp,
        abs,
        rel: share(want.abs()),
        used: share(allowed),
        inside: abs <= allowed,
    }
}

/// The metrics of `got`, which has the expected dtype and shape. `inputs` are the logical arguments, to be printed.
pub(crate) fn against_oracle(expected: &Expected, inputs: &[HostTensor], got: &HostTensor) -> Metrics {
    let at = |i: usize| {
        let element = &expected.elements[i];
        (element.bits, element.limit)
    };
    measure(expected, got, at, inputs)
}

/// The metrics of `got` against another backend's output, with the oracle's limits for want of better.
pub(crate) fn against_reference(
    expected: &Expected,
    inputs: &[HostTensor],
    reference: &HostTensor,
    got: &HostTensor,
) -> Metrics {
    let at = |i: usize| (reference.bits(i), expected.elements[i].limit);
    measure(expected, got, at, inputs)
}

fn measure(
    form: &Expected,
    got: &HostTensor,
    at: impl Fn(usize) -> (u64, Limit),
    inputs: &[HostTensor],
) -> Metrics {
    let bitwise = form.bitwise;
    let mut max_rel = 0.0_f64;
    let mut metrics = Metrics {
        elements: got.len(),
        outside: 0,
        max_ulp: 0.0,
        max_abs: 0.0,
        max_rel: None,
        limit_used: 0.0,
        worst: None,
    };
    let mut worst: Option<(usize, ElementError)> = None;
    for i in 0..got.len() {
        let (want, limit) = at(i);
        let error = error(got.dtype, bitwise, want, got.bits(i), limit);
        metrics.outside += usize::from(!error.inside);
        metrics.max_ulp = metrics.max_ulp.max(error.ulp);
        metrics.max_abs = metrics.max_abs.max(error.abs);
        max_rel = max_rel.max(error.rel);
        metrics.limit_used = metrics.limit_used.max(error.used);
        // The worst element is the one that uses most of its limit; among equals, the one with the larger error.
        let key = |error: &ElementError| (error.used, error.ulp);
        if (error.abs > 0.0 || !error.inside) && worst.is_none_or(|(_, other)| key(&error) > key(&other)) {
            worst = Some((i, error));
        }
    }
    metrics.max_rel = Some(max_rel);
    metrics.worst = worst.map(|(i, error)| {
        let (want, limit) = at(i);
        Worst {
            index: unravel(i, &got.shape),
            // Only where each element comes from those at its own place do they explain it.
            inputs: inputs
                .iter()
                .filter(|_| form.elementwise)
                .map(|input| print(input.dtype, input.bits(i)))
                .collect(),
            expected: print(got.dtype, want),
            got: print(got.dtype, got.bits(i)),
            ulp: error.ulp,
            limit: if bitwise {
                "same bits".to_owned()
            } else {
                limit.to_string()
            },
        }
    });
    metrics
}

/// A value as the shortest decimal that reads back as it.
pub(crate) fn print(dtype: DType, bits: u64) -> String {
    match (Format::of(dtype), dtype) {
        (None, _) => decode_int(dtype, bits).to_string(),
        (Some(_), DType::F32) => format!("{:?}", f32::from_bits(bits as u32)),
        (Some(format), _) => format!("{:?}", format.decode(bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::UlpsEq;

    fn f32_error(want: f32, got: f32, limit: Limit) -> ElementError {
        error(
            DType::F32,
            false,
            u64::from(want.to_bits()),
            u64::from(got.to_bits()),
            limit,
        )
    }

    #[test]
    fn a_limit_without_an_end_allows_nan_and_any_other_does_not() {
        let within = |abs| f32_error(f32::INFINITY, f32::NAN, Limit { ulp: 0.5, abs }).inside;
        assert!(within(f64::INFINITY));
        assert!(!within(f64::MAX), "the control");
    }

    #[test]
    fn ulps_agree_with_approx_within_a_binade() {
        let mut got = 1.3_f32;
        for n in 0..20_u32 {
            assert_eq!(f32_error(1.3, got, Limit::EXACT).ulp, f64::from(n));
            for max in 0..20 {
                let inside = f32_error(
                    1.3,
                    got,
                    Limit {
                        ulp: f64::from(max),
                        abs: 0.0,
                    },
                )
                .inside;
                assert_eq!(
                    inside,
                    1.3_f32.ulps_eq(&got, 0.0, max),
                    "{n} ULP with a limit of {max}"
                );
            }
            got = got.next_up();
        }
    }

    #[test]
    fn nan_agrees_with_nan_and_with_nothing_else() {
        let wide = Limit { ulp: 1e30, abs: 1e30 };
        assert!(f32_error(f32::NAN, -f32::NAN, Limit::EXACT).inside);
        assert!(!f32_error(f32::NAN, 1.0, wide).inside);
        assert!(!f32_error(1.0, f32::NAN, wide).inside);
    }

    #[test]
    fn an_infinity_is_one_ulp_past_the_largest_number() {
        let one = Limit { ulp: 1.0, abs: 0.0 };
        assert!(f32_error(f32::INFINITY, f32::MAX, one).inside);
        assert!(f32_error(f32::MAX, f32::INFINITY, one).inside);
        assert!(!f32_error(f32::MAX.next_down(), f32::INFINITY, one).inside);
        assert!(!f32_error(f32::INFINITY, f32::MAX, Limit::EXACT).inside);
        assert!(!f32_error(f32::INFINITY, f32::NEG_INFINITY, one).inside);
    }

    #[test]
    fn zeros_are_equal_unless_bits_are_asked_for() {
        let (plus, minus) = (0, 1 << 31);
        assert!(error(DType::F32, false, plus, minus, Limit::EXACT).inside);
        assert!(!error(DType::F32, true, plus, minus, Limit::EXACT).inside);
        assert!(error(DType::F32, true, minus, minus, Limit::EXACT).inside);
    }

    #[test]
    fn integers_differ_by_their_distance() {
        let error = error(DType::I64, false, i64::MAX as u64, i64::MIN as u64, Limit::EXACT);
        assert!(!error.inside && error.abs == 2_f64.powi(64));
    }

    #[test]
    fn a_relative_error_is_a_share_of_the_expected_value_and_infinite_where_that_is_zero() {
        assert_eq!(f32_error(2.0, 2.5, Limit::EXACT).rel, 0.25);
        assert_eq!(f32_error(-2.0, 2.0, Limit::EXACT).rel, 2.0);
        assert_eq!(f32_error(2.0, 2.0, Limit::EXACT).rel, 0.0);
        assert_eq!(f32_error(0.0, -0.0, Limit::EXACT).rel, 0.0);
        assert_eq!(f32_error(0.0, 1e-30, Limit::EXACT).rel, f64::INFINITY);
        assert_eq!(f32_error(f32::NAN, 1.0, Limit::EXACT).rel, f64::INFINITY);
        assert_eq!(error(DType::I32, false, 4, 5, Limit::EXACT).rel, 0.25);
    }

    #[test]
    fn limits_add_up() {
        let limit = Limit { ulp: 1.0, abs: 1.0 };
        assert!(f32_error(1.0, 2.0, limit).inside);
        assert!(f32_error(1.0, 2.0_f32.next_down(), limit).inside);
        assert!(!f32_error(1.0, 2.001, limit).inside);
        assert_eq!(f32_error(1.0, 1.5, Limit { ulp: 0.0, abs: 1.0 }).used, 0.5);
    }
}
