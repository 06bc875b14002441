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
    /// [b, c, l] to [b, c, 3 l]: the argument's `upsample_nearest1d` of twice the length and the argument, one after the other.
    /// Both uses of the argument have a part in the gradient.
    BesideNearest1d "cat_upsample_nearest1d" (x: Data) on ANY, shape: beside_its_double::<1>, batch: never,
        grad on F32_F64: "w of the element, and the sum of w of its copies.";
    /// [b, c, h, w] to [b, c, 5 h w]: as `cat_upsample_nearest1d`, by `upsample_nearest2d` of twice the height and width, both as
    /// lists of elements.
    BesideNearest2d "cat_upsample_nearest2d" (x: Data) on ANY, shape: beside_its_double::<2>, batch: never,
        grad on F32_F64: "w of the element, and the sum of w of its copies.";
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

fn beside_its_double<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.rank(0, 2 + DIMS)?;
    call.require(!x[2..].contains(&0), "the image is not empty")?;
    let pixels: usize = x[2..].iter().product();
    Shapes::of(vec![x[0], x[1], (1 + (1 << DIMS)) * pixels])
}
