//! Shows the sanitizer which bytes a memory instruction is about to touch.
//!
//! What is wrong with an access is decided in sanitize.rs.

use super::port::{self, At};
use super::{Trouble, atomic, buffer, memory};
use crate::fault::{Access, FaultKind};
use crate::isa::{Inst, Op, Space, Src, Unit};
use crate::sanitize::Touch;
use crate::wave::{Group, Wave, reg};

/// What the instruction does at the address of each lane; `None` when it touches no memory, or in its own way.
fn touch(op: Op) -> Option<Touch> {
    let of = |access, bytes| {
        Some(Touch {
            access,
            reads: access == Access::Load,
            bytes,
        })
    };
    if let Some(bytes) = memory::bytes(op) {
        let stores = !op.signature().src.is_empty();
        return of(if stores { Access::Store } else { Access::Load }, bytes);
    }
    match op {
        Op::LoadLdsU8 | Op::LoadLdsI8 => of(Access::Load, 1),
        Op::LoadLdsU16 | Op::LoadLdsI16 => of(Access::Load, 2),
        Op::LoadLdsB32 => of(Access::Load, 4),
        Op::SStoreB32 => of(Access::Store, 4),
        Op::SStoreB64 => of(Access::Store, 8),
        Op::SStoreB128 => of(Access::Store, 16),
        _ => Some(Touch {
            access: Access::Atomic,
            reads: !matches!(op, Op::AtomicSwapB32 | Op::AtomicSwapB64),
            bytes: if atomic::is_narrow(op)? { 4 } else { 8 },
        }),
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
        Unit::ScalarMemory => scalar(wave, group, inst),
        Unit::Share => share(wave, group, inst),
        _ => lanes(wave, group, inst),
    }
}

fn scalar<const W: usize>(wave: &Wave<W>, group: &mut Group<'_>, inst: &Inst) -> Result<(), Trouble> {
    let Some(watch) = &mut group.watch else {
        return Ok(());
    };
    let asked = memory::consecutive(wave, inst);
    let bytes = 4 * asked.readable as u64;
    let touch = touch(inst.op).unwrap_or(Touch {
        access: Access::Load,
        reads: true,
        bytes,
    });
    let touch = Touch { bytes, ..touch };
    let (access, address) = (touch.access, asked.address);
    if bytes == 0 {
        return Ok(());
    }
    if bytes > 0 && !address.is_multiple_of(4) {
        let kind = FaultKind::Misaligned {
            access,
            address,
            bytes,
            alignment: 4,
        };
        return Err((None, kind));
    }
    let shown = watch
        .device(group.memory, address, touch)
        .and_then(|()| watch.device_race(address, touch, false, inst.pc));
    shown.map_err(|kind| (None, kind))
}

fn lanes<const W: usize>(wave: &Wave<W>, group: &mut Group<'_>, inst: &Inst) -> Result<(), Trouble> {
    let Some(touch) = touch(inst.op) else {
        return Ok(());
    };
    if buffer::is_resource(wave, inst) {
        return resource(wave, group, inst, touch);
    }
    let addresses = match inst.unit {
        Unit::Memory => memory::addresses(wave, inst),
        _ => port::addresses(wave, inst),
    };
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
            && watch.device_race(addresses[0], all, false, inst.pc).is_ok()
        {
            return Ok(());
        }
    }
    let data = |lane: usize| bytes_of(wave, inst.op, inst.src[0], lane);
    for lane in (0..W).filter(|lane| wave.active >> lane & 1 != 0) {
        let at = port::place(inst.space, lane, addresses[lane]);
        show(group, inst, wave.scratch_size, at, touch, || data(lane)).map_err(|kind| (Some(lane), kind))?;
        if memory::goes_to_lds(inst.op)
            && let Some(watch) = &mut group.watch
        {
            let stored = Touch {
                access: Access::Store,
                reads: false,
                bytes: 4,
            };
            let offset = memory::lds_start(wave, inst).wrapping_add(4 * lane as u64);
            let shown = watch.share(offset, stored, false, inst.pc);
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
                bytes_of(wave, inst.op, inst.src[0], lane)
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
            watch.device_race(address, touch, same, inst.pc)
        }
        At::Lds(offset) => {
            let same = touch.access == Access::Store && {
                let start = offset as usize;
                let there = group.lds.get(start..start + touch.bytes as usize);
                there.is_some_and(|there| *there == data()[..there.len()])
            };
            watch.share(offset, touch, same, inst.pc)
        }
        At::Scratch { lane, offset } => watch.scratch(lane, offset, touch, scratch),
    }
}

/// The bytes a lane's store takes from the registers of `source`, the rest of them arbitrary.
pub(super) fn bytes_of<const W: usize>(wave: &Wave<W>, op: Op, source: Src, lane: usize) -> [u8; 16] {
    let Src::Vgpr(first) = source else {
        return [0; 16];
    };
    let high = matches!(op, Op::StoreD16HiB8 | Op::StoreD16HiB16);
    let mut bytes = [0; 16];
    for (i, place) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let row = wave.vgpr.get(usize::from(first) + i);
        let word = row.map_or(0, |row| row[lane]);
        *place = (if high { word >> 16 } else { word }).to_le_bytes();
    }
    bytes
}

/// Data-share operations with a rule of their own.
fn share<const W: usize>(wave: &Wave<W>, group: &mut Group<'_>, inst: &Inst) -> Result<(), Trouble> {
    let touch = |access, bytes| Touch {
        access,
        reads: access != Access::Store,
        bytes,
    };
    let both = match inst.op {
        Op::DsLoad2B32 => touch(Access::Load, 4),
        Op::DsLoad2B64 => touch(Access::Load, 8),
        Op::DsStore2B32 => touch(Access::Store, 4),
        Op::DsStore2B64 => touch(Access::Store, 8),
        Op::DsExchange2B32 => touch(Access::Atomic, 4),
        Op::DsExchange2B64 => touch(Access::Atomic, 8),
        Op::DsConsume | Op::DsAppend => {
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
        Op::DsSwizzle | Op::DsBpermute | Op::DsPermute => return Ok(()),
        _ => return lanes(wave, group, inst),
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
                bytes_of(wave, inst.op, inst.src[i], lane)
            });
            shown.map_err(|kind| (Some(lane), kind))?;
        }
    }
    Ok(())
}
