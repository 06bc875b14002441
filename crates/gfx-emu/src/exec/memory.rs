//! Loads and stores: scalar, and per lane in any address space.

use super::host::Host;
use super::space::{self, At, Spaces};
use super::{Trouble, address, atomic, batch, unimplemented};
use crate::fault::Access;
use crate::isa::{Inst, Isa, Part, ScalarAccess, Space, Src, Transfer, Unit, extended};
use crate::wave::{Group, Row, Wave, reg};

/// Dwords of the widest per-lane access.
pub(super) const MAX_WORDS: usize = 4;

/// What a scalar load, store or atomic asks for.
pub(super) struct Consecutive {
    /// Where it starts; the card drops the lowest two bits.
    pub(super) address: u64,
    /// Dwords that are written to registers.
    count: usize,
    /// Dwords that are accessed; the others read as zero and are not written.
    pub(super) readable: usize,
}

/// The dwords of a scalar memory operation.
pub(super) fn consecutive<const W: usize>(wave: &Wave<W>, inst: &Inst, access: ScalarAccess) -> Consecutive {
    let count = match access {
        ScalarAccess::Load(dwords) | ScalarAccess::Store(dwords) => usize::from(dwords),
        ScalarAccess::LoadPart { .. } => 1,
        ScalarAccess::Atomic(atomic) => atomic.words(),
    };
    let base = wave.sgpr64(usize::from(inst.base));
    let offset = scalar_offset(wave, inst);
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

/// What a scalar memory operation adds to its base.
#[inline(always)]
fn scalar_offset<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u64 {
    let index = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]) * u64::from(inst.factor);
    index.wrapping_add(inst.imm as i64 as u64)
}

/// Scalar memory: consecutive dwords from and to consecutive scalar registers, and atomics on them.
pub(super) fn scalar<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    access: ScalarAccess,
) -> Result<(), Trouble> {
    let loaded = match access {
        ScalarAccess::Load(_) if inst.space == Space::Buffer => None,
        ScalarAccess::Load(1) => load_scalars::<W, 1>(wave, group, inst),
        ScalarAccess::Load(2) => load_scalars::<W, 2>(wave, group, inst),
        ScalarAccess::Load(4) => load_scalars::<W, 4>(wave, group, inst),
        ScalarAccess::Load(8) => load_scalars::<W, 8>(wave, group, inst),
        ScalarAccess::Load(_)
        | ScalarAccess::LoadPart { .. }
        | ScalarAccess::Store(_)
        | ScalarAccess::Atomic(_) => None,
    };
    if loaded.is_some() {
        return Ok(());
    }
    let Consecutive {
        address,
        count,
        readable,
    } = consecutive(wave, inst, access);
    if let ScalarAccess::LoadPart { bytes, signed } = access {
        // Of 16 bits the lowest bit of the address is dropped.
        let place = address & !(u64::from(bytes) - 1);
        let mut word = [0; 4];
        if readable > 0 {
            let read = group.memory.read(place, &mut word[..usize::from(bytes)]);
            read.map_err(|fault| (None, fault.into()))?;
        }
        wave.set_sgpr(
            usize::from(inst.dst),
            extended(u32::from_le_bytes(word), bytes, signed),
        );
        return Ok(());
    }
    let address = address & !3;
    let mut words = [0; 16];
    let words = &mut words[..count];
    match access {
        ScalarAccess::Atomic(atomic) => atomic::scalar(wave, group, inst, atomic, address, readable == count),
        ScalarAccess::Store(_) => {
            let Src::Scalar(first) = inst.src[0] else {
                return Err(unimplemented());
            };
            for (i, word) in words.iter_mut().enumerate() {
                *word = wave.sgpr[(usize::from(first) + i) & 127];
            }
            let stored = group
                .memory
                .store_words(address, &words[..readable], &mut wave.cursor);
            stored.map_err(|fault| (None, fault.into()))
        }
        ScalarAccess::LoadPart { .. } => Err(unimplemented()),
        ScalarAccess::Load(_) => {
            let loaded = group
                .memory
                .load_words(address, &mut words[..readable], &mut wave.cursor);
            loaded.map_err(|fault| (None, fault.into()))?;
            for (i, word) in words.iter().enumerate() {
                wave.set_sgpr(usize::from(inst.dst) + i, *word);
            }
            Ok(())
        }
    }
}

/// A load of `N` dwords; `None` when it did nothing, because it would fault.
#[inline(always)]
fn load_scalars<const W: usize, const N: usize>(
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
) -> Option<()> {
    let offset = scalar_offset(wave, inst);
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

/// The place each lane loads from or stores to.
pub(super) fn addresses<const W: usize>(wave: &Wave<W>, inst: &Inst) -> [u64; W] {
    let mut addresses = address::all(wave, inst);
    if let Unit::Memory(transfer) = inst.unit
        && transfer.adds_lane()
    {
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
    transfer: Transfer,
) -> Result<(), Trouble> {
    if batch::execute(host, wave, group, inst, transfer) {
        return Ok(());
    }
    one_by_one(wave, group, inst, transfer)
}

/// Executes a load or a store lane by lane.
#[inline(never)]
fn one_by_one<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    transfer: Transfer,
) -> Result<(), Trouble> {
    let addresses = addresses(wave, inst);
    let data = match inst.src[0] {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    };
    let active = wave.active;
    let start = lds_start(wave, inst);
    let (vgpr, mut spaces) = space::split(wave, group);
    let lanes = LaneAddresses {
        addresses: &addresses,
        active,
        space: inst.space,
    };
    let dst = usize::from(inst.dst);
    match transfer {
        Transfer::Load(words) => load(&mut vgpr[dst..dst + words.count()], &mut spaces, &lanes),
        Transfer::LoadAtLane => load(&mut vgpr[dst..=dst], &mut spaces, &lanes),
        Transfer::LoadPart(part) => load_part(&mut vgpr[dst], &mut spaces, &lanes, part, inst.clears_half),
        Transfer::Store(words) => store(&vgpr[data..data + words.count()], &mut spaces, &lanes),
        Transfer::StoreAtLane => store(&vgpr[data..=data], &mut spaces, &lanes),
        Transfer::StorePart { bytes, high } => {
            let shift = if high { 16 } else { 0 };
            store_part(&vgpr[data], &mut spaces, &lanes, usize::from(bytes), shift)
        }
        Transfer::LoadToShare { bytes, signed } => to_lds(&mut spaces, &lanes, start, bytes, signed),
        Transfer::LoadTransposed(bits) => {
            let words = (transfer.bytes() / 4) as usize;
            load_transposed(&mut vgpr[dst..dst + words], &mut spaces, &lanes, bits.into())
        }
    }
}

/// Where a load that goes to LDS puts the dword of lane 0.
pub(super) fn lds_start<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u64 {
    // CDNA4 has more of it than 16 bits can say.
    let mask = if inst.isa == Isa::Cdna4 { 0x3_ffff } else { 0xffff };
    u64::from(wave.sgpr[reg::M0] & mask).wrapping_add(inst.imm as i64 as u64)
}

/// Bytes that a lane's part of such a load takes in LDS: a dword at least.
pub(super) fn lds_part(bytes: u64) -> u64 {
    bytes.max(4)
}

/// Loads that go to LDS: a dword for each lane or more, one after the other from `start` on.
fn to_lds<const W: usize>(
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
    start: u64,
    bytes: u8,
    signed: bool,
) -> Result<(), Trouble> {
    for (lane, at) in lanes.places() {
        let place = At::Lds(start.wrapping_add(lds_part(bytes.into()) * lane as u64));
        if bytes > 4 {
            let mut words = [0; MAX_WORDS];
            let words = &mut words[..usize::from(bytes / 4)];
            let copied = spaces
                .load_words(at, words)
                .and_then(|()| spaces.store_words(place, words));
            copied.map_err(|kind| (Some(lane), kind))?;
            continue;
        }
        let value = spaces
            .load(at, usize::from(bytes))
            .map_err(|kind| (Some(lane), kind))?;
        let stored = spaces.store(place, 4, extended(value, bytes, signed));
        stored.map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

/// Where the lanes go.
struct LaneAddresses<'a, const W: usize> {
    addresses: &'a [u64; W],
    active: u64,
    space: Space,
}

impl<const W: usize> LaneAddresses<'_, W> {
    /// The active lanes and their places.
    fn places(&self) -> impl Iterator<Item = (usize, At)> {
        let lanes = (0..W).filter(|lane| self.active >> lane & 1 != 0);
        lanes.map(|lane| (lane, space::place(self.space, lane, self.addresses[lane])))
    }
}

/// Loads as many dwords per lane as there are rows.
fn load<const W: usize>(
    rows: &mut [Row<W>],
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
) -> Result<(), Trouble> {
    let mut words = [0; MAX_WORDS];
    let words = &mut words[..rows.len()];
    for (lane, at) in lanes.places() {
        spaces.load_words(at, words).map_err(|kind| (Some(lane), kind))?;
        for (row, word) in rows.iter_mut().zip(words.iter()) {
            row[lane] = *word;
        }
    }
    Ok(())
}

/// Loads rows of sixteen elements, as many lanes each as hold them, and gives each of sixteen lanes its column. No document that we have
/// says so: it is assumed for elements of 16 bits, and the same for the other widths.
fn load_transposed<const W: usize>(
    rows: &mut [Row<W>],
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
    bits: usize,
) -> Result<(), Trouble> {
    const ROW: usize = 16;
    let mut held = [0_u128; W];
    let mut words = [0; MAX_WORDS];
    for (lane, at) in lanes.places() {
        let words = &mut words[..rows.len()];
        spaces.load_words(at, words).map_err(|kind| (Some(lane), kind))?;
        held[lane] = words
            .iter()
            .rev()
            .fold(0, |all, word| all << 32 | u128::from(*word));
    }
    let each = 32 * rows.len() / bits;
    for lane in (0..W).filter(|lane| lanes.active >> lane & 1 != 0) {
        let (group, column) = (lane / ROW * ROW, lane % ROW);
        let value = (0..each).fold(0, |all, row| {
            let place = row * ROW + column;
            let element = held[group + place / each] >> (place % each * bits) & ((1 << bits) - 1);
            all | element << (row * bits)
        });
        for (word, row) in rows.iter_mut().enumerate() {
            row[lane] = (value >> (32 * word)) as u32;
        }
    }
    Ok(())
}

fn load_part<const W: usize>(
    row: &mut [u32; W],
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
    part: Part,
    clears: bool,
) -> Result<(), Trouble> {
    for (lane, at) in lanes.places() {
        let value = spaces
            .load(at, usize::from(part.bytes))
            .map_err(|kind| (Some(lane), kind))?;
        row[lane] = part.merged(value, row[lane], clears);
    }
    Ok(())
}

/// Stores as many dwords per lane as there are rows.
fn store<const W: usize>(
    rows: &[Row<W>],
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
) -> Result<(), Trouble> {
    let mut words = [0; MAX_WORDS];
    let words = &mut words[..rows.len()];
    for (lane, at) in lanes.places() {
        for (row, word) in rows.iter().zip(words.iter_mut()) {
            *word = row[lane];
        }
        spaces.store_words(at, words).map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}

fn store_part<const W: usize>(
    row: &[u32; W],
    spaces: &mut Spaces<'_>,
    lanes: &LaneAddresses<'_, W>,
    bytes: usize,
    shift: u32,
) -> Result<(), Trouble> {
    for (lane, at) in lanes.places() {
        spaces
            .store(at, bytes, row[lane] >> shift)
            .map_err(|kind| (Some(lane), kind))?;
    }
    Ok(())
}
