//! Pooling. How it is computed is not said here.

use super::ops;
use crate::op::batch::leading;
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Pooling over windows of the last two of four dimensions.
    pub enum Pool;

    /// The mean of each window, accumulated in f32 at least and rounded once; of integers truncated, their sum wrapped
    /// to 64 bits.
    AvgPool2d "avg_pool2d" ["kh", "kw", "sh", "sw"] (x: Data) on ANY, shape: windows, batch: leading::<3>, terms: Unordered,
        grad on F32_F64: "The sum over the windows that hold the element of w over the size of a window.";
    /// The greatest element of each window; NaN if there is one.
    MaxPool2d "max_pool2d" ["kh", "kw", "sh", "sw"] (x: Data) on ANY, shape: windows, batch: leading::<3>,
        grad on F32_F64: "The sum over the windows whose greatest element it is of w, shared evenly where several are.";
}

fn windows(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.rank(0, 4)?;
    let mut output = x[..2].to_vec();
    for d in 0..2 {
        let (kernel, stride) = (call.positive(d)?, call.positive(2 + d)?);
        let room = x[2 + d].checked_sub(kernel);
        let room = room.ok_or_else(|| call.mismatch("the window fits into the image"))?;
        output.push(room / stride + 1);
    }
    Shapes::of(output)
}
