//! Tensors as bytes on the host: what a worker is fed and what it hands back.

use serde::{Deserialize, Serialize};

use crate::DType;

/// A contiguous (row-major) tensor in host memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTensor {
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// `shape.product() * dtype.size()` bytes, little endian.
    pub bytes: Vec<u8>,
}

impl HostTensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits of element `i`, zero-extended.
    ///
    /// # Panics
    /// When `i` is out of range.
    pub fn bits(&self, i: usize) -> u64 {
        let size = self.dtype.size();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[i * size..(i + 1) * size]);
        u64::from_le_bytes(word)
    }
}
