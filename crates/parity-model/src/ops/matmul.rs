//! Products of matrices. How they are computed is not said here.

use super::ops;
use crate::op::batch::{Cut, every, leading, never, repeated};
use crate::op::shape::{Operands, Shapes, broadcast_to};

ops! {
    /// Products of matrices.
    pub enum Matmul;

    /// [.., m, k] times [.., k, n], accumulated in f32 at least and rounded once.
    Matmul "matmul" (a: Data, b: Data) on WIDE, shape: |call| call.fit("[.., m, k] [.., k, n] -> [.., m, n]"),
        batch: batches, terms: Unordered, grad on WIDE: "w b^T by the left, a^T w by the right.";
    /// As `matmul`, after the batch dimensions were broadcast to a common shape.
    BroadcastMatmul "broadcast_matmul" (a: Data, b: Data) on WIDE, shape: broadcast_matmul,
        batch: broadcast_batches, terms: Unordered,
        grad on F32_F64: "As `grad_matmul`, summed over the batches along which the argument repeats.";
    /// [m, k] times [k], as `matmul` has it.
    Mv "mv" (a: Data, b: Data) on WIDE, shape: |call| call.fit("[m, k] [k] -> [m]"), batch: leading::<2>, terms: Unordered,
        grad on F32_F64: "As `grad_matmul`.";
    /// The sum of the products of two lists, made of parts: each product is rounded to the dtype; integers wrap.
    Dot "dot" (a: Data, b: Data) on ANY, shape: |call| call.fit("[k] [k] -> []"), batch: never, terms: Unordered,
        grad on F32_F64: "w times the other.";
}

fn broadcast_matmul(call: &Operands<'_>) -> Result<Shapes, String> {
    let (l, r) = (call.shapes[0], call.shapes[1]);
    call.require(l.len() >= 2 && r.len() >= 2, "both have a rank of at least 2")?;
    let ((batch_l, inner_l), (batch_r, inner_r)) = (l.split_at(l.len() - 2), r.split_at(r.len() - 2));
    call.require(
        inner_l[1] == inner_r[0],
        "columns of the left are rows of the right",
    )?;
    let batch = broadcast_to(batch_l, batch_r);
    let batch = batch.ok_or_else(|| call.mismatch("the batch dimensions have a common shape"))?;
    Shapes::of([batch.as_slice(), &[inner_l[0], inner_r[1]]].concat())
}

/// Along the first of the batch dimensions, where there are such.
fn broadcast_batches(call: &Operands<'_>) -> Option<Cut> {
    let batched = call.shapes.iter().any(|shape| shape.len() > 2);
    repeated(call).filter(|_| batched)
}

/// Along the first batch dimension; of two matrices, along the rows of the left.
fn batches(call: &Operands<'_>) -> Option<Cut> {
    if call.shapes[0].len() > 2 {
        return every(call);
    }
    leading::<2>(call)
}
