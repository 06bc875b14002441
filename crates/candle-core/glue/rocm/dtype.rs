//! candle's dtypes, scalars and host storage, as the backend has them.

use rocm_backend::{self as backend, DynBuffer};

use super::RocmError;
use crate::{CpuStorage, DType, Error, Result, scalar::Scalar};

macro_rules! dtypes {
    ($($name:ident)*) => {
        /// The backend's name for a dtype. F4, F6 and F8E8M0 are placeholders in candle: nothing computes with them.
        pub(super) fn to_backend(dtype: DType) -> Result<backend::DType> {
            match dtype {
                $(DType::$name => Ok(backend::DType::$name),)*
                dtype => Err(Error::Rocm(RocmError::Unsupported { op: "storage", dtype }).bt()),
            }
        }

        pub(super) fn from_backend(dtype: backend::DType) -> DType {
            match dtype { $(backend::DType::$name => DType::$name,)* }
        }

        pub(super) fn scalar(scalar: Scalar) -> backend::Scalar {
            match scalar { $(Scalar::$name(value) => value.into(),)* }
        }

        /// A host tensor's elements on `device`.
        pub(super) fn upload(device: &backend::Device, host: &CpuStorage) -> Result<DynBuffer> {
            match host {
                $(CpuStorage::$name(elements) => Ok(device.upload(elements)?.untyped()),)*
                CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) | CpuStorage::F4(_) | CpuStorage::F8E8M0(_) => {
                    use crate::backend::BackendStorage as _;
                    Err(Error::Rocm(RocmError::Unsupported { op: "storage", dtype: host.dtype() }).bt())
                }
            }
        }

        /// A buffer's elements on the host.
        pub(super) fn download(buffer: &DynBuffer) -> Result<CpuStorage> {
            Ok(match buffer.dtype() { $(backend::DType::$name => CpuStorage::$name(buffer.download()?),)* })
        }
    };
}

dtypes! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 }
