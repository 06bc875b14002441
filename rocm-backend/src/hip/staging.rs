//! Pinned host memory that transfers pass through: a GPU reads and writes it directly and without waiting for the host,
//! while a copy from pageable memory makes the runtime stop and pin.
//!
//! Two slots: while the device works on one, the host fills or empties the other. An upload returns once its bytes lie in a
//! slot, so the caller's memory is its own again, and nothing waits for the device.
#![expect(
    unsafe_code,
    reason = "owns host memory from HIP, and submits copies from and to it"
)]

use rocm_rs::hip::bindings;

use super::event::Mark;
use super::pool::Block;
use super::status::check;
use super::stream::Stream;
use crate::Error;

/// Bytes of a slot.
const SLOT: usize = 1 << 21;

/// Host memory for transfers, owned: pinned, or where HIP has none left ordinary memory, which is slower and as right.
struct Pinned {
    start: *mut u8,
    len: usize,
    is_pinned: bool,
}

/// Host memory that one copy at a time uses, and the copy that used it last.
pub(super) struct Slot {
    host: Pinned,
    /// Behind that copy, when there was one.
    mark: Mark,
    is_used: bool,
}

/// The slots of a stream. Used through `&mut` only.
pub(crate) struct Staging {
    slots: [Slot; 2],
}

// SAFETY: the memory belongs to this value alone and is reached through `&mut` only; HIP ties it to no thread.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(len: usize) -> Pinned {
        let mut start = std::ptr::null_mut();
        // SAFETY: `start` is a live pointer to be written; flags 0 are hipHostMallocDefault.
        let status = unsafe { bindings::hipHostMalloc(&raw mut start, len, 0) };
        if status == bindings::hipError_t_hipSuccess && !start.is_null() {
            return Pinned {
                start: start.cast(),
                len,
                is_pinned: true,
            };
        }
        Pinned::ordinary(len)
    }

    fn ordinary(len: usize) -> Pinned {
        Pinned {
            start: Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast(),
            len,
            is_pinned: false,
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The context waits for its stream before it drops its slots; a device that cannot be waited for is lost and copies
        // nothing any more.
        if self.is_pinned {
            // SAFETY: from hipHostMalloc, freed only here.
            let _ = unsafe { bindings::hipHostFree(self.start.cast()) };
        } else {
            let bytes = std::ptr::slice_from_raw_parts_mut(self.start, self.len);
            // SAFETY: from a box of this length, freed only here.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

impl Slot {
    /// A slot of `len` bytes for this thread's device.
    pub(super) fn of(len: usize) -> Result<Slot, Error> {
        Slot::new(Pinned::new(len))
    }

    fn new(host: Pinned) -> Result<Slot, Error> {
        Ok(Slot {
            host,
            mark: Mark::new()?,
            is_used: false,
        })
    }

    /// Waits until no copy uses the slot.
    fn wait(&mut self) -> Result<(), Error> {
        if self.is_used {
            self.mark.synchronize()?;
            self.is_used = false;
        }
        Ok(())
    }

    /// Copies `bytes`, no more than the slot holds, to byte `at` of `block` by way of the slot.
    ///
    /// # Safety
    /// The block has room there.
    unsafe fn send(&mut self, bytes: &[u8], block: Block, at: usize, stream: &Stream) -> Result<(), Error> {
        debug_assert!(bytes.len() <= self.host.len);
        self.wait()?;
        // SAFETY: the slot is as long, no copy uses it, and no Rust reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host.start, bytes.len()) };
        // Whatever becomes of the two calls below, the device may from now on read the slot.
        self.is_used = true;
        let kind = bindings::hipMemcpyKind_hipMemcpyHostToDevice;
        // SAFETY: both sides are live and long enough; the slot stays as it is until the mark is reached.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(
                block.pointer(at),
                self.host.start.cast(),
                bytes.len(),
                kind,
                stream.raw(),
            )
        })?;
        self.mark.record(stream)
    }

    /// Submits the copy of `len` bytes, no more than the slot holds, from byte `at` of `block` to the slot.
    ///
    /// # Safety
    /// The block has them.
    pub(super) unsafe fn fetch(
        &mut self,
        len: usize,
        block: Block,
        at: usize,
        stream: &Stream,
    ) -> Result<(), Error> {
        debug_assert!(len <= self.host.len);
        self.wait()?;
        self.is_used = true;
        let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToHost;
        // SAFETY: both sides are live and long enough; nobody looks at the slot before the mark is reached.
        check("hipMemcpyAsync", unsafe {
            bindings::hipMemcpyAsync(self.host.start.cast(), block.pointer(at), len, kind, stream.raw())
        })?;
        self.mark.record(stream)
    }

    /// Copies what was fetched to `bytes`, once it is there.
    pub(super) fn receive(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        debug_assert!(bytes.len() <= self.host.len);
        self.wait()?;
        // SAFETY: the slot is as long and no copy uses it. Its bytes have values: the copy wrote them.
        unsafe { std::ptr::copy_nonoverlapping(self.host.start, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}

impl Staging {
    /// Two slots for this thread's device.
    pub(crate) fn new() -> Result<Staging, Error> {
        Ok(Staging {
            slots: [Slot::of(SLOT)?, Slot::of(SLOT)?],
        })
    }

    /// Copies `bytes` to the start of `block`, in stream order. The caller's bytes are free when it returns; the copy
    /// itself may run, and fail, later.
    ///
    /// # Safety
    /// The block has room for them.
    pub(crate) unsafe fn upload(&mut self, bytes: &[u8], block: Block, stream: &Stream) -> Result<(), Error> {
        for (number, part) in bytes.chunks(SLOT).enumerate() {
            // SAFETY: a part of what the caller says fits.
            unsafe { self.slots[number % 2].send(part, block, number * SLOT, stream) }?;
        }
        // The next transfer starts with a slot that has been left alone longest.
        if bytes.len().div_ceil(SLOT) % 2 == 1 {
            self.slots.swap(0, 1);
        }
        Ok(())
    }

    /// Copies the first `bytes.len()` bytes of `block` to `bytes`, after all work submitted so far; waits.
    ///
    /// # Safety
    /// The block has them.
    pub(crate) unsafe fn download(
        &mut self,
        bytes: &mut [u8],
        block: Block,
        stream: &Stream,
    ) -> Result<(), Error> {
        let count = bytes.len().div_ceil(SLOT);
        let len = |part: usize| SLOT.min(bytes.len() - part * SLOT);
        let lens: Vec<usize> = (0..count).map(len).collect();
        // One part is under way while the one before it is taken out of its slot.
        for part in 0..=count {
            if let Some(&len) = lens.get(part) {
                // SAFETY: a part of what the caller says is there.
                unsafe { self.slots[part % 2].fetch(len, block, part * SLOT, stream) }?;
            }
            if let Some(before) = part.checked_sub(1) {
                self.slots[before % 2].receive(&mut bytes[before * SLOT..][..lens[before]])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::pool::Pool;
    use super::*;
    use crate::{Allocator, driver};

    #[test]
    fn transfers_of_no_one_and_several_slots_arrive_whole() {
        driver::soft_for_tests();
        let pinned = Staging::new().unwrap();
        assert!(pinned.slots.iter().all(|slot| slot.host.is_pinned));
        check(pinned);
        let slot = || Slot::new(Pinned::ordinary(SLOT)).unwrap();
        check(Staging {
            slots: [slot(), slot()],
        });
    }

    fn check(mut staging: Staging) {
        let stream = Arc::new(Stream::new().unwrap());
        let pool = Pool::of(0, Allocator::Exact);
        for len in [0, 1, SLOT - 1, SLOT, SLOT + 1, 2 * SLOT, 3 * SLOT + 5] {
            let sent: Vec<u8> = (0..len).map(|i| (i / 3 % 251) as u8).collect();
            let block = pool.take(&stream, len.max(1)).unwrap();
            let mut received = vec![0; len];
            // SAFETY: the block has `len` bytes.
            unsafe {
                staging.upload(&sent, block, &stream).unwrap();
                staging.download(&mut received, block, &stream).unwrap();
            }
            assert!(sent == received, "{len} bytes");
            pool.put(&stream, block);
        }
    }
}
