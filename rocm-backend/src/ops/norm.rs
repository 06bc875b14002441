//! Softmax and norms of rows, which the last dimension makes. Inputs are contiguous, of bf16, f16, f32 or f64; all is
//! computed in f32 (f64 in f64) and rounded once.

use crate::hip::launch::norm as launch;
use crate::{DynBuffer, Result, View};

/// `exp(x) / Σ exp(x)` of each row, after its greatest element was taken from all.
///
/// # Errors
/// `Error::NotContiguous` for such a view, `Error::Shape` for one without dimensions; else as [`unary`](super::unary()).
pub fn softmax_last_dim(x: View<'_>) -> Result<DynBuffer> {
    launch::rows(&x.check("softmax")?, &[], 0.0)
}

/// `x / √(mean of x² + eps) * alpha` of each row; `alpha` has a row's length.
///
/// # Errors
/// `Error::NotContiguous`, `Error::DTypes`, and `Error::Shape` for an `alpha` of another length; else as
/// [`unary`](super::unary()).
pub fn rms_norm(x: View<'_>, alpha: View<'_>, eps: f32) -> Result<DynBuffer> {
    let op = "rmsnorm";
    launch::rows(&x.check(op)?, &[alpha.check(op)?], eps)
}

/// `(x - mean) / √(variance + eps) * alpha + beta` of each row; `alpha` and `beta` have a row's length. The variance is
/// the mean of `(x - mean)²`.
///
/// # Errors
/// As [`rms_norm`].
pub fn layer_norm(x: View<'_>, alpha: View<'_>, beta: View<'_>, eps: f32) -> Result<DynBuffer> {
    let op = "layernorm";
    launch::rows(&x.check(op)?, &[alpha.check(op)?, beta.check(op)?], eps)
}
