//! Products of matrices. How they are computed is not said here.

use super::ops;

ops! {
    /// Products of matrices.
    pub enum Matmul;

    /// [.., m, k] times [.., k, n], accumulated in f32 at least and rounded once.
    Matmul "matmul" (a: Data, b: Data) on WIDE, grad on WIDE: "w b^T by the left, a^T w by the right.";
    /// As `matmul`, after the batch dimensions were broadcast to a common shape.
    BroadcastMatmul "broadcast_matmul" (a: Data, b: Data) on WIDE,
        grad on F32_F64: "As `grad_matmul`, summed over the batches along which the argument repeats.";
    /// [m, k] times [k], as `matmul` has it.
    Mv "mv" (a: Data, b: Data) on WIDE, grad on F32_F64: "As `grad_matmul`.";
    /// The sum of the products of two lists, made of parts: each product is rounded to the dtype; integers
    /// wrap.
    Dot "dot" (a: Data, b: Data) on ANY, grad on F32_F64: "w times the other.";
}
