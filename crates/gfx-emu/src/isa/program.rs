//! A kernel's instructions, decoded once: what can be reached from its entry, in order of address.

mod error;
mod registers;
mod run;
mod walk;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::decode;
use super::instruction::{Isa, Name};
use super::lower::{self, AGPR, Inst};
use super::mutate::{Mutagen, Mutant};
use super::print;
use crate::Target;
use crate::cover::Marks;
use crate::exec::jit::Compiled;
use crate::fault::FaultKind;
pub use error::DecodeError;
use registers::{most_registers, names_at_run_time};
pub(crate) use run::Run;
use walk::{DecodeWalk, branch_target};

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
        let walk = DecodeWalk { isa, lanes, code };
        let mut reached = walk.follow(code.entry, &BTreeMap::new())?;
        let declared = most_registers(reached.values());
        walk.add_callees(&mut reached);
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
