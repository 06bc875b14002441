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
    /// `shape.product() * dtype.size()` bytes, little endian. On the wire they are one string of bytes, not a list of numbers.
    #[serde(with = "serde_bytes")]
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
        // By size, so that each is one load: a run asks for hundreds of millions of elements.
        match self.dtype.size() {
            1 => u64::from(self.bytes[i]),
            2 => u64::from(u16::from_le_bytes(self.element(i))),
            4 => u64::from(u32::from_le_bytes(self.element(i))),
            _ => u64::from_le_bytes(self.element(i)),
        }
    }

    fn element<const SIZE: usize>(&self, i: usize) -> [u8; SIZE] {
        let (elements, _) = self.bytes.as_chunks();
        elements[i]
    }
}
