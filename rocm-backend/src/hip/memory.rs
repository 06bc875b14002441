//! Device memory with an owner, and copies between it and the host. pool.rs decides where blocks come from;
//! staging.rs moves bytes to and from the host.
#![expect(unsafe_code, reason = "calls HIP with device addresses and host slices")]

use std::ffi::c_void;
use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::Context;
use super::graph::Arena;
use super::peer;
use super::pool::Block;
use super::status::check;
use crate::Error;
use crate::trace::Level;

/// Device memory with an owner: goes back to its device's pool when dropped, and when no graph uses it. Keeps the device alive.
pub(crate) struct DeviceMemory {
    owned: Arc<Owned>,
    /// Bytes asked for; the block may be longer.
    len: usize,
}

/// A block and where it goes back to.
pub(super) struct Owned {
    block: Block,
    context: Arc<Context>,
    /// Of the graph in whose capture it was taken.
    arena: Option<Arc<Arena>>,
}

impl Owned {
    /// Whether the block is of this arena.
    pub(super) fn is_of(&self, arena: &Arc<Arena>) -> bool {
        self.arena.as_ref().is_some_and(|own| Arc::ptr_eq(own, arena))
    }
}

impl DeviceMemory {
    /// `len` bytes of whatever the device has there. No bytes take no memory.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<DeviceMemory, Error> {
        let (mut block, mut arena) = (Block::EMPTY, None);
        if len > 0 {
            context.refuse_beside_capture()?;
            arena = context.arena();
            block = match &arena {
                Some(arena) => arena.take(len)?,
                None => {
                    let block = context.pool().take(context.stream(), len)?;
                    context.usage().add(block.capacity());
                    block
                }
            };
        }
        let context = Arc::clone(context);
        Ok(DeviceMemory {
            owned: Arc::new(Owned {
                block,
                context,
                arena,
            }),
            len,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.owned.context
    }

    /// The block, for a call that is submitted to the context's stream now. While a graph is captured the graph keeps it.
    pub(crate) fn block(&self) -> Block {
        if self.len > 0 {
            self.context().keep_for_graph(&self.owned);
        }
        self.owned.block
    }

    /// Gives up ownership: the holder of the block puts it back to the context's pool.
    fn into_block(mut self, op: &str) -> Result<Block, Error> {
        match Arc::get_mut(&mut self.owned) {
            Some(owned) if owned.arena.is_none() => {
                owned.context.usage().remove(owned.block.capacity());
                Ok(std::mem::replace(&mut owned.block, Block::EMPTY))
            }
            _ => Err(Error::Capture(format!("{op}: a graph uses the buffer"))),
        }
    }

    /// The same block in the hands of `context`, another stream of its device, which first waits for this one.
    ///
    /// # Errors
    /// [`Error::Devices`] when it is of another device, [`Error::Capture`] when a graph uses it.
    pub(crate) fn hand_over(self, context: &Arc<Context>) -> Result<DeviceMemory, Error> {
        const OP: &str = "move_to";
        if self.context().ordinal() != context.ordinal() {
            return Err(Error::Devices { op: OP.to_owned() });
        }
        if Arc::ptr_eq(self.context(), context) {
            return Ok(self);
        }
        if self.len == 0 {
            return DeviceMemory::new(context, 0);
        }
        peer::order(self.context(), context)?;
        let len = self.len;
        let block = self.into_block(OP)?;
        context.usage().add(block.capacity());
        let owned = Owned {
            block,
            context: Arc::clone(context),
            arena: None,
        };
        Ok(DeviceMemory {
            owned: Arc::new(owned),
            len,
        })
    }

    /// Sets every byte to zero, in stream order.
    pub(crate) fn zero(&mut self) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        self.context().bind()?;
        // SAFETY: the block holds at least `len` bytes and is written in stream order.
        check("hipMemsetAsync", unsafe {
            bindings::hipMemsetAsync(
                self.block().pointer(0),
                0,
                self.len,
                self.context().stream().raw(),
            )
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
        self.context().bind()?;
        if let Some(arena) = self.context().arena() {
            return self.upload_in_graph(&arena, bytes);
        }
        let mut staging = self.context().staging();
        // SAFETY: the block is long enough.
        unsafe {
            staging
                .get()?
                .upload(bytes, self.owned.block, self.context().stream())
        }
    }

    /// The same while a graph is captured: the bytes go to memory of the graph's own now, and each replay copies them from there.
    fn upload_in_graph(&mut self, arena: &Arena, bytes: &[u8]) -> Result<(), Error> {
        let constant = arena.constant(bytes)?;
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToDevice;
        // SAFETY: both blocks have as many bytes, and are two; the graph keeps both.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(
                self.block().pointer(0),
                constant.pointer(0),
                bytes.len(),
                kind,
                self.context().stream().raw(),
            )
        })
    }

    /// Copies the block's bytes to the host, after all work submitted so far. `bytes` is as long as was asked for.
    ///
    /// # Errors
    /// [`Error::Length`] when it is not, [`Error::Capture`] while a graph is captured.
    pub(crate) fn download(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != self.len {
            return Err(Error::Length {
                what: "bytes of a download".to_owned(),
                expected: self.len,
                found: bytes.len(),
            });
        }
        let context = self.context();
        if bytes.is_empty() {
            // As with bytes to fetch, earlier failures come to light.
            return context.synchronize();
        }
        let look = context.begin_look()?;
        context.count_wait();
        // SAFETY: the block has `len` bytes.
        unsafe {
            context
                .staging()
                .get()?
                .download(bytes, self.owned.block, context.stream())
        }?;
        look.end()
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
        if !Arc::ptr_eq(self.context(), source.context()) {
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
        self.context().bind()?;
        let (to, from): (_, *const c_void) = (self.block().pointer(at), source.block().pointer(source_at));
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToDevice;
        // SAFETY: both ranges were checked above; `&mut self` and `&source` are two blocks, so they do not overlap. A block
        // that is given back before the copy runs serves other work only after the copy.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(to, from, len, kind, self.context().stream().raw())
        })?;
        self.trace("hipMemcpyAsync");
        Ok(())
    }

    /// Notes what the HIP runtime did inside the device's memory.
    fn trace(&self, call: &str) {
        let level = Level::of_kernels(self.context().info().driver());
        self.context().ledger().trace(&Arc::from(call), None, level);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.block == Block::EMPTY {
            return;
        }
        match &self.arena {
            Some(arena) => arena.give_back(self.block),
            None => {
                self.context.usage().remove(self.block.capacity());
                self.context.put(self.block);
            }
        }
    }
}
