//! Loads, stores and atomics of waves on device memory.
//!
//! Little-endian and of any alignment, as global memory allows on AMD's cards; only atomics must be aligned.
//! memory.rs finds the allocation that an address belongs to.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Cursor, Memory};
use crate::fault::{Access, MemoryFault, Place};

/// Four bytes at a byte offset of any alignment, little-endian; bytes after the last word read as zero.
#[inline]
fn peek(words: &[AtomicU32], offset: usize) -> u32 {
    let (index, shift) = (offset / 4, offset % 4 * 8);
    let low = words[index].load(Relaxed);
    if shift == 0 {
        return low;
    }
    let high = words.get(index + 1).map_or(0, |w| w.load(Relaxed));
    low >> shift | high << (32 - shift)
}

/// Replaces the bits under `mask`; the rest of the word may change meanwhile and keeps its value.
#[inline]
fn merge(word: &AtomicU32, mask: u32, value: u32) {
    if mask == u32::MAX {
        word.store(value, Relaxed);
    } else {
        // Sub-word stores of two lanes, or two workgroups, to one word must both survive.
        word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | value & mask))
            .ok();
    }
}

/// Stores the low `bytes` (1..=4) bytes of `value` at a byte offset of any alignment.
#[inline]
fn poke(words: &[AtomicU32], offset: usize, value: u32, bytes: usize) {
    let (index, shift) = (offset / 4, offset % 4 * 8);
    let mask = u64::from(u32::MAX >> (32 - 8 * bytes)) << shift;
    let value = u64::from(value) << shift;
    merge(&words[index], mask as u32, value as u32);
    if mask >> 32 != 0 {
        merge(&words[index + 1], (mask >> 32) as u32, (value >> 32) as u32);
    }
}

/// A part of one allocation that several lanes access, checked once for all of them. Places are bytes from its start; one
/// outside of it reads as zero and is not written.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    words: &'a [AtomicU32],
    /// Bytes from the first word to the start.
    offset: usize,
}

impl Span<'_> {
    /// Four bytes at any place, of which those after the allocation's last word are zero.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u32 {
        let offset = self.offset + at;
        let shift = offset % 4 * 8;
        let word = |index: usize| self.words.get(index).map_or(0, |word| word.load(Relaxed));
        let low = word(offset / 4);
        if shift == 0 {
            return low;
        }
        low >> shift | word(offset / 4 + 1) << (32 - shift)
    }

    /// Whether a dword at a place is a word of the storage.
    #[inline(always)]
    pub(crate) fn is_aligned(&self, at: usize) -> bool {
        (self.offset + at).is_multiple_of(4)
    }

    /// Dwords from a place that [`Span::is_aligned`].
    #[inline(always)]
    pub(crate) fn aligned<const N: usize>(&self, at: usize) -> [u32; N] {
        let index = (self.offset + at) / 4;
        let mut out = [0; N];
        if let Some(words) = self.words.get(index..index + N) {
            for (value, word) in out.iter_mut().zip(words) {
                *value = word.load(Relaxed);
            }
        }
        out
    }

    /// Consecutive dwords.
    #[inline(always)]
    pub(crate) fn words(&self, at: usize, out: &mut [u32]) {
        let offset = self.offset + at;
        let index = offset / 4;
        if offset.is_multiple_of(4)
            && let Some(words) = self.words.get(index..index + out.len())
        {
            for (value, word) in out.iter_mut().zip(words) {
                *value = word.load(Relaxed);
            }
            return;
        }
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.word(at + 4 * i);
        }
    }

    /// Stores consecutive dwords.
    #[inline(always)]
    pub(crate) fn store_words(&self, at: usize, data: &[u32]) {
        let offset = self.offset + at;
        let index = offset / 4;
        let Some(words) = self.words.get(index..(offset + 4 * data.len()).div_ceil(4)) else {
            return;
        };
        if offset.is_multiple_of(4) {
            for (value, word) in data.iter().zip(words) {
                word.store(*value, Relaxed);
            }
            return;
        }
        for (i, value) in data.iter().enumerate() {
            poke(self.words, offset + 4 * i, *value, 4);
        }
    }
}

impl Memory {
    /// The part of an allocation from `address` on, when one allocation holds all of it.
    #[inline]
    pub(crate) fn span(
        &self,
        address: u64,
        bytes: u64,
        access: Access,
        cursor: &mut Cursor,
    ) -> Option<Span<'_>> {
        let (words, offset) = self.locate(address, bytes, access, cursor).ok()?;
        Some(Span { words, offset })
    }

    /// Loads one byte.
    #[inline]
    pub(crate) fn load_u8(&self, address: u64, cursor: &mut Cursor) -> Result<u8, MemoryFault> {
        let (words, offset) = self.locate(address, 1, Access::Load, cursor)?;
        Ok(peek(words, offset) as u8)
    }

    /// Loads 16 bits.
    #[inline]
    pub(crate) fn load_u16(&self, address: u64, cursor: &mut Cursor) -> Result<u16, MemoryFault> {
        let (words, offset) = self.locate(address, 2, Access::Load, cursor)?;
        Ok(peek(words, offset) as u16)
    }

    /// Loads 32 bits.
    #[inline]
    pub(crate) fn load_u32(&self, address: u64, cursor: &mut Cursor) -> Result<u32, MemoryFault> {
        let (words, offset) = self.locate(address, 4, Access::Load, cursor)?;
        Ok(peek(words, offset))
    }

    /// Loads consecutive dwords; nothing is written to `out` on a fault.
    #[inline]
    pub(crate) fn load_words(
        &self,
        address: u64,
        out: &mut [u32],
        cursor: &mut Cursor,
    ) -> Result<(), MemoryFault> {
        if out.is_empty() {
            return Ok(());
        }
        let (words, offset) = self.locate(address, 4 * out.len() as u64, Access::Load, cursor)?;
        if offset.is_multiple_of(4) {
            for (value, word) in out.iter_mut().zip(&words[offset / 4..]) {
                *value = word.load(Relaxed);
            }
        } else {
            for (i, value) in out.iter_mut().enumerate() {
                *value = peek(words, offset + 4 * i);
            }
        }
        Ok(())
    }

    /// Loads consecutive bytes; nothing is written to `out` on a fault.
    pub(crate) fn load_bytes(
        &self,
        address: u64,
        out: &mut [u8],
        cursor: &mut Cursor,
    ) -> Result<(), MemoryFault> {
        if out.is_empty() {
            return Ok(());
        }
        let (words, offset) = self.locate(address, out.len() as u64, Access::Load, cursor)?;
        let whole = out.len() / 4 * 4;
        let mut dwords = out.chunks_exact_mut(4);
        if offset.is_multiple_of(4) {
            for (value, word) in dwords.by_ref().zip(&words[offset / 4..]) {
                value.copy_from_slice(&word.load(Relaxed).to_le_bytes());
            }
        } else {
            for (i, value) in dwords.by_ref().enumerate() {
                value.copy_from_slice(&peek(words, offset + 4 * i).to_le_bytes());
            }
        }
        let tail = dwords.into_remainder();
        if !tail.is_empty() {
            let last = peek(words, offset + whole).to_le_bytes();
            tail.copy_from_slice(&last[..tail.len()]);
        }
        Ok(())
    }

    /// Stores one byte.
    #[inline]
    pub(crate) fn store_u8(&self, address: u64, value: u8, cursor: &mut Cursor) -> Result<(), MemoryFault> {
        let (words, offset) = self.locate(address, 1, Access::Store, cursor)?;
        poke(words, offset, u32::from(value), 1);
        Ok(())
    }

    /// Stores 16 bits.
    #[inline]
    pub(crate) fn store_u16(&self, address: u64, value: u16, cursor: &mut Cursor) -> Result<(), MemoryFault> {
        let (words, offset) = self.locate(address, 2, Access::Store, cursor)?;
        poke(words, offset, u32::from(value), 2);
        Ok(())
    }

    /// Stores 32 bits.
    #[inline]
    pub(crate) fn store_u32(&self, address: u64, value: u32, cursor: &mut Cursor) -> Result<(), MemoryFault> {
        let (words, offset) = self.locate(address, 4, Access::Store, cursor)?;
        poke(words, offset, value, 4);
        Ok(())
    }

    /// Stores consecutive dwords, or nothing on a fault.
    #[inline]
    pub(crate) fn store_words(
        &self,
        address: u64,
        data: &[u32],
        cursor: &mut Cursor,
    ) -> Result<(), MemoryFault> {
        if data.is_empty() {
            return Ok(());
        }
        let (words, offset) = self.locate(address, 4 * data.len() as u64, Access::Store, cursor)?;
        if offset.is_multiple_of(4) {
            for (value, word) in data.iter().zip(&words[offset / 4..]) {
                word.store(*value, Relaxed);
            }
        } else {
            for (i, value) in data.iter().enumerate() {
                poke(words, offset + 4 * i, *value, 4);
            }
        }
        Ok(())
    }

    /// Stores consecutive bytes, or nothing on a fault. Words that are covered whole are stored whole.
    pub(crate) fn store_bytes(
        &self,
        address: u64,
        data: &[u8],
        cursor: &mut Cursor,
    ) -> Result<(), MemoryFault> {
        if data.is_empty() {
            return Ok(());
        }
        let (words, mut offset) = self.locate(address, data.len() as u64, Access::Store, cursor)?;
        let (head, body) = data.split_at(data.len().min(offset.next_multiple_of(4) - offset));
        for byte in head {
            poke(words, offset, u32::from(*byte), 1);
            offset += 1;
        }
        let (dwords, tail) = body.as_chunks::<4>();
        for (value, word) in dwords.iter().zip(&words[offset / 4..]) {
            word.store(u32::from_le_bytes(*value), Relaxed);
        }
        offset += 4 * dwords.len();
        for byte in tail {
            poke(words, offset, u32::from(*byte), 1);
            offset += 1;
        }
        Ok(())
    }

    /// Replaces the dword at `address` by `update` of it, atomically, and gives back what was there before.
    pub(crate) fn atomic_u32(
        &self,
        address: u64,
        cursor: &mut Cursor,
        mut update: impl FnMut(u32) -> u32,
    ) -> Result<u32, MemoryFault> {
        let (words, offset) = self.locate(address, 4, Access::Atomic, cursor)?;
        if !offset.is_multiple_of(4) {
            return Err(self.misaligned(address, 4));
        }
        let word = &words[offset / 4];
        let mut old = word.load(Relaxed);
        loop {
            match word.compare_exchange_weak(old, update(old), Relaxed, Relaxed) {
                Ok(_) => return Ok(old),
                Err(now) => old = now,
            }
        }
    }

    /// The same for a qword. Two 64-bit atomics on one place are atomic towards each other; a 32-bit access
    /// meanwhile may see half of the change.
    pub(crate) fn atomic_u64(
        &self,
        address: u64,
        cursor: &mut Cursor,
        mut update: impl FnMut(u64) -> u64,
    ) -> Result<u64, MemoryFault> {
        let (words, offset) = self.locate(address, 8, Access::Atomic, cursor)?;
        if !offset.is_multiple_of(8) {
            return Err(self.misaligned(address, 8));
        }
        // A poisoned lock guards no data: whoever panicked left whole words.
        let _guard = self.wide.lock().unwrap_or_else(PoisonError::into_inner);
        let (low, high) = (&words[offset / 4], &words[offset / 4 + 1]);
        let old = u64::from(high.load(Relaxed)) << 32 | u64::from(low.load(Relaxed));
        let new = update(old);
        low.store(new as u32, Relaxed);
        high.store((new >> 32) as u32, Relaxed);
        Ok(old)
    }

    #[cold]
    fn misaligned(&self, address: u64, bytes: u64) -> MemoryFault {
        let place = match self.allocation(address) {
            Some((base, size)) => Place::Misaligned { base, size },
            None => Place::Nowhere,
        };
        MemoryFault {
            address,
            bytes,
            access: Access::Atomic,
            place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{bytes, memory_with};

    #[test]
    fn bytes_come_back_at_every_offset_and_length() {
        let data: Vec<u8> = (0..23).collect();
        let (memory, base) = memory_with(&data);
        for start in 0..data.len() {
            for end in start..=data.len() {
                assert_eq!(
                    bytes(&memory, base + start as u64, end - start),
                    data[start..end],
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn a_store_changes_its_own_bytes_only() {
        for start in 0..9 {
            for len in 0..9 {
                let (memory, base) = memory_with(&[0x11; 18]);
                memory.write(base + start, &vec![0xee; len]).unwrap();
                let mut want = [0x11; 18];
                want[start as usize..start as usize + len].fill(0xee);
                assert_eq!(bytes(&memory, base, 18), want, "{start} {len}");
            }
        }
    }

    #[test]
    fn words_and_smaller_pieces_agree_at_every_alignment() {
        let data: Vec<u8> = (1..=24).collect();
        let (memory, base) = memory_with(&data);
        let mut cursor = Cursor::default();
        for start in 0..8 {
            let mut words = [0; 3];
            memory.load_words(base + start, &mut words, &mut cursor).unwrap();
            let at = |i: usize| u32::from_le_bytes(data[start as usize + i..][..4].try_into().unwrap());
            assert_eq!(words, [at(0), at(4), at(8)]);
            assert_eq!(memory.load_u32(base + start, &mut cursor), Ok(at(0)));
            assert_eq!(memory.load_u16(base + start, &mut cursor), Ok(at(0) as u16));
            assert_eq!(memory.load_u8(base + start, &mut cursor), Ok(at(0) as u8));
            memory.store_words(base + start, &words, &mut cursor).unwrap();
            memory
                .store_u16(base + start, words[0] as u16, &mut cursor)
                .unwrap();
            memory
                .store_u8(base + start + 3, (words[0] >> 24) as u8, &mut cursor)
                .unwrap();
            memory.store_u32(base + start + 4, words[1], &mut cursor).unwrap();
            assert_eq!(bytes(&memory, base, 24), data);
        }
    }

    #[test]
    fn many_allocations_are_told_apart_through_one_cursor() {
        let mut memory = Memory::new(1 << 20);
        let all: Vec<u64> = (0..9_u32)
            .map(|i| {
                let address = memory.alloc(4).unwrap();
                memory.write(address, &i.to_le_bytes()).unwrap();
                address
            })
            .collect();
        let mut cursor = Cursor::default();
        for (i, stride) in (0..200).zip([1, 2, 3, 5, 7].into_iter().cycle()) {
            let at = i * stride % 9;
            assert_eq!(memory.load_u32(all[at], &mut cursor), Ok(at as u32));
        }
    }

    #[test]
    fn sub_word_stores_of_two_threads_to_one_word_both_survive() {
        let (memory, base) = memory_with(&[0; 4]);
        std::thread::scope(|scope| {
            for lane in 0..4 {
                let memory = &memory;
                scope.spawn(move || {
                    for value in 0..=255 {
                        memory
                            .store_u8(base + lane, value, &mut Cursor::default())
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(bytes(&memory, base, 4), [255; 4]);
    }

    #[test]
    fn atomics_of_two_threads_add_up() {
        let (memory, base) = memory_with(&[0; 16]);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut cursor = Cursor::default();
                    for _ in 0..1000 {
                        memory.atomic_u32(base, &mut cursor, |v| v + 1).unwrap();
                        memory
                            .atomic_u64(base + 8, &mut cursor, |v| v + (1 << 31))
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(bytes(&memory, base, 4), 2000_u32.to_le_bytes());
        assert_eq!(bytes(&memory, base + 8, 8), (2000_u64 << 31).to_le_bytes());
    }

    #[test]
    fn a_misaligned_atomic_faults() {
        let (memory, base) = memory_with(&[0; 16]);
        let fault = memory
            .atomic_u32(base + 2, &mut Cursor::default(), |v| v)
            .unwrap_err();
        assert_eq!(fault.place, Place::Misaligned { base, size: 16 });
        memory
            .atomic_u64(base + 4, &mut Cursor::default(), |v| v)
            .unwrap_err();
    }
}
