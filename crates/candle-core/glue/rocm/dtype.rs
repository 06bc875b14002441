//! candle's dtypes, scalars and host storage, as the backend has them.

use rocm_backend::{self as backend, DynBuffer};

use super::{RocmDevice, RocmError, RocmStorage};
use crate::{CpuStorage, DType, Error, Result, backend::BackendStorage as _, scalar::Scalar};

macro_rules! dtypes {
    ($($name:ident)*) => {
        /// The backend's name for a dtype. Nothing computes with F4, F6 and F8E8M0 in candle: their bytes are [`Kept`].
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
        pub(super) fn upload(device: &RocmDevice, host: &CpuStorage) -> Result<RocmStorage> {
            match host {
                $(CpuStorage::$name(elements) => {
                    let buffer = device.backend().upload(elements)?.untyped();
                    Ok(RocmStorage::new(buffer, device.clone()))
                })*
                CpuStorage::F6E2M3(bytes) | CpuStorage::F6E3M2(bytes) | CpuStorage::F4(bytes) | CpuStorage::F8E8M0(bytes) => {
                    let bytes = device.backend().upload(bytes)?.untyped();
                    RocmStorage::keep(host.dtype(), bytes, device)
                }
            }
        }

        /// A buffer's elements on the host.
        pub(super) fn download(buffer: &DynBuffer) -> Result<CpuStorage> {
            Ok(match buffer.dtype() { $(backend::DType::$name => CpuStorage::$name(buffer.download()?),)* })
        }
    };
}

/// The bytes of elements that are packed: F4, F6 and F8E8M0, which a device keeps and carries, and nothing computes with. The
/// storage's own buffer is empty then, so that no kernel can take the bytes for numbers.
pub(super) struct Kept {
    pub(super) dtype: DType,
    pub(super) bytes: DynBuffer,
}

impl Kept {
    /// The elements on the host.
    pub(super) fn download(&self) -> Result<CpuStorage> {
        let bytes = self.bytes.download_bytes()?;
        Ok(match self.dtype {
            DType::F4 => CpuStorage::F4(bytes),
            DType::F6E2M3 => CpuStorage::F6E2M3(bytes),
            DType::F6E3M2 => CpuStorage::F6E3M2(bytes),
            _ => CpuStorage::F8E8M0(bytes),
        })
    }
}

dtypes! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 }
