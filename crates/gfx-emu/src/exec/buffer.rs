//! Loads, stores and atomics of device memory through a buffer descriptor, which says where the buffer begins and ends.
//!
//! Layout of a descriptor and the check of its range: "RDNA3 Instruction Set Architecture" and "AMD Instinct MI300 Instruction
//! Set Architecture", chapters on vector memory buffer instructions. What is out of range reads as zero and is not written, as
//! on the card: that is no fault, and the sanitizer has nothing to say about it. Buffers that interleave their records, or
//! that count lanes into the index, are not modelled.

use super::port::{self, At, Ports};
use super::{Trouble, atomic, memory, unimplemented};
use crate::fault::FaultKind;
use crate::isa::{Inst, Op, Space, Src, Unit};
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
enum Check {
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
    let rdna = W == 32;
    // Two bits on RDNA3, one on CDNA; the other one asks for a cache there.
    let swizzle = if rdna {
        word(1) >> 30 != 0
    } else {
        word(1) >> 31 != 0
    };
    let counts_lanes = word(3) >> 23 & 1 != 0;
    if swizzle || counts_lanes {
        return Err(unimplemented());
    }
    let check = match word(3) >> 28 & 3 {
        _ if !rdna => Check::Raw,
        0 => Check::Structured,
        1 => Check::Index,
        2 => Check::Empty,
        _ => Check::Raw,
    };
    let scalar = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]);
    let register = |behind: u8, lane: usize| {
        let number = inst.address.map_or(0, |n| usize::from(n) + usize::from(behind));
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
            Check::Structured if index >= records || inner.saturating_add(wanted) > stride => 0,
            Check::Index if index >= records => 0,
            Check::Empty if records == 0 => 0,
            Check::Raw => records.saturating_sub(scalar).saturating_sub(offset),
            Check::Structured | Check::Index | Check::Empty => wanted,
        };
        *out = Reach {
            address: base.wrapping_add(scalar).wrapping_add(offset),
            bytes: left.min(wanted),
        };
    }
    Ok(out)
}

/// Executes a load, a store or an atomic.
#[inline(never)]
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    let bytes = memory::bytes(inst.op).or_else(|| Some(if atomic::is_narrow(inst.op)? { 4 } else { 8 }));
    let bytes = bytes.ok_or_else(unimplemented)?;
    let reaches = reaches(wave, inst, bytes)?;
    if inst.unit == Unit::Atomic {
        let places = reaches.map(|reach| (reach.bytes == bytes).then_some(At::Global(reach.address)));
        return atomic::at_places(wave, group, inst, &places);
    }
    let narrow = memory::narrow(inst.op).map(|narrow| narrow.clearing(W > 32 && inst.clears_half));
    let data = match inst.src[0] {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    };
    let (active, dst) = (wave.active, usize::from(inst.dst));
    let (vgpr, mut ports) = port::split(wave, group);
    for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
        let reach = reaches[lane];
        let done = if let Some(narrow) = narrow {
            let value = if reach.bytes == bytes {
                ports.load(At::Global(reach.address), bytes as usize)
            } else {
                Ok(0)
            };
            value.map(|value| vgpr[dst][lane] = narrow.merged(value, vgpr[dst][lane]))
        } else if inst.src[0] == Src::None {
            load(&mut ports, reach, bytes).map(|words| {
                for (i, word) in words.into_iter().enumerate().take(bytes as usize / 4) {
                    vgpr[dst + i][lane] = word;
                }
            })
        } else {
            let words: [u32; 4] = std::array::from_fn(|i| vgpr.get(data + i).map_or(0, |row| row[lane]));
            store(&mut ports, inst.op, reach, bytes, words)
        };
        done.map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

/// Whole dwords: those out of range are zero.
fn load(ports: &mut Ports<'_>, reach: Reach, bytes: u64) -> Result<[u32; 4], FaultKind> {
    let mut words = [0; 4];
    let count = (reach.bytes.min(bytes) / 4) as usize;
    if count > 0 {
        ports.load_words(At::Global(reach.address), &mut words[..count])?;
    }
    Ok(words)
}

/// Whole dwords as far as they are in range, or the part of one that the operation names.
fn store(ports: &mut Ports<'_>, op: Op, reach: Reach, bytes: u64, words: [u32; 4]) -> Result<(), FaultKind> {
    let at = At::Global(reach.address);
    if bytes < 4 {
        let high = matches!(op, Op::StoreD16HiB8 | Op::StoreD16HiB16);
        let value = if high { words[0] >> 16 } else { words[0] };
        return if reach.bytes == bytes {
            ports.store(at, bytes as usize, value)
        } else {
            Ok(())
        };
    }
    match (reach.bytes / 4) as usize {
        0 => Ok(()),
        count => ports.store_words(at, &words[..count]),
    }
}
