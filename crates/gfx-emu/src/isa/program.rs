//! A kernel's instructions, decoded once: what can be reached from its entry, in order of address.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::decode::{self, Invalid};
use super::instruction::{Format, Instruction, Isa, Name, Operand};
use super::lower::{self, AGPR, Inst};
use super::mutate::{Mutagen, Mutant};
use super::ops::Op;
use super::print;
use super::unit::{Condition, Control, TRAP_DEBUG, Unit};
use crate::Target;
use crate::cover::Marks;
use crate::exec::jit::Compiled;
use crate::fault::FaultKind;

/// Why a kernel's code cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The code is for a card this emulator does not execute.
    #[error(
        "the software GPU executes code for {}, not for {target}; compile with --offload-arch=gfx1100",
        Target::EXECUTABLE.map(|target| target.to_string()).join(", ")
    )]
    Target {
        /// The code object's target.
        target: Target,
    },
    /// Words that do not encode an instruction of the table.
    #[error("unknown instruction at pc {pc:#x}: encoding {words}")]
    Unknown {
        /// Byte offset from the kernel's entry.
        pc: i64,
        /// Encoding words in hexadecimal.
        words: String,
    },
    /// The code ends, or a branch leaves it.
    #[error("the code ends at pc {pc:#x} without s_endpgm, or a branch leaves it")]
    End {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
    /// Instructions whose registers have other numbers on one way to them than on another.
    #[error(
        "the instruction at pc {pc:#x} is reached with different `s_set_vgpr_msb` before it, which is not executed here"
    )]
    Banks {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
    /// Two instructions overlap: a branch goes into the middle of one.
    #[error("a branch goes into the middle of the instruction at pc {pc:#x}")]
    Overlap {
        /// Byte offset from the kernel's entry.
        pc: i64,
    },
}

impl DecodeError {
    /// The same error, of code that begins so many bytes before what was decoded.
    #[must_use]
    pub fn moved_by(self, distance: i64) -> DecodeError {
        let there = |pc: i64| pc.saturating_add(distance);
        match self {
            DecodeError::Target { target } => DecodeError::Target { target },
            DecodeError::Unknown { pc, words } => DecodeError::Unknown { pc: there(pc), words },
            DecodeError::End { pc } => DecodeError::End { pc: there(pc) },
            DecodeError::Banks { pc } => DecodeError::Banks { pc: there(pc) },
            DecodeError::Overlap { pc } => DecodeError::Overlap { pc: there(pc) },
        }
    }
}

/// Instructions that a wave executes one after the other, once it is at the first of them. The executor's table has a
/// function for each of them, only waits are between them, and only the last may set EXEC. A branch may go to any of them.
/// So a run begins at each of them, and the runs of the later ones are parts of those of the earlier ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// How many, waits aside; none where the instruction is of another kind.
    pub(crate) count: u16,
    /// What they count, with the waits between and after them.
    pub(crate) cost: u16,
    /// Index of the instruction after the run.
    pub(crate) next: u32,
    /// Index of the first among the instructions of all runs.
    first: u32,
    /// One more than the highest vector register that they may write, or that the one instruction of another kind may.
    pub(crate) touches: u16,
}

impl Run {
    /// No run.
    const NONE: Run = Run {
        count: 0,
        cost: 0,
        next: 0,
        first: 0,
        touches: 0,
    };
    /// Instructions of a run at most, so that what they cost with their waits fits.
    const LONGEST: u16 = 256;

    /// The run of every instruction, which may write registers below `touches`, and what they execute.
    fn all(insts: &[Inst], touches: &[u16]) -> (Vec<Run>, Vec<Inst>) {
        let straight: Vec<Inst> = insts.iter().filter(|inst| inst.quick).cloned().collect();
        let mut runs: Vec<Run> = touches
            .iter()
            .map(|touches| Run {
                touches: *touches,
                ..Run::NONE
            })
            .collect();
        let mut first = straight.len() as u32;
        for (index, inst) in insts.iter().enumerate().rev().filter(|(_, inst)| inst.quick) {
            first -= 1;
            let next = index + usize::from(inst.stride);
            let rest = runs.get(next).copied().unwrap_or(Run::NONE);
            let end = Run {
                next: next as u32,
                ..Run::NONE
            };
            let rest = if (1..Run::LONGEST).contains(&rest.count) && !inst.may_set_exec() {
                rest
            } else {
                end
            };
            runs[index] = Run {
                count: 1 + rest.count,
                cost: inst.cost + rest.cost,
                next: rest.next,
                first,
                touches: rest.touches.max(touches[index]),
            };
        }
        (runs, straight)
    }
}

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Program {
    insts: Vec<Inst>,
    /// What each is called.
    names: Vec<Name>,
    /// The run that begins at each instruction.
    runs: Vec<Run>,
    /// The instructions of runs, one after the other.
    straight: Vec<Inst>,
    /// Index of the entry's instruction.
    start: usize,
    entry: usize,
    image: Arc<[u8]>,
    isa: Isa,
    lanes: usize,
    /// What was executed of it, where that is noted.
    marks: Marks,
    /// Vector and accumulation registers that the kernel names, without the functions that it calls.
    declared: (usize, usize),
    /// The same with them.
    named: (usize, usize),
    /// Its machine code for the host, where there is some.
    compiled: Compiled,
}

/// Machine code with all that it may call.
#[derive(Clone, Debug)]
pub(crate) struct Code<'a> {
    /// The image that the code is a part of.
    pub(crate) image: &'a Arc<[u8]>,
    /// Offset of the first instruction in the image.
    pub(crate) entry: usize,
    /// The executable part of the image.
    pub(crate) segment: Range<usize>,
    /// Offsets of functions that may be called through a pointer.
    pub(crate) functions: &'a [usize],
}

impl Program {
    /// Decodes `text` from its first byte on, for waves of `lanes` lanes.
    pub(crate) fn of_text(target: Target, lanes: usize, text: &[u8]) -> Result<Program, DecodeError> {
        let code = Code {
            image: &Arc::from(text),
            entry: 0,
            segment: 0..text.len(),
            functions: &[],
        };
        Program::decode(target, lanes, &code)
    }

    /// Decodes what can be reached from the entry, for waves of `lanes` lanes.
    pub(crate) fn decode(target: Target, lanes: usize, code: &Code<'_>) -> Result<Program, DecodeError> {
        let isa = Isa::of(target).filter(|isa| target.is_executable() && isa.has_waves_of(lanes));
        let isa = isa.ok_or(DecodeError::Target { target })?;
        let flow = Flow { isa, lanes, code };
        let mut reached = flow.follow(code.entry, &BTreeMap::new())?;
        let declared = most_registers(reached.values());
        flow.add_callees(&mut reached);
        let mut insts = Vec::with_capacity(reached.len());
        let mut index_of = BTreeMap::new();
        let mut branches = Vec::new();
        let mut touches = Vec::with_capacity(reached.len());
        let mut names = Vec::with_capacity(reached.len());
        let anywhere = reached.values().any(|inst| names_at_run_time(inst.row.op));
        for (&offset, inst) in &reached {
            index_of.insert(offset, insts.len() as u32);
            if let Some(target) = branch_target(inst, offset) {
                branches.push((insts.len(), target));
            }
            let touched = match most_registers([inst]) {
                _ if anywhere => u16::MAX,
                (vector, 0) => vector as u16,
                (_, accumulation) => (AGPR + accumulation) as u16,
            };
            let pc = (offset as i64 - code.entry as i64) as i32;
            lower::lower(inst, pc, &mut insts, &mut names);
            touches.resize(insts.len(), touched);
        }
        for (index, target) in branches {
            // Every target was reached, or `follow` had failed.
            insts[index].target = index_of.get(&(target as usize)).copied().unwrap_or(u32::MAX);
        }
        let reaching = insts.iter_mut().filter(|inst| inst.unit.reaches_memory());
        for (number, inst) in reaching.enumerate() {
            inst.place = number as u8;
        }
        for index in 0..insts.len() {
            let (until, after) = insts.split_at_mut(index + 1);
            if let Some(inst) = until.last_mut() {
                inst.finish(after);
            }
        }
        let (runs, straight) = Run::all(&insts, &touches);
        Ok(Program {
            marks: Marks::of(insts.len()),
            insts,
            names,
            runs,
            straight,
            start: index_of.get(&code.entry).copied().unwrap_or(0) as usize,
            entry: code.entry,
            image: Arc::clone(code.image),
            isa,
            lanes,
            declared,
            named: most_registers(reached.values()),
            compiled: Compiled::default(),
        })
    }

    /// The instruction set.
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Index of the first instruction.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Vector and accumulation registers that the kernel names, without the functions that it calls.
    pub(crate) fn declared(&self) -> (usize, usize) {
        self.declared
    }

    /// Registers that a wave needs so that every instruction finds those it names.
    pub(crate) fn registers(&self) -> usize {
        match self.named {
            (vgprs, 0) => vgprs,
            (_, agprs) => AGPR + agprs,
        }
    }

    /// Registers that a wave can have, accumulation registers included.
    pub(crate) fn most_registers(&self) -> usize {
        match self.isa {
            Isa::Gfx125 => 4 * AGPR,
            isa if isa.has_accumulation() => 2 * AGPR,
            _ => AGPR,
        }
    }

    /// Lanes of the waves that it is for.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// Its machine code for the host.
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The instructions.
    pub(crate) fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// What each of the instructions is called.
    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    /// What was executed.
    #[inline(always)]
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Every mutant of the instruction `pc` bytes after the entry.
    pub(crate) fn mutants(&self, pc: i64, mutagen: &mut Mutagen) -> Vec<Mutant> {
        let at = usize::try_from(self.entry as i64 + pc).ok();
        let text = at.and_then(|at| self.image.get(at..)).unwrap_or_default();
        mutagen.mutants(self.isa, self.lanes, text)
    }

    /// The run that begins at an instruction.
    #[inline(always)]
    pub(crate) fn run_at(&self, index: usize) -> Run {
        self.runs.get(index).copied().unwrap_or(Run::NONE)
    }

    /// The instructions of a run.
    #[inline(always)]
    pub(crate) fn straight(&self, run: Run) -> &[Inst] {
        let first = run.first as usize;
        self.straight
            .get(first..first + usize::from(run.count))
            .unwrap_or_default()
    }

    /// The instruction of other bytes at byte `pc` from the entry, with its halves if it is a dual one. Where it branches to is not
    /// known.
    pub(crate) fn lowered(&self, pc: i64, bytes: &[u8]) -> Option<Vec<Inst>> {
        let inst = decode::decode(self.isa, self.lanes, bytes).ok()?;
        let mut insts = vec![];
        lower::lower(&inst, i32::try_from(pc).ok()?, &mut insts, &mut vec![]);
        (usize::from(inst.size) == bytes.len()).then_some(insts)
    }

    /// Byte offset of instruction `index` from the entry.
    pub(crate) fn pc(&self, index: usize) -> usize {
        let inst = self.insts.get(index);
        // Offsets before the entry wrap.
        inst.map_or(self.image.len() - self.entry, |inst| inst.pc as usize)
    }

    /// Index of the instruction at byte `offset` from the entry.
    pub(crate) fn index_at(&self, offset: i64) -> Option<usize> {
        let offset = i32::try_from(offset).ok()?;
        let index = self.insts.partition_point(|inst| inst.pc < offset);
        (self.insts.get(index)?.pc == offset).then_some(index)
    }

    /// A jump to byte `offset` from the entry, where there is no instruction.
    pub(crate) fn wild_jump(&self, offset: i64) -> FaultKind {
        FaultKind::WildJump { target: offset }
    }

    /// Assembly text of the instruction `pc` bytes after the entry.
    pub(crate) fn text_at(&self, pc: usize) -> String {
        match self
            .image
            .get(self.entry.wrapping_add(pc)..)
            .map(|text| decode::decode(self.isa, self.lanes, text))
        {
            Some(Ok(inst)) => print::print(&inst),
            _ => "no instruction".into(),
        }
    }

    /// Assembly text and encoding words of the instruction `pc` bytes after the entry.
    pub(crate) fn describe(&self, pc: usize) -> String {
        let offset = self.entry.wrapping_add(pc);
        let size = self
            .image
            .get(offset..)
            .and_then(|text| decode::decode(self.isa, self.lanes, text).ok())
            .map_or(8, |i| i.size);
        format!(
            "`{}`, encoding {}",
            self.text_at(pc),
            hex(&self.image, offset, usize::from(size))
        )
    }
}

/// Encoding words at `offset` in hexadecimal.
pub(super) fn hex(text: &[u8], offset: usize, size: usize) -> String {
    let bytes = text.get(offset..).unwrap_or_default();
    let words = bytes.chunks_exact(4).take(size / 4);
    let words = words.map(|w| w.iter().rev().map(|b| format!("{b:02x}")).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

/// What is known of the code while it is decoded.
struct Flow<'a> {
    isa: Isa,
    lanes: usize,
    code: &'a Code<'a>,
}

impl Flow<'_> {
    /// Follows the program flow from `start`, but into no function that is called, and not on from what is known already.
    fn follow(
        &self,
        start: usize,
        known: &BTreeMap<usize, Instruction>,
    ) -> Result<BTreeMap<usize, Instruction>, DecodeError> {
        let relative = |offset: i64| offset - self.code.entry as i64;
        let mut reached = BTreeMap::new();
        // Functions begin and end with the first banks of registers.
        let mut pending = vec![(start as i64, 0)];
        while let Some((start, mut banks)) = pending.pop() {
            let mut offset = start;
            loop {
                let at = usize::try_from(offset)
                    .ok()
                    .filter(|at| self.code.segment.contains(at));
                let at = at.ok_or(DecodeError::End { pc: relative(offset) })?;
                if let Some(there) = reached.get(&at).or_else(|| known.get(&at)) {
                    let there: &Instruction = there;
                    if there.banks != banks && there.row.op != Op::SSetVgprMsb {
                        return Err(DecodeError::Banks { pc: relative(offset) });
                    }
                    break;
                }
                let text = self.code.image.get(at..self.code.segment.end).unwrap_or_default();
                let inst = decode::decode(self.isa, self.lanes, text).map_err(|invalid| match invalid {
                    Invalid::Unknown => DecodeError::Unknown {
                        pc: relative(offset),
                        words: hex(text, 0, 8),
                    },
                    Invalid::Truncated => DecodeError::End { pc: relative(offset) },
                })?;
                let inst = inst.in_banks(banks);
                if inst.row.op == Op::SSetVgprMsb {
                    banks = inst.imm as u8;
                }
                offset += i64::from(inst.size);
                pending.extend(branch_target(&inst, at).map(|target| (target, banks)));
                let last = match inst.row.op.unit() {
                    Unit::Control(Control::End | Control::Branch(Condition::Always) | Control::SetPc) => true,
                    // Compilers put nothing behind a trap that does not return.
                    Unit::Control(Control::Trap) => inst.imm != TRAP_DEBUG,
                    _ => false,
                };
                reached.insert(at, inst);
                if last {
                    break;
                }
            }
        }
        match overlap(&reached) {
            Some(at) => Err(DecodeError::Overlap {
                pc: relative(at as i64),
            }),
            None => Ok(reached),
        }
    }

    /// Adds the functions that may be called from what was reached: those whose address an instruction computes, and, once
    /// something jumps to a register, those that have their address in memory. What cannot be decoded is not added; a call
    /// of it is a fault.
    fn add_callees(&self, reached: &mut BTreeMap<usize, Instruction>) {
        let jumps = |inst: &Instruction| {
            matches!(
                inst.row.op.unit(),
                Unit::Control(Control::SwapPc | Control::SetPc)
            )
        };
        if !reached.values().any(jumps) {
            return;
        }
        let mut pending = computed_addresses(reached.iter(), reached);
        pending.extend(self.code.functions);
        while let Some(start) = pending.pop() {
            if reached.contains_key(&start) {
                continue;
            }
            // Long branches lead back into the kernel: each would follow all of it once more.
            let Ok(function) = self.follow(start, reached) else {
                continue;
            };
            let fits = |(at, inst): (&usize, &Instruction)| {
                let before = reached.range(..at).next_back();
                let next = reached.range(at..).next();
                before.is_none_or(|(start, inst)| start + usize::from(inst.size) <= *at)
                    && next.is_none_or(|(start, _)| at + usize::from(inst.size) <= *start)
            };
            if function.iter().all(fits) {
                let added: Vec<usize> = function.keys().copied().collect();
                reached.extend(function);
                let added = added.iter().filter_map(|at| reached.get_key_value(at));
                pending.extend(computed_addresses(added, reached));
            }
        }
    }
}

/// Where an instruction begins before the one in front of it ends.
fn overlap(reached: &BTreeMap<usize, Instruction>) -> Option<usize> {
    let mut end = 0;
    reached.iter().find_map(|(&at, inst)| {
        let overlaps = at < end;
        end = at + usize::from(inst.size);
        overlaps.then_some(at)
    })
}

/// The offsets that an `s_getpc_b64` of `among` and the two additions after it compute: compilers address functions and constants
/// so. Tensile, which generates the kernels of rocBLAS and hipBLASLt, puts the distance into a register first, by `s_add_i32` of two
/// constants.
fn computed_addresses<'a>(
    among: impl Iterator<Item = (&'a usize, &'a Instruction)>,
    reached: &BTreeMap<usize, Instruction>,
) -> Vec<usize> {
    /// How many instructions after `s_getpc_b64` are searched for the additions: others may come between them.
    const WITHIN: usize = 16;
    let literal = |operand| match operand {
        Operand::Literal(value) => Some(value),
        Operand::Inline(code @ 128..=192) => Some(u32::from(code) - 128),
        Operand::Inline(code @ 193..=208) => Some((192 - i32::from(code)).cast_unsigned()),
        _ => None,
    };
    let starts = among.filter_map(|(at, inst)| match (inst.row.op, inst.dst) {
        (Op::SGetpc, Operand::Scalar(low)) => Some((*at, usize::from(inst.size), low)),
        _ => None,
    });
    let target = |(at, size, low): (usize, usize, u8)| {
        let next = reached.range(at + size..).take(WITHIN);
        let addition = |op, register| {
            let mut additions = next.clone().filter(|(_, inst)| inst.row.op == op);
            let found = additions.find(|(_, inst)| inst.dst == Operand::Scalar(register))?;
            Some(found.1.src)
        };
        let added = |op, register| addition(op, register)?.into_iter().find_map(literal);
        let distance = |operand| match operand {
            Operand::Scalar(register) => {
                let [a, b, ..] = addition(Op::SAddI32, register)?;
                Some(literal(a)?.wrapping_add(literal(b)?).cast_signed())
            }
            _ => None,
        };
        // GFX12.5 adds 64 bits at once. GFX12 has that as well, and uses it for other things.
        let sums = |(_, inst): &(&usize, &Instruction)| {
            inst.dst == Operand::Scalar(low) && matches!(inst.row.op, Op::SAddU32 | Op::SAddNcU64)
        };
        let (_, first) = next.clone().find(sums)?;
        if first.row.op == Op::SAddNcU64 {
            let distance = first.src.into_iter().find_map(|operand| match operand {
                Operand::Wide(value) => Some(value.cast_signed()),
                operand => literal(operand).map(|value| i64::from(value.cast_signed())),
            })?;
            return usize::try_from(((at + size) as i64).wrapping_add(distance)).ok();
        }
        let high = i64::from(added(Op::SAddcU32, low + 1)?) << 32;
        let low = match added(Op::SAddU32, low) {
            Some(low) => i64::from(low),
            None => i64::from(addition(Op::SAddU32, low)?.into_iter().find_map(distance)?),
        };
        // The constants may belong to something else, and then their sum may overflow.
        usize::try_from(((at + size) as i64).wrapping_add(high).wrapping_add(low)).ok()
    };
    starts.filter_map(target).collect()
}

/// Byte offset a branch goes to.
fn branch_target(inst: &Instruction, offset: usize) -> Option<i64> {
    // The subvector loops branch as well, though nothing executes them.
    let loops = matches!(inst.row.op, Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd);
    let branches = matches!(
        inst.row.op.unit(),
        Unit::Control(Control::Branch(_) | Control::Call)
    ) || loops;
    branches.then(|| offset as i64 + i64::from(inst.size) + 4 * i64::from(inst.imm))
}

/// Whether vector registers are known by number only once an instruction runs: this one, or those after it.
fn names_at_run_time(op: Op) -> bool {
    matches!(
        op.unit(),
        Unit::MoveRelative(_)
            | Unit::SwapRelative
            | Unit::Control(Control::IndexOn | Control::IndexValue | Control::IndexMode)
    )
}

/// One more than the highest vector register, and accumulation register, that any of the instructions names.
fn most_registers<'a>(insts: impl IntoIterator<Item = &'a Instruction>) -> (usize, usize) {
    let halves = insts
        .into_iter()
        .flat_map(|inst| std::iter::once(inst).chain(inst.dual.as_deref()));
    halves
        .map(highest_registers)
        .fold((0, 0), |(vgprs, agprs), (v, a)| (vgprs.max(v), agprs.max(a)))
}

/// One more than the highest vector register, and accumulation register, an instruction names.
fn highest_registers(inst: &Instruction) -> (usize, usize) {
    let signature = inst.row.op.signature();
    let wide = matches!(inst.format, Format::Global | Format::Flat) && inst.base == Operand::None;
    let sources = inst
        .src
        .into_iter()
        .zip(signature.src.iter().copied())
        .enumerate();
    let registers = sources.map(|(i, (operand, kind))| {
        let count = u16::from(inst.source_kind(i, kind).registers(inst.lanes));
        (operand, count + inst.bank_of_source(i))
    });
    let scales = inst
        .scales
        .into_iter()
        .flat_map(|scales| scales.src.map(|operand| (operand, 1_u16)));
    let others = [
        (
            inst.dst,
            u16::from(signature.dst.registers(inst.lanes)) + inst.bank_of_destination(),
        ),
        (inst.address, if wide { 2 } else { 1 } + inst.bank_of_address()),
    ];
    registers
        .chain(scales)
        .chain(others)
        .fold((0, 0), |(vgprs, agprs), (operand, count)| match operand {
            Operand::Vgpr(n) => (vgprs.max(usize::from(n) + usize::from(count)), agprs),
            Operand::Agpr(n) => (vgprs, agprs.max(usize::from(n) + usize::from(count))),
            _ => (vgprs, agprs),
        })
}
