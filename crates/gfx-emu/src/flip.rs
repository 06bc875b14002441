//! One instruction whose results are wrong, in every kernel of a launch: whoever looks at what kernels compute must notice.
//!
//! [`crate::Mutation`] changes one instruction at one place, for tests that know the kernel. This changes a mnemonic wherever it
//! is, for programs of others. What is flipped of a result is said in [`crate::exec`]'s module of this name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::code::{CodeObject, Kernel};
use crate::isa::{DecodeError, Name, Program, names};

/// An instruction whose results are flipped, and how many were by all launches that got it or a copy of it.
#[derive(Clone, Copy, Debug)]
pub struct Flip {
    name: Name,
    /// For the life of the process, so that options stay a plain value. A launch that faults counts as well.
    results: &'static AtomicU64,
}

/// A text that names no instruction whose result can be flipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` names no instruction that leaves a result in registers or memory; expected is a mnemonic of one of the cards without \
     `_e32` or the like{}",
    such_as(near)
)]
pub struct NoResult {
    /// The text.
    pub text: String,
    /// Mnemonics that begin as it does.
    pub near: Vec<String>,
}

fn such_as(near: &[String]) -> String {
    match near {
        [] => ", such as v_add_f32".to_owned(),
        near => format!(", such as {}", near.join(", ")),
    }
}

impl Flip {
    /// Mnemonics that an error names at most.
    const NEAR: usize = 8;

    /// The instruction of a mnemonic, as [`crate::disassemble`] prints it without the suffix of its encoding.
    ///
    /// # Errors
    /// [`NoResult`] where no card has an instruction of that name, or it leaves no result: waits, branches, barriers.
    pub fn of(text: &str) -> Result<Flip, NoResult> {
        let all: Vec<Name> = names()
            .filter(|(_, op)| op.leaves_a_result())
            .map(|(name, _)| name)
            .collect();
        if let Some(name) = all.iter().find(|name| name.to_string() == text) {
            return Ok(Flip {
                name: *name,
                results: Box::leak(Box::default()),
            });
        }
        let all: BTreeSet<String> = all.iter().map(Name::to_string).collect();
        // As much of the text as some mnemonic begins with.
        let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
        let near = ends
            .map(|end| {
                all.iter()
                    .filter(|name| name.starts_with(&text[..end]))
                    .take(Self::NEAR)
                    .cloned()
                    .collect()
            })
            .find(|near: &Vec<String>| !near.is_empty());
        Err(NoResult {
            text: text.to_owned(),
            near: near.unwrap_or_default(),
        })
    }
}

impl Flip {
    /// How many results were flipped so far: one a lane, or one of a scalar.
    pub fn results(&self) -> u64 {
        self.results.load(Relaxed)
    }
}

impl fmt::Display for Flip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// Where a program has the instruction.
#[derive(Debug)]
pub(crate) struct Flips {
    /// For each instruction the index of the first one from there on that is flipped.
    next: Vec<usize>,
    results: &'static AtomicU64,
}

impl Flips {
    /// `None` where the program does not have it: such a kernel runs as it always does.
    pub(crate) fn of(flip: Flip, program: &Program) -> Option<Flips> {
        let mut first = usize::MAX;
        let mut next: Vec<usize> = program
            .names()
            .iter()
            .enumerate()
            .rev()
            .map(|(index, name)| {
                if *name == flip.name {
                    first = index;
                }
                first
            })
            .collect();
        next.reverse();
        let results = flip.results;
        (first != usize::MAX).then_some(Flips { next, results })
    }

    /// So many results were flipped.
    pub(crate) fn count(&self, results: u64) {
        self.results.fetch_add(results, Relaxed);
    }

    /// Whether one of those from `index` on and before `end` is.
    pub(crate) fn within(&self, index: usize, end: usize) -> bool {
        self.next.get(index).is_some_and(|next| *next < end)
    }
}

impl CodeObject {
    /// The mnemonics of the instructions that `kernel` can reach and that leave a result, as [`Flip::of`] takes them.
    ///
    /// # Errors
    /// The kernel's code cannot be decoded.
    pub fn mnemonics(&self, kernel: &Kernel) -> Result<BTreeSet<String>, DecodeError> {
        let program = self.program(kernel).map_err(Clone::clone)?;
        let named = program.names().iter().zip(program.insts());
        let flippable = named.filter(|(_, inst)| inst.op.leaves_a_result());
        Ok(flippable.map(|(name, _)| name.to_string()).collect())
    }
}
