//! Conversions to another dtype. How a number is rounded is the oracle's to know.

use super::ops;

ops! {
    /// One tensor in, the same numbers in another dtype out.
    pub enum Cast;

    /// Truncated and saturated from a float (NaN to 0), wrapped from an integer: as Rust's `as`.
    ToU8 "to_u8" (x: Data) on ANY -> U8;
    /// As `to_u8`.
    ToU32 "to_u32" (x: Data) on ANY -> U32;
    /// As `to_u8`.
    ToI16 "to_i16" (x: Data) on ANY -> I16;
    /// As `to_u8`.
    ToI32 "to_i32" (x: Data) on ANY -> I32;
    /// As `to_u8`.
    ToI64 "to_i64" (x: Data) on ANY -> I64;
    /// Rounded once, to nearest even; what is beyond 448 becomes 448, infinities too.
    ToF8E4M3 "to_f8e4m3" (x: Data) on ANY -> F8E4M3;
    /// Rounded once, to nearest even, from the source's own value.
    ToBF16 "to_bf16" (x: Data) on ANY -> BF16;
    /// As `to_bf16`.
    ToF16 "to_f16" (x: Data) on ANY -> F16;
    /// As `to_bf16`.
    ToF32 "to_f32" (x: Data) on ANY -> F32;
    /// As `to_bf16`.
    ToF64 "to_f64" (x: Data) on ANY -> F64;
}
