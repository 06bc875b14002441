//! Functions that candle differentiates and that are no ops of the table, or ops with other parameters.

use super::ops;

ops! {
    /// Functions that have a gradient and no row of their own.
    pub enum GradOnly;

    /// All dimensions in reverse order.
    Permute "permute" (x: Data) on ANY,
        grad on WIDE: "w with all dimensions in reverse order, as the function has x.";
    /// The elements, row-major, as one dimension.
    Flatten "flatten" (x: Data) on ANY, grad on WIDE: "w in the shape of x.";
    /// The argument repeated `times` along a new first dimension.
    Expand "broadcast_left" ["times"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w over the new first dimension.";
}
