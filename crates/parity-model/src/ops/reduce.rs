//! Reductions along dimensions, and the forms that each has. How they are computed is not said here.

use super::ops;

ops! {
    /// Sums and extremes along dimensions.
    pub enum Reduce;

    /// The sum over the dimensions, accumulated in f32 at least and rounded once; integers wrap in their
    /// own width.
    Sum "sum" ["dims.."] (x: Data) on ANY, forms: [Nothing, One, Scalar],
        grad on WIDE: "w of the sum that the element is in.";
    /// The sum over the dimensions divided by the number of its terms.
    Mean "mean" ["dims.."] (x: Data) on FLOATS, forms: [Nothing, One, Scalar],
        grad on WIDE: "w over the number of terms.";
    /// The least element; NaN if there is one.
    Min "min" ["dim"] (x: Data) on ANY, forms: [Nothing, One, Scalar],
        grad on WIDE: "w at the least element, shared evenly where several are; 0 elsewhere.";
    /// The greatest element; NaN if there is one.
    Max "max" ["dim"] (x: Data) on ANY, forms: [Nothing, One, Scalar],
        grad on WIDE: "w at the greatest element, shared evenly where several are; 0 elsewhere.";
    /// The index of the first NaN if there is one, else of the first least element.
    ArgMin "argmin" ["dim"] (x: Data) on ANY -> U32, forms: [Nothing, One];
    /// The index of the first NaN if there is one, else of the first greatest element.
    ArgMax "argmax" ["dim"] (x: Data) on ANY -> U32, forms: [Nothing, One];
    /// The sum of the squared distances from the mean over one less than their number, made of parts.
    Var "var" ["dim"] (x: Data) on FLOATS, forms: [Nothing, One],
        grad on F32_F64: "2 w (x - mean) / (n - 1).";
    /// max + log sum e^(x - max) over the dimensions, made of parts.
    LogSumExp "log_sum_exp" ["dims.."] (x: Data) on FLOATS, forms: [Nothing],
        grad on F32_F64: "w softmax(x).";
    /// The sums of the elements so far along the dimension, accumulated in f32 at least and rounded once.
    CumSum "cumsum" ["dim"] (x: Data) on WIDE, forms: [Nothing],
        grad on F32_F64: "The sum of w from the element's place on along the dimension.";
    /// The square root of the sum of the squares of all elements, made of parts.
    Norm "norm" (x: Data) on FLOATS, forms: [Scalar], grad on F32_F64: "w x / norm(x).";
}
