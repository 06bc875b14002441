//! Addresses whose low half overflows inside an allocation.
//!
//! A kernel adds offsets to a base in two halves of 32 bits. Where no allocation crosses a multiple of 4 GiB the carry between
//! them is always 0, and code that loses it computes what it should. On a card buffers cross such multiples, if they are large or
//! unlucky. Here one lies in the middle of every allocation of more than 256 bytes, as long as it is shorter than 2 GiB.

use super::{ALIGN, Memory};

/// Distance of the addresses at which the low half is 0.
const CARRY: u64 = 1 << 32;
/// Places to try before the allocation goes where there is room without a search.
const TRIES: usize = 16;

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
                return Some(multiple - (len / 2).next_multiple_of(ALIGN));
            }
        }
        None
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
    fn the_low_half_of_addresses_overflows_in_the_middle_of_an_allocation() {
        let mut memory = Memory::new(1 << 20);
        for len in [512, 1000, 65_536] {
            let base = memory.alloc(len).unwrap();
            assert!(base.is_multiple_of(ALIGN));
            assert_eq!(base >> 32, (base + len / 2 - 1) >> 32);
            assert_eq!(
                (base >> 32) + 1,
                (base + len - 1) >> 32,
                "{len} bytes at {base:#x}"
            );
            memory.write(base, &vec![1; len as usize]).unwrap();
            assert_eq!(bytes(&memory, base, len as usize), vec![1; len as usize]);
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
