//! The calls of the conversions between dtypes.

use candle_core::DType;
use parity_model::op::Cast;

use super::candle;

candle! {
    fn row(Cast) {
        // The dtype is the one that the op's row in the table of ops says.
        Cast::ToU8
        | Cast::ToU32
        | Cast::ToI16
        | Cast::ToI32
        | Cast::ToI64
        | Cast::ToF8E4M3
        | Cast::ToBF16
        | Cast::ToF16
        | Cast::ToF32
        | Cast::ToF64 => |x; dtype: DType| x.to_dtype(dtype)?;
    }
}
