//! Quantized tensors on a ROCm device: there are none yet, and asking for one says so.

use super::GgmlDType;
use crate::{Error, Result, RocmDevice, RocmStorage, rocm::RocmError};

/// Has no values: nothing makes a quantized tensor on a ROCm device.
pub enum QRocmStorage {}

impl QRocmStorage {
    /// Room for a quantized tensor. Always [`RocmError::NotImplemented`].
    pub fn zeros(_: &RocmDevice, _: usize, _: GgmlDType) -> Result<Self> {
        Err(Error::Rocm(RocmError::NotImplemented {
            op: "a quantized tensor",
        })
        .bt())
    }

    /// The block format.
    pub fn dtype(&self) -> GgmlDType {
        match *self {}
    }

    /// Where it is.
    pub fn device(&self) -> &RocmDevice {
        match *self {}
    }

    /// Bytes it takes.
    pub fn storage_size_in_bytes(&self) -> usize {
        match *self {}
    }

    fn not_implemented(&self, _: &'static str) -> Error {
        match *self {}
    }
}

/// Brings quantized blocks to the device. Always [`RocmError::NotImplemented`].
pub fn load_quantized<T: super::GgmlType + Send + Sync + 'static>(
    _: &RocmDevice,
    _: &[T],
) -> Result<super::QStorage> {
    Err(Error::Rocm(RocmError::NotImplemented {
        op: "loading a quantized tensor",
    })
    .bt())
}
