//! Device memory: blocks from HIP, kept in free lists, and copies between them and the host.
#![expect(unsafe_code, reason = "calls HIP with device addresses and host slices")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use rocm_rs::hip::bindings::{self, hipMemcpyKind};

use super::context::Context;
use super::query;
use super::status::check;
use crate::Error;

/// A block of device memory: where it starts and how long it is. Freeing it is its holder's business.
///
/// The address is a number, not a pointer: the host never reads or writes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    address: usize,
    capacity: usize,
}

impl Block {
    const EMPTY: Block = Block {
        address: 0,
        capacity: 0,
    };

    pub(crate) fn address(self) -> usize {
        self.address
    }

    fn pointer(self, byte_offset: usize) -> *mut c_void {
        std::ptr::without_provenance_mut(self.address + byte_offset)
    }
}

/// Blocks of one device that nobody uses, by capacity.
///
/// `hipFree` waits for the whole device, and HIP's own pools (`hipMallocAsync`) have faulted and leaked on consumer
/// cards, so blocks are kept and handed out again. The context's single stream makes that safe; see context.rs.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Keep blocks, with rounded capacities? Not on the software device: it finds accesses out of bounds by the gaps
    /// around allocations, and a block longer than asked for, or one kept alive, would hide them.
    keep: bool,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    free: BTreeMap<usize, Vec<Block>>,
    in_use: usize,
    cached: usize,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

impl Pool {
    pub(crate) fn caching() -> Pool {
        Pool {
            keep: true,
            state: Mutex::default(),
        }
    }

    pub(crate) fn exact() -> Pool {
        Pool {
            keep: false,
            state: Mutex::default(),
        }
    }

    /// The capacity a request gets: half a KiB steps for small blocks, one MiB steps for large ones.
    fn capacity(&self, bytes: usize) -> Option<usize> {
        match bytes {
            _ if !self.keep => Some(bytes),
            0..=MIB => Some(bytes.next_multiple_of(KIB / 2)),
            _ => bytes.checked_next_multiple_of(MIB),
        }
    }

    /// Bytes handed out, and bytes kept for the next request.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let state = self.lock();
        (state.in_use, state.cached)
    }

    /// A block of at least `bytes` bytes on this thread's device.
    fn take(&self, context: &Context, bytes: usize) -> Result<Block, Error> {
        let out_of_memory = |(free, total)| Error::OutOfMemory {
            ordinal: context.ordinal(),
            requested: bytes,
            free,
            total,
        };
        let Some(capacity) = self.capacity(bytes) else {
            return Err(out_of_memory(query::memory()?));
        };
        let kept = {
            let mut state = self.lock();
            let kept = state.free.get_mut(&capacity).and_then(Vec::pop);
            if kept.is_some() {
                state.cached -= capacity;
            }
            kept
        };
        let block = match kept {
            Some(block) => Some(block),
            None => match malloc(capacity)? {
                Some(block) => Some(block),
                None => {
                    // So that an earlier kernel's failure is not taken for a lack of room.
                    context.stream().synchronize()?;
                    self.release();
                    malloc(capacity)?
                }
            },
        };
        let block = block.map_or_else(|| Err(out_of_memory(query::memory()?)), Ok)?;
        self.lock().in_use += block.capacity;
        Ok(block)
    }

    /// Takes back a block that [`Pool::take`] gave.
    pub(crate) fn put(&self, block: Block) {
        let mut state = self.lock();
        state.in_use -= block.capacity;
        if self.keep {
            state.cached += block.capacity;
            state.free.entry(block.capacity).or_default().push(block);
        } else {
            drop(state);
            free(block);
        }
    }

    /// Gives every kept block back to HIP. Queued work may still use one: hipFree waits for the device.
    pub(crate) fn release(&self) {
        let kept = {
            let mut state = self.lock();
            state.cached = 0;
            std::mem::take(&mut state.free)
        };
        kept.into_values().flatten().for_each(free);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PoolState> {
        // The state is three counters and a map, whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block from HIP; `None` when the device has no room.
fn malloc(capacity: usize) -> Result<Option<Block>, Error> {
    let mut pointer = std::ptr::null_mut();
    // SAFETY: `pointer` is a live pointer to be written.
    match unsafe { bindings::hipMalloc(&raw mut pointer, capacity) } {
        bindings::hipError_t_hipErrorOutOfMemory => Ok(None),
        status => {
            check("hipMalloc", status)?;
            Ok(Some(Block {
                address: pointer.expose_provenance(),
                capacity,
            }))
        }
    }
}

fn free(block: Block) {
    // SAFETY: the address came from hipMalloc, and its only holder gives it up here. A failure leaves nothing to do.
    let _ = unsafe { bindings::hipFree(block.pointer(0)) };
}

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
            context.pool().take(context, len)?
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
        std::mem::replace(&mut self.block, Block::EMPTY)
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
        })
    }

    /// Copies `bytes` to the start of the block, after all work submitted so far, and waits.
    ///
    /// # Errors
    /// [`Error::Invalid`] when they are more than the block holds.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() > self.len {
            return Err(Error::Invalid(format!(
                "an upload of {} bytes to {} bytes",
                bytes.len(),
                self.len
            )));
        }
        let kind = bindings::hipMemcpyKind_hipMemcpyHostToDevice;
        // SAFETY: `bytes` is live until the wait below returns, and the block is long enough. Should the wait fail,
        // a copy still under way could read freed host memory, into a device that is lost anyway.
        unsafe { self.copy(self.block.pointer(0), bytes.as_ptr().cast(), bytes.len(), kind) }?;
        self.context.stream().synchronize()
    }

    /// Copies the block's bytes to the host, after all work submitted so far.
    pub(crate) fn download(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.len];
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToHost;
        // SAFETY: `bytes` is `len` bytes, live and untouched until the wait below returns; it is never freed when
        // the wait fails.
        unsafe { self.copy(bytes.as_mut_ptr().cast(), self.block.pointer(0), self.len, kind) }?;
        match self.context.stream().synchronize() {
            Ok(()) => Ok(bytes),
            Err(error) => {
                // A copy still under way must not write to memory that somebody else owns by then.
                std::mem::forget(bytes);
                Err(error)
            }
        }
    }

    /// Copies `len` bytes from another block of the same device, in stream order. Offsets and `len` are in bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the range leaves either block or the blocks are of two devices.
    pub(crate) fn copy_from(
        &mut self,
        at: usize,
        source: &DeviceMemory,
        source_at: usize,
        len: usize,
    ) -> Result<(), Error> {
        let fits = |start: usize, room: usize| start.checked_add(len).is_some_and(|end| end <= room);
        if !fits(at, self.len) || !fits(source_at, source.len) || !Arc::ptr_eq(&self.context, &source.context)
        {
            return Err(Error::Invalid(format!(
                "a copy of {len} bytes from byte {source_at} of {} to byte {at} of {} leaves its buffers or its device",
                source.len, self.len
            )));
        }
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToDevice;
        // SAFETY: both ranges were checked above; `&mut self` and `&source` are two blocks, so they do not overlap.
        unsafe { self.copy(self.block.pointer(at), source.block.pointer(source_at), len, kind) }
    }

    /// Submits a copy to the context's stream.
    ///
    /// # Safety
    /// `len` bytes at `to` and `from` are live until the stream has run the copy, on the sides `kind` says.
    unsafe fn copy(
        &self,
        to: *mut c_void,
        from: *const c_void,
        len: usize,
        kind: hipMemcpyKind,
    ) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: the caller's promise.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(to, from, len, kind, self.context.stream().raw())
        })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.block != Block::EMPTY {
            let _ = self.context.bind();
            self.context.pool().put(self.block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeping_pool_rounds_up_and_an_exact_one_does_not() {
        let pool = Pool::caching();
        let cases = [(1, 512), (512, 512), (513, 1024), (MIB, MIB), (MIB + 1, 2 * MIB)];
        for (bytes, capacity) in cases {
            assert_eq!(pool.capacity(bytes), Some(capacity), "{bytes} bytes");
        }
        assert_eq!(pool.capacity(usize::MAX), None);
        assert_eq!(Pool::exact().capacity(513), Some(513));
    }
}
