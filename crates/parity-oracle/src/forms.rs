//! Two forms of one call compared with each other: views with contiguous copies of them, a batch with its parts.
//!
//! No expected value takes part. Both forms do the same to the same numbers, so that their outputs have the same bits,
//! unless a sum may be taken in another order, as a different grid or a different block of rows does: then each form is
//! within the derived limit of the exact value, and the two within twice that of each other.

use parity_model::op::Terms;
use parity_model::{Case, Check, HostTensor};

use crate::expected::{Element, Expected};
use crate::limit::Limit;

/// What both forms' outputs should be, one after the other.
pub(crate) fn both(case: &Case, one: Expected) -> Expected {
    let limit = match (case.check, reorders(case)) {
        (check, false) => format!("the same bits {}", between(check)),
        (check, true) => format!("twice the limit {}; {}", between(check), one.limit),
    };
    Expected {
        shape: [&[2], one.shape.as_slice()].concat(),
        elements: [one.elements.as_slice(), one.elements.as_slice()].concat(),
        limit,
        ..one
    }
}

/// What the first form's output should be, according to the second's.
pub(crate) fn by_parts(case: &Case, both: &Expected, parts: &HostTensor) -> Expected {
    let reorders = reorders(case);
    let element = |(i, element): (usize, &Element)| Element {
        bits: parts.bits(i),
        limit: match reorders {
            false => Limit::EXACT,
            true => Limit {
                ulp: 2.0 * element.limit.ulp,
                abs: 2.0 * element.limit.abs,
            },
        },
    };
    Expected {
        dtype: both.dtype,
        shape: parts.shape.clone(),
        elements: both.elements[..parts.len()]
            .iter()
            .enumerate()
            .map(element)
            .collect(),
        bitwise: !reorders,
        elementwise: both.elementwise,
        limit: both.limit.clone(),
    }
}

/// The oracle's name and what it compares, for notes.
pub(crate) fn between(check: Check) -> &'static str {
    match check {
        Check::Layout => "on the views and on contiguous copies of them (layout invariance)",
        Check::Batch => "for the batch and for its two parts (batch split)",
        Check::Value | Check::Invalid | Check::Unsupported => "",
    }
}

/// Whether the terms of a sum may be taken in another order for another layout or another batch.
fn reorders(case: &Case) -> bool {
    case.dtype.is_float() && case.op.terms() == Terms::Unordered
}
