//! The choice between two tensors. How it is made is not said here.

use super::ops;

ops! {
    /// A choice between two tensors, element by element.
    pub enum Where;

    /// The second argument where the first is not zero, the third elsewhere; the bits, NaN payloads aside.
    WhereCond "where_cond" (condition: Condition, yes: Data, no: Data) on ANY,
        grad on WIDE: "w where the argument was chosen, 0 elsewhere.";
}
