//! candle's dtypes, scalars and host storage, as the backend has them.

use std::borrow::Cow;

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend as backend;
use zerocopy::{FromZeros, IntoBytes};

use super::RocmError;
use crate::{CpuStorage, DType, Error, Result, scalar::Scalar};

/// A host element that crosses to the device byte for byte. AMD's devices and their hosts are little-endian.
trait Element: Sized {
    fn to_bytes(elements: &[Self]) -> Cow<'_, [u8]>;
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! plain_elements {
    ($($host:ty)*) => {$(
        impl Element for $host {
            fn to_bytes(elements: &[Self]) -> Cow<'_, [u8]> {
                Cow::Borrowed(elements.as_bytes())
            }

            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                let mut elements = vec![<$host>::new_zeroed(); bytes.len() / size_of::<$host>()];
                elements.as_mut_bytes().copy_from_slice(bytes);
                elements
            }
        }
    )*};
}

plain_elements! { u8 u32 i16 i32 i64 bf16 f16 f32 f64 }

impl Element for F8E4M3 {
    fn to_bytes(elements: &[Self]) -> Cow<'_, [u8]> {
        elements.iter().map(F8E4M3::to_bits).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().copied().map(F8E4M3::from_bits).collect()
    }
}

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
            match scalar { $(Scalar::$name(value) => backend::Scalar::$name(value),)* }
        }

        /// The dtype and the bytes of a host tensor.
        pub(super) fn to_bytes(host: &CpuStorage) -> Result<(backend::DType, Cow<'_, [u8]>)> {
            match host {
                $(CpuStorage::$name(elements) => Ok((backend::DType::$name, Element::to_bytes(elements))),)*
                CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) | CpuStorage::F4(_) | CpuStorage::F8E8M0(_) => {
                    use crate::backend::BackendStorage as _;
                    Err(Error::Rocm(RocmError::Unsupported { op: "storage", dtype: host.dtype() }).bt())
                }
            }
        }

        /// The host tensor that `bytes` are.
        pub(super) fn from_bytes(dtype: backend::DType, bytes: &[u8]) -> CpuStorage {
            match dtype { $(backend::DType::$name => CpuStorage::$name(Element::from_bytes(bytes)),)* }
        }
    };
}

dtypes! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 }
