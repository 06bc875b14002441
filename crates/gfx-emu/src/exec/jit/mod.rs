//! Kernels as machine code of the host.
//!
//! A program that is executed often enough is compiled as a whole ([`compile`]). The instructions that kernels consist of become a few
//! instructions of AVX-512 each: a row of lanes is two or four of the host's registers, EXEC is the mask under which they are
//! written. Every other instruction is a call of the interpreter's function for it. What changes more than registers
//! and memory (barriers, calls, messages, modes) is left to the interpreter, which comes back to the compiled code after it.
//!
//! Results are the interpreter's bits. What x86 computes in another way, NaNs above all, is noticed when it happens, and then the
//! interpreter's function is called for the instruction. The watchdog's budget is taken piece by piece, and a piece that it does not
//! cover is the interpreter's.

#[cfg(not(target_arch = "x86_64"))]
mod absent;
#[cfg(target_arch = "x86_64")]
mod asm;
#[cfg(target_arch = "x86_64")]
mod compile;
#[cfg(target_arch = "x86_64")]
mod double;
#[cfg(all(test, target_arch = "x86_64"))]
mod draw;
#[cfg(all(test, target_arch = "x86_64"))]
mod encoding;
#[cfg(target_arch = "x86_64")]
mod float;
#[cfg(all(test, target_arch = "x86_64"))]
mod fuzz;
#[cfg(target_arch = "x86_64")]
mod half;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod masks;
#[cfg(target_arch = "x86_64")]
mod matrix;
#[cfg(target_arch = "x86_64")]
mod memory;
#[cfg(target_arch = "x86_64")]
mod native;
#[cfg(target_arch = "x86_64")]
mod opcodes;
#[cfg(target_arch = "x86_64")]
mod pair;
#[cfg(target_arch = "x86_64")]
mod parts;
#[cfg(target_arch = "x86_64")]
mod patterns;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod scalar;
#[cfg(target_arch = "x86_64")]
mod source;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[cfg(not(target_arch = "x86_64"))]
use self::absent::{CompiledProgram, compile, is_possible};
#[cfg(target_arch = "x86_64")]
use self::compile::{CompiledProgram, compile, is_possible};
use super::Trouble;
use super::host::Host;
use crate::fp::Mode;
use crate::isa::Program;
use crate::wave::{Group, Wave};

/// How many instructions are interpreted before a program is compiled, for each that it consists of, and for any program: what is
/// executed once or twice is not worth its compilation.
const HEAT: (u64, u64) = (60, 4000);

/// How many instructions a wave interprets between two looks at whether its program is to be compiled.
pub(super) const OFTEN: u64 = 2000;

/// Whether kernels are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compiling {
    /// Where the host has AVX-512, once it pays.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Where the host has AVX-512, before the first instruction. For tests.
    AtOnce,
}

/// The compiled code of a program, once there is some.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    code: OnceLock<Option<CompiledProgram>>,
    /// Instructions that were interpreted.
    heat: AtomicU64,
    /// Somebody compiles it.
    taken: AtomicBool,
}

/// Where compiled code came to.
pub(super) enum Left {
    /// The interpreter executes what is here.
    At(usize),
    /// This instruction failed.
    Failed(usize, Trouble),
}

/// What a wave may use of its program's compiled code.
pub(super) struct Guide<'a> {
    compiled: &'a Compiled,
    kernel: Option<&'a CompiledProgram>,
    /// Interpreted instructions from which on the program is compiled.
    limit: u64,
}

impl<'a> Guide<'a> {
    /// For a run of `program`; nothing of it is ever compiled where the host or the settings do not allow it.
    pub(super) fn new(program: &'a Program, compiling: Compiling) -> Option<Guide<'a>> {
        if compiling == Compiling::Off || !is_possible() {
            return None;
        }
        let limit = match compiling {
            Compiling::AtOnce => 0,
            Compiling::Auto | Compiling::Off => HEAT.0 * program.insts().len() as u64 + HEAT.1,
        };
        let mut guide = Guide {
            compiled: program.compiled(),
            kernel: program.compiled().code.get().and_then(Option::as_ref),
            limit,
        };
        guide.warm(program, 0);
        Some(guide)
    }

    /// Notes that so many more instructions were interpreted, and compiles when it pays.
    #[cold]
    pub(super) fn warm(&mut self, program: &Program, instructions: u64) {
        let compiled = self.compiled;
        if self.kernel.is_some() {
            return;
        }
        let heat = compiled.heat.fetch_add(instructions, Relaxed) + instructions;
        if heat >= self.limit && !compiled.taken.swap(true, Relaxed) {
            let kernel = compiled.code.get_or_init(|| compile(program));
            self.kernel = kernel.as_ref();
        }
    }

    /// The compiled code for an instruction.
    #[inline(always)]
    pub(super) fn at(&self, pc: usize) -> Option<Way<'a>> {
        let kernel = self.kernel?;
        Some(Way {
            kernel,
            place: kernel.place(pc)?,
        })
    }
}

/// A way into compiled code.
pub(super) struct Way<'a> {
    kernel: &'a CompiledProgram,
    place: u32,
}

impl Way<'_> {
    /// Executes compiled code until there is something for the interpreter to do. `counts`: what is left of the watchdog's budget, and one
    /// more than the highest vector register that the wave may have written.
    #[inline]
    pub(super) fn go<H: Host, const W: usize>(
        &self,
        host: H,
        wave: &mut Wave<W>,
        group: &mut Group<'_>,
        program: &Program,
        mode: Mode,
        counts: (&mut u64, &mut u16),
    ) -> Left {
        let way = (self.place, mode);
        self.kernel.run(host, wave, group, program, way, counts)
    }
}
