//! Shows the sanitizer which bytes a memory instruction is about to touch.
//!
//! What is wrong with an access is decided in sanitize.rs.

use super::space::{self, At};
use super::{Trouble, address, buffer, memory};
use crate::fault::{Access, FaultKind};
use crate::isa::{Atomic, Inst, ScalarAccess, Share, Space, Src, Unit, matrix_products, registers_alone};
use crate::sanitize::Touch;
use crate::wave::{Group, Wave, reg};

/// What an access of `bytes` bytes does.
fn touch(access: Access, bytes: u64) -> Touch {
    Touch {
        access,
        reads: access != Access::Store,
        bytes,
    }
}

/// What a read-modify-write does.
fn touch_of_atomic(atomic: Atomic) -> Touch {
    Touch {
        reads: atomic.reads(),
        ..touch(Access::Atomic, 4 * atomic.words() as u64)
    }
}

/// Shows what `inst` is about to do. A finding stops the wave before it does.
#[cold]
pub(super) fn before<const W: usize>(
    wave: &Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    match inst.unit {
        Unit::ScalarMemory(access) => scalar(wave, group, inst, access),
        Unit::Share(operation) => share(wave, group, inst, operation),
        Unit::Memory(transfer) => {
            let touch = touch(transfer.access(), transfer.bytes());
            lanes(wave, group, inst, touch, memory::addresses(wave, inst))
        }
        Unit::Atomic(atomic) => lanes(
            wave,
            group,
            inst,
            touch_of_atomic(atomic),
            address::all(wave, inst),
        ),
        // These stay within the registers.
        registers_alone!() | matrix_products!() | Unit::Control(_) | Unit::Unsupported => Ok(()),
    }
}

fn scalar<const W: usize>(
    wave: &Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    access: ScalarAccess,
) -> Result<(), Trouble> {
    let Some(watch) = &mut group.watch else {
        return Ok(());
    };
    let asked = memory::consecutive(wave, inst, access);
    let (bytes, alignment) = match access {
        ScalarAccess::LoadPart { bytes, .. } => (u64::from(bytes) * asked.readable as u64, u64::from(bytes)),
        ScalarAccess::Load(_) | ScalarAccess::Store(_) | ScalarAccess::Atomic(_) => {
            (4 * asked.readable as u64, 4)
        }
    };
    let touch = match access {
        ScalarAccess::Load(_) | ScalarAccess::LoadPart { .. } => touch(Access::Load, bytes),
        ScalarAccess::Store(_) => touch(Access::Store, bytes),
        ScalarAccess::Atomic(atomic) => Touch {
            bytes,
            ..touch_of_atomic(atomic)
        },
    };
    let (access, address) = (touch.access, asked.address);
    if bytes == 0 {
        return Ok(());
    }
    if bytes > 0 && !address.is_multiple_of(alignment) {
        let kind = FaultKind::Misaligned {
            access,
            address,
            bytes,
            alignment,
        };
        return Err((None, kind));
    }
    let shown = watch
        .device(group.memory, address, touch)
        .and_then(|()| watch.device_race(address, touch, false, inst.pc.cast_unsigned()));
    shown.map_err(|kind| (None, kind))
}

/// Shows what each lane does at its address.
fn lanes<const W: usize>(
    wave: &Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    touch: Touch,
    addresses: [u64; W],
) -> Result<(), Trouble> {
    if buffer::is_resource(wave, inst) {
        return resource(wave, group, inst, touch);
    }
    if inst.space == Space::Global
        && wave.active == Wave::<W>::ALL
        && let Some(watch) = &mut group.watch
    {
        let follow = (0..W as u64)
            .all(|lane| addresses[lane as usize] == addresses[0].wrapping_add(touch.bytes * lane));
        let all = Touch {
            bytes: touch.bytes * W as u64,
            ..touch
        };
        // One look at everything, when the lanes follow each other. If it finds something, the lanes go one by
        // one, and the finding names the lane.
        if follow
            && touch.access == Access::Load
            && group.memory.check(addresses[0], all.bytes, touch.access).is_ok()
            && watch.device(group.memory, addresses[0], all).is_ok()
            && watch
                .device_race(addresses[0], all, false, inst.pc.cast_unsigned())
                .is_ok()
        {
            return Ok(());
        }
    }
    let data = |lane: usize| bytes_of(wave, inst.unit, inst.src[0], lane);
    for lane in (0..W).filter(|lane| wave.active >> lane & 1 != 0) {
        let at = space::place(inst.space, lane, addresses[lane]);
        show(group, inst, wave.scratch_size, at, touch, || data(lane)).map_err(|kind| (Some(lane), kind))?;
        if goes_to_share(inst.unit)
            && let Some(watch) = &mut group.watch
        {
            let stored = Touch {
                access: Access::Store,
                reads: false,
                bytes: memory::lds_part(touch.bytes),
            };
            let offset = memory::lds_start(wave, inst).wrapping_add(stored.bytes * lane as u64);
            let shown = watch.share(offset, stored, false, inst.pc.cast_unsigned());
            shown.map_err(|kind| (Some(lane), kind))?;
        }
    }
    Ok(())
}

/// Shows what is in range of a buffer; what is not, the card does not access.
fn resource<const W: usize>(
    wave: &Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    touch: Touch,
) -> Result<(), Trouble> {
    let reaches = buffer::reaches(wave, inst, touch.bytes)?;
    for lane in (0..W).filter(|lane| wave.active >> lane & 1 != 0) {
        let bytes = reaches[lane].bytes;
        if bytes > 0 {
            let at = At::Global(reaches[lane].address);
            let part = Touch { bytes, ..touch };
            let shown = show(group, inst, wave.scratch_size, at, part, || {
                bytes_of(wave, inst.unit, inst.src[0], lane)
            });
            shown.map_err(|kind| (Some(lane), kind))?;
        }
    }
    Ok(())
}

/// Shows one access of one lane, which has `scratch` bytes of private memory; `data` is what it would store.
fn show(
    group: &mut Group<'_>,
    inst: &Inst,
    scratch: usize,
    at: At,
    touch: Touch,
    data: impl FnOnce() -> [u8; 16],
) -> Result<(), FaultKind> {
    let Some(watch) = &mut group.watch else {
        return Ok(());
    };
    match at {
        At::Global(address) => {
            watch.device(group.memory, address, touch)?;
            let same = touch.access == Access::Store && {
                let mut there = [0; 16];
                let there = &mut there[..touch.bytes as usize];
                group.memory.read(address, there).is_ok() && *there == data()[..there.len()]
            };
            watch.device_race(address, touch, same, inst.pc.cast_unsigned())
        }
        At::Lds(offset) => {
            let same = touch.access == Access::Store && {
                let start = offset as usize;
                let there = group.lds.get(start..start + touch.bytes as usize);
                there.is_some_and(|there| *there == data()[..there.len()])
            };
            watch.share(offset, touch, same, inst.pc.cast_unsigned())
        }
        At::Scratch { lane, offset } => watch.scratch(lane, offset, touch, scratch),
    }
}

/// The bytes a lane's store takes from the registers of `source`, the rest of them arbitrary.
pub(super) fn bytes_of<const W: usize>(wave: &Wave<W>, unit: Unit, source: Src, lane: usize) -> [u8; 16] {
    let Src::Vgpr(first) = source else {
        return [0; 16];
    };
    let high = matches!(unit, Unit::Memory(transfer) if transfer.stores_high());
    let mut bytes = [0; 16];
    for (i, place) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let row = wave.vgpr.get(usize::from(first) + i);
        let word = row.map_or(0, |row| row[lane]);
        *place = (if high { word >> 16 } else { word }).to_le_bytes();
    }
    bytes
}

/// Whether a load goes to LDS instead of a register.
pub(super) fn goes_to_share(unit: Unit) -> bool {
    matches!(unit, Unit::Memory(transfer) if transfer.goes_to_share())
}

/// Data-share operations with a rule of their own.
fn share<const W: usize>(
    wave: &Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    operation: Share,
) -> Result<(), Trouble> {
    let both = match operation {
        Share::Load2(words) => touch(Access::Load, 4 * words.count() as u64),
        Share::Store2(words) => touch(Access::Store, 4 * words.count() as u64),
        Share::Exchange2(words) => touch(Access::Atomic, 4 * words.count() as u64),
        Share::Consume | Share::Append => {
            let at = At::Lds(u64::from(wave.sgpr[reg::M0] >> 16) + u64::from(inst.imm as u16));
            let shown = show(
                group,
                inst,
                wave.scratch_size,
                at,
                touch(Access::Atomic, 4),
                || [0; 16],
            );
            return shown.map_err(|kind| (None, kind));
        }
        // Exchanges between lanes touch no memory.
        Share::Swizzle | Share::Permute | Share::Bpermute => return Ok(()),
    };
    let Some(address) = inst.address else {
        return Ok(());
    };
    let offsets = [inst.imm as u32 & 0xffff, inst.imm as u32 >> 16].map(|offset| 4 * offset);
    for lane in (0..W).filter(|lane| wave.active >> lane & 1 != 0) {
        let base = wave.vgpr[usize::from(address)][lane];
        for (i, offset) in offsets.into_iter().enumerate() {
            let at = At::Lds(u64::from(base.wrapping_add(offset)));
            let shown = show(group, inst, wave.scratch_size, at, both, || {
                bytes_of(wave, inst.unit, inst.src[i], lane)
            });
            shown.map_err(|kind| (Some(lane), kind))?;
        }
    }
    Ok(())
}
