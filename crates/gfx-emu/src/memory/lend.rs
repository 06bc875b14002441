//! Where the bytes of an allocation are, and allocations whose bytes are lent.
//!
//! Lent bytes are memory of the host process at their own address. A kernel and the host see each other's stores at
//! once, as in memory that a card and its host share. Whoever lends has made the slice, and keeps what it points to.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Cursor, MapError, Memory};

/// The bytes of an allocation, as dwords.
#[derive(Clone, Debug)]
pub(super) enum LentWords {
    /// They are the allocation's own, apart from the host's.
    Own(Arc<Box<[AtomicU32]>>),
    /// They are somewhere in the host process, for as long as it lives.
    Lent(&'static [AtomicU32]),
}

impl LentWords {
    pub(super) fn own(words: Vec<AtomicU32>) -> LentWords {
        LentWords::Own(Arc::new(words.into_boxed_slice()))
    }
}

impl Default for LentWords {
    fn default() -> LentWords {
        LentWords::Lent(&[])
    }
}

impl Deref for LentWords {
    type Target = [AtomicU32];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            LentWords::Own(words) => words,
            LentWords::Lent(words) => words,
        }
    }
}

/// Everything that is lent, by its first address: its bytes, and where they are. A view that was made before looks here when its
/// own list does not have an address.
#[derive(Debug, Default)]
pub(super) struct Lent(RwLock<BTreeMap<u64, (u64, &'static [AtomicU32])>>);

impl Lent {
    fn insert(&self, address: u64, bytes: u64, words: &'static [AtomicU32]) {
        // One insertion or removal at a time: a panic cannot leave the map half changed.
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(address, (bytes, words));
    }

    pub(super) fn remove(&self, address: u64) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(&address);
    }

    /// The words around a range, and the range's offset in them.
    #[cold]
    pub(super) fn find(&self, address: u64, bytes: u64) -> Option<(&'static [AtomicU32], usize)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (base, (len, words)) = all.range(..=address).next_back()?;
        let offset = address - base;
        (offset < *len && bytes <= len - offset).then_some((*words, offset as usize))
    }
}

impl Memory {
    /// Makes the first `bytes` bytes of `words` accessible at guest address `address`, outside the capacity;
    /// [`Memory::free`] ends it. The address is a multiple of 8. `tracked`: nothing but launches, [`Memory::write`] and
    /// what [`Memory::written`] tells changes the bytes, so that reads of those that nobody wrote are found where
    /// [`Memory::track_writes`] asked for it. Otherwise all of them count as written.
    ///
    /// 64-bit atomics of kernels are atomic towards each other, and not towards the host's.
    ///
    /// # Errors
    /// [`MapError`], as [`Memory::map`] gives it; [`MapError::Host`] when `words` has fewer bytes.
    pub fn lend(
        &mut self,
        address: u64,
        bytes: u64,
        words: &'static [AtomicU32],
        tracked: bool,
    ) -> Result<(), MapError> {
        let short = MapError::Host { bytes };
        let count = usize::try_from(bytes.div_ceil(4)).map_err(|_| short)?;
        let words = words.get(..count).ok_or(short)?;
        let at = self.claim(address, bytes)?;
        let shadow = match tracked {
            true => self.new_shadow(4 * count).ok_or(short)?,
            false => None,
        };
        self.insert_mapped(at, address, bytes, LentWords::Lent(words), shadow);
        self.lent.insert(address, bytes, words);
        Ok(())
    }

    /// The host wrote a range of lent memory by itself. What lies outside of allocations is left out.
    pub fn written(&self, address: u64, bytes: u64) {
        self.mark_written(address, bytes, &mut Cursor::default());
    }

    /// The host copied a range to another by itself: of lent memory, where that is. Bytes that nobody wrote stay so.
    pub fn copied(&self, target: u64, source: u64, bytes: u64) {
        self.copy_written(target, source, bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::memory::tests::bytes;

    const AT: u64 = 0x7f00_0000_1000;

    fn words(count: usize) -> &'static [AtomicU32] {
        let mut words = Vec::new();
        words.resize_with(count, AtomicU32::default);
        words.leak()
    }

    #[test]
    fn the_host_and_the_device_see_each_others_stores_at_once() {
        let mut memory = Memory::new(0);
        let lent = words(4);
        memory.lend(AT, 14, lent, false).unwrap();
        memory.write(AT + 4, &7_u32.to_le_bytes()).unwrap();
        assert_eq!(lent[1].load(Relaxed), 7);
        lent[2].store(8, Relaxed);
        assert_eq!(bytes(&memory, AT + 8, 4), [8, 0, 0, 0]);
        memory.read(AT + 13, &mut [0; 2]).unwrap_err();
        memory.free(AT).unwrap();
        memory.read(AT, &mut [0]).unwrap_err();
        memory.lend(AT, 17, lent, false).unwrap_err();
    }

    #[test]
    fn a_view_that_was_made_before_knows_what_is_lent_until_it_is_freed() {
        let mut memory = Memory::new(0);
        let view = memory.clone();
        memory.lend(AT, 16, words(4), false).unwrap();
        view.write(AT + 8, &[7; 8]).unwrap();
        assert_eq!(bytes(&memory, AT + 8, 8), [7; 8]);
        view.write(AT + 12, &[7; 8]).unwrap_err();
        view.write(AT - 4, &[7; 4]).unwrap_err();
        memory.free(AT).unwrap();
        view.write(AT + 8, &[7; 8]).unwrap_err();
    }

    #[test]
    fn a_range_is_found_where_smaller_ones_were_freed() {
        let mut memory = Memory::new(0);
        let lent = words(16);
        for at in [16, 48] {
            memory.lend(AT + at, 8, lent, false).unwrap();
            memory.free(AT + at).unwrap();
        }
        memory.lend(AT, 64, lent, false).unwrap();
        memory.write(AT + 20, &[1; 40]).unwrap();
        assert_eq!(bytes(&memory, AT + 48, 8), [1; 8]);
    }

    #[test]
    fn what_the_host_wrote_unseen_is_unwritten_until_it_says_so() {
        let mut memory = Memory::new(0);
        memory.track_writes();
        memory.lend(AT, 16, words(4), true).unwrap();
        memory.lend(AT + 64, 16, words(4), true).unwrap();
        memory.lend(AT + 128, 16, words(4), false).unwrap();
        let unwritten = |at: u64, len: u64| memory.first_unwritten(AT + at, len, &mut Cursor::default());
        assert!(unwritten(0, 4).is_some());
        memory.written(AT, 4);
        assert!(unwritten(0, 4).is_none() && unwritten(0, 8).is_some());
        memory.copied(AT + 64, AT, 8);
        assert!(unwritten(64, 4).is_none() && unwritten(64, 8).is_some());
        assert!(unwritten(128, 16).is_none());
    }
}
