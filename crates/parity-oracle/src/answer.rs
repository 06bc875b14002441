//! The answers, one file a family: the right elements and how far an output may be from each.
//!
//! Each function gives the elements of its op's output, row-major, and the source of their limits in words. Definitions
//! are the op table's.

pub(crate) mod broadcast;
pub(crate) mod cast;
pub(crate) mod conv;
pub(crate) mod copies;
pub(crate) mod elementwise;
pub(crate) mod grad;
pub(crate) mod indexing;
pub(crate) mod layers;
pub(crate) mod matmul;
pub(crate) mod nn;
pub(crate) mod pool;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod upsample;

use crate::Element;
use crate::limit::Limit;

/// The elements of an output, and the source of their limits.
pub(crate) type Answer = (Vec<Element>, String);

/// An element that leaves no choice.
pub(crate) fn exact(bits: u64) -> Element {
    Element {
        bits,
        limit: Limit::EXACT,
    }
}

/// An answer whose elements are elements of the arguments.
pub(crate) fn moved(bits: impl Iterator<Item = u64>) -> Answer {
    (
        bits.map(exact).collect(),
        "exact: elements are moved, not computed".to_owned(),
    )
}
