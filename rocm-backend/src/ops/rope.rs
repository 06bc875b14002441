//! Rotary position embeddings: each pair `(x, y)` of a head's elements becomes `(x cos - y sin, x sin + y cos)`, computed
//! in f32 (f64 in f64) and rounded once.
//!
//! All operands are contiguous and of one dtype: bf16, f16, f32 or f64. `cos` and `sin` hold, for each position, half as
//! many elements as a head has: `[positions, d / 2]`, or `[batches, positions, d / 2]` where each batch has its own.
//! There may be more positions than the input has, of which the first are taken.

use crate::hip::launch::rope::{self as launch, Pairs};
use crate::{DynBuffer, Result, View};

/// Of `[batch, head, position, d]`; element i is paired with i + d / 2.
///
/// # Errors
/// `Error::NotContiguous`, `Error::DTypes` and `Error::Shape` for operands that are not so; else as
/// [`unary`](super::unary()).
pub fn rope(x: View<'_>, cos: View<'_>, sin: View<'_>) -> Result<DynBuffer> {
    run(Pairs::Halves, "rope", x, cos, sin)
}

/// Of `[batch, head, position, d]`; element 2i is paired with 2i + 1.
///
/// # Errors
/// As [`rope`].
pub fn rope_i(x: View<'_>, cos: View<'_>, sin: View<'_>) -> Result<DynBuffer> {
    run(Pairs::Neighbours, "rope_i", x, cos, sin)
}

/// Of `[batch, position, head, d]`; element i is paired with i + d / 2.
///
/// # Errors
/// As [`rope`].
pub fn rope_thd(x: View<'_>, cos: View<'_>, sin: View<'_>) -> Result<DynBuffer> {
    run(Pairs::HalvesThd, "rope_thd", x, cos, sin)
}

fn run(pairs: Pairs, op: &str, x: View<'_>, cos: View<'_>, sin: View<'_>) -> Result<DynBuffer> {
    launch::rotate(pairs, &x.check(op)?, &cos.check(op)?, &sin.check(op)?)
}
