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
mod held;

use std::collections::{BTreeMap, BTreeSet};

use super::demand::{Demand, Facts};
use super::launches::Launches;
use super::masks::{self, EXEC};
use super::operands;
use super::state::State;
use super::value::{Value, low};
use super::{Known, Reason};
use crate::fp::Mode;
use crate::isa::{Condition, Control, Inst, Part, Program, Transfer, Unit};
use crate::wave::{Wave, reg};
use held::{Lanes, Place, Row};

/// Instructions that are followed for one register before nothing is proven.
const MOST_STEPS: usize = 2_000_000;
/// Instructions before the mutant among which the register is looked for.
const MOST_BEFORE: usize = 4000;
/// Places that are tried where registers hold a byte, or as few numbers.
const MOST_BYTES: usize = 40;
/// The same of half a register.
const MOST_HALVES: usize = 6;
const BYTE_BITS: u32 = 8;
const HALF_BITS: u32 = 16;

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

/// A part of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    register: u16,
    /// The bits that are looked at with all contents.
    free: u32,
    /// The other bits that are known.
    zeros: u32,
    ones: u32,
    /// The bits above are the highest of the free ones.
    signed: bool,
}

impl Field {
    /// The bits of a register that count, of which it is known so much.
    fn of(register: u16, counting: u32, zeros: u64, ones: u64) -> Field {
        let (zeros, ones) = (zeros as u32, ones as u32);
        Field {
            register,
            free: counting & !(zeros | ones),
            zeros,
            ones,
            signed: false,
        }
    }

    fn bits(&self) -> u32 {
        self.free.count_ones()
    }

    /// The bits that are known in a case.
    fn known(&self) -> u32 {
        if self.signed {
            u32::MAX
        } else {
            self.free | self.zeros | self.ones
        }
    }

    /// The number of a case.
    fn number(&self, case: usize) -> u32 {
        let mut number = self.ones;
        let places = (0..32).filter(|bit| self.free >> bit & 1 != 0);
        for (i, bit) in places.enumerate() {
            number |= (case as u32 >> i & 1) << bit;
        }
        let sign = 31 - self.free.leading_zeros();
        if self.signed && number >> sign & 1 != 0 {
            number |= !(low(sign + 1) as u32);
        }
        number
    }
}

/// Parts of registers that have one of few contents together, where a wave comes to an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Narrow {
    index: usize,
    fields: Vec<Field>,
}

impl Narrow {
    fn bits(&self) -> u32 {
        self.fields.iter().map(Field::bits).sum()
    }
}

/// The bytes that have some of these bits: what a mutant changes by a part of a number may be told by the rest of it.
fn bytes_of(bits: u32) -> u32 {
    let bytes = (0..4).map(|byte| 0xff << (8 * byte));
    bytes
        .filter(|byte| bits & byte != 0)
        .fold(0, |all, byte| all | byte)
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

/// The way from a register that holds one of few numbers.
struct Walk<'a, 'b, const W: usize> {
    cases: &'b Cases<'a, W>,
    /// The instruction before which the register is looked at.
    from: usize,
    /// What is looked at before it.
    looked_at: Demand,
    /// Blocks from whose beginning the mutant may be reached before the register is written anew.
    leads: BTreeSet<usize>,
    wave: Wave<W>,
    steps: usize,
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

    /// Registers on which the mutant depends, which have one of few contents: the nearest first.
    fn candidates(&self) -> Candidates {
        let (program, known) = (self.program, self.known);
        let of_site = known.flow.block_of(self.site);
        let mut found = Candidates::default();
        let fields = |index: usize, state: &State, slice: &Demand| {
            let looked_at = self.looked_at_before(index);
            let field = |n: u16| {
                let value = state.vector(n.into());
                let counting = bytes_of(slice.vector(n)) & looked_at.vector(n);
                Field::of(n, counting, value.zeros, value.ones)
            };
            let fields = (0..program.registers() as u16).map(field);
            fields.filter(|field| field.free != 0).collect()
        };
        let slices = self.slices();
        for block in (0..=of_site).rev() {
            let range = known.flow.block(block);
            let at_site = block == of_site;
            let end = if at_site { self.site } else { range.end };
            let Some(mut slice) = (if at_site {
                Some(self.looked_at())
            } else {
                slices.get(&block).cloned()
            }) else {
                continue;
            };
            if found.is_full() || self.site - end > MOST_BEFORE {
                break;
            }
            let leads = self.leads_over(range.start);
            for index in (range.start..end).rev() {
                if leads && index + 1 < range.end {
                    self.results(index, &slice, &mut found);
                    // Lanes that were not active are from here on.
                    let restores = self.known.seen[index]
                        .as_ref()
                        .is_some_and(|seen| seen.restored.is_some());
                    if restores && let Some(state) = known.state_before(program, self.launches, index + 1) {
                        found.add_all(index + 1, fields(index + 1, &state, &slice));
                    }
                }
                self.slice_back(index, &mut slice);
            }
            if leads && let Some(Some(state)) = known.states.get(block) {
                found.add_all(range.start, fields(range.start, state, &slice));
            }
        }
        found
    }

    /// What the kernel looks at from an instruction on.
    fn looked_at_before(&self, index: usize) -> Demand {
        let mut looked_at = self.known.demand_after(self.program, index);
        looked_at.step_back(&self.program.insts()[index], self.known.facts[index], W);
        looked_at
    }

    /// What the instruction and the mutant look at.
    fn looked_at(&self) -> Demand {
        let registers = self.program.registers();
        let mut slice = Demand::of_sources(&self.program.insts()[self.site], registers, W);
        slice.join(&Demand::of_sources(self.mutant, registers, W));
        slice
    }

    /// What the mutant's result depends on, at the end of each block from which a way leads to it.
    fn slices(&self) -> BTreeMap<usize, Demand> {
        let flow = &self.known.flow;
        let mut before = vec![vec![]; flow.len()];
        for block in 0..flow.len() {
            for after in flow.after(block) {
                before[*after].push(block);
            }
        }
        let of_site = flow.block_of(self.site);
        let mut slices: BTreeMap<usize, Demand> = BTreeMap::new();
        let mut pending = vec![(of_site, self.site, self.looked_at())];
        while let Some((block, end, mut slice)) = pending.pop() {
            for index in (flow.block(block).start..end).rev() {
                self.slice_back(index, &mut slice);
            }
            // What an earlier round of a loop left is not looked for.
            for earlier in before[block].iter().filter(|earlier| **earlier < block) {
                let more = match slices.get_mut(earlier) {
                    Some(known) => known.join(&slice),
                    None => {
                        slices.insert(*earlier, slice.clone());
                        true
                    }
                };
                if more {
                    pending.push((*earlier, flow.block(*earlier).end, slices[earlier].clone()));
                }
            }
        }
        slices
    }

    /// From what is depended on after an instruction to what is before it. Addresses are not: what is loaded is where it ends.
    fn slice_back(&self, index: usize, slice: &mut Demand) {
        let inst = &self.program.insts()[index];
        let restored = self.known.seen[index].as_ref().and_then(|seen| seen.restored);
        match inst.unit {
            _ if restored.is_some() => slice.replace_exec(restored),
            Unit::Control(_) => {}
            Unit::Lane | Unit::Vector | Unit::Compare | Unit::Scalar => {
                slice.step_back(inst, self.known.facts[index], W);
            }
            _ => slice.replace(inst),
        }
    }

    /// Adds what an instruction writes on which the mutant depends.
    fn results(&self, index: usize, slice: &Demand, found: &mut Candidates) {
        let inst = &self.program.insts()[index];
        let operands = operands::of(inst, W);
        let Some(seen) = self.known.seen.get(index).and_then(Option::as_ref) else {
            return;
        };
        let next = index + 1;
        let entangled = [index.saturating_sub(1), index].map(|index| self.program.insts()[index].entangled);
        if !operands.dst_is_vector || entangled[0] || entangled[1] {
            return;
        }
        let mut registers = inst.dst..inst.dst + u16::from(operands.dst_words);
        if registers.all(|n| slice.vector(n) == 0) {
            return;
        }
        let after = self.known.demand_after(self.program, index);
        for word in 0..u16::from(operands.dst_words) {
            let register = inst.dst + word;
            let counting = bytes_of(slice.vector(register)) & after.vector(register);
            let (zeros, ones) = match word {
                0 | 1 if operands.whole => {
                    (seen.result.zeros >> (32 * word), seen.result.ones >> (32 * word))
                }
                _ => (0, 0),
            };
            let mut field = Field::of(register, counting, zeros, ones);
            if let Unit::Memory(Transfer::LoadPart(Part {
                bytes,
                signed: true,
                half: None,
            })) = inst.unit
            {
                (field.free, field.signed) = (low(8 * u32::from(bytes)) as u32, true);
            }
            if counting != 0 && field.free != 0 {
                found.add(Narrow {
                    index: next,
                    fields: vec![field],
                });
            }
        }
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
            let mut place = Place::first(low(count as u32), within);
            // What contains the active lanes has each of them.
            for n in (0..EXEC).filter(|n| state.masks.contains(*n, EXEC)) {
                place.put_mask(n, Lanes::of_both(u64::MAX), within & masks::bit(n) != 0);
            }
            let mut shift = 0;
            for field in &narrow.fields {
                let mut row = Row::UNKNOWN;
                for lane in 0..count {
                    let number = field.number(first + lane >> shift);
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

/// What cases may be made of.
#[derive(Debug, Default)]
struct Candidates {
    bytes: Vec<Narrow>,
    halves: Vec<Narrow>,
}

impl Candidates {
    fn add(&mut self, narrow: Narrow) {
        let list = match narrow.bits() {
            0..=BYTE_BITS => &mut self.bytes,
            9..=HALF_BITS => &mut self.halves,
            _ => return,
        };
        if !list.contains(&narrow) {
            list.push(narrow);
        }
    }

    /// Adds registers each alone, and as many of the narrowest as are few together.
    fn add_all(&mut self, index: usize, fields: Vec<Field>) {
        let mut all = fields.clone();
        all.sort_by_key(Field::bits);
        while all.iter().map(Field::bits).sum::<u32>() > HALF_BITS {
            all.pop();
        }
        if all.len() > 1 {
            self.add(Narrow { index, fields: all });
        }
        for field in fields {
            self.add(Narrow {
                index,
                fields: vec![field],
            });
        }
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= MOST_BYTES && self.halves.len() >= MOST_HALVES
    }
}

impl<const W: usize> Walk<'_, '_, W> {
    /// Follows the kernel from after the register is written; `None` where something that differs is looked at.
    fn ends(&mut self, first: Place<W>) -> Option<()> {
        let flow = &self.cases.known.flow;
        let mut places: BTreeMap<usize, Place<W>> = BTreeMap::new();
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
        mut place: Place<W>,
    ) -> Option<Vec<(usize, Place<W>)>> {
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
    fn step(&mut self, index: usize, place: &mut Place<W>) -> Option<usize> {
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

    fn one(&mut self, index: usize, inst: &Inst, place: &mut Place<W>) -> Option<()> {
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
    fn of_lanes(&mut self, index: usize, inst: &Inst, place: &Place<W>) -> Option<apply::Written<W>> {
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
    fn put(&self, inst: &Inst, written: &apply::Written<W>, place: &mut Place<W>) -> Option<()> {
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

    fn of_masks(&self, index: usize, inst: &Inst, place: &mut Place<W>) -> Option<()> {
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
    fn other(&self, inst: &Inst, place: &mut Place<W>, crosses: bool) -> Option<()> {
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
                    place.put(n, Row::UNKNOWN);
                } else {
                    place.write(n, &Row::UNKNOWN)?;
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
                place.put(n, Row::UNKNOWN);
            }
        }
        Some(())
    }
}
