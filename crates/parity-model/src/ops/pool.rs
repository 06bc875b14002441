//! Pooling. How it is computed is not said here.

use super::ops;

ops! {
    /// Pooling over windows of the last two of four dimensions.
    pub enum Pool;

    /// The mean of each window, accumulated in f32 at least and rounded once; of integers truncated, their
    /// sum wrapped to 64 bits.
    AvgPool2d "avg_pool2d" ["kh", "kw", "sh", "sw"] (x: Data) on ANY,
        grad on F32_F64: "The sum over the windows that hold the element of w over the size of a window.";
    /// The greatest element of each window; NaN if there is one.
    MaxPool2d "max_pool2d" ["kh", "kw", "sh", "sw"] (x: Data) on ANY,
        grad on F32_F64: "The sum over the windows whose greatest element it is of w, shared evenly where several are.";
}
