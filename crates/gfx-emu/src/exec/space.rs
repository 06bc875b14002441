//! The three address spaces: one lane's access to one of them, checked against its bounds.

use super::memory::MAX_WORDS;
use crate::fault::{Access, FaultKind};
use crate::isa::Space;
use crate::memory::{Cursor, Memory};
use crate::wave::{Group, PRIVATE_BASE, Row, SHARED_BASE, Wave};

/// Bytes that a lane accesses at once at most.
const MAX_BYTES: usize = 4 * MAX_WORDS;

/// A place in one of the address spaces.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Guest address in device memory.
    Global(u64),
    /// Byte offset in the workgroup's LDS.
    Lds(u64),
    /// Byte offset in the scratch of a lane.
    Scratch { lane: usize, offset: u64 },
}

/// The memories a wave reaches, apart from its registers.
pub(super) struct Spaces<'a> {
    pub(super) memory: &'a Memory,
    pub(super) cursor: &'a mut Cursor,
    lds: &'a mut [u8],
    /// What a lane loads from and stores to at an LDS address that the workgroup does not have. `None`: such an access is a
    /// fault.
    absent: Option<[u8; MAX_BYTES]>,
    scratch: &'a mut [u8],
    scratch_size: usize,
}

/// Registers and memories of a wave, borrowed side by side.
pub(super) fn split<'a, const W: usize>(
    wave: &'a mut Wave<W>,
    group: &'a mut Group<'_>,
) -> (&'a mut [Row<W>], Spaces<'a>) {
    let spaces = Spaces {
        memory: group.memory,
        cursor: &mut wave.cursor,
        absent: group.lds_as_card.then_some([0; MAX_BYTES]),
        lds: &mut group.lds,
        scratch: &mut wave.scratch,
        scratch_size: wave.scratch_size,
    };
    (&mut wave.vgpr, spaces)
}

/// Where `address` of a lane lies.
#[inline(always)]
pub(super) fn place(space: Space, lane: usize, address: u64) -> At {
    match space {
        Space::Global => At::Global(address),
        Space::Lds => At::Lds(address),
        Space::Scratch => At::Scratch {
            lane,
            offset: address,
        },
        Space::Flat | Space::Buffer => match address & !0xffff_ffff {
            SHARED_BASE => At::Lds(address & 0xffff_ffff),
            PRIVATE_BASE => At::Scratch {
                lane,
                offset: address & 0xffff_ffff,
            },
            _ => At::Global(address),
        },
    }
}

impl Spaces<'_> {
    /// The bytes of an LDS or scratch place.
    #[inline]
    fn local(&mut self, at: At, bytes: usize, access: Access) -> Result<&mut [u8], FaultKind> {
        let (memory, start, size) = match at {
            At::Lds(offset) => (&mut *self.lds, offset, None),
            At::Scratch { lane, offset } => (&mut *self.scratch, offset, Some((lane, self.scratch_size))),
            // Callers ask for device memory elsewhere; an empty slice makes a mistake a fault.
            At::Global(address) => (&mut [][..], address, None),
        };
        let end = start.saturating_add(bytes as u64);
        let (lane_start, limit) = match size {
            Some((lane, size)) => (lane * size, size),
            None => (0, memory.len()),
        };
        if end > limit as u64 {
            if let (At::Lds(_), Some(absent)) = (at, &mut self.absent) {
                // The next lane must not load what this one stores.
                *absent = [0; MAX_BYTES];
                return Ok(&mut absent[..bytes]);
            }
            return Err(outside(at, bytes as u32, limit as u32, access));
        }
        let start = lane_start + start as usize;
        memory
            .get_mut(start..start + bytes)
            .ok_or_else(|| outside(at, bytes as u32, limit as u32, access))
    }

    /// Loads 1, 2 or 4 bytes, zero-extended.
    #[inline]
    pub(super) fn load(&mut self, at: At, bytes: usize) -> Result<u32, FaultKind> {
        if let At::Global(address) = at {
            return Ok(match bytes {
                1 => u32::from(self.memory.load_u8(address, self.cursor)?),
                2 => u32::from(self.memory.load_u16(address, self.cursor)?),
                _ => self.memory.load_u32(address, self.cursor)?,
            });
        }
        let bytes = self.local(at, bytes, Access::Load)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    /// Loads consecutive dwords.
    #[inline]
    pub(super) fn load_words(&mut self, at: At, out: &mut [u32]) -> Result<(), FaultKind> {
        if let At::Global(address) = at {
            return Ok(self.memory.load_words(address, out, self.cursor)?);
        }
        let bytes = self.local(at, 4 * out.len(), Access::Load)?;
        for (word, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    /// Stores the low 1, 2 or 4 bytes.
    #[inline]
    pub(super) fn store(&mut self, at: At, bytes: usize, value: u32) -> Result<(), FaultKind> {
        if let At::Global(address) = at {
            match bytes {
                1 => self.memory.store_u8(address, value as u8, self.cursor)?,
                2 => self.memory.store_u16(address, value as u16, self.cursor)?,
                _ => self.memory.store_u32(address, value, self.cursor)?,
            }
            return Ok(());
        }
        self.local(at, bytes, Access::Store)?
            .copy_from_slice(&value.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// Stores consecutive dwords.
    #[inline]
    pub(super) fn store_words(&mut self, at: At, data: &[u32]) -> Result<(), FaultKind> {
        if let At::Global(address) = at {
            return Ok(self.memory.store_words(address, data, self.cursor)?);
        }
        let bytes = self.local(at, 4 * data.len(), Access::Store)?;
        for (word, bytes) in data.iter().zip(bytes.as_chunks_mut::<4>().0) {
            *bytes = word.to_le_bytes();
        }
        Ok(())
    }

    /// Replaces a dword by `update` of it; gives the old one.
    pub(super) fn atomic(&mut self, at: At, update: impl Fn(u32) -> u32) -> Result<u32, FaultKind> {
        if let At::Global(address) = at {
            return Ok(self.memory.atomic_u32(address, self.cursor, update)?);
        }
        // One workgroup runs on one thread: reading and writing is atomic.
        let bytes = self.local(at, 4, Access::Atomic)?;
        let old = bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u32::from(*byte));
        bytes.copy_from_slice(&update(old).to_le_bytes());
        Ok(old)
    }

    /// Replaces a qword by `update` of it; gives the old one.
    pub(super) fn atomic64(&mut self, at: At, update: impl Fn(u64) -> u64) -> Result<u64, FaultKind> {
        if let At::Global(address) = at {
            return Ok(self.memory.atomic_u64(address, self.cursor, update)?);
        }
        let bytes = self.local(at, 8, Access::Atomic)?;
        let old = bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        bytes.copy_from_slice(&update(old).to_le_bytes());
        Ok(old)
    }
}

#[cold]
fn outside(at: At, bytes: u32, size: u32, access: Access) -> FaultKind {
    match at {
        At::Scratch { offset, .. } => FaultKind::Scratch {
            offset,
            bytes,
            size,
            access,
        },
        At::Lds(offset) | At::Global(offset) => FaultKind::Lds {
            offset,
            bytes,
            size,
            access,
        },
    }
}
