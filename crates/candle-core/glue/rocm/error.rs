//! What went wrong on the ROCm device, inside candle's own error type.

use crate::{DType, Error};

/// The error inside [`Error::Rocm`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RocmError {
    /// The backend refused or failed; its variants tell the two apart.
    #[error(transparent)]
    Backend(#[from] rocm_backend::Error),

    /// candle has the op, the ROCm device has it not, or not for this dtype.
    #[error("{op} is not implemented on rocm for {}", .dtype.as_str())]
    Unsupported {
        /// The method of candle's backend trait: `matmul`.
        op: &'static str,
        /// The dtype of the tensor it was called on.
        dtype: DType,
    },

    /// candle has the op, the ROCm device has it not.
    #[error("{op} is not implemented on rocm")]
    NotImplemented {
        /// The method of candle's backend trait: `set_seed`.
        op: &'static str,
    },

    /// A custom op has no ROCm implementation, and `ROCM_FALLBACK=refuse` is set.
    #[error("{op} has no rocm implementation, and ROCM_FALLBACK=refuse keeps it from running on the cpu")]
    FallbackRefused {
        /// The custom op's name.
        op: &'static str,
    },
}

impl RocmError {
    /// The ROCm error in `error`, under whatever context, path or backtrace candle wrapped round it.
    pub fn of(error: &Error) -> Option<&RocmError> {
        match error {
            Error::Rocm(error) => Some(error),
            Error::Context { inner, .. }
            | Error::WithPath { inner, .. }
            | Error::WithBacktrace { inner, .. } => RocmError::of(inner),
            _ => None,
        }
    }

    /// Whether the device lacks the op or the dtype, as opposed to having failed at it.
    pub fn is_unsupported(&self) -> bool {
        match self {
            RocmError::Backend(error) => matches!(error, rocm_backend::Error::Unsupported { .. }),
            RocmError::Unsupported { .. } | RocmError::NotImplemented { .. } => true,
            RocmError::FallbackRefused { .. } => true,
        }
    }
}

impl From<rocm_backend::Error> for Error {
    fn from(error: rocm_backend::Error) -> Error {
        Error::Rocm(error.into()).bt()
    }
}
