//! Device memory with an owner, and copies between it and the host. pool.rs decides where blocks come from;
//! staging.rs moves bytes to and from the host.
#![expect(unsafe_code, reason = "calls HIP with device addresses and host slices")]

use std::ffi::c_void;
use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::Context;
use super::peer;
use super::pool::Block;
use super::status::check;
use crate::Error;
use crate::trace::Level;

/// Device memory with an owner: goes back to its device's pool when dropped. Keeps the device alive.
pub(crate) struct DeviceMemory {
    block: Block,
    /// Bytes asked for; the block may be longer.
    len: usize,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// `len` bytes of whatever the device has there. No bytes take no memory.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<DeviceMemory, Error> {
        let block = if len == 0 {
            Block::EMPTY
        } else {
            context.bind()?;
            let block = context.pool().take(context.stream(), len)?;
            context.usage().add(block.capacity());
            block
        };
        Ok(DeviceMemory {
            block,
            len,
            context: Arc::clone(context),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn block(&self) -> Block {
        self.block
    }

    /// Gives up ownership: the holder of the block puts it back to the context's pool.
    pub(crate) fn into_block(mut self) -> Block {
        self.context.usage().remove(self.block.capacity());
        std::mem::replace(&mut self.block, Block::EMPTY)
    }

    /// The same block in the hands of `context`, another stream of its device, which first waits for this one.
    ///
    /// # Errors
    /// [`Error::Devices`] when it is of another device.
    pub(crate) fn hand_over(self, context: &Arc<Context>) -> Result<DeviceMemory, Error> {
        if self.context.ordinal() != context.ordinal() {
            return Err(Error::Devices {
                op: "move_to".to_owned(),
            });
        }
        if Arc::ptr_eq(&self.context, context) {
            return Ok(self);
        }
        if self.block == Block::EMPTY {
            return DeviceMemory::new(context, 0);
        }
        peer::order(&self.context, context)?;
        let len = self.len;
        let block = self.into_block();
        context.usage().add(block.capacity());
        Ok(DeviceMemory {
            block,
            len,
            context: Arc::clone(context),
        })
    }

    /// Sets every byte to zero, in stream order.
    pub(crate) fn zero(&mut self) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: the block holds at least `len` bytes and is written in stream order.
        check("hipMemsetAsync", unsafe {
            bindings::hipMemsetAsync(self.block.pointer(0), 0, self.len, self.context.stream().raw())
        })?;
        self.trace("hipMemsetAsync");
        Ok(())
    }

    /// Copies `bytes` to the start of the block, after all work submitted so far. They are free when it returns; the copy
    /// itself may run, and fail, later.
    ///
    /// # Errors
    /// [`Error::Length`] when they are more than the block holds.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() > self.len {
            return Err(Error::Length {
                what: "bytes of an upload, at most".to_owned(),
                expected: self.len,
                found: bytes.len(),
            });
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.bind()?;
        let mut staging = self.context.staging();
        // SAFETY: the block is long enough.
        unsafe { staging.get()?.upload(bytes, self.block, self.context.stream()) }
    }

    /// Copies the block's bytes to the host, after all work submitted so far. `bytes` is as long as was asked for.
    ///
    /// # Errors
    /// [`Error::Length`] when it is not.
    pub(crate) fn download(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != self.len {
            return Err(Error::Length {
                what: "bytes of a download".to_owned(),
                expected: self.len,
                found: bytes.len(),
            });
        }
        self.context.bind()?;
        if bytes.is_empty() {
            // As with bytes to fetch, earlier failures come to light.
            return self.context.synchronize();
        }
        self.context.look_at_reports()?;
        let mut staging = self.context.staging();
        // SAFETY: the block has `len` bytes.
        unsafe { staging.get()?.download(bytes, self.block, self.context.stream()) }
    }

    /// Copies `len` bytes from another block of the same device, in stream order. Offsets and `len` are in bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] when the range leaves either block, [`Error::Devices`] when the blocks are of two devices.
    pub(crate) fn copy_from(
        &mut self,
        at: usize,
        source: &DeviceMemory,
        source_at: usize,
        len: usize,
    ) -> Result<(), Error> {
        const OP: &str = "copy";
        if !Arc::ptr_eq(&self.context, &source.context) {
            return Err(Error::Devices { op: OP.to_owned() });
        }
        let fits = |start: usize, room: usize| start.checked_add(len).is_some_and(|end| end <= room);
        if !fits(at, self.len) || !fits(source_at, source.len) {
            return Err(Error::shape(
                OP,
                format!(
                    "{len} bytes from byte {source_at} of {} to byte {at} of {} leave their buffers",
                    source.len, self.len
                ),
            ));
        }
        if len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        let (to, from): (_, *const c_void) = (self.block.pointer(at), source.block.pointer(source_at));
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToDevice;
        // SAFETY: both ranges were checked above; `&mut self` and `&source` are two blocks, so they do not overlap. A block
        // that is given back before the copy runs serves other work only after the copy.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(to, from, len, kind, self.context.stream().raw())
        })?;
        self.trace("hipMemcpyAsync");
        Ok(())
    }

    /// Notes what the HIP runtime did inside the device's memory.
    fn trace(&self, call: &str) {
        let level = Level::of_kernels(self.context.info().driver());
        self.context.ledger().trace(&Arc::from(call), None, level);
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.block != Block::EMPTY {
            let _ = self.context.bind();
            self.context.usage().remove(self.block.capacity());
            self.context.pool().put(self.context.stream(), self.block);
        }
    }
}
