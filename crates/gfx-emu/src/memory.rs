//! Device memory: guest addresses, allocations, and every access checked against them.
//!
//! Guest addresses are numbers of our own; no host pointer is ever made from one. An allocation is a slice of
//! relaxed 32-bit atomics, so that waves on several host threads may share it: a racing kernel gets some
//! value, as on a card, and never undefined behaviour. The address of a freed allocation is not used again while it is
//! remembered and gaps separate allocations: use after free and overruns are found. LDS and scratch are not here;
//! see wave.rs.

mod access;
mod across;
mod lend;
mod map;
mod shadow;

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault::{Access, MemoryFault, Place};
use crate::wave::SHARED_BASE;
pub(crate) use access::Span;
use across::Multiples;
use lend::{Lent, LentWords};
pub use map::MapError;
use shadow::Shadow;

/// First address handed out.
const FIRST: u64 = 0x0000_2000_0000_0000;
/// End of the user half of a 47-bit address space.
const END: u64 = 0x0000_7fff_0000_0000;
/// Alignment of every allocation, as `hipMalloc` gives it.
const ALIGN: u64 = 256;
/// The least distance between two allocations; a large allocation has a gap of its own size after it,
/// because a wrong index tends to be wrong by a multiple of a dimension.
const GAP: u64 = 64 * 1024;
/// What fresh memory holds: NaN in every float format and -1 in every signed integer, so that a kernel which
/// reads what nobody wrote is likely to show it.
const FRESH: u32 = u32::MAX;
/// Freed allocations remembered for the text of a fault.
const REMEMBERED: usize = 4096;
/// Launches that may run at the same time.
const SLOTS: usize = 64;
/// Bytes a launch may use for its kernarg segment and dispatch packet.
pub(crate) const SLOT_BYTES: usize = 8192;
/// The kernarg segment's place in a slot, after the packet.
pub(crate) const KERNARG_AT: usize = 256;
/// Addresses below count as null.
const NULL_PAGE: u64 = 4096;

/// The capacity is used up, or the host has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of device memory: {requested} bytes asked for, {free} of {capacity} bytes free")]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes free before.
    pub free: u64,
    /// Bytes the device has.
    pub capacity: u64,
}

/// `free` got an address that is not the start of a live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address:#x} is not the start of a live allocation: {place}")]
pub struct FreeError {
    /// The address.
    pub address: u64,
    /// What is there instead.
    pub place: Place,
}

/// One allocation. A freed one keeps its size for the text of a fault, and nothing else.
#[derive(Clone, Debug)]
struct Allocation {
    base: u64,
    /// Bytes that may be accessed: 0 once freed.
    len: u64,
    /// The size while it lived.
    freed: Option<u64>,
    words: LentWords,
    /// Which bytes were written; `None` where nobody keeps track.
    shadow: Option<Arc<Shadow>>,
}

impl Allocation {
    #[inline]
    fn offset(&self, address: u64, bytes: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        // `offset < len` first: then `len - offset` cannot wrap.
        (offset < self.len && bytes <= self.len - offset).then_some(offset as usize)
    }
}

/// The allocations a wave used last. Every lane asks for an address, and a kernel works on a few buffers; an instruction
/// mostly on one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    recent: [u32; Cursor::PLACES],
    /// Which of them to look at first.
    place: usize,
}

impl Cursor {
    const PLACES: usize = 16;

    /// Begins with the allocation that the instruction with this place used last.
    #[inline(always)]
    pub(crate) fn aim(&mut self, place: u8) {
        self.place = usize::from(place);
    }

    /// The allocation that was found last.
    #[inline(always)]
    fn index(&self) -> usize {
        self.recent[self.place % Cursor::PLACES] as usize
    }
}

/// How many windows there are: as many as [`Cursor::aim`] tells instructions apart.
pub(crate) const WINDOWS: usize = 256;

/// An allocation as compiled code sees it: its first address, its bytes, and its first word.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Window<'a> {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) words: Option<&'a AtomicU32>,
}

impl Window<'_> {
    /// Nothing is in it.
    pub(crate) const NONE: Window<'static> = Window {
        base: 0,
        bytes: 0,
        words: None,
    };
    /// Windows are smaller, so that a place in one is a signed dword.
    const LIMIT: u64 = 1 << 31;
}

/// The memory of one software device. `&Memory` is shared by all waves; allocating and freeing need `&mut`.
///
/// A clone is a second view of the same bytes with its own list of allocations: what is allocated or freed in
/// one afterwards, the other does not know. A launch may so keep running on its view while a host thread
/// allocates. What is lent all views know at once: the host may answer a running kernel with memory.
#[derive(Clone, Debug)]
pub struct Memory {
    capacity: u64,
    used: u64,
    /// Where an allocation of many bytes, or one that found no other place, begins.
    next: u64,
    multiples: Multiples,
    /// End of the addresses that are handed out.
    end: u64,
    /// Ascending by `base`, freed ones included.
    allocations: Vec<Allocation>,
    freed: usize,
    /// Addresses of the slots no launch uses at the moment. They are outside the capacity: a card keeps them
    /// in host memory.
    slots: Arc<Mutex<Vec<u64>>>,
    /// 64-bit atomics take this lock, because the storage is 32-bit words. They are atomic among each other,
    /// not with respect to 32-bit accesses of the same place.
    wide: Arc<Mutex<()>>,
    /// Short allocations cross a multiple of 4 GiB too.
    early: bool,
    /// Says where in the next allocation the multiple lies.
    turn: u32,
    /// New allocations get a shadow.
    tracks: bool,
    /// Something was mapped at an address of the caller's choice.
    mapped: bool,
    /// What is lent at the moment, in all views.
    lent: Arc<Lent>,
}

impl Memory {
    /// An empty device memory of `capacity` bytes. Host memory is taken as allocations are made.
    pub fn new(capacity: u64) -> Memory {
        Memory::of_device(capacity, 0, 1)
    }

    /// The same for device `index` of `count`: addresses of several devices never coincide.
    pub fn of_device(capacity: u64, index: usize, count: usize) -> Memory {
        let span = (END - FIRST) / (count.max(1) as u64) / ALIGN * ALIGN;
        let first = FIRST + span * (index.min(count.max(1) - 1) as u64);
        let middle = (first + span / 2).next_multiple_of(ALIGN);
        let mut memory = Memory {
            capacity,
            used: 0,
            next: middle,
            multiples: Multiples::within(first, middle),
            end: first + span,
            allocations: Vec::new(),
            freed: 0,
            slots: Arc::default(),
            wide: Arc::default(),
            early: false,
            turn: 0,
            tracks: false,
            mapped: false,
            lent: Arc::default(),
        };
        let slots: Vec<u64> = (0..SLOTS).map_while(|_| memory.push(SLOT_BYTES as u64)).collect();
        memory.slots = Arc::new(Mutex::new(slots));
        memory
    }

    /// Bytes this device has.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in live allocations.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Allocates `len` bytes and gives back their guest address, aligned to 256 bytes. The content is
    /// arbitrary. A length of zero gives an address of its own at which nothing may be accessed.
    pub fn alloc(&mut self, len: u64) -> Result<u64, OutOfMemory> {
        let free = self.capacity - self.used;
        let full = OutOfMemory {
            requested: len,
            free,
            capacity: self.capacity,
        };
        if len > free {
            return Err(full);
        }
        let base = match self.across(len) {
            Some(base) => self.place_at(base, len),
            None => self.push(len),
        };
        let base = base.ok_or(full)?;
        self.used += len;
        Ok(base)
    }

    /// The next allocation that crosses no multiple of 4 GiB but by its size, whatever the capacity; `None` when addresses or
    /// host memory are used up.
    fn push(&mut self, len: u64) -> Option<u64> {
        let step = len.max(GAP).checked_add(len)?.checked_add(ALIGN)? / ALIGN * ALIGN;
        let base = self.next_free(step)?;
        let next = base.checked_add(step).filter(|next| *next < self.end)?;
        let base = self.place_at(base, len)?;
        self.next = next;
        Some(base)
    }

    /// A new allocation at an address that is free; `None` when the host has no memory.
    fn place_at(&mut self, base: u64, len: u64) -> Option<u64> {
        let (words, shadow) = self.storage(len)?;
        let at = self.allocations.partition_point(|a| a.base < base);
        self.allocations.insert(
            at,
            Allocation {
                base,
                len,
                freed: None,
                words,
                shadow,
            },
        );
        Some(base)
    }

    /// Fresh words, and a shadow where one is kept, for `len` bytes; `None` when the host has no memory.
    fn storage(&self, len: u64) -> Option<(LentWords, Option<Arc<Shadow>>)> {
        let count = usize::try_from(len.div_ceil(4)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, || AtomicU32::new(FRESH));
        let shadow = self.new_shadow(usize::try_from(len).ok()?)?;
        Some((LentWords::own(words), shadow))
    }

    /// Lends one launch a place for its kernarg segment; `None` when too many launches run at the same time.
    pub(crate) fn slot(&self) -> Option<Slot<'_>> {
        let address = self.free_slots().pop()?;
        Some(Slot {
            memory: self,
            address,
        })
    }

    fn free_slots(&self) -> MutexGuard<'_, Vec<u64>> {
        // Pushes and pops cannot leave the list half changed, so a poisoned lock is fine.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the allocation that starts at `address`. Later accesses to it fault.
    pub fn free(&mut self, address: u64) -> Result<(), FreeError> {
        let found = self.allocations.binary_search_by_key(&address, |a| a.base);
        let Some(allocation) = found
            .ok()
            .and_then(|i| self.allocations.get_mut(i))
            .filter(|a| a.freed.is_none())
        else {
            return Err(FreeError {
                address,
                place: self.place(address, 1),
            });
        };
        allocation.freed = Some(allocation.len);
        if matches!(allocation.words, LentWords::Lent(_)) {
            self.lent.remove(address);
        }
        self.used -= allocation.len;
        allocation.len = 0;
        allocation.words = LentWords::default();
        allocation.shadow = None;
        self.freed += 1;
        if self.freed > 2 * REMEMBERED {
            self.forget_oldest();
        }
        Ok(())
    }

    /// Keeps the `REMEMBERED` newest freed allocations.
    fn forget_oldest(&mut self) {
        let mut surplus = self.freed.saturating_sub(REMEMBERED);
        self.freed -= surplus;
        for older in [true, false] {
            let mut all = std::mem::take(&mut self.allocations);
            all.retain(|a| {
                let drop = a.freed.is_some() && surplus > 0 && self.is_older(a.base) == older;
                surplus -= usize::from(drop);
                !drop
            });
            self.allocations = all;
        }
    }

    /// Start and size of the live allocation that holds `address`, or starts there.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let a = self.allocations.get(after.checked_sub(1)?)?;
        (a.freed.is_none() && (address == a.base || address - a.base < a.len)).then_some((a.base, a.len))
    }

    /// Copies device memory out to `out`.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryFault> {
        self.load_bytes(address, out, &mut Cursor::default())
    }

    /// Copies `data` into device memory.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryFault> {
        let mut cursor = Cursor::default();
        self.store_bytes(address, data, &mut cursor)?;
        self.mark_written(address, data.len() as u64, &mut cursor);
        Ok(())
    }

    /// Copies `len` bytes from `source` to `target`; the ranges may overlap.
    pub fn copy(&self, target: u64, source: u64, len: u64) -> Result<(), MemoryFault> {
        // Checked before anything is written, and before the buffer is made: `len` may be any number.
        self.check(target, len, Access::Store)?;
        self.check(source, len, Access::Load)?;
        let mut buffer = vec![0; len as usize];
        self.read(source, &mut buffer)?;
        self.store_bytes(target, &buffer, &mut Cursor::default())?;
        self.copy_written(target, source, len);
        Ok(())
    }

    /// Writes `count` copies of `pattern` one after the other.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryFault> {
        let len = count.saturating_mul(pattern.len() as u64);
        self.check(address, len, Access::Store)?;
        let chunk: Vec<u8> = pattern
            .iter()
            .copied()
            .cycle()
            .take(pattern.len() * 1024)
            .collect();
        let mut cursor = Cursor::default();
        let mut done = 0;
        while done < len {
            let part = (len - done).min(chunk.len() as u64);
            self.store_bytes(address + done, &chunk[..part as usize], &mut cursor)?;
            done += part;
        }
        self.mark_written(address, len, &mut cursor);
        Ok(())
    }

    /// Whether a live allocation covers the whole range. An empty range always is.
    pub fn check(&self, address: u64, bytes: u64, access: Access) -> Result<(), MemoryFault> {
        if bytes == 0 {
            return Ok(());
        }
        self.locate(address, bytes, access, &mut Cursor::default())
            .map(|_| ())
    }

    /// The allocation that was found last with a cursor, where it ends below the apertures of flat addresses.
    pub(crate) fn window(&self, cursor: &Cursor) -> Option<Window<'_>> {
        let found = self.allocations.get(cursor.index())?;
        let fits = found.len < Window::LIMIT && found.len <= 4 * found.words.len() as u64;
        let fits = fits && found.base + found.len <= SHARED_BASE;
        fits.then(|| Window {
            base: found.base,
            bytes: found.len,
            words: found.words.first(),
        })
    }

    #[inline]
    fn locate(
        &self,
        address: u64,
        bytes: u64,
        access: Access,
        cursor: &mut Cursor,
    ) -> Result<(&[AtomicU32], usize), MemoryFault> {
        if let Some(a) = self.allocations.get(cursor.index())
            && let Some(offset) = a.offset(address, bytes)
        {
            return Ok((&a.words, offset));
        }
        self.search(address, bytes, access, cursor)
    }

    #[inline(never)]
    fn search(
        &self,
        address: u64,
        bytes: u64,
        access: Access,
        cursor: &mut Cursor,
    ) -> Result<(&[AtomicU32], usize), MemoryFault> {
        let fault = |place| MemoryFault {
            address,
            bytes,
            access,
            place,
        };
        let recent = cursor.recent;
        let mut hit = |index: u32| {
            let a = self.allocations.get(index as usize)?;
            let offset = a.offset(address, bytes)?;
            cursor.recent[cursor.place % Cursor::PLACES] = index;
            Some((&*a.words, offset))
        };
        if let Some(found) = recent.into_iter().find_map(&mut hit) {
            return Ok(found);
        }
        let after = self.allocations.partition_point(|a| a.base <= address);
        // The cursor counts in u32; more than 4 G allocations do not fit the address space with its gaps.
        let found = after.checked_sub(1).and_then(|index| hit(index as u32));
        let found = found.or_else(|| self.lent.find(address, bytes));
        found.ok_or_else(|| fault(self.place(address, bytes)))
    }

    /// Where an address that is not covered lies.
    #[cold]
    fn place(&self, address: u64, bytes: u64) -> Place {
        if address < NULL_PAGE {
            return Place::Null;
        }
        let after = self.allocations.partition_point(|a| a.base <= address);
        let next = self.allocations.get(after).filter(|a| a.freed.is_none());
        let previous = after.checked_sub(1).and_then(|i| self.allocations.get(i));
        let before = next.map(|a| {
            (
                a.base - address,
                Place::Before {
                    base: a.base,
                    size: a.len,
                    gap: a.base - address,
                },
            )
        });
        let after = previous.map(|a| {
            let offset = address - a.base;
            match a.freed {
                Some(size) => (offset.saturating_sub(size), Place::Freed { base: a.base, size }),
                None => {
                    let past = offset.cast_signed().saturating_sub_unsigned(a.len);
                    (
                        offset.saturating_sub(a.len),
                        Place::After {
                            base: a.base,
                            size: a.len,
                            past,
                        },
                    )
                }
            }
        });
        // A freed neighbour explains only addresses that were inside it.
        let after = after.filter(|(gap, place)| !matches!(place, Place::Freed { .. }) || *gap == 0);
        let nearest = [after, before].into_iter().flatten().min_by_key(|(gap, _)| *gap);
        match nearest {
            Some((gap, place)) if gap <= GAP.max(bytes).max(size_of_place(&place)) => place,
            _ => Place::Nowhere,
        }
    }
}

/// A piece of device memory lent to one launch.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    memory: &'a Memory,
    /// Guest address of its [`SLOT_BYTES`] bytes.
    pub(crate) address: u64,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.memory.free_slots().push(self.address);
    }
}

/// The reach of an allocation for the text of a fault: its own size.
fn size_of_place(place: &Place) -> u64 {
    match *place {
        Place::Freed { size, .. }
        | Place::After { size, .. }
        | Place::Before { size, .. }
        | Place::Misaligned { size, .. } => size,
        Place::Null | Place::Nowhere => 0,
    }
}

#[cfg(test)]
pub(crate) mod tests;
