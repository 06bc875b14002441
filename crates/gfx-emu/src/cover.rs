//! What launches executed of each kernel: which instructions, and by which outcomes branches were left.
//!
//! A wave notes where it is, and not what that means: a byte an instruction, set once. [`CodeObject::take_marks`] makes of it
//! a byte for each line of [`CodeObject::listing`]. Launches note it with [`crate::LaunchOptions::cover`]; without, the
//! executor has no code for it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::code::{CodeObject, Kernel};
use crate::isa::{Condition, Control, DecodeError, Inst, Program, Unit};

/// Bits that a wave notes of the instruction it is at.
pub(crate) mod mark {
    /// It was executed by itself.
    pub(crate) const ALONE: u8 = 1;
    /// As a branch that was taken.
    pub(crate) const TAKEN: u8 = 2;
    /// As a branch that was not taken.
    pub(crate) const PASSED: u8 = 4;
    /// With the whole run that begins at it, and the waits after that.
    pub(crate) const RUN: u8 = 8;
    /// With the waits after it.
    pub(crate) const WITH_WAITS: u8 = 16;
}

/// The bits in a line of [`CodeObject::take_marks`].
pub mod covered {
    /// The instruction was executed.
    pub const EXECUTED: u8 = 1;
    /// A branch was taken.
    pub const TAKEN: u8 = 2;
    /// A branch was not taken.
    pub const PASSED: u8 = 4;
}

/// What was noted of a program: a byte for each of its instructions.
#[derive(Debug)]
pub(crate) struct Marks(Box<[AtomicU8]>);

impl Marks {
    /// Nothing of `instructions` instructions.
    pub(crate) fn of(instructions: usize) -> Marks {
        Marks((0..instructions).map(|_| AtomicU8::new(0)).collect())
    }

    /// Notes `bits` of an instruction.
    #[inline(always)]
    pub(crate) fn add(&self, index: usize, bits: u8) {
        // Reading first keeps the line shared between threads once everything is noted.
        if let Some(mark) = self.0.get(index)
            && mark.load(Relaxed) & bits != bits
        {
            mark.fetch_or(bits, Relaxed);
        }
    }

    /// What was noted of each instruction, which is then forgotten. `None` for nothing at all.
    fn take(&self) -> Option<Vec<u8>> {
        let take = |mark: &AtomicU8| match mark.load(Relaxed) {
            0 => 0,
            _ => mark.swap(0, Relaxed),
        };
        let taken: Vec<u8> = self.0.iter().map(take).collect();
        taken.iter().any(|mark| *mark != 0).then_some(taken)
    }
}

/// An instruction that a kernel can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Bytes from the kernel's first instruction; negative in functions that lie before it.
    pub pc: i64,
    /// Assembly text.
    pub text: String,
    /// File and line, where the code object has debug information.
    pub source: Option<(String, u64)>,
    /// Whether it is a branch that may be taken or not.
    pub conditional: bool,
}

/// Whether an instruction is a branch with two outcomes.
fn is_conditional(inst: &Inst) -> bool {
    let Unit::Control(Control::Branch(condition)) = inst.unit else {
        return false;
    };
    !matches!(condition, Condition::Always | Condition::Debugger)
}

/// The indexes of the instructions that lines of a listing begin with: both halves of a dual instruction are one line.
fn lines(program: &Program) -> impl Iterator<Item = (usize, &Inst)> {
    let insts = program.insts();
    let begins = move |index: usize| index == 0 || insts[index - 1].pc != insts[index].pc;
    insts.iter().enumerate().filter(move |(index, _)| begins(*index))
}

impl CodeObject {
    /// The instructions that `kernel` can reach, by ascending `pc`. What lies between and after them is padding.
    ///
    /// # Errors
    /// The kernel's code cannot be decoded.
    pub fn listing(&self, kernel: &Kernel) -> Result<Vec<Listed>, DecodeError> {
        let program = self.program(kernel).map_err(Clone::clone)?;
        let sources = self.sources();
        let line = |(_, inst): (usize, &Inst)| Listed {
            pc: i64::from(inst.pc),
            text: program.text_at(i64::from(inst.pc) as usize),
            source: sources.at(kernel.code_offset().wrapping_add_signed(i64::from(inst.pc))),
            conditional: is_conditional(inst),
        };
        Ok(lines(program).map(line).collect())
    }

    /// What launches with [`crate::LaunchOptions::cover`] have executed of `kernel` since this was last asked: for each line
    /// of [`CodeObject::listing`] bits of [`covered`]. `None` when nothing was.
    pub fn take_marks(&self, kernel: &Kernel) -> Option<Vec<u8>> {
        // A kernel that was not decoded was not launched.
        let program = self.decoded(kernel)?;
        let marks = program.marks().take()?;
        let mut executed = vec![];
        // Up to which instruction a run reaches.
        let mut until = 0;
        for (index, inst) in program.insts().iter().enumerate() {
            let mark = marks.get(index).copied().unwrap_or(0);
            if mark & mark::RUN != 0 {
                until = until.max(program.run_at(index).next as usize);
            }
            if mark & mark::WITH_WAITS != 0 {
                until = until.max(index + usize::from(inst.stride));
            }
            let mut bits = 0;
            if index < until || mark & mark::ALONE != 0 {
                bits |= covered::EXECUTED;
            }
            if is_conditional(inst) {
                bits |= if mark & mark::TAKEN != 0 {
                    covered::TAKEN
                } else {
                    0
                };
                bits |= if mark & mark::PASSED != 0 {
                    covered::PASSED
                } else {
                    0
                };
            }
            executed.push(bits);
        }
        Some(lines(program).map(|(index, _)| executed[index]).collect())
    }
}
