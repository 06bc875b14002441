//! Which block of device memory a request gets: blocks from hipMalloc, kept in free lists and handed out again.
//!
//! `hipFree` waits for the whole device, and HIP's own pools (`hipMallocAsync`) have faulted and leaked on consumer cards.
//! So blocks are kept. All contexts of a device share one [`Pool`]: what one gave back serves the other, and a lack of room
//! empties the one cache there is. What copies from and to blocks is memory.rs's.
#![expect(unsafe_code, reason = "calls HIP with device addresses")]

use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_void};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rocm_rs::hip::bindings;

use super::event::Mark;
use super::query;
use super::status::check;
use super::stream::Stream;
use crate::{Allocator, Error};

/// A block of device memory: where it starts and how long it is. Its holder must free it.
///
/// The address is a number, not a pointer: the host never reads or writes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    address: usize,
    capacity: usize,
}

impl Block {
    pub(super) const EMPTY: Block = Block {
        address: 0,
        capacity: 0,
    };

    pub(crate) fn address(self) -> usize {
        self.address
    }

    /// Bytes, which may be more than were asked for.
    pub(crate) fn capacity(self) -> usize {
        self.capacity
    }

    pub(super) fn pointer(self, byte_offset: usize) -> *mut c_void {
        std::ptr::without_provenance_mut(self.address + byte_offset)
    }
}

/// A block that nobody owns. Work on `stream` may still use it; that stream is gone when its work is done.
#[derive(Debug)]
struct Kept {
    block: Block,
    stream: Weak<Stream>,
}

impl Kept {
    /// Whether `stream` had the block last. While this is here no other stream has that one's place in memory.
    fn is_of(&self, stream: &Arc<Stream>) -> bool {
        std::ptr::eq(self.stream.as_ptr(), Arc::as_ptr(stream))
    }

    /// Whether work on `stream` may have the block and need not wait for another one.
    fn is_ready(&self, stream: &Arc<Stream>) -> bool {
        self.is_of(stream) || self.stream.strong_count() == 0
    }
}

/// The blocks of one device.
#[derive(Debug)]
pub(crate) struct Pool {
    ordinal: c_int,
    /// Exact blocks are as long as was asked for and go back to HIP at once. So it is on the software device: it finds
    /// accesses out of bounds by the gaps around allocations, and a block longer than asked for, or one kept alive, would
    /// hide them.
    allocator: Allocator,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By capacity, the one given back last at the end. A few of the lists are empty: a program asks for the same sizes again.
    free: BTreeMap<usize, Vec<Kept>>,
    /// Bytes in `free`.
    cached: usize,
    /// Capacities of the blocks that are handed out, by address. A block that is not here is not taken back.
    live: HashMap<usize, usize, BuildHasherDefault<Spread>>,
}

/// Spreads addresses, which are multiples of a power of two and no stranger's choice, over a table.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, number: usize) {
        // The golden ratio's bits; of the product both halves, as the table looks at either end of the hash.
        let product = u128::from(self.0 ^ number as u64) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product ^ (product >> 64)) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Lists of kept blocks that there are at least before empty ones go.
const LISTS: usize = 64;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

impl Pool {
    /// The pool of device `ordinal`, which lives as long as one of its contexts.
    pub(crate) fn of(ordinal: c_int, allocator: Allocator) -> Arc<Pool> {
        static POOLS: Mutex<BTreeMap<(c_int, Allocator), Weak<Pool>>> = Mutex::new(BTreeMap::new());
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pools.entry((ordinal, allocator)).or_default();
        known.upgrade().unwrap_or_else(|| {
            let pool = Arc::new(Pool::new(ordinal, allocator));
            *known = Arc::downgrade(&pool);
            pool
        })
    }

    fn new(ordinal: c_int, allocator: Allocator) -> Pool {
        Pool {
            ordinal,
            allocator,
            state: Mutex::default(),
        }
    }

    /// The capacity that a new block for `bytes` gets: half a KiB steps for small blocks, one MiB steps for large ones.
    pub(super) fn capacity(&self, bytes: usize) -> Option<usize> {
        match (self.allocator, bytes) {
            (Allocator::Exact, _) => Some(bytes),
            (Allocator::Caching, 0..=MIB) => Some(bytes.next_multiple_of(KIB / 2)),
            (Allocator::Caching, _) => bytes.checked_next_multiple_of(MIB),
        }
    }

    /// Bytes kept for the next requests.
    pub(crate) fn cached(&self) -> usize {
        self.lock().cached
    }

    /// A block of at least `bytes` bytes for work on `stream`.
    pub(super) fn take(&self, stream: &Arc<Stream>, bytes: usize) -> Result<Block, Error> {
        let found = self
            .capacity(bytes)
            .and_then(|capacity| self.lock().find(stream, capacity));
        match found {
            Some(kept) if kept.is_ready(stream) => Ok(kept.block),
            Some(kept) => self.adopt(stream, kept),
            // So that an earlier kernel's failure is not taken for a lack of room.
            None => self.allocate(bytes, || stream.synchronize()),
        }
    }

    /// A block of at least `bytes` bytes that no work has used, for when no stream can be waited for.
    pub(super) fn take_new(&self, bytes: usize) -> Result<Block, Error> {
        self.allocate(bytes, || Ok(()))
    }

    /// A block from HIP. Where it has no room, kept blocks go back to it, after `first`.
    fn allocate(&self, bytes: usize, first: impl FnOnce() -> Result<(), Error>) -> Result<Block, Error> {
        query::set_device(self.ordinal)?;
        let Some(capacity) = self.capacity(bytes) else {
            return Err(self.out_of_memory(bytes, 0)?);
        };
        let block = match malloc(capacity)? {
            Some(block) => block,
            None => {
                first()?;
                let released = self.release();
                match malloc(capacity)? {
                    Some(block) => block,
                    None => return Err(self.out_of_memory(bytes, released)?),
                }
            }
        };
        self.lock().live.insert(block.address, block.capacity);
        Ok(block)
    }

    /// Has work on `stream` wait for what another stream may still do with a block, which it was handed. Where it cannot, the
    /// block goes back to HIP.
    fn adopt(&self, stream: &Arc<Stream>, kept: Kept) -> Result<Block, Error> {
        let ordered = || {
            query::set_device(self.ordinal)?;
            let Some(other) = kept.stream.upgrade() else {
                return Ok(());
            };
            // All that used the block was submitted before it was given back, so before this mark.
            let mark = Mark::new()?;
            mark.record(&other)?;
            stream.wait(&mark)
        };
        ordered().map(|()| kept.block).inspect_err(|_| {
            self.lock().live.remove(&kept.block.address);
            free(kept.block);
        })
    }

    /// Takes back a block that [`Pool::take`] gave, which work on `stream` may still use. Any other block, one that was
    /// taken back already above all, is left alone; whether it was taken.
    pub(super) fn put(&self, stream: &Arc<Stream>, block: Block) -> bool {
        let mut state = self.lock();
        if state.live.remove(&block.address).is_none() {
            return false;
        }
        match self.allocator {
            Allocator::Caching => {
                state.cached += block.capacity;
                state.free.entry(block.capacity).or_default().push(Kept {
                    block,
                    stream: Arc::downgrade(stream),
                });
            }
            Allocator::Exact => {
                drop(state);
                let _ = query::set_device(self.ordinal);
                free(block);
            }
        }
        true
    }

    /// Gives every kept block back to HIP, and says how many bytes. Queued work may still use one: hipFree waits for the
    /// device. The device is this thread's.
    pub(crate) fn release(&self) -> usize {
        let (kept, bytes) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.free), std::mem::take(&mut state.cached))
        };
        kept.into_values().flatten().for_each(|kept| free(kept.block));
        bytes
    }

    /// The error for a request that found no room, after `released` bytes were given back.
    fn out_of_memory(&self, requested: usize, released: usize) -> Result<Error, Error> {
        let (free, total) = query::memory()?;
        let state = self.lock();
        Ok(Error::OutOfMemory {
            ordinal: self.ordinal.unsigned_abs() as usize,
            requested,
            free,
            total,
            released,
            live: state.live.values().sum(),
            blocks: state.live.len(),
            largest: state.live.values().copied().max().unwrap_or(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hands out a kept block: the smallest that holds `capacity` and wastes at most a quarter of it; among those of one size,
    /// one that `stream` need not wait for.
    fn find(&mut self, stream: &Arc<Stream>, capacity: usize) -> Option<Kept> {
        let most = capacity.saturating_add(capacity / 4);
        let lists = self.free.len();
        let (&size, list) = self
            .free
            .range_mut(capacity..=most)
            .find(|(_, list)| !list.is_empty())?;
        let at = list.iter().rposition(|kept| kept.is_ready(stream));
        let kept = list.remove(at.unwrap_or(list.len() - 1));
        if list.is_empty() && lists > LISTS {
            self.free.remove(&size);
        }
        self.cached -= size;
        self.live.insert(kept.block.address, kept.block.capacity);
        Some(kept)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = query::set_device(self.ordinal);
        self.release();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver;

    /// Each test has a pool of its own, not the device's. An ordinal of its own would not be a device.
    fn pool(allocator: Allocator) -> (Pool, Arc<Stream>, Arc<Stream>) {
        driver::soft_for_tests();
        query::device_count().unwrap();
        let stream = || Arc::new(Stream::new().unwrap());
        (Pool::new(0, allocator), stream(), stream())
    }

    #[test]
    fn a_caching_pool_rounds_up_and_an_exact_one_does_not() {
        let pool = Pool::new(0, Allocator::Caching);
        let cases = [(1, 512), (512, 512), (513, 1024), (MIB, MIB), (MIB + 1, 2 * MIB)];
        for (bytes, capacity) in cases {
            assert_eq!(pool.capacity(bytes), Some(capacity), "{bytes} bytes");
        }
        assert_eq!(pool.capacity(usize::MAX), None);
        assert_eq!(Pool::new(0, Allocator::Exact).capacity(513), Some(513));
    }

    #[test]
    fn a_block_given_back_serves_the_next_request_of_its_size_and_a_little_less() {
        let (pool, stream, _) = pool(Allocator::Caching);
        let block = pool.take(&stream, 4096).unwrap();
        assert!(pool.put(&stream, block));
        assert_eq!(pool.cached(), 4096);
        let again = pool.take(&stream, 3600).unwrap();
        assert_eq!(again, block);
        assert_eq!(pool.cached(), 0);
        pool.put(&stream, again);
        let small = pool.take(&stream, 512).unwrap();
        assert_ne!(small, block, "a block eight times too large stays in the cache");
        pool.put(&stream, small);
        assert_eq!(pool.release(), 4096 + 512);
        assert_eq!(pool.cached(), 0);
    }

    #[test]
    fn a_block_is_taken_back_once() {
        for allocator in [Allocator::Caching, Allocator::Exact] {
            let (pool, stream, _) = pool(allocator);
            let block = pool.take(&stream, 512).unwrap();
            assert!(pool.put(&stream, block));
            let cached = pool.cached();
            assert!(!pool.put(&stream, block), "{allocator:?}");
            assert_eq!(pool.cached(), cached, "{allocator:?}");
        }
    }

    #[test]
    fn few_lists_stay_that_are_empty_and_the_last_one_given_back_comes_first() {
        let (pool, stream, _) = pool(Allocator::Caching);
        let sizes = (1..2 * LISTS).map(|number| number * KIB);
        let blocks: Vec<Block> = sizes
            .clone()
            .map(|size| pool.take(&stream, size).unwrap())
            .collect();
        blocks.iter().for_each(|&block| assert!(pool.put(&stream, block)));
        let again: Vec<Block> = sizes.map(|size| pool.take(&stream, size).unwrap()).collect();
        assert_eq!(again, blocks);
        assert_eq!((pool.cached(), pool.lock().free.len()), (0, LISTS));
        let [one, other] = [(); 2].map(|()| pool.take(&stream, KIB).unwrap());
        assert!(pool.put(&stream, other) && pool.put(&stream, one));
        assert_eq!(pool.take(&stream, KIB).unwrap(), one);
    }

    #[test]
    fn another_streams_block_is_taken_only_where_there_is_none_of_ones_own() {
        let (pool, one, other) = pool(Allocator::Caching);
        let (own, foreign) = (pool.take(&one, 512).unwrap(), pool.take(&other, 512).unwrap());
        pool.put(&one, own);
        pool.put(&other, foreign);
        assert_eq!(pool.take(&one, 512).unwrap(), own);
        assert_eq!(pool.take(&one, 512).unwrap(), foreign);
        assert!(pool.put(&one, own) && pool.put(&one, foreign));
    }

    #[test]
    fn the_contexts_of_a_device_share_a_pool_while_one_of_them_lives() {
        let ordinal = 1000; // of no device: nothing is allocated
        let pool = Pool::of(ordinal, Allocator::Exact);
        assert!(Arc::ptr_eq(&pool, &Pool::of(ordinal, Allocator::Exact)));
        assert!(!Arc::ptr_eq(&pool, &Pool::of(ordinal + 1, Allocator::Exact)));
        let weak = Arc::downgrade(&pool);
        drop(pool);
        assert!(weak.upgrade().is_none());
    }
}
