//! Kernels with one instruction changed, to see whether anybody notices.

use std::sync::Arc;

use crate::code::{CodeObject, Kernel};
use crate::isa::{Code, DecodeError, Mutagen, MutationKind, Program};

/// The part of MODE for floats: round to nearest even, all subnormals kept.
const KEEPS: u32 = 0xf0;
/// The same without those of single precision.
const FLUSHES: u8 = 0xc0;

/// One change of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The instruction: bytes from the kernel's first one.
    pub pc: i64,
    /// What is wrong with the mutant.
    pub kind: MutationKind,
    /// The instruction as it was, as text.
    pub before: String,
    /// As it is in the mutant.
    pub after: String,
    /// How the machine code changes.
    pub patch: Patch,
}

/// A change of a kernel's machine code or of its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Other bytes at an offset from the kernel's first instruction.
    Bytes {
        /// The offset.
        pc: i64,
        /// The bytes, as many as the instruction has.
        bytes: Vec<u8>,
    },
    /// The kernel starts in a mode that flushes single-precision subnormals.
    Flush,
}

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It is not inside the image.
    #[error("a patch of {bytes} bytes at pc {pc:#x} is outside the code object")]
    Outside {
        /// Offset from the kernel's first instruction.
        pc: i64,
        /// Its length.
        bytes: usize,
    },
    /// What it makes cannot be run.
    #[error("the patched kernel cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
}

impl CodeObject {
    /// Every mutation of a kernel that this emulator knows to make, by ascending `pc`.
    ///
    /// # Errors
    /// The kernel's code cannot be decoded.
    pub fn mutations(&self, kernel: &Kernel) -> Result<Vec<Mutation>, DecodeError> {
        let program = self.program(kernel).map_err(Clone::clone)?;
        let mut mutagen = Mutagen::default();
        let mut all = vec![];
        if kernel.descriptor.mode() & 0xff == KEEPS {
            all.push(Mutation {
                pc: i64::from(program.insts().first().map_or(0, |inst| inst.pc)),
                kind: MutationKind::Mode,
                before: "single-precision subnormals are kept".to_owned(),
                after: "single-precision subnormals are flushed".to_owned(),
                patch: Patch::Flush,
            });
        }
        let mut last = None;
        for inst in program.insts() {
            // The second half of a dual instruction is where the first is.
            if last.replace(inst.pc) == Some(inst.pc) {
                continue;
            }
            let pc = i64::from(inst.pc);
            let mutants = program.mutants(pc, &mut mutagen).into_iter();
            all.extend(mutants.map(|mutant| Mutation {
                pc,
                kind: mutant.kind,
                before: program.text_at(pc as usize),
                after: mutant.text,
                patch: Patch::Bytes {
                    pc,
                    bytes: mutant.bytes,
                },
            }));
        }
        Ok(all)
    }

    /// The kernel with a patch, to be launched with this code object in the kernel's place. Constants and device variables
    /// are those of the code object.
    ///
    /// # Errors
    /// [`PatchError`] when it does not fit, or makes code that cannot be decoded.
    pub fn patched(&self, kernel: &Kernel, patch: &Patch) -> Result<Kernel, PatchError> {
        match patch {
            Patch::Flush => {
                let mut mutant = kernel.with_program(None);
                mutant.descriptor = kernel.descriptor.with_float_mode(FLUSHES);
                Ok(mutant)
            }
            Patch::Bytes { pc, bytes } => {
                let outside = || PatchError::Outside {
                    pc: *pc,
                    bytes: bytes.len(),
                };
                let start = kernel.code_offset().checked_add_signed(*pc);
                let start = start
                    .and_then(|start| usize::try_from(start).ok())
                    .ok_or_else(outside)?;
                let mut image = self.image().to_vec();
                let place = start
                    .checked_add(bytes.len())
                    .and_then(|end| image.get_mut(start..end));
                place.ok_or_else(outside)?.copy_from_slice(bytes);
                let image = Arc::from(image);
                let code = Code {
                    image: &image,
                    ..self.code_of(kernel)
                };
                let lanes = kernel.descriptor.wavefront_size();
                let program = Program::decode(self.target(), lanes, &code)?;
                Ok(kernel.with_program(Some(program)))
            }
        }
    }
}
