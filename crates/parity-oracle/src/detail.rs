//! An output beside the expected one, element by element, for those who want to look. Verdicts come from `judge`.

use parity_model::float::Format;
use parity_model::{DType, HostTensor};

use crate::expected::Expected;
use crate::metrics::{error, print};
use crate::numbers::unravel;

/// One element of an output and what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Place in row-major order; [`index_of`] turns it into an index.
    pub place: usize,
    /// The expected bits.
    pub want: u64,
    /// The bits found.
    pub got: u64,
    /// Distance in units in the last place; infinite when NaN or infinity disagree.
    pub ulp: f64,
    /// How far the element may be from the expected one, in the output's own unit.
    pub allowed: f64,
    /// Distance as a fraction of `allowed`.
    pub used: f64,
    /// Whether it is inside the limit.
    pub inside: bool,
}

/// Every element of `output` beside the expected one, row-major; `None` when dtype, shape or size are not the expected
/// ones, so that no element has a counterpart.
pub fn differences(expected: &Expected, output: &HostTensor) -> Option<Vec<Difference>> {
    let comparable = output.dtype == expected.dtype
        && output.shape == expected.shape
        && output.bytes.len() == expected.elements.len() * expected.dtype.size();
    let difference = |place: usize| {
        let element = &expected.elements[place];
        let got = output.bits(place);
        let error = error(expected.dtype, expected.bitwise, element.bits, got, element.limit);
        Difference {
            place,
            want: element.bits,
            got,
            ulp: error.ulp,
            allowed: allowed(expected, place),
            used: error.used,
            inside: error.inside,
        }
    };
    comparable.then(|| (0..expected.elements.len()).map(difference).collect())
}

/// The limit at one element, in the output's own unit.
fn allowed(expected: &Expected, place: usize) -> f64 {
    let element = &expected.elements[place];
    let limit = element.limit;
    let Some(format) = Format::of(expected.dtype) else {
        return limit.ulp + limit.abs;
    };
    let want = format.decode(element.bits);
    match limit.ulp > 0.0 && !want.is_nan() {
        true => limit.ulp * format.ulp(want.clamp(-format.overflow(), format.overflow())) + limit.abs,
        false => limit.abs,
    }
}

/// The index of the element at `place` of a tensor of `shape`.
pub fn index_of(place: usize, shape: &[usize]) -> Vec<usize> {
    unravel(place, shape)
}

/// A value as the shortest decimal that reads back as it.
pub fn value_text(dtype: DType, bits: u64) -> String {
    print(dtype, bits)
}

#[cfg(test)]
mod tests {
    use parity_model::Case;

    use super::*;

    /// A case whose limit is two ULP, its expected output, and that output as a backend would give it.
    fn exp() -> (Expected, HostTensor) {
        let case: Case = "unary/exp:f32:[3]:contiguous:uniform(0,1)".parse().unwrap();
        let expected = crate::expected(&case, &case.inputs(0));
        let bytes = expected.elements.iter();
        let bytes = bytes.flat_map(|element| (element.bits as u32).to_le_bytes());
        let output = HostTensor {
            dtype: expected.dtype,
            shape: expected.shape.clone(),
            bytes: bytes.collect(),
        };
        (expected, output)
    }

    #[test]
    fn a_difference_is_measured_against_its_own_element() {
        let (expected, mut output) = exp();
        let third = f32::from_bits(output.bits(2) as u32);
        output.bytes[8..].copy_from_slice(&third.next_up().to_le_bytes());
        let found = differences(&expected, &output).unwrap();
        assert_eq!((found[0].ulp, found[0].used), (0.0, 0.0));
        assert_eq!((found[2].ulp, found[2].used, found[2].inside), (1.0, 0.5, true));
        let unit = f64::from(third.next_up() - third);
        assert_eq!(found[2].allowed, 2.0 * unit, "two ULP, in the output's unit");
    }

    #[test]
    fn outputs_of_another_form_have_no_differences() {
        let (expected, mut output) = exp();
        output.shape = vec![1, 3];
        assert_eq!(differences(&expected, &output), None);
        let (_, mut output) = exp();
        output.bytes.pop();
        assert_eq!(differences(&expected, &output), None);
    }
}
