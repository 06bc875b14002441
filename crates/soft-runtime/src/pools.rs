//! Memory pools: host memory that running kernels read and write at the same address.
//!
//! All blocks lie in the arena, apart from each other, so that an access out of bounds shows. Freed addresses are used again
//! only when the arena's end is reached. Memory that the program locks stays where it is.

mod reserved;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use gfx_emu::{Access, Memory};

use crate::host::{self, Arena, PAGE};
use crate::status::{Answer, Status};
use reserved::Reserved;

/// Addresses between two blocks that belong to neither.
const GAP: u64 = 64 * 1024;
/// Bytes after a block that kernels may read too, unless the sanitizer watches: compilers load 16 bytes where 12 are left.
const SLACK: u64 = 64;

/// Alignment of blocks that have as many bytes: the allocator of AMD's device library finds the start of its slabs, for which the
/// runtime allocates memory, by it.
const LARGE: u64 = 2 << 20;

/// Where an allocation is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Host memory for arguments, staging, pinned and managed buffers.
    HostFine,
    /// Other host memory.
    HostCoarse,
    /// Memory of the software card with this number, which the host reaches by copies.
    Device(usize),
    /// The LDS of that card's workgroups, of which programs ask the size.
    Lds(usize),
}

impl Pool {
    const HOST_FINE: u64 = 0x100;
    const HOST_COARSE: u64 = 0x101;
    const DEVICE: u64 = 0x200;
    const LDS: u64 = 0x300;

    /// The pool's handle.
    pub fn handle(self) -> u64 {
        match self {
            Pool::HostFine => Pool::HOST_FINE,
            Pool::HostCoarse => Pool::HOST_COARSE,
            Pool::Device(card) => Pool::DEVICE + card as u64,
            Pool::Lds(card) => Pool::LDS + card as u64,
        }
    }

    /// The pool of a handle, where there are `cards` cards.
    pub fn of(handle: u64, cards: usize) -> Answer<Pool> {
        let devices = (0..cards).flat_map(|card| [Pool::Device(card), Pool::Lds(card)]);
        [Pool::HostFine, Pool::HostCoarse]
            .into_iter()
            .chain(devices)
            .find(|pool| pool.handle() == handle)
            .ok_or(Status::InvalidMemoryPool)
    }

    /// HSA's flags: 1 for arguments, 2 fine-grained, 4 coarse-grained.
    pub fn flags(self) -> u32 {
        match self {
            Pool::HostFine => 1 | 2,
            Pool::HostCoarse | Pool::Device(_) => 4,
            Pool::Lds(_) => 0,
        }
    }
}

/// One allocation.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Bytes asked for.
    size: u64,
    /// Bytes of whole pages.
    pages: u64,
    pool: Pool,
    /// What the program keeps with it.
    user_data: u64,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// Of an allocation: its base, size, pool, and what the program keeps with it.
    Block(u64, u64, Pool, u64),
    /// Of memory that the program locked: its first page's address, and bytes.
    Locked(u64, u64),
    /// Nothing.
    Unknown,
}

/// The memory of all cards and what the host shares with them.
#[derive(Debug)]
pub struct Pools {
    arena: Arena,
    /// What kernels see. A launch keeps the version that it began with.
    memory: Arc<Memory>,
    blocks: BTreeMap<u64, Block>,
    /// Where the next block goes.
    next: u64,
    /// Bytes that each card has, and those in use.
    capacity: u64,
    used: Vec<u64>,
    /// Memory of the device is exact and watched.
    sanitize: bool,
    /// Ranges that the program locked: address and bytes, the same one perhaps more than once.
    locks: Vec<(u64, u64)>,
    /// Pages of them that kernels see, by their first address.
    shared: BTreeMap<u64, u64>,
    reserved: Reserved,
}

impl Pools {
    /// No memory in use yet.
    pub fn new(arena: Arena, cards: usize, capacity: u64, sanitize: bool) -> Pools {
        let mut memory = Memory::new(0);
        if sanitize {
            memory.track_writes();
        }
        host::expose(arena);
        Pools {
            arena,
            memory: Arc::new(memory),
            blocks: BTreeMap::new(),
            next: arena.base().next_multiple_of(PAGE) + GAP,
            capacity,
            used: vec![0; cards],
            sanitize,
            locks: Vec::new(),
            shared: BTreeMap::new(),
            reserved: Reserved::default(),
        }
    }

    /// What kernels see at the moment.
    pub fn view(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// Bytes of a card that are free.
    pub fn available(&self, card: usize) -> u64 {
        self.capacity - self.used.get(card).copied().unwrap_or(self.capacity)
    }

    /// Allocates `size` bytes, aligned to a page.
    pub fn allocate(&mut self, pool: Pool, size: u64) -> Answer<u64> {
        if size == 0 {
            return Err(Status::InvalidArgument);
        }
        if matches!(pool, Pool::Lds(_)) {
            return Err(Status::InvalidAllocation);
        }
        if size > self.arena.size() {
            return Err(Status::OutOfResources);
        }
        if let Pool::Device(card) = pool
            && size > self.available(card)
        {
            return Err(Status::OutOfResources);
        }
        let watched = self.sanitize && matches!(pool, Pool::Device(_));
        let pages = (size + SLACK).next_multiple_of(PAGE);
        let reached = if watched { size } else { pages };
        let align = if size < LARGE { PAGE } else { LARGE };
        let address = self.place(pages + GAP, align).ok_or(Status::OutOfResources)?;
        let words = self.arena.words(address, reached).ok_or(Status::OutOfResources)?;
        let memory = Arc::make_mut(&mut self.memory);
        memory
            .lend(address, reached, words, watched)
            .map_err(|_| Status::OutOfResources)?;
        let block = Block {
            size,
            pages,
            pool,
            user_data: 0,
        };
        self.blocks.insert(address, block);
        if let Pool::Device(card) = pool {
            self.used[card] += size;
        }
        Ok(address)
    }

    /// An address with `room` bytes that no block has, a multiple of `align`.
    fn place(&mut self, room: u64, align: u64) -> Option<u64> {
        let end = self.arena.base() + self.arena.size();
        let place = self.next.next_multiple_of(align);
        if let Some(next) = place.checked_add(room).filter(|next| *next <= end) {
            self.next = next;
            return Some(place);
        }
        let first = self.arena.base().next_multiple_of(PAGE) + GAP;
        let mut free = first.next_multiple_of(align);
        let blocks = self.blocks.iter().map(|(base, block)| (*base, block.pages));
        let mut taken: Vec<(u64, u64)> = blocks.chain(self.reserved.ranges()).collect();
        taken.sort_unstable();
        for (base, bytes) in taken {
            if base.saturating_sub(free) >= room {
                break;
            }
            // What is mapped lies within what is reserved.
            free = free.max((base + bytes + GAP).next_multiple_of(align));
        }
        (free.checked_add(room)? <= end).then_some(free)
    }

    /// Frees the allocation that starts at `address`.
    pub fn free(&mut self, address: u64) -> Answer<()> {
        if self.reserved.is_mapped(address) {
            return Err(Status::InvalidAllocation);
        }
        let block = self.blocks.remove(&address).ok_or(Status::InvalidAllocation)?;
        let freed = Arc::make_mut(&mut self.memory).free(address);
        if let Pool::Device(card) = block.pool {
            self.used[card] -= block.size;
        }
        self.arena.discard(address, block.pages);
        freed.map_err(|_| Status::InvalidAllocation)
    }

    /// What an address belongs to.
    pub fn known(&self, address: u64) -> Known {
        let block = self.blocks.range(..=address).next_back();
        if let Some((base, block)) = block.filter(|(base, block)| address - **base < block.pages) {
            return Known::Block(*base, block.size, block.pool, block.user_data);
        }
        let shared = self.shared.range(..=address).next_back();
        match shared.filter(|(base, bytes)| address - **base < **bytes) {
            Some((base, bytes)) => Known::Locked(*base, *bytes),
            None => Known::Unknown,
        }
    }

    /// Keeps a word of the program with an allocation.
    pub fn keep(&mut self, address: u64, user_data: u64) -> Answer<()> {
        let block = self.blocks.get_mut(&address).ok_or(Status::InvalidArgument)?;
        block.user_data = user_data;
        Ok(())
    }

    /// Addresses of the allocations in a pool with which the program keeps this word.
    pub fn kept(&self, pool: Pool, user_data: u64) -> Vec<u64> {
        let blocks = self.blocks.iter();
        let found = blocks.filter(|(_, block)| block.pool == pool && block.user_data == user_data);
        found.map(|(address, _)| *address).collect()
    }

    /// Shares memory of the program with kernels.
    ///
    /// # Safety
    /// The memory stays as it is until [`Pools::unlock`].
    #[expect(unsafe_code, reason = "the caller promises what host::locked needs")]
    pub unsafe fn lock(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let end = address.checked_add(bytes).filter(|end| *end < 1 << 47);
        if bytes == 0 || address < PAGE || end.is_none() {
            return Err(Status::InvalidArgument);
        }
        self.locks.push((address, bytes));
        // SAFETY: every range in `locks` is one that a caller made this promise for.
        unsafe { self.share() }
    }

    /// Ends a lock. Memory that was not locked is left alone.
    #[expect(unsafe_code, reason = "the ranges that stay are locked still")]
    pub fn unlock(&mut self, address: u64) -> Answer<()> {
        let Some(index) = self.locks.iter().rposition(|(start, _)| *start == address) else {
            return Ok(());
        };
        self.locks.remove(index);
        // SAFETY: the ranges that are left were locked, and are not unlocked yet.
        unsafe { self.share() }
    }

    /// Makes the locked pages, and no others, accessible.
    ///
    /// # Safety
    /// All ranges in `locks` can be read and written.
    #[expect(unsafe_code, reason = "makes slices of locked memory")]
    unsafe fn share(&mut self) -> Answer<()> {
        let ranges = self
            .locks
            .iter()
            .filter(|(start, bytes)| !self.arena.holds(*start, *bytes))
            .map(|(start, bytes)| (start / PAGE * PAGE, (start + bytes).next_multiple_of(PAGE)));
        let wanted = united(ranges.collect());
        // SAFETY: the pages hold memory that is locked; a page is accessible as a whole.
        let words = |start, bytes| Some(unsafe { host::locked(start, bytes) });
        show(&mut self.memory, &mut self.shared, wanted, words)
    }

    /// Refuses a range that leaves its allocation, or cannot be an address.
    pub fn check(&self, address: u64, bytes: u64) -> Answer<()> {
        let end = address.checked_add(bytes).filter(|end| *end < 1 << 47);
        if address < PAGE || end.is_none() {
            return Err(Status::InvalidArgument);
        }
        let starts_inside = self.arena.holds(address, 1);
        if starts_inside && self.memory.check(address, bytes, Access::Load).is_err() {
            return Err(Status::InvalidAllocation);
        }
        Ok(())
    }

    /// Copies bytes between allocations and the program's memory; the ranges may overlap.
    ///
    /// # Safety
    /// What lies outside of allocations can be read and written.
    #[expect(unsafe_code, reason = "the caller promises what host::copy needs")]
    pub unsafe fn copy(&self, target: u64, source: u64, bytes: u64) -> Answer<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.check(target, bytes)?;
        self.check(source, bytes)?;
        // SAFETY: allocations were checked; for the rest the caller promises.
        unsafe { host::copy(target, source, bytes) };
        if self.sanitize && self.arena.holds(target, bytes) {
            if self.arena.holds(source, bytes) {
                self.memory.copied(target, source, bytes);
            } else {
                self.memory.written(target, bytes);
            }
        }
        Ok(())
    }

    /// Fills bytes of an allocation, or of the program's memory, with a pattern.
    ///
    /// # Safety
    /// What lies outside of allocations can be written.
    #[expect(unsafe_code, reason = "the caller promises what host::fill needs")]
    pub unsafe fn fill(&self, target: u64, pattern: &[u8], bytes: u64) -> Answer<()> {
        if bytes == 0 || pattern.is_empty() {
            return Ok(());
        }
        self.check(target, bytes)?;
        // SAFETY: allocations were checked; for the rest the caller promises.
        unsafe { host::fill(target, pattern, bytes) };
        self.written(target, bytes);
        Ok(())
    }

    /// The host wrote a range by itself.
    pub fn written(&self, address: u64, bytes: u64) {
        if self.sanitize {
            self.memory.written(address, bytes);
        }
    }
}

/// Ranges from start to end, those that meet made one; by their start, with their bytes.
fn united(mut ranges: Vec<(u64, u64)>) -> BTreeMap<u64, u64> {
    ranges.sort_unstable();
    let mut united: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last: Option<(u64, u64)> = None;
    for (start, end) in ranges {
        let (first, to) = match last {
            Some((first, to)) if start <= to => (first, to.max(end)),
            _ => (start, end),
        };
        united.insert(first, to - first);
        last = Some((first, to));
    }
    united
}

/// Lets kernels see the ranges of `wanted`, where they saw those of `seen`.
fn show(
    memory: &mut Arc<Memory>,
    seen: &mut BTreeMap<u64, u64>,
    wanted: BTreeMap<u64, u64>,
    words: impl Fn(u64, u64) -> Option<&'static [AtomicU32]>,
) -> Answer<()> {
    if wanted == *seen {
        return Ok(());
    }
    let memory = Arc::make_mut(memory);
    for (start, bytes) in &*seen {
        if wanted.get(start) != Some(bytes) {
            memory.free(*start).map_err(|_| Status::Error)?;
        }
    }
    for (start, bytes) in &wanted {
        if seen.get(start) != Some(bytes) {
            let words = words(*start, *bytes).ok_or(Status::OutOfResources)?;
            memory
                .lend(*start, *bytes, words, false)
                .map_err(|_| Status::OutOfResources)?;
        }
    }
    *seen = wanted;
    Ok(())
}
