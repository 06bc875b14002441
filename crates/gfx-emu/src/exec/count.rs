//! Counts what instructions cost: which unit they go to, which lanes take part, which places in memory they name.
//!
//! What is a line, a bank or a phase is decided in cost.rs.

use super::space::{self, At};
use super::{address, buffer, memory};
use crate::cost::{Class, Tally};
use crate::fault::Access;
use crate::isa::{Inst, Share, Unit, matrix_products, registers_alone};
use crate::wave::{Group, Wave};

/// A run of instructions is about to be executed with these lanes active: `cost` of them, with the waits between.
#[inline]
pub(super) fn run(group: &mut Group<'_>, straight: &[Inst], active: u64, cost: u16) {
    let Some(tally) = &mut group.tally else { return };
    let mut others = 0;
    for inst in straight {
        tally.executed(inst, active);
        others += u64::from(inst.weight);
    }
    tally.waited(u64::from(cost).saturating_sub(others));
}

/// One instruction is about to be executed, with so many waits after it.
#[inline]
pub(super) fn alone<const W: usize>(wave: &Wave<W>, group: &mut Group<'_>, inst: &Inst, waits: u64) {
    let Some(tally) = &mut group.tally else { return };
    let active = wave.exec();
    tally.executed(inst, active);
    tally.waited(waits);
    if matches!(inst.class, Class::Smem | Class::Vmem | Class::Lds) {
        reach(wave, tally, inst, active);
    }
}

fn reach<const W: usize>(wave: &Wave<W>, tally: &mut Tally, inst: &Inst, active: u64) {
    match inst.unit {
        Unit::ScalarMemory(access) => {
            let asked = memory::consecutive(wave, inst, access);
            tally.scalar(asked.address & !3, 4 * asked.readable as u64);
        }
        Unit::Memory(transfer) => {
            let (access, bytes) = (transfer.access(), transfer.bytes());
            lanes(wave, tally, inst, active, access, bytes, || {
                memory::addresses(wave, inst)
            });
            if transfer.goes_to_share() {
                // A dword for each lane, one after the other.
                tally.share(W as u64 / 32);
            }
        }
        Unit::Atomic(atomic) => {
            let bytes = 4 * atomic.words() as u64;
            lanes(wave, tally, inst, active, Access::Atomic, bytes, || {
                address::all(wave, inst)
            });
        }
        Unit::Share(operation) => share(wave, tally, inst, active, operation),
        registers_alone!() | matrix_products!() | Unit::Control(_) | Unit::Unsupported => {}
    }
}

/// An access of each active lane, at addresses that are asked for unless the lanes go through a buffer's descriptor.
fn lanes<const W: usize>(
    wave: &Wave<W>,
    tally: &mut Tally,
    inst: &Inst,
    active: u64,
    access: Access,
    bytes: u64,
    addresses: impl FnOnce() -> [u64; W],
) {
    if inst.class == Class::Vmem {
        tally.request(access);
    }
    let is_active = |lane: usize| active >> lane & 1 != 0;
    let mut spans = [(0, 0); W];
    let mut count = 0;
    let mut device = |start: u64, bytes: u64| {
        if let Some(span) = spans.get_mut(count) {
            *span = (start, bytes);
            count += 1;
        }
    };
    if buffer::is_resource(wave, inst) {
        // A descriptor that is not modelled is the executor's to refuse.
        let reaches = buffer::reaches(wave, inst, bytes).unwrap_or([buffer::Reach::default(); W]);
        for reach in (0..W).filter(|lane| is_active(*lane)).map(|lane| reaches[lane]) {
            device(reach.address, reach.bytes);
        }
    } else {
        let addresses = addresses();
        let mut places = [None; W];
        let (mut shares, mut private) = (false, 0);
        for lane in (0..W).filter(|lane| is_active(*lane)) {
            match space::place(inst.space, lane, addresses[lane]) {
                At::Global(address) => device(address, bytes),
                At::Lds(offset) => {
                    places[lane] = Some(offset);
                    shares = true;
                }
                At::Scratch { .. } => private += bytes,
            }
        }
        if shares {
            tally.banks(&places, bytes, access == Access::Atomic);
        }
        tally.scratch(private);
    }
    tally.device(&mut spans[..count]);
}

/// Data-share operations with a rule of their own.
fn share<const W: usize>(wave: &Wave<W>, tally: &mut Tally, inst: &Inst, active: u64, operation: Share) {
    let words = match operation {
        Share::Load2(words) | Share::Store2(words) | Share::Exchange2(words) => words,
        // No bank is asked for; 32 lanes take a clock.
        Share::Swizzle | Share::Permute | Share::Bpermute => return tally.share(W as u64 / 32),
        Share::Consume | Share::Append => return tally.share(1),
    };
    let Some(address) = inst.address else { return };
    let offsets = [inst.imm as u32 & 0xffff, inst.imm as u32 >> 16].map(|offset| 4 * offset);
    for offset in offsets {
        let mut places = [None; W];
        for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
            let base = wave.vgpr[usize::from(address)][lane];
            places[lane] = Some(u64::from(base.wrapping_add(offset)));
        }
        tally.banks(
            &places,
            4 * words.count() as u64,
            matches!(operation, Share::Exchange2(_)),
        );
    }
}
