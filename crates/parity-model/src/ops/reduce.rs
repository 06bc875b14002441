//! Reductions along dimensions, and the forms that each has. How they are computed is not said here.

use super::ops;
use crate::op::Keep;
use crate::op::batch::{Cut, unnamed};
use crate::op::shape::{Operands, Shapes, same_along_dims};

ops! {
    /// Sums and extremes along dimensions.
    pub enum Reduce;

    /// The sum over the dimensions, accumulated in f32 at least and rounded once. A sum has the dtype of its argument: integers wrap in it,
    /// those of u8 at 256, where PyTorch and NumPy count in i64.
    Sum "sum" ["dims.."] (x: Data) on ANY, shape: reduced::<0>, batch: kept, terms: Unordered, forms: [Nothing, One, Scalar],
        grad on WIDE: "w of the sum that the element is in.";
    /// The sum over the dimensions divided by the number of its terms.
    Mean "mean" ["dims.."] (x: Data) on FLOATS, shape: reduced::<0>,
        batch: kept, terms: Unordered, forms: [Nothing, One, Scalar],
        grad on WIDE: "w over the number of terms.";
    /// The least element; NaN if there is one.
    Min "min" ["dim"] (x: Data) on ANY, shape: reduced::<1>, batch: kept, forms: [Nothing, One, Scalar],
        grad on WIDE: "w at the least element, shared evenly where several are; 0 elsewhere.";
    /// The greatest element; NaN if there is one.
    Max "max" ["dim"] (x: Data) on ANY, shape: reduced::<1>, batch: kept, forms: [Nothing, One, Scalar],
        grad on WIDE: "w at the greatest element, shared evenly where several are; 0 elsewhere.";
    /// The index of the first NaN if there is one, else of the first least element.
    ArgMin "argmin" ["dim"] (x: Data) on ANY -> U32, shape: reduced::<1>, batch: kept, forms: [Nothing, One];
    /// The index of the first NaN if there is one, else of the first greatest element.
    ArgMax "argmax" ["dim"] (x: Data) on ANY -> U32, shape: reduced::<1>, batch: kept, forms: [Nothing, One];
    /// The sum of the squared distances from the mean over one less than their number, made of parts.
    Var "var" ["dim"] (x: Data) on FLOATS, shape: reduced::<2>, batch: kept, terms: Unordered, forms: [Nothing, One],
        grad on F32_F64: "2 w (x - mean) / (n - 1).";
    /// max + log sum e^(x - max) over the dimensions, made of parts.
    LogSumExp "log_sum_exp" ["dims.."] (x: Data) on FLOATS, shape: reduced::<1>,
        batch: kept, terms: Unordered, forms: [Nothing],
        grad on F32_F64: "w softmax(x).";
    /// The sums of the elements so far along the dimension, accumulated in f32 at least and rounded once; integers wrap.
    CumSum "cumsum" ["dim"] (x: Data) on INTS_AND_WIDE, shape: same_along_dims, batch: unnamed, terms: Unordered, forms: [Nothing],
        grad on F32_F64: "The sum of w from the element's place on along the dimension.";
    /// The square root of the sum of the squares of all elements, made of parts.
    Norm "norm" (x: Data) on FLOATS, shape: reduced::<0>, batch: kept, terms: Unordered, forms: [Scalar],
        grad on F32_F64: "w x / norm(x).";
}

/// The dimensions that the reduction is over are gone, or have extent 1. Before, they have extent `LEAST` at least.
fn reduced<const LEAST: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    call.dims()?;
    let shape = call.shapes[0];
    let dims = call.keep.dims(call.params, shape.len());
    let long = dims.iter().all(|&d| shape[d] >= LEAST);
    call.require(
        long,
        "there is no extreme of nothing, and no variance of one element",
    )?;
    let kept = |(d, extent): (usize, &usize)| match (dims.contains(&d), call.keep) {
        (false, _) => Some(*extent),
        (true, Keep::One) => Some(1),
        (true, Keep::Nothing | Keep::Scalar) => None,
    };
    Shapes::of(shape.iter().enumerate().filter_map(kept).collect())
}

/// Along the first dimension that is kept: every one before it is gone, or has extent 1.
fn kept(call: &Operands<'_>) -> Option<Cut> {
    let rank = call.shapes[0].len();
    let over = call.keep.dims(call.params, rank);
    let kept = (0..rank).find(|d| !over.contains(d))?;
    let at = match call.keep {
        Keep::Nothing | Keep::Scalar => 0,
        Keep::One => kept,
    };
    Some((vec![Some(kept)], at))
}
