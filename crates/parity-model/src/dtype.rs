//! Element types, under candle's names.

use serde::{Deserialize, Serialize};

/// The ten element types candle computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// 8-bit unsigned integer.
    U8,
    /// 32-bit unsigned integer.
    U32,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// OCP 8-bit float: 4 exponent bits, 3 mantissa bits, no infinities, `S.1111.111` is NaN.
    F8E4M3,
    /// bfloat16: the upper half of an `f32`.
    BF16,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl DType {
    /// Every element type, in the order tables show them.
    pub const ALL: [DType; 10] = [
        DType::U8,
        DType::U32,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F8E4M3,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
    ];

    /// The name specs, ids and tables use; the same as candle's `DType::as_str`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::U8 => "u8",
            DType::U32 => "u32",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F8E4M3 => "f8e4m3",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 | DType::F8E4M3 => 1,
            DType::I16 | DType::BF16 | DType::F16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether the type is a floating-point one.
    pub const fn is_float(self) -> bool {
        match self {
            DType::F8E4M3 | DType::BF16 | DType::F16 | DType::F32 | DType::F64 => true,
            DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 => false,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not of a dtype of candle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype `{0}`, expected one of u8, u32, i16, i32, i64, f8e4m3, bf16, f16, f32, f64")]
pub struct UnknownDType(pub String);

impl std::str::FromStr for DType {
    type Err = UnknownDType;

    fn from_str(s: &str) -> Result<Self, UnknownDType> {
        DType::ALL
            .into_iter()
            .find(|d| d.name() == s)
            .ok_or_else(|| UnknownDType(s.to_owned()))
    }
}
