//! Allocations at an address of the caller's choice: host buffers that a kernel knows by their own addresses.
//!
//! The bytes live here like those of every allocation, apart from the host's. Whoever maps a buffer copies its content
//! in before a launch and out after it.

use std::sync::Arc;

use super::{ALIGN, Allocation, LentWords, Memory, Shadow};

/// What a mapped address must be a multiple of, so that atomics of 64 bits are aligned where the host's are.
const MAP_ALIGN: u64 = 8;
/// End of a 47-bit address space, in which every buffer of a host lies.
const MAP_END: u64 = 1 << 47;

/// Why a range was not mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Atomics would be misaligned.
    #[error("{address:#x} is not a multiple of {MAP_ALIGN}, which a mapped address must be")]
    Misaligned {
        /// The address asked for.
        address: u64,
    },
    /// Empty, or not in the address space of a host process.
    #[error(
        "no {bytes} bytes can be mapped at {address:#x}: a mapping has at least one byte and ends below {MAP_END:#x}"
    )]
    Range {
        /// The address asked for.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
    },
    /// Something is there already.
    #[error("{bytes} bytes at {address:#x} overlap the allocation {base:#x} of {size} bytes")]
    Overlap {
        /// The address asked for.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
        /// First address of what is there.
        base: u64,
        /// Its size.
        size: u64,
    },
    /// The host has no memory for the copy.
    #[error("the host has no memory for a mapping of {bytes} bytes")]
    Host {
        /// Bytes asked for.
        bytes: u64,
    },
}

impl Memory {
    /// Makes `bytes` bytes at guest address `address` accessible, outside the capacity; [`Memory::free`] ends it. The
    /// address is a multiple of 8. The content is arbitrary until it is written.
    pub fn map(&mut self, address: u64, bytes: u64) -> Result<(), MapError> {
        let at = self.claim(address, bytes)?;
        let storage = self.storage(bytes);
        let (words, shadow) = storage.ok_or(MapError::Host { bytes })?;
        self.insert_mapped(at, address, bytes, words, shadow);
        Ok(())
    }

    /// Where in the list an allocation of `bytes` bytes at an address of the caller's choice belongs.
    pub(super) fn claim(&mut self, address: u64, bytes: u64) -> Result<usize, MapError> {
        if !address.is_multiple_of(MAP_ALIGN) {
            return Err(MapError::Misaligned { address });
        }
        let range = MapError::Range { address, bytes };
        let end = address
            .checked_add(bytes)
            .filter(|end| *end <= MAP_END)
            .ok_or(range)?;
        if bytes == 0 || address == 0 {
            return Err(range);
        }
        if let Some(rival) = self.overlapping(address, end) {
            return Err(MapError::Overlap {
                address,
                bytes,
                base: rival.base,
                size: rival.len,
            });
        }
        // A freed allocation that started in the range would hide the new one from a search by address.
        let first = self.allocations.partition_point(|a| a.base < address);
        let after = self.allocations.partition_point(|a| a.base < end);
        self.freed -= after - first;
        self.allocations.drain(first..after);
        Ok(first)
    }

    /// Makes a claimed range accessible.
    pub(super) fn insert_mapped(
        &mut self,
        at: usize,
        address: u64,
        bytes: u64,
        words: LentWords,
        shadow: Option<Arc<Shadow>>,
    ) {
        let mapped = Allocation {
            base: address,
            len: bytes,
            freed: None,
            words,
            shadow,
        };
        self.allocations.insert(at, mapped);
        self.mapped = true;
        self.used += bytes;
        self.capacity += bytes;
    }

    /// A live allocation with bytes between the two addresses.
    pub(super) fn overlapping(&self, address: u64, end: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|a| a.base < end);
        let mut below = self.allocations[..after].iter();
        below
            .rfind(|a| a.freed.is_none())
            .filter(|a| a.base + a.len > address)
    }

    /// Where the next allocation and its gap of `step` bytes begin: after those before it, and clear of what is mapped.
    pub(super) fn next_free(&self, step: u64) -> Option<u64> {
        let mut base = self.next;
        while self.mapped
            && let Some(rival) = self.overlapping(base, base.checked_add(step)?)
        {
            base = (rival.base + rival.len).checked_next_multiple_of(ALIGN)?;
        }
        Some(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::bytes;

    const AT: u64 = 0x5555_0000_1000;

    #[test]
    fn a_mapped_range_is_accessible_at_its_own_address_and_ends_where_it_says() {
        let mut memory = Memory::new(64);
        let other = memory.alloc(64).unwrap();
        memory.map(AT, 12).unwrap();
        memory.write(AT, &[7; 12]).unwrap();
        memory.write(other, &[1; 64]).unwrap();
        assert_eq!(bytes(&memory, AT, 12), [7; 12]);
        memory.write(AT + 11, &[0; 2]).unwrap_err();
        memory.free(AT).unwrap();
        memory.read(AT, &mut [0]).unwrap_err();
        memory.map(AT, 8).unwrap();
        memory.write(AT, &[1; 8]).unwrap();
    }

    #[test]
    fn a_mapping_above_everything_leaves_later_allocations_findable() {
        let mut memory = Memory::new(1 << 20);
        memory.map(0x7ffc_0000_0000, 64).unwrap();
        let later = memory.alloc(64).unwrap();
        memory.write(later, &[3; 64]).unwrap();
        memory.write(0x7ffc_0000_0000, &[4; 64]).unwrap();
        assert_eq!(bytes(&memory, later, 64), [3; 64]);
    }

    #[test]
    fn an_allocation_steps_over_what_is_mapped_in_its_way() {
        let mut memory = Memory::new(1 << 20);
        let first = memory.alloc(8).unwrap();
        let way = first + (1 << 17);
        memory.map(way, 8).unwrap();
        let behind = (0..3).map(|_| memory.alloc(8).unwrap()).collect::<Vec<_>>();
        assert!(
            behind.iter().any(|base| *base > way) && !behind.contains(&way),
            "{behind:x?}"
        );
        memory.write(way, &[5; 8]).unwrap();
        behind
            .iter()
            .for_each(|base| memory.write(*base, &[6; 8]).unwrap());
        assert_eq!(bytes(&memory, way, 8), [5; 8]);
    }

    #[test]
    fn what_is_empty_odd_too_high_or_taken_is_not_mapped() {
        let mut memory = Memory::new(64);
        memory.map(AT, 64).unwrap();
        let refused = |memory: &mut Memory, address, bytes| memory.map(address, bytes).unwrap_err();
        assert_eq!(
            refused(&mut memory, AT + 65, 8),
            MapError::Misaligned { address: AT + 65 }
        );
        for (address, bytes) in [(AT + 64, 0), (0, 8), (MAP_END - 8, 16), (u64::MAX - 7, 16)] {
            assert_eq!(
                refused(&mut memory, address, bytes),
                MapError::Range { address, bytes }
            );
        }
        for (address, bytes) in [(AT, 8), (AT - 8, 16), (AT + 56, 8), (AT - 8, 128)] {
            let error = refused(&mut memory, address, bytes);
            assert!(
                matches!(
                    error,
                    MapError::Overlap {
                        base: AT,
                        size: 64,
                        ..
                    }
                ),
                "{error}"
            );
        }
        memory.map(AT + 64, 8).unwrap();
        memory.map(AT - 8, 8).unwrap();
    }
}
