//! The sanitizer: what a workgroup did to memory so far, and which next access is a bug although it works here.
//!
//! Rules only. Which bytes an instruction touches is known to exec/watch.rs; bounds are checked where the access is
//! made, with or without the sanitizer.

mod ranges;
mod shared;

use std::sync::{Arc, Mutex, PoisonError};

use crate::fault::{Access, FaultKind};
use crate::memory::{Cursor, Memory};
use ranges::{Ranges, TouchedRange};
use shared::Shared;

/// The compiler may read the kernarg segment in pieces of up to 16 bytes, which the segment is padded to.
const KERNARG_PIECE: u64 = 16;

/// Ranges of device memory that a wave loaded of which are remembered until the next barrier: scattered loads of a large
/// tensor would take more memory than the tensor.
const REMEMBERED_LOADS: usize = 1 << 14;

/// What the workgroups of a launch stored to device memory: the last one to store. The workgroups of a sanitized launch run
/// one after the other, so that a report does not depend on the number of threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridStores {
    stored: Arc<Mutex<Ranges<[u32; 3]>>>,
}

/// One access of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) access: Access,
    /// The old value matters: a load, or an atomic other than an exchange.
    pub(crate) reads: bool,
    pub(crate) bytes: u64,
}

/// The kernarg segment of a launch and the slot around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    /// Guest address of the slot; the dispatch packet is first in it.
    pub(crate) slot: u64,
    /// Bytes of the slot.
    pub(crate) room: u64,
    /// Bytes of the dispatch packet.
    pub(crate) packet: u64,
    /// Guest address of the segment.
    pub(crate) base: u64,
    /// Its size.
    pub(crate) size: u64,
}

/// What the sanitizer knows of one running workgroup.
#[derive(Debug)]
pub(crate) struct Watch {
    lds: Shared,
    wave: usize,
    arguments: Arguments,
    cursor: Cursor,
    /// What was stored to device memory since the last barrier: the last wave to store.
    stored: Ranges<usize>,
    /// What each wave loaded of it.
    loaded: Vec<Ranges<usize>>,
    /// More than one wave runs, so that there can be races.
    shared: bool,
    /// Written bytes of each wave's scratch, lane by lane.
    scratch: Vec<Vec<bool>>,
    group: [u32; 3],
    grid: GridStores,
    /// The workgroup used an atomic on device memory: it may know what the others did.
    synchronised: bool,
}

impl Watch {
    /// Of workgroup `group` with `waves` waves and `lds` bytes of LDS, before its first instruction.
    pub(crate) fn new(
        waves: usize,
        lds: usize,
        arguments: Arguments,
        group: [u32; 3],
        grid: &GridStores,
    ) -> Watch {
        Watch {
            lds: Shared::new(lds),
            wave: 0,
            arguments,
            cursor: Cursor::default(),
            stored: Ranges::default(),
            loaded: vec![Ranges::default(); waves],
            shared: waves > 1,
            scratch: vec![Vec::new(); waves],
            group,
            grid: grid.clone(),
            synchronised: false,
        }
    }

    /// The wave that runs from now on.
    pub(crate) fn enter(&mut self, wave: usize) {
        self.wave = wave;
    }

    /// All waves met at a barrier: what was done before no longer races.
    pub(crate) fn barrier(&mut self) {
        self.lds.barrier();
        self.stored = Ranges::default();
        self.loaded.fill(Ranges::default());
    }

    /// An access to device memory is about to be made.
    pub(crate) fn device(&mut self, memory: &Memory, address: u64, touch: Touch) -> Result<(), FaultKind> {
        let Touch { access, reads, bytes } = touch;
        self.kernarg(address, touch)?;
        if reads && let Some(found) = memory.first_unwritten(address, bytes, &mut self.cursor) {
            return Err(FaultKind::Unwritten {
                access,
                address,
                bytes,
                unwritten: found.address,
                base: found.base,
                size: found.size,
            });
        }
        if access != Access::Load {
            memory.mark_written(address, bytes, &mut self.cursor);
        }
        Ok(())
    }

    /// Whether an access to device memory races with one of another wave of the workgroup, or of another workgroup. `same`: a
    /// store of what is there already. Atomics, and stores to what atomics touch, synchronise in ways of their own and are left
    /// alone.
    pub(crate) fn device_race(
        &mut self,
        address: u64,
        touch: Touch,
        same: bool,
        pc: u32,
    ) -> Result<(), FaultKind> {
        let Touch { access, bytes, .. } = touch;
        self.synchronised |= access == Access::Atomic;
        if access == Access::Atomic || same {
            return Ok(());
        }
        self.grid_race(address, touch, pc)?;
        if !self.shared {
            return Ok(());
        }
        let end = address.saturating_add(bytes);
        let (me, stores) = (self.wave, access == Access::Store);
        let others = self.loaded.iter().filter(|_| stores);
        let loads = others.flat_map(|loaded| loaded.between(address, end));
        let rivals = self
            .stored
            .between(address, end)
            .map(|span| (span, Access::Store));
        let mut rivals = rivals.chain(loads.map(|span| (span, Access::Load)));
        let rival = rivals.find(|(span, _)| span.who != me);
        let rival = rival.map(|(span, other)| (*span, other));
        drop(rivals);
        if let Some((rival, other)) = rival {
            return Err(FaultKind::DeviceRace {
                address: rival.start.max(address),
                access,
                other,
                wave: rival.who,
                pc: rival.pc as usize,
            });
        }
        if stores {
            self.stored.insert(address, end, me, pc);
        } else if let Some(loaded) = self.loaded.get_mut(me)
            && loaded.len() < REMEMBERED_LOADS
        {
            loaded.insert(address, end, me, pc);
        }
        Ok(())
    }

    /// Whether another workgroup stored to a range before. A workgroup that used an atomic may have waited for the other.
    fn grid_race(&self, address: u64, touch: Touch, pc: u32) -> Result<(), FaultKind> {
        let Touch { access, bytes, .. } = touch;
        let end = address.saturating_add(bytes);
        // One insertion at a time: a panic cannot leave it half done.
        let mut stored = self.grid.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let rival = |span: &&TouchedRange<[u32; 3]>| span.who != self.group && !self.synchronised;
        if let Some(rival) = stored.between(address, end).find(rival) {
            return Err(FaultKind::GroupRace {
                address: rival.start.max(address),
                access,
                group: rival.who,
                pc: rival.pc as usize,
            });
        }
        if access == Access::Store {
            stored.insert(address, end, self.group, pc);
        }
        Ok(())
    }

    /// An access to the scratch of a lane, which has `size` bytes of it, is about to be made.
    pub(crate) fn scratch(
        &mut self,
        lane: usize,
        offset: u64,
        touch: Touch,
        size: usize,
    ) -> Result<(), FaultKind> {
        let end = offset.saturating_add(touch.bytes);
        let Some(written) = self.scratch.get_mut(self.wave).filter(|_| end <= size as u64) else {
            // The wave itself faults when this is outside.
            return Ok(());
        };
        let from = lane * size + offset as usize;
        let to = from + touch.bytes as usize;
        if written.len() < to {
            written.resize((lane + 1) * size, false);
        }
        if let Some(hole) = written[from..to].iter().position(|written| !written)
            && touch.reads
        {
            return Err(FaultKind::UnwrittenScratch {
                offset,
                bytes: touch.bytes,
                unwritten: offset + hole as u64,
            });
        }
        if touch.access != Access::Load {
            written[from..to].fill(true);
        }
        Ok(())
    }

    /// Refuses what leaves the arguments and stays in the slot.
    fn kernarg(&self, address: u64, touch: Touch) -> Result<(), FaultKind> {
        let Arguments {
            slot,
            room,
            packet,
            base,
            size,
        } = self.arguments;
        let at = address.wrapping_sub(slot);
        let in_packet = at < packet && touch.bytes <= packet - at;
        if at >= room || in_packet {
            return Ok(());
        }
        let offset = address.cast_signed() - base.cast_signed();
        let end = offset + touch.bytes.cast_signed();
        if offset >= 0
            && end <= size.next_multiple_of(KERNARG_PIECE).cast_signed()
            && touch.access == Access::Load
        {
            return Ok(());
        }
        Err(FaultKind::Kernarg {
            offset,
            bytes: touch.bytes,
            size,
            access: touch.access,
        })
    }

    /// An access to LDS is about to be made by the instruction at `pc` of the text. `same`: a store of what is there
    /// already; waves that agree on a value do not race.
    pub(crate) fn share(&mut self, offset: u64, touch: Touch, same: bool, pc: u32) -> Result<(), FaultKind> {
        let Touch { access, bytes, .. } = touch;
        if access == Access::Atomic && !offset.is_multiple_of(bytes) {
            return Err(FaultKind::Misaligned {
                access,
                address: offset,
                bytes,
                alignment: bytes,
            });
        }
        self.lds.touch(self.wave, offset, touch, same, pc)
    }
}

/// Whether some waves wait at a barrier that others have passed by: the first that waits, where, and what is wrong. Each
/// wave gives where it waits, or nothing when it has ended.
pub(crate) fn divergence(stops: impl Iterator<Item = Option<usize>>) -> Option<(usize, usize, FaultKind)> {
    let stops: Vec<Option<usize>> = stops.collect();
    let (first, pc) = stops
        .iter()
        .enumerate()
        .find_map(|(i, stop)| Some((i, (*stop)?)))?;
    let wave = stops.iter().position(|stop| *stop != Some(pc))?;
    let at = stops[wave];
    Some((first, pc, FaultKind::BarrierDivergence { wave, at }))
}
