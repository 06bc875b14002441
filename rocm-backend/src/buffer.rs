//! Elements of one dtype in device memory.

use std::fmt;

use crate::hip::memory::DeviceMemory;
use crate::hip::peer;
use crate::{DType, Device, Error, Result};

/// Owns device memory; it goes back to its device when the buffer is dropped.
///
/// A buffer may cross threads: its contents are reached through HIP calls only, which run in the order of its
/// device's one stream, and every method that writes takes `&mut`.
pub struct Buffer {
    memory: DeviceMemory,
    device: Device,
    dtype: DType,
    len: usize,
}

impl Buffer {
    /// Room for `len` elements, holding whatever the device has there.
    pub(crate) fn new(device: &Device, dtype: DType, len: usize) -> Result<Buffer> {
        let bytes = len.checked_mul(dtype.size_in_bytes()).ok_or_else(|| {
            Error::Invalid(format!(
                "{len} elements of {dtype} are more bytes than can be counted"
            ))
        })?;
        let memory = DeviceMemory::new(device.context(), bytes)?;
        Ok(Buffer {
            memory,
            device: device.clone(),
            dtype,
            len,
        })
    }

    /// The elements' type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the elements live.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The elements' bytes, little-endian, after all work submitted so far.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`], also for earlier work that failed only now.
    pub fn download(&self) -> Result<Vec<u8>> {
        self.memory.download()
    }

    /// A second buffer with the same contents, on the same device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn try_clone(&self) -> Result<Buffer> {
        let mut copy = Buffer::new(&self.device, self.dtype, self.len)?;
        copy.memory.copy_from(0, &self.memory, 0, self.memory.len())?;
        Ok(copy)
    }

    /// A second buffer with the same contents, on `device`: another GPU, or another handle of this one. No bytes pass through
    /// this process, and nothing waits; work on either device that is submitted later runs behind the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn copy_to(&self, device: &Device) -> Result<Buffer> {
        let mut copy = Buffer::new(device, self.dtype, self.len)?;
        peer::copy(&self.memory, &mut copy.memory)?;
        Ok(copy)
    }

    pub(crate) fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut DeviceMemory {
        &mut self.memory
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} of {} on {})", self.len, self.dtype, self.device)
    }
}
