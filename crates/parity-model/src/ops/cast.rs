//! Conversions to another dtype. How a number is rounded is the oracle's to know.

use super::ops;
use crate::op::batch::every;
use crate::op::shape::alike;

ops! {
    /// One tensor in, the same numbers in another dtype out.
    pub enum Cast;

    /// Truncated and saturated from a float (NaN to 0), wrapped from an integer: as Rust's `as`.
    ToU8 "to_u8" (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// As `to_u8`.
    ToU32 "to_u32" (x: Data) on ANY -> U32, shape: alike, batch: every;
    /// As `to_u8`.
    ToI16 "to_i16" (x: Data) on ANY -> I16, shape: alike, batch: every;
    /// As `to_u8`.
    ToI32 "to_i32" (x: Data) on ANY -> I32, shape: alike, batch: every;
    /// As `to_u8`.
    ToI64 "to_i64" (x: Data) on ANY -> I64, shape: alike, batch: every;
    /// Rounded once, to nearest even; what is beyond 448 becomes 448, infinities too.
    ToF8E4M3 "to_f8e4m3" (x: Data) on ANY -> F8E4M3, shape: alike, batch: every;
    /// Rounded once, to nearest even, from the source's own value.
    ToBF16 "to_bf16" (x: Data) on ANY -> BF16, shape: alike, batch: every;
    /// As `to_bf16`.
    ToF16 "to_f16" (x: Data) on ANY -> F16, shape: alike, batch: every;
    /// As `to_bf16`.
    ToF32 "to_f32" (x: Data) on ANY -> F32, shape: alike, batch: every;
    /// As `to_bf16`.
    ToF64 "to_f64" (x: Data) on ANY -> F64, shape: alike, batch: every;
}
