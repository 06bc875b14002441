//! Proves that a mutant computes what the kernel does: no launch can tell the two apart.
//!
//! A kernel is looked at once, without running it. Forwards, [`state`] says between which numbers each register lies and which of
//! its bits are known, whatever the arguments are. Backwards, [`demand`] says which bits of which registers a later instruction
//! looks at. A mutant is equivalent where
//!
//! - its instruction has the same result for all numbers that its sources can have ([`differ`]), or
//! - its result differs in bits only that nothing looks at, or
//! - it differs in lanes of a mask that are the same again before anything looks at them ([`lanes`]).
//!
//! Everything that is not known is taken for the worst: a register may hold anything, and an instruction looks at all of its
//! sources. An address, what is stored, a branch and the active lanes are always looked at, so that a fault is not lost either. What
//! is assumed of launches: the kernel's limit for sizes of workgroups and HIP's for grids, 47 bits of address, and at the entry no
//! contents of registers that are not documented. [`Prover::equivalent_within`] assumes sizes below 2^31 too, which
//! [`Kernel::large_number`] tells of a launch.

mod cases;
mod demand;
mod differ;
mod flow;
mod function;
mod grid;
mod guards;
mod lanes;
mod launches;
mod masks;
mod modes;
mod operands;
mod state;
mod value;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::code::{CodeObject, Kernel};
use crate::isa::{DecodeError, Inst, Program};
use crate::mutant::{Mutation, Patch};

use cases::Seen;
use demand::{Demand, Facts};
use flow::Flow;
use launches::Launches;
use state::State;

/// Visits of a block after which what grows there does so at once.
const PATIENCE: u32 = 4;

/// Why a mutant computes what the kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its kind says so: see [`crate::MutationKind::equivalent`].
    Kind(&'static str),
    /// The instruction has the same result for all numbers that its sources can have.
    Same,
    /// The result differs in bits that nothing looks at.
    Unread,
    /// It starts in another mode for single precision, and no instruction computes in that.
    Mode,
    /// Lanes of a mask differ, and are the same again before anything looks at them.
    Lanes,
    /// For each number that a byte which was loaded or cut out can have, what differs comes to its end.
    Bytes,
    /// The same of half a register.
    Halves,
    /// As [`Reason::Same`], where sizes are below 2^31.
    SameWithin,
    /// As [`Reason::Unread`], where sizes are below 2^31.
    UnreadWithin,
    /// As [`Reason::Lanes`], where sizes are below 2^31.
    LanesWithin,
    /// As [`Reason::Bytes`], where sizes are below 2^31.
    BytesWithin,
    /// As [`Reason::Halves`], where sizes are below 2^31.
    HalvesWithin,
}

impl Reason {
    /// As a sentence.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Kind(text) => text,
            Reason::Same => "the result is the same for all numbers that the sources can have",
            Reason::Unread => "the result differs in bits only that no later instruction looks at",
            Reason::Mode => "no instruction computes in the format whose mode it is",
            Reason::Lanes => {
                "other lanes are in a mask, and it is as it should be again before anything looks at them"
            }
            Reason::Bytes => {
                "for each of up to 256 numbers that a register can have, what differs is the same again before anything looks at it"
            }
            Reason::Halves => {
                "for each of up to 65536 numbers that a register can have, what differs is the same again before anything looks at it"
            }
            Reason::BytesWithin => {
                "where sizes are below 2^31, and for each of up to 256 numbers that a register can have, nothing looks at what differs"
            }
            Reason::HalvesWithin => {
                "where sizes are below 2^31, and for each of up to 65536 numbers that a register can have, nothing looks at what differs"
            }
            Reason::SameWithin => {
                "where sizes are below 2^31, the result is the same for all numbers that the sources can have"
            }
            Reason::UnreadWithin => {
                "where sizes are below 2^31, the result differs in bits only that no later instruction looks at"
            }
            Reason::LanesWithin => {
                "where sizes are below 2^31, a mask is as it should be again before anything looks at it"
            }
        }
    }

    /// The same reason, where sizes are below 2^31.
    const fn within(self) -> Reason {
        match self {
            Reason::Same => Reason::SameWithin,
            Reason::Unread => Reason::UnreadWithin,
            Reason::Lanes => Reason::LanesWithin,
            Reason::Bytes => Reason::BytesWithin,
            Reason::Halves => Reason::HalvesWithin,
            other => other,
        }
    }
}

/// What is known of a kernel.
#[derive(Debug)]
pub struct Prover<'a> {
    kernel: &'a Kernel,
    program: &'a Program,
    known: Option<Known>,
    /// The same of launches with sizes below 2^31, once somebody asked.
    known_small: OnceCell<Option<Known>>,
}

/// What is known of a kernel whose program flow can be followed.
#[derive(Debug)]
struct Known {
    flow: Flow,
    lanes: usize,
    /// At the beginning of each block that is reached.
    states: Vec<Option<State>>,
    /// At the end of each block.
    demands: Vec<Demand>,
    /// Of each instruction.
    facts: Vec<Facts>,
    /// Of each instruction that is reached.
    seen: Vec<Option<Seen>>,
    /// Scalar registers that are looked at after each instruction, and SCC.
    live: Vec<(masks::Set, bool)>,
}

impl<'a> Prover<'a> {
    /// Looks at a kernel.
    ///
    /// # Errors
    /// The kernel's code cannot be decoded.
    pub fn new(code: &CodeObject, kernel: &'a Kernel) -> Result<Prover<'a>, DecodeError> {
        let program = code.program(kernel).map_err(Clone::clone)?;
        Ok(Prover {
            kernel,
            program,
            known: Known::of(program, &Launches::any(kernel)),
            known_small: OnceCell::new(),
        })
    }

    /// Why no launch can show a mutation, where that is known.
    pub fn equivalent(&self, mutation: &Mutation) -> Option<Reason> {
        if let Some(text) = mutation.kind.equivalent() {
            return Some(Reason::Kind(text));
        }
        let Patch::Bytes { pc, bytes } = &mutation.patch else {
            let insts = self.program.insts();
            return (!insts.iter().any(modes::is_of_singles)).then_some(Reason::Mode);
        };
        self.proof(self.known.as_ref()?, &Launches::any(self.kernel), *pc, bytes)
    }

    /// Why no launch can show a mutation whose sizes are below 2^31: the numbers of [`Kernel::leading_numbers`], which the caller knows to be
    /// sizes. `None` where that is not known, and where [`Prover::equivalent`] knows more.
    pub fn equivalent_within(&self, mutation: &Mutation) -> Option<Reason> {
        let Patch::Bytes { pc, bytes } = &mutation.patch else {
            return None;
        };
        if self.equivalent(mutation).is_some() {
            return None;
        }
        let launches = Launches::small(self.kernel);
        let known = self
            .known_small
            .get_or_init(|| Known::of(self.program, &launches));
        self.proof(known.as_ref()?, &launches, *pc, bytes)
            .map(Reason::within)
    }

    fn proof(&self, known: &Known, launches: &Launches<'_>, pc: i64, bytes: &[u8]) -> Option<Reason> {
        let index = self.program.index_at(pc)?;
        let mutants = self.program.lowered(pc, bytes)?;
        let insts = self.program.insts().get(index..index + mutants.len())?;
        let halves = insts.iter().filter(|inst| i64::from(inst.pc) == pc).count();
        let next = self.program.insts().get(index + halves);
        if halves != mutants.len() || next.is_some_and(|inst| i64::from(inst.pc) == pc) {
            return None;
        }
        let changed: Vec<(usize, &Inst)> = (index..)
            .zip(&mutants)
            .filter(|(at, mutant)| !differ::is_same(&self.program.insts()[*at], mutant))
            .collect();
        let mut reason = Reason::Same;
        for (at, mutant) in &changed {
            reason = reason.max(self.replaced(known, launches, *at, mutant)?);
        }
        // What the second half of a dual instruction has for sources is known as long as the first is as it was.
        (reason == Reason::Same || changed.len() == 1).then_some(reason)
    }

    /// Why an instruction may take the place of another.
    fn replaced(
        &self,
        known: &Known,
        launches: &Launches<'_>,
        index: usize,
        mutant: &Inst,
    ) -> Option<Reason> {
        let inst = self.program.insts().get(index)?;
        let state = known.state_before(self.program, launches, index)?;
        if let Some(difference) = differ::between(inst, mutant, &state, known.lanes) {
            if difference.is_nothing() {
                return Some(Reason::Same);
            }
            let after = known.demand_after(self.program, index);
            if difference.is_unread(inst, &after) {
                // What the mutant looks at has to be right: what differs must not come back to it.
                let (mut before, mut before_mutant) = (after.clone(), after);
                let facts = known.facts[index];
                before.step_back(inst, facts, known.lanes);
                let numbers = state.numbers(mutant);
                before_mutant.step_back(mutant, Facts { numbers, ..facts }, known.lanes);
                if before.contains(&before_mutant) {
                    return Some(Reason::Unread);
                }
            }
        }
        lanes::restored(self.program, known, &state.masks, index, mutant)
            .or_else(|| cases::proven(self.program, known, launches, index, mutant))
    }
}

impl Known {
    fn of(program: &Program, launches: &Launches<'_>) -> Option<Known> {
        // Numbers of registers depend on the instructions before.
        if program
            .insts()
            .iter()
            .any(|inst| inst.op == crate::isa::Op::SSetVgprMsb)
        {
            return None;
        }
        let flow = Flow::of(program)?;
        let insts = program.insts();
        let unknown = vec![Facts::NONE; insts.len()];
        let lanes = program.lanes();
        let demands = backwards(&flow, program, &unknown, 0);
        let live = live(&flow, program, &demands, &unknown);
        let states = forwards(&flow, program, launches, &live);
        let facts = facts(&flow, program, launches, &states);
        let modes = modes::of_each(&flow, program, launches.kernel.descriptor.mode());
        let seen = seen(&flow, program, launches, &states, &modes);
        let demands = backwards(&flow, program, &facts, program.registers());
        Some(Known {
            flow,
            lanes,
            states,
            demands,
            facts,
            seen,
            live,
        })
    }

    /// What is known before an instruction; `None` where it is not reached.
    fn state_before(&self, program: &Program, launches: &Launches<'_>, index: usize) -> Option<State> {
        let block = self.flow.block_of(index);
        let mut state = self.states.get(block)?.clone()?;
        for inst in program.insts().get(self.flow.block(block).start..index)? {
            state.step(inst, launches);
        }
        Some(state)
    }

    /// What is looked at after an instruction.
    fn demand_after(&self, program: &Program, index: usize) -> Demand {
        let block = self.flow.block_of(index);
        let mut demand = self.demands[block].clone();
        let range = index + 1..self.flow.block(block).end;
        for at in range.rev() {
            demand.step_back(&program.insts()[at], self.facts[at], self.lanes);
        }
        demand
    }
}

/// What is known at the beginning of each block that is reached.
fn forwards(
    flow: &Flow,
    program: &Program,
    launches: &Launches<'_>,
    live: &[(masks::Set, bool)],
) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; flow.len()];
    let mut visits = vec![0; flow.len()];
    let entry = State::at_entry(launches, program.isa(), program.registers(), program.lanes());
    states[flow.entry] = Some(entry);
    let mut pending = BTreeSet::from([flow.entry]);
    while let Some(block) = pending.pop_first() {
        let Some(mut state) = states[block].clone() else {
            continue;
        };
        for index in flow.block(block) {
            state.step(&program.insts()[index], launches);
        }
        let (read, _) = live[flow.block(block).end - 1];
        state.drop_views(|n| read & masks::bit(n) != 0);
        for after in flow.after(block) {
            let changed = match &mut states[*after] {
                Some(known) => {
                    visits[*after] += 1;
                    known.join(&state, visits[*after] > PATIENCE)
                }
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if changed {
                pending.insert(*after);
            }
        }
    }
    states
}

/// What is known of each instruction.
fn facts(flow: &Flow, program: &Program, launches: &Launches<'_>, states: &[Option<State>]) -> Vec<Facts> {
    let mut facts = vec![Facts::NONE; program.insts().len()];
    for (block, state) in states.iter().enumerate() {
        let Some(mut state) = state.clone() else { continue };
        for index in flow.block(block) {
            let inst = &program.insts()[index];
            facts[index] = Facts {
                change: state.change(inst),
                numbers: state.numbers(inst),
            };
            state.step(inst, launches);
        }
    }
    facts
}

/// What is known before each instruction that is reached, and of its result.
fn seen(
    flow: &Flow,
    program: &Program,
    launches: &Launches<'_>,
    states: &[Option<State>],
    modes: &[Option<u32>],
) -> Vec<Option<Seen>> {
    let mut seen = vec![None; program.insts().len()];
    for (block, state) in states.iter().enumerate() {
        let Some(mut state) = state.clone() else { continue };
        for index in flow.block(block) {
            let inst = &program.insts()[index];
            seen[index] = Some(Seen {
                sources: state.sources(inst),
                result: state.result(inst, launches),
                mode: modes[index].map(|bits| modes::mode(program.isa(), bits)),
                restored: state.masks.restored(inst),
            });
            state.step(inst, launches);
        }
    }
    seen
}

/// What is looked at after each block, in kernels of so many vector registers.
fn backwards(flow: &Flow, program: &Program, facts: &[Facts], registers: usize) -> Vec<Demand> {
    let mut demands = vec![Demand::nothing(registers, program.lanes()); flow.len()];
    let mut before = vec![vec![]; flow.len()];
    for block in 0..flow.len() {
        for after in flow.after(block) {
            before[*after].push(block);
        }
    }
    let mut pending: BTreeSet<usize> = (0..flow.len()).collect();
    while let Some(block) = pending.pop_last() {
        let mut demand = demands[block].clone();
        for index in flow.block(block).rev() {
            demand.step_back(&program.insts()[index], facts[index], program.lanes());
        }
        for earlier in &before[block] {
            if demands[*earlier].join(&demand) {
                pending.insert(*earlier);
            }
        }
    }
    demands
}

/// The scalar registers that are looked at after each instruction, and SCC.
fn live(flow: &Flow, program: &Program, demands: &[Demand], facts: &[Facts]) -> Vec<(masks::Set, bool)> {
    let mut live = vec![(0, false); program.insts().len()];
    for (block, demand) in demands.iter().enumerate() {
        let mut demand = demand.clone();
        for index in flow.block(block).rev() {
            let read = (0..128).filter(|n| demand.scalar[*n] != 0);
            live[index] = (read.map(|n| 1 << n).sum(), demand.scc);
            demand.step_back(&program.insts()[index], facts[index], program.lanes());
        }
    }
    live
}
