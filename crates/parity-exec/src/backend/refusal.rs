//! Sorts candle's errors into the classes that two backends can agree on.

use candle_core::{Error, rocm::RocmError, rocm_backend};
use parity_model::Refusal;

use crate::nvidia;

/// The error under candle's wrappers, which add contexts and backtraces.
fn innermost(error: &Error) -> &Error {
    match error {
        Error::WithBacktrace { inner, .. } | Error::WithPath { inner, .. } | Error::Context { inner, .. } => {
            innermost(inner)
        }
        other => other,
    }
}

/// The backend's own words.
pub(super) fn words(error: &Error) -> String {
    RocmError::of(error).map_or_else(|| innermost(error).to_string(), RocmError::to_string)
}

/// The class of a candle error.
pub(super) fn classify(error: &Error) -> Refusal {
    if let Some(error) = RocmError::of(error) {
        return classify_rocm(error);
    }
    match innermost(error) {
        Error::UnsupportedDTypeForOp(..) => Refusal::Unsupported,
        Error::Cuda(inner) => nvidia::classify(&inner.to_string()),
        // Of the wait for a CUDA stream.
        Error::Wrapped(inner) => nvidia::classify(&inner.to_string()),
        Error::Msg(text) if text.contains("not supported on cuda") => Refusal::Unsupported,
        // candle-nn's fused ops have no variant for it.
        Error::Msg(text) if text.starts_with("unsupported dtype") => Refusal::Unsupported,
        Error::Msg(text) if text.ends_with("not supported for integer dtypes") => Refusal::Unsupported,
        Error::BackwardNotSupported { .. } => Refusal::Unsupported,
        Error::Msg(text) if text.starts_with("cannot seed") => Refusal::Unsupported,
        Error::Msg(text) if text.starts_with("backward not supported") => Refusal::Unsupported,
        Error::UnexpectedDType { .. }
        | Error::DTypeMismatchBinaryOp { .. }
        | Error::DimOutOfRange { .. }
        | Error::DuplicateDimIndex { .. }
        | Error::UnexpectedNumberOfDims { .. }
        | Error::UnexpectedShape { .. }
        | Error::ShapeMismatch { .. }
        | Error::ShapeMismatchBinaryOp { .. }
        | Error::ShapeMismatchCat { .. }
        | Error::ShapeMismatchSplit { .. }
        | Error::OnlySingleDimension { .. }
        | Error::EmptyTensor { .. }
        | Error::NarrowInvalidArgs { .. }
        | Error::Conv1dInvalidArgs { .. }
        | Error::InvalidIndex { .. }
        | Error::BroadcastIncompatibleShapes { .. }
        | Error::MatMulUnexpectedStriding(_)
        | Error::RequiresContiguous { .. } => Refusal::Invalid,
        _ => Refusal::Other,
    }
}

fn classify_rocm(error: &RocmError) -> Refusal {
    match error {
        error if error.is_unsupported() => Refusal::Unsupported,
        RocmError::Backend(error) if error.is_invalid() => Refusal::Invalid,
        RocmError::Backend(rocm_backend::Error::DeviceFault(_) | rocm_backend::Error::DeviceLost { .. }) => {
            Refusal::DeviceFault
        }
        _ => Refusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_under_whatever_candle_wrapped_round_them() {
        let check = |error: Error, want| assert_eq!(classify(&error.bt().context("in a test")), want);
        check(
            Error::UnsupportedDTypeForOp(candle_core::DType::U8, "exp"),
            Refusal::Unsupported,
        );
        check(
            Error::Cuda("DriverError(CUDA_ERROR_NOT_FOUND)".into()),
            Refusal::Unsupported,
        );
        check(
            Error::Cuda("DriverError(CUDA_ERROR_ILLEGAL_ADDRESS)".into()),
            Refusal::DeviceFault,
        );
        check(
            Error::wrap("DriverError(CUDA_ERROR_ASSERT)"),
            Refusal::DeviceFault,
        );
        check(
            Error::Rocm(RocmError::NotImplemented { op: "matmul" }),
            Refusal::Unsupported,
        );
        check(
            rocm_backend::Error::DeviceFault("page fault".to_owned()).into(),
            Refusal::DeviceFault,
        );
        check(
            rocm_backend::Error::DeviceLost {
                call: "hipStreamSynchronize",
                code: 719,
                text: "a kernel failed".to_owned(),
            }
            .into(),
            Refusal::DeviceFault,
        );
        check(
            rocm_backend::Error::Devices {
                op: "badd".to_owned(),
            }
            .into(),
            Refusal::Invalid,
        );
        check(Error::Msg("anything".to_owned()), Refusal::Other);
    }
}
