//! Functions of which the table has the gradient alone. How they are computed is not said here.

use super::ops;
use crate::op::batch::never;
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Functions that are in the table by their gradient. Some are ops too, with other parameters.
    pub enum GradOnly;

    /// All dimensions in reverse order.
    Permute "permute" (x: Data) on ANY, shape: reversed, batch: never,
        grad on WIDE: "w with all dimensions in reverse order, as the function has x.";
    /// The elements, row-major, as one dimension.
    Flatten "flatten" (x: Data) on ANY, shape: one_list, batch: never, grad on WIDE: "w in the shape of x.";
    /// The argument repeated `times` along a new first dimension.
    Expand "broadcast_left" ["times"] (x: Data) on ANY, shape: repeated, batch: never,
        grad on F32_F64: "The sum of w over the new first dimension.";
}

fn reversed(call: &Operands<'_>) -> Result<Shapes, String> {
    Shapes::of(call.shapes[0].iter().rev().copied().collect())
}

fn one_list(call: &Operands<'_>) -> Result<Shapes, String> {
    Shapes::of(vec![call.shapes[0].iter().product()])
}

fn repeated(call: &Operands<'_>) -> Result<Shapes, String> {
    Shapes::of([&[call.positive(0)?], call.shapes[0]].concat())
}
