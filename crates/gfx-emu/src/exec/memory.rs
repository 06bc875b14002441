//! Loads and stores: scalar, and per lane in any address space.

use super::host::Host;
use super::port::{self, At, Ports};
use super::{Trouble, atomic, batch, unimplemented};
use crate::fault::Access;
use crate::isa::{Inst, Op, Space, Src};
use crate::wave::{Group, Row, Wave, reg};

/// Dwords of the widest per-lane access.
const MAX_WORDS: usize = 4;

/// What a scalar load, store or atomic asks for.
pub(super) struct Consecutive {
    /// Where it starts; the card drops the lowest two bits.
    pub(super) address: u64,
    /// Dwords that are written to registers.
    count: usize,
    /// Dwords that are accessed; the others read as zero and are not written.
    pub(super) readable: usize,
}

/// The dwords of a scalar load.
pub(super) fn consecutive<const W: usize>(wave: &Wave<W>, inst: &Inst) -> Consecutive {
    let count = match inst.op {
        Op::SLoadB32 | Op::SStoreB32 => 1,
        Op::SLoadB64 | Op::SStoreB64 => 2,
        Op::SLoadB128 | Op::SStoreB128 => 4,
        op => usize::from(op.signature().dst.registers(W)),
    };
    let base = wave.sgpr64(usize::from(inst.base));
    let offset = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]).wrapping_add(inst.imm as i64 as u64);
    let buffer = inst.space == Space::Buffer;
    let mut readable = count;
    let mut address = base.wrapping_add(offset);
    if buffer {
        // A buffer resource: 48 bits of address, 14 of stride, then the number of records. Beyond the end reads zero.
        let (stride, records) = (
            base >> 48 & 0x3fff,
            u64::from(wave.sgpr[usize::from(inst.base + 2) & 127]),
        );
        let size = if stride == 0 { records } else { stride * records };
        readable = count.min((size.saturating_sub(offset & !3) / 4) as usize);
        address = (base & 0xffff_ffff_ffff).wrapping_add(offset);
    }
    Consecutive {
        address,
        count,
        readable,
    }
}

/// Scalar memory: consecutive dwords from and to consecutive scalar registers, and atomics on them.
pub(super) fn scalar<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    let loaded = match inst.op {
        _ if inst.space == Space::Buffer => None,
        Op::SLoadB32 => load_scalars::<W, 1>(wave, group, inst),
        Op::SLoadB64 => load_scalars::<W, 2>(wave, group, inst),
        Op::SLoadB128 => load_scalars::<W, 4>(wave, group, inst),
        Op::SLoadB256 => load_scalars::<W, 8>(wave, group, inst),
        _ => None,
    };
    if loaded.is_some() {
        return Ok(());
    }
    let Consecutive {
        address,
        count,
        readable,
    } = consecutive(wave, inst);
    let address = address & !3;
    let mut words = [0; 16];
    let words = &mut words[..count];
    if let Src::Scalar(first) = inst.src[0] {
        if atomic::is_narrow(inst.op).is_some() {
            return atomic::scalar(wave, group, inst, address, readable == count);
        }
        for (i, word) in words.iter_mut().enumerate() {
            *word = wave.sgpr[(usize::from(first) + i) & 127];
        }
        let stored = group
            .memory
            .store_words(address, &words[..readable], &mut wave.cursor);
        return stored.map_err(|fault| (None, fault.into()));
    }
    let loaded = group
        .memory
        .load_words(address, &mut words[..readable], &mut wave.cursor);
    loaded.map_err(|fault| (None, fault.into()))?;
    for (i, word) in words.iter().enumerate() {
        wave.set_sgpr(usize::from(inst.dst) + i, *word);
    }
    Ok(())
}

/// A load of `N` dwords; `None` when it did nothing, because it would fault.
#[inline(always)]
fn load_scalars<const W: usize, const N: usize>(
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
) -> Option<()> {
    let offset = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]).wrapping_add(inst.imm as i64 as u64);
    let address = wave.sgpr64(usize::from(inst.base)).wrapping_add(offset) & !3;
    let span = group
        .memory
        .span(address, 4 * N as u64, Access::Load, &mut wave.cursor)?;
    let mut words = [0; N];
    span.words(0, &mut words);
    for (i, word) in words.into_iter().enumerate() {
        wave.set_sgpr(usize::from(inst.dst) + i, word);
    }
    Some(())
}

/// What a narrow load does with its 8 or 16 bits.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    pub(super) bytes: usize,
    signed: bool,
    /// `None`: the whole register; else the half that is written, the other one is kept.
    half: Option<bool>,
    /// The other half is cleared, as cards with error correction of their registers do.
    clears: bool,
}

impl Narrow {
    /// The same with the other half of the register cleared, if asked for.
    pub(super) fn clearing(self, clears: bool) -> Narrow {
        Narrow { clears, ..self }
    }

    /// The register after a load of `value`, zero-extended, into one that held `old`.
    pub(super) fn merged(self, value: u32, old: u32) -> u32 {
        let unused = 32 - 8 * self.bytes as u32;
        let value = if self.signed {
            ((value << unused) as i32 >> unused) as u32
        } else {
            value
        };
        match self.half {
            None => value,
            Some(high) if self.clears => (value & 0xffff) << if high { 16 } else { 0 },
            Some(false) => old & 0xffff_0000 | value & 0xffff,
            Some(true) => old & 0xffff | value << 16,
        }
    }
}

/// Bytes a lane loads or stores; `None` when the operation is no load or store.
pub(super) fn bytes(op: Op) -> Option<u64> {
    if let Some(narrow) = narrow(op) {
        return Some(narrow.bytes as u64);
    }
    Some(match op {
        Op::StoreB8 | Op::StoreD16HiB8 => 1,
        Op::StoreB16 | Op::StoreD16HiB16 => 2,
        Op::LoadB32 | Op::LoadAddtid | Op::StoreB32 | Op::StoreAddtid => 4,
        Op::LoadB64 | Op::StoreB64 => 8,
        Op::LoadB96 | Op::StoreB96 => 12,
        Op::LoadB128 | Op::StoreB128 => 16,
        _ => return None,
    })
}

pub(super) fn narrow(op: Op) -> Option<Narrow> {
    let row = |bytes, signed, half| {
        Some(Narrow {
            bytes,
            signed,
            half,
            clears: false,
        })
    };
    match op {
        Op::LoadU8 => row(1, false, None),
        Op::LoadI8 => row(1, true, None),
        Op::LoadU16 => row(2, false, None),
        Op::LoadI16 => row(2, true, None),
        Op::LoadD16U8 => row(1, false, Some(false)),
        Op::LoadD16I8 => row(1, true, Some(false)),
        Op::LoadD16B16 => row(2, false, Some(false)),
        Op::LoadD16HiU8 => row(1, false, Some(true)),
        Op::LoadD16HiI8 => row(1, true, Some(true)),
        Op::LoadD16HiB16 => row(2, false, Some(true)),
        _ => None,
    }
}

/// The place each lane loads from or stores to.
pub(super) fn addresses<const W: usize>(wave: &Wave<W>, inst: &Inst) -> [u64; W] {
    let mut addresses = port::addresses(wave, inst);
    if matches!(inst.op, Op::LoadAddtid | Op::StoreAddtid) {
        // The lane number is the index; the LDS form starts at M0.
        let base = if inst.space == Space::Lds {
            u64::from(wave.sgpr[reg::M0] & 0xffff)
        } else {
            0
        };
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = address.wrapping_add(base + 4 * lane as u64);
        }
    }
    addresses
}

/// Executes a load or a store.
pub(super) fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    if batch::execute(host, wave, group, inst) {
        return Ok(());
    }
    one_by_one(wave, group, inst)
}

/// Executes a load or a store lane by lane.
#[inline(never)]
fn one_by_one<const W: usize>(wave: &mut Wave<W>, group: &mut Group<'_>, inst: &Inst) -> Result<(), Trouble> {
    let addresses = addresses(wave, inst);
    let data = match inst.src[0] {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    };
    let active = wave.active;
    let start = lds_start(wave, inst);
    let (vgpr, mut ports) = port::split(wave, group);
    let lanes = Lanes {
        addresses: &addresses,
        active,
        space: inst.space,
    };
    if let Some(narrow) = narrow(inst.op) {
        let narrow = narrow.clearing(W > 32 && inst.clears_half);
        return load_narrow(&mut vgpr[usize::from(inst.dst)], &mut ports, &lanes, narrow);
    }
    let dst = usize::from(inst.dst);
    match inst.op {
        Op::LoadB32 | Op::LoadAddtid => load(&mut vgpr[dst..=dst], &mut ports, &lanes),
        Op::LoadB64 => load(&mut vgpr[dst..dst + 2], &mut ports, &lanes),
        Op::LoadB96 => load(&mut vgpr[dst..dst + 3], &mut ports, &lanes),
        Op::LoadB128 => load(&mut vgpr[dst..dst + 4], &mut ports, &lanes),
        Op::StoreB8 => store_narrow(&vgpr[data], &mut ports, &lanes, 1, 0),
        Op::StoreB16 => store_narrow(&vgpr[data], &mut ports, &lanes, 2, 0),
        Op::StoreD16HiB8 => store_narrow(&vgpr[data], &mut ports, &lanes, 1, 16),
        Op::StoreD16HiB16 => store_narrow(&vgpr[data], &mut ports, &lanes, 2, 16),
        Op::StoreB32 | Op::StoreAddtid => store(&vgpr[data..=data], &mut ports, &lanes),
        Op::StoreB64 => store(&vgpr[data..data + 2], &mut ports, &lanes),
        Op::StoreB96 => store(&vgpr[data..data + 3], &mut ports, &lanes),
        Op::StoreB128 => store(&vgpr[data..data + 4], &mut ports, &lanes),
        Op::LoadLdsU8 => to_lds(&mut ports, &lanes, start, 1, false),
        Op::LoadLdsI8 => to_lds(&mut ports, &lanes, start, 1, true),
        Op::LoadLdsU16 => to_lds(&mut ports, &lanes, start, 2, false),
        Op::LoadLdsI16 => to_lds(&mut ports, &lanes, start, 2, true),
        Op::LoadLdsB32 => to_lds(&mut ports, &lanes, start, 4, false),
        _ => Err(unimplemented()),
    }
}

/// Where a load that goes to LDS puts the dword of lane 0.
pub(super) fn lds_start<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u64 {
    u64::from(wave.sgpr[reg::M0] & 0xffff).wrapping_add(inst.imm as i64 as u64)
}

/// Whether a load goes to LDS instead of a register.
pub(super) fn goes_to_lds(op: Op) -> bool {
    matches!(
        op,
        Op::LoadLdsU8 | Op::LoadLdsI8 | Op::LoadLdsU16 | Op::LoadLdsI16 | Op::LoadLdsB32
    )
}

/// Loads that go to LDS: a dword for each lane, one behind the other from `start` on.
fn to_lds<const W: usize>(
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
    start: u64,
    bytes: usize,
    signed: bool,
) -> Result<(), Trouble> {
    let unused = 32 - 8 * bytes as u32;
    for (lane, at) in lanes.places() {
        let value = ports.load(at, bytes).map_err(|kind| (Some(lane), kind))?;
        let value = if signed {
            ((value << unused) as i32 >> unused) as u32
        } else {
            value
        };
        let place = At::Lds(start.wrapping_add(4 * lane as u64));
        ports.store(place, 4, value).map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

/// Where the lanes go.
struct Lanes<'a, const W: usize> {
    addresses: &'a [u64; W],
    active: u64,
    space: Space,
}

impl<const W: usize> Lanes<'_, W> {
    /// The active lanes and their places.
    fn places(&self) -> impl Iterator<Item = (usize, At)> {
        let lanes = (0..W).filter(|lane| self.active >> lane & 1 != 0);
        lanes.map(|lane| (lane, port::place(self.space, lane, self.addresses[lane])))
    }
}

/// Loads as many dwords per lane as there are rows.
fn load<const W: usize>(
    rows: &mut [Row<W>],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
) -> Result<(), Trouble> {
    let mut words = [0; MAX_WORDS];
    let words = &mut words[..rows.len()];
    for (lane, at) in lanes.places() {
        ports.load_words(at, words).map_err(|kind| (Some(lane), kind))?;
        for (row, word) in rows.iter_mut().zip(words.iter()) {
            row[lane] = *word;
        }
    }
    Ok(())
}

fn load_narrow<const W: usize>(
    row: &mut [u32; W],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
    narrow: Narrow,
) -> Result<(), Trouble> {
    for (lane, at) in lanes.places() {
        let value = ports.load(at, narrow.bytes).map_err(|kind| (Some(lane), kind))?;
        row[lane] = narrow.merged(value, row[lane]);
    }
    Ok(())
}

/// Stores as many dwords per lane as there are rows.
fn store<const W: usize>(
    rows: &[Row<W>],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
) -> Result<(), Trouble> {
    let mut words = [0; MAX_WORDS];
    let words = &mut words[..rows.len()];
    for (lane, at) in lanes.places() {
        for (row, word) in rows.iter().zip(words.iter_mut()) {
            *word = row[lane];
        }
        ports.store_words(at, words).map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

fn store_narrow<const W: usize>(
    row: &[u32; W],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
    bytes: usize,
    shift: u32,
) -> Result<(), Trouble> {
    for (lane, at) in lanes.places() {
        ports
            .store(at, bytes, row[lane] >> shift)
            .map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}
