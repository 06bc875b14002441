//! Addresses whose low half overflows inside an allocation.
//!
//! A kernel adds offsets to a base in two halves of 32 bits. Where no allocation crosses a multiple of 4 GiB the carry between
//! them is always 0, and code that loses it computes what it should. On a card buffers cross such multiples, if they are large or
//! unlucky. Here one lies in every allocation of more than 256 bytes, as long as it is shorter than 2 GiB: in the middle of one, near the
//! beginning or the end of another, by [`Memory::cross_next`]. With [`Memory::cross_early`] one lies in shorter ones too, and in the
//! arguments of launches.

use super::{ALIGN, KERNARG_AT, Memory, SLOT_BYTES, SLOTS};

/// Distance of the addresses at which the low half is 0.
const CARRY: u64 = 1 << 32;
/// Places to try before the allocation goes where there is room without a search.
const TRIES: usize = 16;
/// Alignment of allocations that cross a multiple wherever they can: no access of a kernel is wider.
const EARLY_ALIGN: u64 = 16;
/// Where in an allocation the multiple lies, in sixteenths of its length: an addition that loses its carry may be that of the first
/// pack, of what follows the whole tiles, or of any row.
const PLACES: [u64; 7] = [8, 0, 16, 4, 12, 2, 14];
/// Bytes of a slot before the multiple that it crosses: what comes before the arguments, and the first of them.
const BEFORE_IN_SLOT: u64 = KERNARG_AT as u64 + 32;

/// The multiples of 4 GiB that a device's allocations cross, one after the other and then from the first one again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiples {
    first: u64,
    /// Where the next allocation is to be.
    next: u64,
    /// After the last one.
    end: u64,
}

impl Multiples {
    /// Those with 2 GiB on either side inside of the addresses from `low` to `high`.
    pub(super) fn within(low: u64, high: u64) -> Multiples {
        let first = (low + CARRY / 2).next_multiple_of(CARRY);
        let end = (high.saturating_sub(CARRY / 2) / CARRY * CARRY + CARRY).max(first);
        Multiples {
            first,
            next: first,
            end,
        }
    }

    fn step(&mut self) -> Option<u64> {
        let multiple = self.next;
        self.next = if multiple + CARRY < self.end {
            multiple + CARRY
        } else {
            self.first
        };
        (multiple < self.end).then_some(multiple)
    }
}

impl Memory {
    /// How many places the multiple of 4 GiB can have in an allocation.
    pub const PLACES: u32 = PLACES.len() as u32;

    /// Where `len` bytes with a multiple of 4 GiB in their middle begin, with nothing within 2 GiB of it that lives or is remembered;
    /// `None` where they are too long or the places nearby are taken.
    pub(super) fn across(&mut self, len: u64) -> Option<u64> {
        if len >= CARRY / 2 {
            return None;
        }
        for _ in 0..TRIES {
            let multiple = self.multiples.step()?;
            let (low, high) = (multiple - CARRY / 2, multiple + CARRY / 2);
            let begins = |address: u64| self.allocations.partition_point(|a| a.base < address);
            if begins(low) == begins(high) && self.overlapping(low, high).is_none() {
                let align = if self.early { EARLY_ALIGN } else { ALIGN };
                let place = PLACES[self.turn as usize % PLACES.len()];
                self.turn = self.turn.wrapping_add(1);
                // Bytes below the multiple: one step of the alignment at least, and all but what is left of the last at most.
                let last = (len.saturating_sub(1) / align * align).max(align);
                return Some(multiple - (len * place / 16).next_multiple_of(align).clamp(align, last));
            }
        }
        None
    }

    /// Where in the next allocation the multiple of 4 GiB lies: for 0 in its middle, then near its beginning, near its end, at other parts of
    /// it, and from the middle again. Each allocation has the place after the one before.
    pub fn cross_next(&mut self, turn: u32) {
        self.turn = turn;
    }

    /// Has allocations begin at multiples of 16 bytes and not of 256 as `hipMalloc` has it, so that those of up to 256 bytes cross a multiple of
    /// 4 GiB too; and has one lie in the arguments of launches, 32 bytes after their first. For those who look for carries that get lost.
    /// It is for a memory without allocations, and does nothing else.
    pub fn cross_early(&mut self) {
        if self.used > 0 || self.allocations.len() > SLOTS {
            return;
        }
        let mut slots = vec![];
        for _ in 0..SLOTS {
            let Some(multiple) = self.multiples.step() else {
                return;
            };
            slots.extend(self.place_at(multiple - BEFORE_IN_SLOT, SLOT_BYTES as u64));
        }
        *self.free_slots() = slots;
        self.early = true;
    }

    /// Whether what is at an address was allocated before everything that lies below the next place.
    pub(super) fn is_older(&self, address: u64) -> bool {
        address >= self.multiples.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::bytes;

    #[test]
    fn the_low_half_of_addresses_overflows_inside_of_each_allocation() {
        let mut memory = Memory::new(1 << 20);
        for len in [512, 1000, 4096, 65_536] {
            let mut below = vec![];
            for _ in PLACES {
                let base = memory.alloc(len).unwrap();
                assert!(base.is_multiple_of(ALIGN));
                assert_eq!(
                    (base >> 32) + 1,
                    (base + len - 1) >> 32,
                    "{len} bytes at {base:#x}"
                );
                below.push(base.wrapping_neg() % CARRY);
                memory.write(base, &vec![1; len as usize]).unwrap();
                assert_eq!(bytes(&memory, base, len as usize), vec![1; len as usize]);
                memory.free(base).unwrap();
            }
            assert_eq!(below[0], (len / 2).next_multiple_of(ALIGN));
            assert_eq!(below[1], ALIGN, "the first bytes alone");
            assert_eq!(below[2], (len - 1) / ALIGN * ALIGN, "all but the last bytes");
        }
    }

    #[test]
    fn who_allocates_says_where_the_multiple_lies_and_it_lies_elsewhere_the_next_time() {
        let mut memory = Memory::new(1 << 20);
        let mut below = |turn: Option<u32>| {
            if let Some(turn) = turn {
                memory.cross_next(turn);
            }
            memory.alloc(65_536).unwrap().wrapping_neg() % CARRY
        };
        let places: Vec<u64> = [Some(3), None, Some(3), Some(10), Some(u32::MAX), None]
            .map(&mut below)
            .to_vec();
        let [quarter, after, again, around, last, wrapped] = places[..] else {
            panic!("six places")
        };
        assert_eq!([quarter, again, around], [16_384; 3]);
        assert_eq!(after, 49_152);
        assert_ne!(last, 0);
        assert_eq!(wrapped, 32_768, "after the last number comes 0");
    }

    #[test]
    fn short_allocations_and_arguments_cross_a_multiple_where_they_are_to() {
        let crosses = |base: u64, len: u64| base >> 32 != (base + len - 1) >> 32;
        let mut memory = Memory::new(1 << 20);
        memory.cross_early();
        for len in [20, 100, 256, 300, 512, 513, 1000].repeat(PLACES.len()) {
            let base = memory.alloc(len).unwrap();
            assert!(
                crosses(base, len) && base.is_multiple_of(EARLY_ALIGN),
                "{len} bytes at {base:#x}"
            );
            memory.write(base, &vec![1; len as usize]).unwrap();
            assert_eq!(bytes(&memory, base, len as usize), vec![1; len as usize]);
        }
        let kernarg = |memory: &Memory| memory.slot().unwrap().address + KERNARG_AT as u64;
        assert!(crosses(kernarg(&memory), 33) && !crosses(kernarg(&memory), 32));
        // Without it, and where something is allocated already, none does.
        for late in [false, true] {
            let mut memory = Memory::new(1 << 20);
            memory.alloc(1).unwrap();
            if late {
                memory.cross_early();
            }
            let base = memory.alloc(100).unwrap();
            assert!(!crosses(base, 100) && base.is_multiple_of(ALIGN));
            assert!(!crosses(kernarg(&memory), 64));
        }
    }

    #[test]
    fn after_the_last_multiple_comes_the_first_that_nothing_is_at() {
        let mut memory = Memory::of_device(1 << 20, 0, 4096);
        let kept = memory.alloc(1000).unwrap();
        let places: Vec<u64> = (0..20)
            .map(|_| {
                let address = memory.alloc(1000).unwrap();
                memory.free(address).unwrap();
                address
            })
            .collect();
        // What is freed is remembered, so that its address is not used again, and neither is the one that lives.
        for (i, address) in places.iter().enumerate() {
            assert!(*address != kept && !places[..i].contains(address), "{address:#x}");
        }
        memory.write(kept, &[1; 1000]).unwrap();
        assert!(matches!(
            memory.read(places[0], &mut [0]).unwrap_err().place,
            crate::fault::Place::Freed { .. }
        ));
    }

    #[test]
    fn an_address_is_used_again_when_nothing_remembers_it() {
        let mut memory = Memory::new(1 << 20);
        let first = memory.alloc(1000).unwrap();
        memory.free(first).unwrap();
        let again = (0..100_000).find(|_| {
            let address = memory.alloc(1000).unwrap();
            memory.free(address).unwrap();
            address == first
        });
        assert!(again.is_some_and(|count| count > 8192), "{again:?}");
        assert!(memory.allocations.len() < 10_000);
    }
}
