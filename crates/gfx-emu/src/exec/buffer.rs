//! Loads, stores and atomics of device memory through a buffer descriptor, which says where the buffer begins and ends.
//!
//! Layout of a descriptor and the check of its range: "RDNA3 Instruction Set Architecture" and "AMD Instinct MI300 Instruction
//! Set Architecture", chapters on vector memory buffer instructions. What is out of range reads as zero and is not written, as
//! on the card: that is not a fault, and the sanitizer has nothing to say about it. Buffers that interleave their records, or
//! that count lanes into the index, are not modelled.

use super::space::{self, At, Spaces};
use super::{Trouble, atomic, unimplemented};
use crate::fault::FaultKind;
use crate::isa::{Atomic, Inst, Isa, Space, Src, Transfer};
use crate::wave::{Group, PRIVATE_BASE, Wave};

/// Whether a vector memory instruction goes through a descriptor other than that of private memory.
#[inline(always)]
pub(super) fn is_resource<const W: usize>(wave: &Wave<W>, inst: &Inst) -> bool {
    inst.space == Space::Buffer && wave.sgpr64(usize::from(inst.base)) != PRIVATE_BASE
}

/// What a lane may access: from the address on, this many bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// How the range of a buffer is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeCheck {
    /// Index and offset, each against its limit.
    Structured,
    /// The index alone.
    Index,
    /// Whether there are records at all.
    Empty,
    /// The offset against the number of bytes.
    Raw,
}

/// Where each lane of an instruction may access how much, `wanted` bytes at most.
pub(super) fn reaches<const W: usize>(
    wave: &Wave<W>,
    inst: &Inst,
    wanted: u64,
) -> Result<[Reach; W], Trouble> {
    let word = |i: usize| wave.sgpr[(usize::from(inst.base) + i) & 127];
    let base = wave.sgpr64(usize::from(inst.base)) & 0xffff_ffff_ffff;
    let (stride, records) = (u64::from(word(1) >> 16 & 0x3fff), u64::from(word(2)));
    let rdna = inst.isa.is_rdna();
    // Two bits from RDNA3 on, one before; the other one is about a cache there.
    let swizzle = word(1) >> (if rdna && inst.isa != Isa::Rdna2 { 30 } else { 31 }) != 0;
    let counts_lanes = word(3) >> 23 & 1 != 0;
    if swizzle || counts_lanes {
        return Err(unimplemented());
    }
    let check = match word(3) >> 28 & 3 {
        _ if !rdna => RangeCheck::Raw,
        0 => RangeCheck::Structured,
        1 => RangeCheck::Index,
        2 => RangeCheck::Empty,
        _ => RangeCheck::Raw,
    };
    let scalar = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]);
    let register = |following: u8, lane: usize| {
        let number = inst
            .address
            .map_or(0, |n| usize::from(n) + usize::from(following));
        wave.vgpr.get(number).map_or(0, |row| u64::from(row[lane]))
    };
    let mut out = [Reach::default(); W];
    for (lane, out) in out.iter_mut().enumerate() {
        let index = if inst.idxen { register(0, lane) } else { 0 };
        let vector = if inst.offen {
            register(u8::from(inst.idxen), lane)
        } else {
            0
        };
        let inner = vector.wrapping_add(inst.imm as i64 as u64);
        let offset = (stride * index).wrapping_add(inner);
        let left = match check {
            RangeCheck::Structured if index >= records || inner.saturating_add(wanted) > stride => 0,
            RangeCheck::Index if index >= records => 0,
            RangeCheck::Empty if records == 0 => 0,
            RangeCheck::Raw => records.saturating_sub(scalar).saturating_sub(offset),
            RangeCheck::Structured | RangeCheck::Index | RangeCheck::Empty => wanted,
        };
        *out = Reach {
            address: base.wrapping_add(scalar).wrapping_add(offset),
            bytes: left.min(wanted),
        };
    }
    Ok(out)
}

/// What an instruction does through a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) enum BufferAccess {
    Memory(Transfer),
    Atomic(Atomic),
}

/// Executes a load, a store or an atomic.
#[inline(never)]
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    access: BufferAccess,
) -> Result<(), Trouble> {
    let bytes = match access {
        BufferAccess::Memory(transfer) => transfer.bytes(),
        BufferAccess::Atomic(atomic) => 4 * atomic.words() as u64,
    };
    let reaches = reaches(wave, inst, bytes)?;
    let transfer = match access {
        BufferAccess::Memory(transfer) => transfer,
        BufferAccess::Atomic(atomic) => {
            let places = reaches.map(|reach| (reach.bytes == bytes).then_some(At::Global(reach.address)));
            return atomic::at_places(wave, group, inst, atomic, &places);
        }
    };
    let data = match inst.src[0] {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    };
    let (active, dst) = (wave.active, usize::from(inst.dst));
    let (vgpr, mut spaces) = space::split(wave, group);
    for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
        let reach = reaches[lane];
        let done = match transfer {
            Transfer::LoadPart(part) => {
                let value = if reach.bytes == bytes {
                    spaces.load(At::Global(reach.address), bytes as usize)
                } else {
                    Ok(0)
                };
                value.map(|value| vgpr[dst][lane] = part.merged(value, vgpr[dst][lane], inst.clears_half))
            }
            Transfer::Load(words) => load(&mut spaces, reach, bytes).map(|loaded| {
                for (i, word) in loaded.into_iter().enumerate().take(words.count()) {
                    vgpr[dst + i][lane] = word;
                }
            }),
            Transfer::StorePart { high, .. } => {
                let value = vgpr[data][lane] >> if high { 16 } else { 0 };
                if reach.bytes == bytes {
                    spaces.store(At::Global(reach.address), bytes as usize, value)
                } else {
                    Ok(())
                }
            }
            Transfer::Store(_) => {
                let words: [u32; 4] = std::array::from_fn(|i| vgpr.get(data + i).map_or(0, |row| row[lane]));
                store(&mut spaces, reach, words)
            }
            // Loads to LDS and by lane number through a descriptor are not modelled.
            Transfer::LoadAtLane
            | Transfer::StoreAtLane
            | Transfer::LoadToShare { .. }
            | Transfer::LoadTransposed(_) => {
                return Err(unimplemented());
            }
        };
        done.map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

/// Whole dwords: those out of range are zero.
fn load(spaces: &mut Spaces<'_>, reach: Reach, bytes: u64) -> Result<[u32; 4], FaultKind> {
    let mut words = [0; 4];
    let count = (reach.bytes.min(bytes) / 4) as usize;
    if count > 0 {
        spaces.load_words(At::Global(reach.address), &mut words[..count])?;
    }
    Ok(words)
}

/// Whole dwords as far as they are in range.
fn store(spaces: &mut Spaces<'_>, reach: Reach, words: [u32; 4]) -> Result<(), FaultKind> {
    match (reach.bytes / 4) as usize {
        0 => Ok(()),
        count => spaces.store_words(At::Global(reach.address), &words[..count]),
    }
}
