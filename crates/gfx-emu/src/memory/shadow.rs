//! Which bytes of an allocation were ever written: one bit a byte.
//!
//! Kept only where the sanitizer asked for it; what it reports is decided in sanitize.rs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::{Cursor, Memory};
use crate::fault::Access;

/// Bits of a word of the map.
const BITS: usize = 32;

/// The written bytes of one allocation. Waves of several host threads mark at the same time.
#[derive(Debug)]
pub(super) struct Shadow {
    bits: Box<[AtomicU32]>,
    /// Every byte counts as written: a launch ran that nobody watched.
    all: AtomicBool,
}

impl Shadow {
    /// Of an allocation of `len` bytes, none of them written; `None` when the host has no memory.
    pub(super) fn new(len: usize) -> Option<Shadow> {
        let count = len.div_ceil(BITS);
        let mut bits = Vec::new();
        bits.try_reserve_exact(count).ok()?;
        bits.resize_with(count, AtomicU32::default);
        Some(Shadow {
            bits: bits.into_boxed_slice(),
            all: AtomicBool::new(false),
        })
    }

    /// The words of the map that hold a range, each with the range's bits in it.
    fn masks(&self, offset: usize, bytes: usize) -> impl Iterator<Item = (usize, &AtomicU32, u32)> {
        let end = offset + bytes;
        (offset / BITS..end.div_ceil(BITS)).filter_map(move |index| {
            let from = offset.saturating_sub(index * BITS);
            let count = (end - index * BITS).min(BITS) - from;
            Some((index, self.bits.get(index)?, u32::MAX >> (BITS - count) << from))
        })
    }

    /// The bytes are written now.
    fn mark(&self, offset: usize, bytes: usize) {
        for (_, word, mask) in self.masks(offset, bytes) {
            if word.load(Relaxed) & mask != mask {
                word.fetch_or(mask, Relaxed);
            }
        }
    }

    /// Offset of the first byte of a range that was never written.
    fn first_unwritten(&self, offset: usize, bytes: usize) -> Option<usize> {
        if self.all.load(Relaxed) {
            return None;
        }
        self.masks(offset, bytes).find_map(|(index, word, mask)| {
            let missing = mask & !word.load(Relaxed);
            (missing != 0).then(|| index * BITS + missing.trailing_zeros() as usize)
        })
    }
}

/// A byte that a kernel reads and nobody wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritten {
    /// Guest address of the first such byte of the access.
    pub(crate) address: u64,
    /// First address of its allocation.
    pub(crate) base: u64,
    /// Bytes of its allocation.
    pub(crate) size: u64,
}

impl Memory {
    /// From now on a new allocation knows which of its bytes were written, for launches that are sanitized.
    /// Allocations made before count as written.
    pub fn track_writes(&mut self) {
        self.tracks = true;
    }

    /// A launch begins that does not mark what it writes: from now on everything counts as written.
    pub(crate) fn trust(&self) {
        for shadow in self.allocations.iter().filter_map(|a| a.shadow.as_deref()) {
            shadow.all.store(true, Relaxed);
        }
    }

    /// The shadow of a new allocation. The outer `None`: the host has no memory.
    pub(super) fn new_shadow(&self, len: usize) -> Option<Option<Arc<Shadow>>> {
        if !self.tracks {
            return Some(None);
        }
        Some(Some(Arc::new(Shadow::new(len)?)))
    }

    /// The shadow of the allocation around a range, the range's offset in it, its base and size. `None`
    /// outside of allocations and where nothing is tracked.
    fn shadow(&self, address: u64, bytes: u64, cursor: &mut Cursor) -> Option<(&Shadow, usize, u64, u64)> {
        if !self.tracks || bytes == 0 {
            return None;
        }
        let (_, offset) = self.locate(address, bytes, Access::Load, cursor).ok()?;
        let found = self.allocations.get(cursor.index())?;
        Some((found.shadow.as_deref()?, offset, found.base, found.len))
    }

    /// Marks a range as written. A range outside of allocations is somebody else's fault.
    pub(crate) fn mark_written(&self, address: u64, bytes: u64, cursor: &mut Cursor) {
        if let Some((shadow, offset, ..)) = self.shadow(address, bytes, cursor) {
            shadow.mark(offset, bytes as usize);
        }
    }

    /// The first byte of a range that was never written.
    pub(crate) fn first_unwritten(&self, address: u64, bytes: u64, cursor: &mut Cursor) -> Option<Unwritten> {
        let (shadow, offset, base, size) = self.shadow(address, bytes, cursor)?;
        let first = shadow.first_unwritten(offset, bytes as usize)?;
        Some(Unwritten {
            address: base + first as u64,
            base,
            size,
        })
    }

    /// What a copy brings along: the source's written bytes are written in the target, beside those that were.
    pub(super) fn copy_written(&self, target: u64, source: u64, len: u64) {
        let (mut from, mut to) = (Cursor::default(), Cursor::default());
        let mut done = 0;
        while self.tracks && done < len {
            let step = (len - done).min(BITS as u64);
            match self.first_unwritten(source + done, step, &mut from) {
                None => self.mark_written(target + done, step, &mut to),
                Some(_) => {
                    for at in done..done + step {
                        if self.first_unwritten(source + at, 1, &mut from).is_none() {
                            self.mark_written(target + at, 1, &mut to);
                        }
                    }
                }
            }
            done += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(len: u64) -> (Memory, u64) {
        let mut memory = Memory::new(1 << 20);
        memory.track_writes();
        let base = memory.alloc(len).unwrap();
        (memory, base)
    }

    fn unwritten(memory: &Memory, base: u64, offset: u64, bytes: u64) -> Option<u64> {
        let found = memory.first_unwritten(base + offset, bytes, &mut Cursor::default());
        found.map(|found| found.address - base)
    }

    #[test]
    fn every_range_of_written_bytes_is_written_and_its_neighbours_are_not() {
        for (offset, bytes) in [(0, 1), (3, 2), (31, 2), (5, 70), (32, 32), (99, 1)] {
            let (memory, base) = tracked(100);
            memory.write(base + offset, &vec![1; bytes as usize]).unwrap();
            assert_eq!(unwritten(&memory, base, offset, bytes), None, "{offset} {bytes}");
            if offset > 0 {
                assert_eq!(unwritten(&memory, base, offset - 1, bytes), Some(offset - 1));
            }
            if offset + bytes < 100 {
                assert_eq!(unwritten(&memory, base, offset, bytes + 1), Some(offset + bytes));
            }
        }
    }

    #[test]
    fn a_fill_writes_and_a_copy_brings_only_what_was_written() {
        let (mut memory, source) = tracked(100);
        memory.fill(source + 10, &[1, 2], 30).unwrap();
        let target = memory.alloc(100).unwrap();
        memory.copy(target, source, 100).unwrap();
        for base in [source, target] {
            assert_eq!(unwritten(&memory, base, 10, 60), None);
            assert_eq!(unwritten(&memory, base, 9, 2), Some(9));
            assert_eq!(unwritten(&memory, base, 60, 20), Some(70));
        }
    }

    #[test]
    fn memory_that_is_not_tracked_or_was_written_unseen_counts_as_written() {
        let (memory, base) = tracked(8);
        assert_eq!(unwritten(&memory, base, 0, 8), Some(0));
        memory.trust();
        assert_eq!(unwritten(&memory, base, 0, 8), None);
        let mut memory = Memory::new(64);
        let base = memory.alloc(8).unwrap();
        memory.track_writes();
        assert_eq!(unwritten(&memory, base, 0, 8), None);
    }
}
