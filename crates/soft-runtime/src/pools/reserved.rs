//! Addresses that are reserved, and memory that is put there later: the virtual memory of HIP's pools and graphs.
//!
//! A handle is memory without an address ([`host::unplaced`]). It is put at as many places as the program likes, and keeps its
//! content in between. Kernels see it where some agent was given access.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use super::{Block, GAP, LARGE, Pool, Pools, show, united};
use crate::host::{self, PAGE};
use crate::status::{Answer, Status};

/// What was reserved and made.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// Ranges: address and bytes.
    ranges: BTreeMap<u64, u64>,
    /// Memory by its handle.
    memories: BTreeMap<u64, Unplaced>,
    /// Places by their address.
    places: BTreeMap<u64, Place>,
    /// Ranges that kernels see.
    seen: BTreeMap<u64, u64>,
    last: u64,
}

/// Memory without an address.
#[derive(Debug)]
struct Unplaced {
    pool: Pool,
    bytes: u64,
    /// What the program calls its type.
    kind: u32,
    file: OwnedFd,
    /// How often the program has to release it.
    uses: u64,
}

/// Where memory was put.
#[derive(Debug)]
struct Place {
    bytes: u64,
    handle: u64,
    /// What each agent may do there, as HSA's bits: 1 to read, 2 to write.
    access: BTreeMap<u64, u32>,
}

impl Reserved {
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|(base, bytes)| (*base, *bytes))
    }

    pub(super) fn is_mapped(&self, address: u64) -> bool {
        self.places.contains_key(&address)
    }

    fn memory(&mut self, handle: u64) -> Answer<&mut Unplaced> {
        self.memories.get_mut(&handle).ok_or(Status::InvalidAllocation)
    }

    /// Whether one reserved range holds all of another.
    fn holds(&self, address: u64, bytes: u64) -> bool {
        let range = self.ranges.range(..=address).next_back();
        range.is_some_and(|(base, len)| address - base <= *len && bytes <= len - (address - base))
    }

    /// Addresses of the places that have bytes in a range.
    fn within(&self, address: u64, bytes: u64) -> Vec<u64> {
        let end = address.saturating_add(bytes);
        let places = self.places.range(..end);
        let found = places.filter(|(start, place)| **start + place.bytes > address);
        found.map(|(start, _)| *start).collect()
    }

    /// The places that make up a range; refused when it has others in part, or none.
    fn exactly(&self, address: u64, bytes: u64) -> Answer<Vec<u64>> {
        let found = self.within(address, bytes);
        let covered: u64 = found.iter().map(|start| self.places[start].bytes).sum();
        let whole = found.first() == Some(&address) && covered == bytes;
        whole.then_some(found).ok_or(Status::InvalidArgument)
    }
}

fn is_whole(bytes: u64) -> Answer<()> {
    let whole = bytes > 0 && bytes.is_multiple_of(PAGE);
    whole.then_some(()).ok_or(Status::InvalidArgument)
}

impl Pools {
    /// Reserves addresses, which belong to nobody until memory is mapped there. `align` is 0 or a power of two.
    pub fn reserve(&mut self, bytes: u64, align: u64) -> Answer<u64> {
        is_whole(bytes)?;
        if align != 0 && (align < PAGE || !align.is_power_of_two()) {
            return Err(Status::InvalidArgument);
        }
        if bytes.max(align) > self.arena.size() {
            return Err(Status::OutOfResources);
        }
        let own = if bytes < LARGE { PAGE } else { LARGE };
        let address = self
            .place(bytes + GAP, own.max(align))
            .ok_or(Status::OutOfResources)?;
        self.reserved.ranges.insert(address, bytes);
        Ok(address)
    }

    /// Gives reserved addresses back, when no memory is mapped there.
    pub fn unreserve(&mut self, address: u64, bytes: u64) -> Answer<()> {
        match self.reserved.ranges.get(&address) {
            None => Err(Status::InvalidAllocation),
            Some(len) if *len != bytes || !self.reserved.within(address, bytes).is_empty() => {
                Err(Status::InvalidArgument)
            }
            Some(_) => {
                self.reserved.ranges.remove(&address);
                Ok(())
            }
        }
    }

    /// Makes memory without an address; gives its handle.
    pub fn create(&mut self, pool: Pool, bytes: u64, kind: u32) -> Answer<u64> {
        is_whole(bytes)?;
        if matches!(pool, Pool::Lds(_)) {
            return Err(Status::InvalidAllocation);
        }
        if bytes > self.arena.size() {
            return Err(Status::OutOfResources);
        }
        if let Pool::Device(card) = pool
            && bytes > self.available(card)
        {
            return Err(Status::OutOfResources);
        }
        let file = host::unplaced(bytes).ok_or(Status::OutOfResources)?;
        if let Pool::Device(card) = pool {
            self.used[card] += bytes;
        }
        // Not dense, so that a wrong handle is seldom another one.
        self.reserved.last += 16;
        let (handle, uses) = (self.reserved.last, 1);
        let memory = Unplaced {
            pool,
            bytes,
            kind,
            file,
            uses,
        };
        self.reserved.memories.insert(handle, memory);
        Ok(handle)
    }

    /// Ends one use of a handle. The memory stays as long as it is mapped.
    pub fn release(&mut self, handle: u64) -> Answer<()> {
        let memory = self.reserved.memory(handle)?;
        memory.uses = memory.uses.checked_sub(1).ok_or(Status::InvalidAllocation)?;
        self.drop_unused(handle);
        Ok(())
    }

    fn drop_unused(&mut self, handle: u64) {
        let mapped = self.reserved.places.values().any(|place| place.handle == handle);
        let unused = self
            .reserved
            .memories
            .get(&handle)
            .is_some_and(|memory| memory.uses == 0);
        if mapped || !unused {
            return;
        }
        if let Some(memory) = self.reserved.memories.remove(&handle)
            && let Pool::Device(card) = memory.pool
        {
            self.used[card] -= memory.bytes;
        }
    }

    /// Puts memory, from `offset` on, at reserved addresses where none is yet. Nobody has access.
    pub fn map(&mut self, address: u64, bytes: u64, offset: u64, handle: u64) -> Answer<()> {
        is_whole(bytes)?;
        let free = self.reserved.holds(address, bytes) && self.reserved.within(address, bytes).is_empty();
        let arena = self.arena;
        let memory = self
            .reserved
            .memory(handle)
            .map_err(|_| Status::InvalidArgument)?;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= memory.bytes);
        if !free || !inside || !address.is_multiple_of(PAGE) || !offset.is_multiple_of(PAGE) {
            return Err(Status::InvalidArgument);
        }
        if !arena.put(address, bytes, &memory.file, offset) {
            // The pages must stay what the arena's are.
            arena.take(address, bytes);
            return Err(Status::OutOfResources);
        }
        let (pool, access) = (memory.pool, BTreeMap::new());
        let block = Block {
            size: bytes,
            pages: bytes,
            pool,
            user_data: 0,
        };
        self.blocks.insert(address, block);
        let place = Place {
            bytes,
            handle,
            access,
        };
        self.reserved.places.insert(address, place);
        Ok(())
    }

    /// Takes memory away from the addresses of whole mappings.
    pub fn unmap(&mut self, address: u64, bytes: u64) -> Answer<()> {
        for start in self.reserved.exactly(address, bytes)? {
            self.blocks.remove(&start);
            if let Some(place) = self.reserved.places.remove(&start) {
                self.show_reserved()?;
                if !self.arena.take(start, place.bytes) {
                    return Err(Status::OutOfResources);
                }
                self.drop_unused(place.handle);
            }
        }
        Ok(())
    }

    /// Says what an agent may do with whole mappings. Kernels of all cards see what some agent may use.
    pub fn allow(&mut self, address: u64, bytes: u64, agent: u64, access: u32) -> Answer<()> {
        if access > 3 {
            return Err(Status::InvalidArgument);
        }
        for start in self.reserved.exactly(address, bytes)? {
            if let Some(place) = self.reserved.places.get_mut(&start) {
                place.access.insert(agent, access);
            }
        }
        self.show_reserved()
    }

    fn show_reserved(&mut self) -> Answer<()> {
        let places = self.reserved.places.iter();
        let open = places.filter(|(_, place)| place.access.values().any(|access| *access != 0));
        let wanted = united(open.map(|(start, place)| (*start, start + place.bytes)).collect());
        let arena = self.arena;
        let words = |start, bytes| arena.words(start, bytes);
        show(&mut self.memory, &mut self.reserved.seen, wanted, words)
    }

    /// What an agent may do at an address; refused where nobody said so.
    pub fn allowed(&self, address: u64, agent: u64) -> Answer<u32> {
        let (_, place) = self.mapping(address)?;
        place.access.get(&agent).copied().ok_or(Status::InvalidAllocation)
    }

    fn mapping(&self, address: u64) -> Answer<(u64, &Place)> {
        let place = self.reserved.places.range(..=address).next_back();
        let found = place.filter(|(start, place)| address - **start < place.bytes);
        found
            .map(|(start, place)| (*start, place))
            .ok_or(Status::InvalidAllocation)
    }

    /// The handle of what is mapped at an address, for one use more.
    pub fn retain(&mut self, address: u64) -> Answer<u64> {
        let (_, place) = self.mapping(address)?;
        let handle = place.handle;
        self.reserved.memory(handle)?.uses += 1;
        Ok(handle)
    }

    /// The pool of a handle, and what the program calls the memory's type.
    pub fn properties(&self, handle: u64) -> Answer<(Pool, u32)> {
        let memory = self
            .reserved
            .memories
            .get(&handle)
            .ok_or(Status::InvalidAllocation)?;
        Ok((memory.pool, memory.kind))
    }
}
