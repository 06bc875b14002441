//! The choice between two tensors. What it computes is the oracle's to know.

use super::ops;
use crate::op::batch::every;
use crate::op::shape::alike;

ops! {
    /// A choice between two tensors, element by element.
    pub enum Where;

    /// The second argument where the first is not zero, the third elsewhere; the bits, NaN payloads aside.
    WhereCond "where_cond" (condition: Condition, yes: Data, no: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w where the argument was chosen, 0 elsewhere.";
}
