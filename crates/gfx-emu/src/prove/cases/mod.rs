//! Proof by cases: a register that holds one of few numbers, such as a byte that was loaded, is looked at with each of them.
//!
//! Every way to the mutant leads over the place where the register is looked at, and no lane is active at the mutant that was not there.
//! From there the kernel is followed with one number in each lane of a wave: what the number decides is known ([`apply`]), all else
//! is not ([`held`]). From the mutant on, what it computes is followed beside what the kernel computes. The mutant is equivalent where
//! for each number the two are the same again, before the register is written anew and before something looks at what
//! differs: a store, an address, a branch, another lane, or an instruction whose result is not known.
//!
//! The numbers of a case lie in lanes of their own, and one lane does not know of another: where an instruction looks at other lanes, what
//! differs must have come to its end, and what it makes is not known. So what is shown of a lane of the wave here is shown of every
//! lane of any wave that holds the number. What operations compute is what the executor computes: where a card's `v_exp_f32` has
//! another last bit, this says nothing of the card.

mod apply;
mod candidates;
mod held;
mod walk;

use std::collections::BTreeSet;

use super::demand::{Demand, Facts};
use super::launches::Launches;
use super::masks::{self, EXEC};
use super::operands;
use super::value::{Value, low};
use super::{Known, Reason};
use crate::fp::Mode;
use crate::isa::{Inst, Program, Unit};
use crate::wave::Wave;
use candidates::{Candidates, MOST_BYTES, MOST_HALVES, Narrow};
use held::{HeldState, Lanes, RegisterPair};
use walk::Walk;

/// What is known before an instruction, and of its result, in any launch.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) sources: [Value; 3],
    pub(super) result: Value,
    /// How it computes, where that is known.
    pub(super) mode: Option<Mode>,
    /// The mask that EXEC becomes, where that contains the lanes that were active.
    pub(super) restored: Option<u8>,
}

/// The vector registers that an instruction looks at, and their bits.
fn vectors_of(inst: &Inst, lanes: usize) -> Vec<(u16, u32)> {
    let looked_at = Demand::of_sources(inst, MOST_REGISTERS, lanes);
    let all = 0..MOST_REGISTERS as u16;
    all.map(|n| (n, looked_at.vector(n)))
        .filter(|(_, bits)| *bits != 0)
        .collect()
}

/// Vector registers of a wave, accumulation registers among them.
const MOST_REGISTERS: usize = 1024;

/// Why a mutant is equivalent by cases, if it is.
pub(super) fn proven(
    program: &Program,
    known: &Known,
    launches: &Launches<'_>,
    index: usize,
    mutant: &Inst,
) -> Option<Reason> {
    match known.lanes {
        32 => Cases::<32>::of(program, known, launches, index, mutant)?.proof(),
        64 => Cases::<64>::of(program, known, launches, index, mutant)?.proof(),
        _ => None,
    }
}

/// A mutant that is to be proven.
struct Cases<'a, const W: usize> {
    program: &'a Program,
    known: &'a Known,
    launches: &'a Launches<'a>,
    site: usize,
    mutant: &'a Inst,
    mutant_seen: Seen,
    /// What nothing looks at may differ: the mutant looks at nothing else either.
    drops: bool,
}

impl<'a, const W: usize> Cases<'a, W> {
    fn of(
        program: &'a Program,
        known: &'a Known,
        launches: &'a Launches<'a>,
        site: usize,
        mutant: &'a Inst,
    ) -> Option<Cases<'a, W>> {
        let inst = program.insts().get(site)?;
        let of_lanes = |inst: &Inst| {
            let operands = operands::of(inst, W);
            matches!(inst.unit, Unit::Lane | Unit::Vector | Unit::Compare)
                && !operands.crosses
                && inst.dpp.is_none()
                && inst.parts.is_none()
        };
        let (one, other) = (operands::of(inst, W), operands::of(mutant, W));
        let same_places = (inst.unit == Unit::Compare) == (mutant.unit == Unit::Compare)
            && (inst.dst, inst.sdst, inst.writes_exec) == (mutant.dst, mutant.sdst, mutant.writes_exec)
            && (inst.clears_half, inst.entangled) == (mutant.clears_half, mutant.entangled)
            && inst.op_sel >> 3 & 1 == mutant.op_sel >> 3 & 1
            && one == other;
        if !of_lanes(inst) || !of_lanes(mutant) || !same_places {
            return None;
        }
        let state = known.state_before(program, launches, site)?;
        let mutant_seen = Seen {
            sources: state.sources(mutant),
            result: Value::any(64),
            mode: known.seen.get(site)?.as_ref()?.mode,
            restored: None,
        };
        let after = known.demand_after(program, site);
        let (mut before, mut before_mutant) = (after.clone(), after);
        let facts = known.facts[site];
        before.step_back(inst, facts, W);
        let numbers = state.numbers(mutant);
        before_mutant.step_back(mutant, Facts { numbers, ..facts }, W);
        Some(Cases {
            program,
            known,
            launches,
            site,
            mutant,
            mutant_seen,
            drops: before.contains(&before_mutant),
        })
    }

    fn proof(&self) -> Option<Reason> {
        let Candidates { bytes, halves } = self.candidates();
        if bytes.iter().take(MOST_BYTES).any(|narrow| self.holds(narrow)) {
            return Some(Reason::Bytes);
        }
        let holds = halves.iter().take(MOST_HALVES).any(|narrow| self.holds(narrow));
        holds.then_some(Reason::Halves)
    }

    /// Whether every way to the mutant leads over an instruction.
    fn leads_over(&self, index: usize) -> bool {
        let flow = &self.known.flow;
        let (of_site, of_index) = (flow.block_of(self.site), flow.block_of(index));
        if of_site == of_index {
            return index <= self.site;
        }
        let mut reached = BTreeSet::from([flow.entry]);
        let mut pending = vec![flow.entry];
        while let Some(block) = pending.pop() {
            if block == of_index {
                continue;
            }
            if block == of_site {
                return false;
            }
            pending.extend(flow.after(block).iter().filter(|after| reached.insert(**after)));
        }
        true
    }

    /// Whether the two are the same for each number.
    fn holds(&self, narrow: &Narrow) -> bool {
        let state = self.known.state_before(self.program, self.launches, narrow.index);
        let Some(state) = state else { return false };
        let active = (0..128)
            .filter(|n| state.masks.contains(EXEC, *n))
            .map(masks::bit);
        let within = active.fold(masks::bit(EXEC), |all, bit| all | bit);
        let mut walk = self.walk(narrow);
        (0..1 << narrow.bits()).step_by(W).all(|first: usize| {
            let count = W.min((1 << narrow.bits()) - first);
            let mut place = HeldState::first(low(count as u32), within);
            // What contains the active lanes has each of them.
            for n in (0..EXEC).filter(|n| state.masks.contains(*n, EXEC)) {
                place.put_mask(n, Lanes::of_both(u64::MAX), within & masks::bit(n) != 0);
            }
            let mut shift = 0;
            for field in &narrow.fields {
                let mut row = RegisterPair::UNKNOWN;
                for lane in 0..count {
                    let number = field.number((first + lane) >> shift);
                    row.known[lane] = field.known();
                    (row.kernel[lane], row.mutant[lane]) = (number, number);
                }
                place.put(field.register, row);
                shift += field.bits();
            }
            walk.ends(place).is_some()
        })
    }

    fn walk<'b>(&'b self, narrow: &Narrow) -> Walk<'a, 'b, W> {
        let flow = &self.known.flow;
        let from = narrow.index;
        let (of_site, of_from) = (flow.block_of(self.site), flow.block_of(from));
        let mut leads = BTreeSet::new();
        if of_site != of_from {
            leads.insert(of_site);
            let mut more = true;
            while more {
                let new = (0..flow.len()).filter(|block| {
                    *block != of_from
                        && !leads.contains(block)
                        && flow.after(*block).iter().any(|after| leads.contains(after))
                });
                let new: Vec<usize> = new.collect();
                more = !new.is_empty();
                leads.extend(new);
            }
        }
        let looked_at = self.looked_at_before(from);
        Walk {
            cases: self,
            from,
            looked_at,
            leads,
            wave: Wave::new(self.program.most_registers()),
            steps: 0,
        }
    }
}
