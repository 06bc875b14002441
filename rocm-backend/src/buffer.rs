//! Elements in device memory: [`Buffer`] of a host type, and below it [`DynBuffer`], whose dtype is known at run time.
//! What a kernel does with one is not here: see [`ops`](crate::ops) and [`Launch`](crate::Launch).

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::hip::bytes;
use crate::hip::memory::DeviceMemory;
use crate::hip::peer;
use crate::{DType, Device, Element, Error, Result, View, ViewMut};

/// Elements of type `T` in device memory, which goes back to its device when the buffer is dropped.
///
/// It dereferences to the [`DynBuffer`] that it is, so that `&Buffer<T>` serves wherever a function takes `&DynBuffer`.
///
/// ```
/// use rocm_backend::{Device, Result};
///
/// fn main() -> Result<()> {
///     let device = Device::new(0)?;
///     let mut x = device.upload(&[1.0_f32, 2.0, 3.0])?;
///     assert_eq!(x.download()?, [1.0, 2.0, 3.0]);
///     x.write(&[4.0, 5.0, 6.0])?;
///     assert_eq!(x.download()?, [4.0, 5.0, 6.0]);
///     Ok(())
/// }
/// ```
pub struct Buffer<T> {
    inner: DynBuffer,
    element: PhantomData<T>,
}

/// Elements of one [`DType`] in device memory, which goes back to its device when the buffer is dropped.
///
/// A buffer may cross threads: its contents are reached through HIP calls only, which run in the order of its device's
/// stream, and every method that writes takes `&mut`.
pub struct DynBuffer {
    memory: DeviceMemory,
    device: Device,
    dtype: DType,
    /// As the sizes of the one-dimensional view of all elements.
    len: [usize; 1],
}

impl<T: Element> Buffer<T> {
    /// The elements, after all work submitted so far.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`], also for earlier work that failed only now.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut host = vec![T::default(); self.len()];
        self.read(&mut host)?;
        Ok(host)
    }

    /// As [`download`](Buffer::download), to memory that is there already.
    ///
    /// # Errors
    /// As [`download`](Buffer::download), and [`Error::Length`] for a slice of another length.
    pub fn read(&self, host: &mut [T]) -> Result<()> {
        self.inner.same_length("read", host.len())?;
        self.inner.memory.download(bytes::of_mut(host))
    }

    /// Replaces all elements. They pass through pinned memory and are free when this returns; nothing waits for the copy.
    ///
    /// # Errors
    /// [`Error::Length`] for a slice of another length; [`Error::Hip`].
    pub fn write(&mut self, host: &[T]) -> Result<()> {
        self.inner.same_length("write", host.len())?;
        self.inner.memory.upload(bytes::of(host))
    }

    /// A second buffer with the same contents, on the same device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn try_clone(&self) -> Result<Buffer<T>> {
        self.inner.try_clone().map(Buffer::assume)
    }

    /// As [`DynBuffer::copy_to`].
    ///
    /// # Errors
    /// As [`DynBuffer::copy_to`].
    pub fn copy_to(&self, device: &Device) -> Result<Buffer<T>> {
        self.inner.copy_to(device).map(Buffer::assume)
    }

    /// As [`DynBuffer::move_to`].
    ///
    /// # Errors
    /// As [`DynBuffer::move_to`].
    pub fn move_to(self, stream: &Device) -> Result<Buffer<T>> {
        self.inner.move_to(stream).map(Buffer::assume)
    }

    /// All elements, to be written by an operation.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        self.inner.view_mut()
    }

    /// The same buffer without its element type.
    pub fn untyped(self) -> DynBuffer {
        self.inner
    }

    /// `inner`, whose dtype is that of `T`.
    pub(crate) fn assume(inner: DynBuffer) -> Buffer<T> {
        debug_assert_eq!(inner.dtype, T::DTYPE);
        Buffer {
            inner,
            element: PhantomData,
        }
    }
}

pub(crate) mod sealed {
    /// Gives the buffer to be written, and only to this crate: elsewhere another could be put in its place.
    pub trait Sealed {
        fn dyn_mut(&mut self) -> &mut super::DynBuffer;
    }
}

/// A [`DynBuffer`] or a [`Buffer`], where one is to be written.
pub trait AnyBuffer: sealed::Sealed {}

impl sealed::Sealed for DynBuffer {
    fn dyn_mut(&mut self) -> &mut DynBuffer {
        self
    }
}

impl<T> sealed::Sealed for Buffer<T> {
    fn dyn_mut(&mut self) -> &mut DynBuffer {
        &mut self.inner
    }
}

impl<B: sealed::Sealed> AnyBuffer for B {}

impl<T> Deref for Buffer<T> {
    type Target = DynBuffer;

    fn deref(&self) -> &DynBuffer {
        &self.inner
    }
}

impl DynBuffer {
    /// Room for `len` elements, holding whatever the device has there: what an earlier buffer left, perhaps.
    ///
    /// Safe, because the host never looks at device memory: it downloads a copy, made of bytes that have values.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn uninit(device: &Device, dtype: DType, len: usize) -> Result<DynBuffer> {
        let size = dtype.size_in_bytes();
        let bytes = len
            .checked_mul(size)
            .ok_or_else(|| Error::uncountable("buffer", &[len, size]))?;
        let memory = DeviceMemory::new(device.context(), bytes)?;
        Ok(DynBuffer {
            memory,
            device: device.clone(),
            dtype,
            len: [len],
        })
    }

    /// `len` elements of zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn zeros(device: &Device, dtype: DType, len: usize) -> Result<DynBuffer> {
        let mut buffer = DynBuffer::uninit(device, dtype, len)?;
        buffer.memory.zero()?;
        Ok(buffer)
    }

    /// Elements from their bytes, little-endian. They pass through pinned memory, and their copy is submitted like a kernel:
    /// nothing waits for it, and if it fails, a later call says so.
    ///
    /// # Errors
    /// [`Error::Length`] when the bytes are not whole elements, [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn from_bytes(device: &Device, dtype: DType, bytes: &[u8]) -> Result<DynBuffer> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::Length {
                what: format!("bytes of whole elements of {dtype}"),
                expected: bytes.len().next_multiple_of(size),
                found: bytes.len(),
            });
        }
        let mut buffer = DynBuffer::uninit(device, dtype, bytes.len() / size)?;
        buffer.memory.upload(bytes)?;
        Ok(buffer)
    }

    /// The elements' type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len[0]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the elements live.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// All elements, one after the other, as one dimension.
    pub fn view(&self) -> View<'_> {
        View::new(self, &self.len, &[1])
    }

    /// All elements, to be written by an operation.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        ViewMut::all(self)
    }

    /// The elements, after all work submitted so far.
    ///
    /// # Errors
    /// [`Error::DTypes`] when the elements are not of type `T`; [`Error::Hip`] or [`Error::DeviceFault`],
    /// also for earlier work that failed only now.
    pub fn download<T: Element>(&self) -> Result<Vec<T>> {
        self.is_of::<T>("download")?;
        let mut host = vec![T::default(); self.len()];
        self.memory.download(bytes::of_mut(&mut host))?;
        Ok(host)
    }

    /// The elements' bytes, little-endian, after all work submitted so far.
    ///
    /// # Errors
    /// As [`download`](DynBuffer::download).
    pub fn download_bytes(&self) -> Result<Vec<u8>> {
        let mut host = vec![0; self.memory.len()];
        self.memory.download(&mut host)?;
        Ok(host)
    }

    /// The same buffer with its element type.
    ///
    /// # Errors
    /// [`Error::DTypes`] when the elements are not of type `T`.
    pub fn typed<T: Element>(self) -> Result<Buffer<T>> {
        self.is_of::<T>("typed")?;
        Ok(Buffer::assume(self))
    }

    /// A second buffer with the same contents, on the same device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn try_clone(&self) -> Result<DynBuffer> {
        let mut copy = DynBuffer::uninit(&self.device, self.dtype, self.len())?;
        copy.memory.copy_from(0, &self.memory, 0, self.memory.len())?;
        Ok(copy)
    }

    /// A second buffer with the same contents, on `device`: another GPU, or another stream of this one. No bytes pass through
    /// this process, and nothing waits; work on either device that is submitted later runs after the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn copy_to(&self, device: &Device) -> Result<DynBuffer> {
        let mut copy = DynBuffer::uninit(device, self.dtype, self.len())?;
        peer::copy(&self.memory, &mut copy.memory)?;
        Ok(copy)
    }

    /// Hands the buffer to `stream`, another stream of the same GPU: no byte is copied and nothing waits. What is submitted
    /// there from now on runs after all that this buffer's stream has got so far.
    ///
    /// # Errors
    /// [`Error::Devices`] for another GPU: see [`copy_to`](DynBuffer::copy_to). [`Error::Hip`].
    pub fn move_to(mut self, stream: &Device) -> Result<DynBuffer> {
        self.memory = self.memory.hand_over(stream.context())?;
        self.device = stream.clone();
        Ok(self)
    }

    fn is_of<T: Element>(&self, op: &str) -> Result<()> {
        Error::unless_same_dtype(op, self.dtype, T::DTYPE)
    }

    fn same_length(&self, op: &str, found: usize) -> Result<()> {
        if found == self.len() {
            return Ok(());
        }
        Err(Error::Length {
            what: format!("{op}: elements of the host"),
            expected: self.len(),
            found,
        })
    }

    pub(crate) fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut DeviceMemory {
        &mut self.memory
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl fmt::Debug for DynBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} of {} on {})", self.len(), self.dtype, self.device)
    }
}
