//! Where cases may begin: registers on which a mutant depends and which have one of few contents.

use std::collections::BTreeMap;

use super::super::demand::Demand;
use super::super::operands;
use super::super::state::State;
use super::super::value::low;
use super::Cases;
use crate::isa::{Part, Transfer, Unit};

/// Instructions before the mutant among which the register is looked for.
const MOST_BEFORE: usize = 4000;
/// Places that are tried where registers hold a byte, or as few numbers.
pub(super) const MOST_BYTES: usize = 40;
/// The same of half a register.
pub(super) const MOST_HALVES: usize = 6;
const BYTE_BITS: u32 = 8;
const HALF_BITS: u32 = 16;

/// A part of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) register: u16,
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

    pub(super) fn bits(&self) -> u32 {
        self.free.count_ones()
    }

    /// The bits that are known in a case.
    pub(super) fn known(&self) -> u32 {
        if self.signed {
            u32::MAX
        } else {
            self.free | self.zeros | self.ones
        }
    }

    /// The number of a case.
    pub(super) fn number(&self, case: usize) -> u32 {
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
pub(super) struct Narrow {
    pub(super) index: usize,
    pub(super) fields: Vec<Field>,
}

impl Narrow {
    pub(super) fn bits(&self) -> u32 {
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

impl<const W: usize> Cases<'_, W> {
    /// Registers on which the mutant depends, which have one of few contents: the nearest first.
    pub(super) fn candidates(&self) -> Candidates {
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
    pub(super) fn looked_at_before(&self, index: usize) -> Demand {
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
}

/// What cases may be made of.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) bytes: Vec<Narrow>,
    pub(super) halves: Vec<Narrow>,
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
