//! The way from where the cases begin, until what differs has come to its end.

use std::collections::{BTreeMap, BTreeSet};

use super::super::demand::Demand;
use super::super::masks::{self, EXEC};
use super::super::operands;
use super::held::{HeldState, Lanes, RegisterPair};
use super::{Cases, MOST_REGISTERS, apply, vectors_of};
use crate::isa::{Condition, Control, Inst, Unit};
use crate::wave::{Wave, reg};

/// Instructions that are followed for one register before nothing is proven.
const MOST_STEPS: usize = 2_000_000;

/// The way from a register that holds one of few numbers.
pub(super) struct Walk<'a, 'b, const W: usize> {
    pub(super) cases: &'b Cases<'a, W>,
    /// The instruction before which the register is looked at.
    pub(super) from: usize,
    /// What is looked at before it.
    pub(super) looked_at: Demand,
    /// Blocks from whose beginning the mutant may be reached before the register is written anew.
    pub(super) leads: BTreeSet<usize>,
    pub(super) wave: Wave<W>,
    pub(super) steps: usize,
}

impl<const W: usize> Walk<'_, '_, W> {
    /// Follows the kernel from after the register is written; `None` where something that differs is looked at.
    pub(super) fn ends(&mut self, first: HeldState<W>) -> Option<()> {
        let flow = &self.cases.known.flow;
        let mut places: BTreeMap<usize, HeldState<W>> = BTreeMap::new();
        let mut pending = BTreeSet::new();
        let mut next = Some((flow.block_of(self.from), (self.from, true), first));
        while let Some((block, start, place)) = next.take() {
            for (after, place) in self.through(block, start, place)? {
                if place.reached == 0 || place.is_alike() && !self.leads.contains(&after) {
                    continue;
                }
                let changed = match places.get_mut(&after) {
                    Some(there) => there.join(&place),
                    None => {
                        places.insert(after, place);
                        true
                    }
                };
                if changed {
                    pending.insert(after);
                }
            }
            if let Some(block) = pending.pop_first() {
                next = Some((
                    block,
                    (flow.block(block).start, false),
                    places.get(&block)?.clone(),
                ));
            }
        }
        Some(())
    }

    /// From an instruction to the end of its block: what is known at the beginning of the blocks that may come after it.
    fn through(
        &mut self,
        block: usize,
        (first, is_start): (usize, bool),
        mut place: HeldState<W>,
    ) -> Option<Vec<(usize, HeldState<W>)>> {
        let cases = self.cases;
        let insts = cases.program.insts();
        let end = cases.known.flow.block(block).end;
        let mut index = first;
        let mut is_start = is_start;
        while index < end {
            if index == self.from && !is_start {
                if cases.drops {
                    place.drop_unread(&self.looked_at, self.looked_at.scalars());
                }
                return place.is_alike().then(Vec::new);
            }
            is_start = false;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            index += self.step(index, &mut place)?;
        }
        let inst = insts.get(end - 1)?;
        let after = cases.known.flow.after(block);
        let branch = match inst.unit {
            Unit::Control(Control::Branch(condition)) => Some(condition),
            _ => None,
        };
        let mask = match branch {
            Some(Condition::VccIsZero(zero)) => Some((reg::VCC as u8, zero)),
            Some(Condition::ExecIsZero(zero)) => Some((EXEC, zero)),
            _ => None,
        };
        if mask.is_some_and(|(n, _)| place.mask(n).differing() & place.reached != 0) {
            return None;
        }
        let decides = mask.map(|(n, zero)| (place.mask(n), zero));
        if cases.drops {
            let (live, _) = cases.known.live[end - 1];
            place.drop_unread(&cases.known.demands[block], live);
        }
        let mut all = vec![];
        for (way, after) in after.iter().enumerate() {
            let mut there = place.clone();
            if let Some((lanes, jumps_if_zero)) = decides {
                // The next block comes first, then the target. A mask with a lane is not zero.
                let is_zero = (way == 1) == jumps_if_zero;
                if is_zero {
                    there.reached &= !lanes.certain();
                }
            }
            all.push((*after, there));
        }
        Some(all)
    }

    /// From before an instruction to after it, and how many these are.
    fn step(&mut self, index: usize, place: &mut HeldState<W>) -> Option<usize> {
        let cases = self.cases;
        let inst = &cases.program.insts()[index];
        if !inst.entangled {
            self.one(index, inst, place)?;
            return Some(1);
        }
        // Each half overwrites what the other looks at.
        let halves = [index, index + 1].map(|index| {
            let inst = cases.program.insts().get(index)?;
            let apart = Inst {
                entangled: false,
                ..inst.clone()
            };
            self.of_lanes(index, &apart, place)
                .map(|written| (apart, written))
        });
        for half in halves {
            let (inst, written) = half?;
            self.put(&inst, &written, place)?;
        }
        Some(2)
    }

    fn one(&mut self, index: usize, inst: &Inst, place: &mut HeldState<W>) -> Option<()> {
        let operands = operands::of(inst, W);
        let crosses = operands.crosses || inst.dpp.is_some();
        match inst.unit {
            Unit::Lane | Unit::Vector | Unit::Compare if !crosses => {
                let written = self.of_lanes(index, inst, place)?;
                self.put(inst, &written, place)
            }
            Unit::Scalar if masks::of(inst, W).is_some() => self.of_masks(index, inst, place),
            _ => self.other(inst, place, crosses),
        }
    }

    /// What an instruction writes that looks at its own lane alone.
    fn of_lanes(&mut self, index: usize, inst: &Inst, place: &HeldState<W>) -> Option<apply::Written<W>> {
        let cases = self.cases;
        let mut numbers = apply::numbers_of(inst, W);
        let apart;
        let mut mutant = None;
        if index == cases.site {
            // A lane that was not active has another number.
            if place.within & masks::bit(EXEC) == 0 {
                return None;
            }
            apart = Inst {
                entangled: false,
                ..cases.mutant.clone()
            };
            numbers |= apply::numbers_of(&apart, W);
            mutant = Some((&apart, &cases.mutant_seen));
        }
        if numbers & place.differing_scalars() != 0 {
            return None;
        }
        let seen = cases.known.seen.get(index)?.as_ref()?;
        Some(apply::written(place, &mut self.wave, (inst, seen), mutant))
    }

    /// Puts what an instruction writes where it belongs.
    fn put(&self, inst: &Inst, written: &apply::Written<W>, place: &mut HeldState<W>) -> Option<()> {
        for (i, row) in written.rows.iter().enumerate() {
            place.write(inst.dst + i as u16, row)?;
        }
        let operands = operands::of(inst, W);
        let masks = match inst.unit {
            Unit::Compare => vec![u8::try_from(inst.dst).ok()?],
            _ if operands.mask_words > 0 => vec![inst.sdst],
            _ => vec![],
        };
        for n in masks {
            if n != EXEC {
                place.write_mask(n, written.mask);
            }
            if inst.writes_exec || n == EXEC {
                place.write_mask(EXEC, written.mask);
            }
        }
        Some(())
    }

    fn of_masks(&self, index: usize, inst: &Inst, place: &mut HeldState<W>) -> Option<()> {
        let op = masks::of(inst, W)?;
        let (_, scc_live) = self.cases.known.live[index];
        let (active, active_within) = (place.mask(EXEC), place.within & masks::bit(EXEC) != 0);
        let (lanes, within) = place.computed(op.assigned);
        if scc_live && operands::writes_scc(inst.op) && lanes.differing() & place.reached != 0 {
            return None;
        }
        if let Some(saved) = op.saved {
            place.put_mask(saved, active, active_within);
        }
        place.put_mask(op.assigned.dst, lanes, within);
        Some(())
    }

    /// An instruction that must not look at anything that differs, and of whose result nothing is known.
    fn other(&self, inst: &Inst, place: &mut HeldState<W>, crosses: bool) -> Option<()> {
        match inst.unit {
            Unit::Control(Control::End | Control::Branch(_) | Control::Wait) => return Some(()),
            Unit::Control(
                Control::Barrier
                | Control::BarrierWait
                | Control::BarrierSignal
                | Control::RoundMode
                | Control::DenormMode
                | Control::Message
                | Control::GetPc
                | Control::Time,
            ) => {}
            Unit::Control(_) | Unit::MoveRelative(_) | Unit::SwapRelative | Unit::Unsupported => return None,
            _ => {}
        }
        let operands = operands::of(inst, W);
        let looked_at = Demand::of_sources(inst, MOST_REGISTERS, W);
        if looked_at.scalars() & place.differing_scalars() != 0 {
            return None;
        }
        let everywhere = crosses || matches!(inst.unit, Unit::Share(_));
        let active = match everywhere {
            true => u64::MAX,
            false => !place.mask(EXEC).absent(),
        };
        for n in 0..MOST_REGISTERS as u16 {
            let bits = looked_at.vector(n) | looked_at.vector_of_others(n);
            if place.differing_lanes(n, bits) & active != 0 {
                return None;
            }
        }
        if operands.dst_is_vector {
            for n in inst.dst..inst.dst + u16::from(operands.dst_words) {
                if crosses || !operands.whole {
                    // In other lanes too, or in part.
                    if place.differing_lanes(n, u32::MAX) != 0 {
                        return None;
                    }
                    place.put(n, RegisterPair::UNKNOWN);
                } else {
                    place.write(n, &RegisterPair::UNKNOWN)?;
                }
            }
        } else {
            place.forget_scalars(inst.dst, operands.dst_words);
        }
        if operands.mask_words > 0 {
            place.forget_scalars(inst.sdst.into(), operands.mask_words);
        }
        if operands.writes_exec {
            place.put_mask(EXEC, Lanes::default(), false);
        }
        if crosses {
            // An exchange writes its source.
            for (n, _) in vectors_of(inst, W) {
                place.put(n, RegisterPair::UNKNOWN);
            }
        }
        Some(())
    }
}
