//! Loads and stores: scalar, and per lane in any address space.

use super::port::{self, At, Ports};
use super::{Trouble, unimplemented};
use crate::isa::{Inst, Op, Space, Src};
use crate::wave::{Group, Wave, reg};

/// Dwords of the widest per-lane access.
const MAX_WORDS: usize = 4;

/// What a scalar load asks for.
pub(super) struct Consecutive {
    /// Where it starts; the card drops the lowest two bits.
    pub(super) address: u64,
    /// Dwords that are written to registers.
    count: usize,
    /// Dwords that are read; the others are zero.
    pub(super) readable: usize,
}

/// The dwords of a scalar load.
pub(super) fn consecutive<const W: usize>(wave: &Wave<W>, inst: &Inst) -> Consecutive {
    let count = usize::from(inst.op.signature().dst.registers(W));
    let base = wave.sgpr64(usize::from(inst.base));
    let offset = u64::from(wave.sgpr[usize::from(inst.soffset & 127)]).wrapping_add(inst.imm as i64 as u64);
    let buffer = matches!(
        inst.op,
        Op::SBufferLoadB32
            | Op::SBufferLoadB64
            | Op::SBufferLoadB128
            | Op::SBufferLoadB256
            | Op::SBufferLoadB512
    );
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

/// Scalar loads: consecutive dwords into consecutive scalar registers.
pub(super) fn scalar<const W: usize>(
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    let Consecutive {
        address,
        count,
        readable,
    } = consecutive(wave, inst);
    let address = address & !3;
    let mut words = [0; 16];
    let words = &mut words[..count];
    let loaded = group
        .memory
        .load_words(address, &mut words[..readable], &mut wave.cursor);
    loaded.map_err(|fault| (None, fault.into()))?;
    for (i, word) in words.iter().enumerate() {
        wave.set_sgpr(usize::from(inst.dst) + i, *word);
    }
    Ok(())
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
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    let addresses = addresses(wave, inst);
    let data = match inst.src[0] {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    };
    let active = wave.active;
    let (vgpr, mut ports) = port::split(wave, group);
    let lanes = Lanes {
        addresses: &addresses,
        active,
        space: inst.space,
    };
    if let Some(mut narrow) = narrow(inst.op) {
        narrow.clears = W > 32 && inst.clears_half;
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
        _ => Err(unimplemented()),
    }
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

    /// The first address, when every lane is active and they follow each other in device memory, `words` dwords each.
    fn contiguous(&self, words: usize) -> Option<u64> {
        let first = self.addresses[0];
        let device = self.space == Space::Global && self.active == Wave::<W>::ALL;
        let step = 4 * words as u64;
        let follow = (0..W).all(|lane| self.addresses[lane] == first.wrapping_add(step * lane as u64));
        (device && follow).then_some(first)
    }
}

/// Loads as many dwords per lane as there are rows.
fn load<const W: usize>(
    rows: &mut [[u32; W]],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
) -> Result<(), Trouble> {
    // All lanes in one access. If it faults, the lanes go one by one, and the fault names the lane.
    if let Some(address) = lanes.contiguous(rows.len()) {
        let mut all = [[0; MAX_WORDS]; W];
        let all = &mut all.as_flattened_mut()[..W * rows.len()];
        if ports.memory.load_words(address, all, ports.cursor).is_ok() {
            let count = rows.len();
            for (i, row) in rows.iter_mut().enumerate() {
                for (lane, value) in row.iter_mut().enumerate() {
                    *value = all[lane * count + i];
                }
            }
            return Ok(());
        }
    }
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
    let unused = 32 - 8 * narrow.bytes as u32;
    for (lane, at) in lanes.places() {
        let mut value = ports.load(at, narrow.bytes).map_err(|kind| (Some(lane), kind))?;
        if narrow.signed {
            value = ((value << unused) as i32 >> unused) as u32;
        }
        row[lane] = match narrow.half {
            None => value,
            Some(high) if narrow.clears => (value & 0xffff) << if high { 16 } else { 0 },
            Some(false) => row[lane] & 0xffff_0000 | value & 0xffff,
            Some(true) => row[lane] & 0xffff | value << 16,
        };
    }
    Ok(())
}

/// Stores as many dwords per lane as there are rows.
fn store<const W: usize>(
    rows: &[[u32; W]],
    ports: &mut Ports<'_>,
    lanes: &Lanes<'_, W>,
) -> Result<(), Trouble> {
    if let [row] = rows
        && let Some(address) = lanes.contiguous(1)
        && ports.memory.store_words(address, row, ports.cursor).is_ok()
    {
        return Ok(());
    }
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
