//! Executes waves: fetches decoded instructions and changes the state of one wave, its workgroup's LDS and device memory.
//!
//! Waits and delays do nothing here: every instruction is complete before the next begins. What an operation computes
//! stands in the table of [`crate::isa::ops`]; this module applies it to registers. Scheduling waves is the launcher's.

mod atomic;
mod control;
mod convert;
mod cube;
mod division;
mod dpp;
mod int;
mod lane;
mod matrix;
mod memory;
mod port;
mod probe;
mod salu;
mod scalar_fn;
mod share;
mod transcendental;
mod valu;
mod vector;

pub use probe::Probe;

use crate::fault::FaultKind;
use crate::fp::Mode;
use crate::isa::{Inst, Program, Unit};
use crate::wave::{Group, Stop, Wave};

/// What went wrong, and in which lane when one is to blame.
type Trouble = (Option<usize>, FaultKind);

/// Where the wave goes on.
enum Flow {
    /// At the next instruction.
    Next,
    /// At the instruction with this index.
    Jump(usize),
    /// Not now.
    Stop(Stop),
}

/// Runs a wave to its next barrier or its end. Every instruction takes one from `budget`; none left is a fault. A fault
/// comes with the byte offset of its instruction from the kernel's entry.
pub(crate) fn run<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    budget: &mut u64,
) -> Result<Stop, (usize, Option<usize>, FaultKind)> {
    let limit = *budget;
    let mut mode = enter(wave, program).map_err(|kind| (program.pc(wave.pc), None, kind))?;
    let insts = program.insts();
    loop {
        let Some(inst) = insts.get(wave.pc) else {
            return Err((program.pc(wave.pc), None, program.wild_jump(i64::MAX)));
        };
        let Some(left) = budget.checked_sub(u64::from(inst.weight)) else {
            return Err((program.pc(wave.pc), None, FaultKind::Watchdog { limit }));
        };
        *budget = left;
        let flow = match inst.unit {
            Unit::Scalar => {
                salu::execute(wave, inst);
                Ok(Flow::Next)
            }
            Unit::Control => control::execute(wave, program, group, inst, &mut mode),
            _ => execute(wave, group, insts, inst, mode),
        };
        match flow {
            Ok(Flow::Next) => wave.pc += 1,
            Ok(Flow::Jump(index)) => wave.pc = index,
            Ok(Flow::Stop(stop)) => {
                wave.pc += 1;
                return Ok(stop);
            }
            Err((lane, kind)) => {
                let pc = program.pc(wave.pc);
                return Err((pc, lane, name(kind, program, pc)));
            }
        }
    }
}

/// Checks what a wave brings along before its first instruction, and after each barrier.
fn enter<const W: usize>(wave: &Wave<W>, program: &Program) -> Result<Mode, FaultKind> {
    if program.vgprs() > wave.vgpr.len() {
        let (named, given) = (program.vgprs(), wave.vgpr.len());
        let what = format!("code that names {named} vector registers in a wave of {given}");
        return Err(FaultKind::Unimplemented { what });
    }
    control::mode(wave.mode)
}

/// An instruction that cannot be executed is named by the one place that knows the program.
fn name(kind: FaultKind, program: &Program, pc: usize) -> FaultKind {
    match kind {
        FaultKind::Unimplemented { what } if what.is_empty() => FaultKind::Unimplemented {
            what: program.describe(pc),
        },
        other => other,
    }
}

/// The trouble of an instruction without semantics; [`name`] fills in which.
fn unimplemented() -> Trouble {
    (None, FaultKind::Unimplemented { what: String::new() })
}

/// Vector and memory instructions.
#[inline]
fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    insts: &[Inst],
    inst: &Inst,
    mode: Mode,
) -> Result<Flow, Trouble> {
    wave.active = wave.exec();
    if let Some((register, dpp)) = &inst.dpp {
        dpp::apply(wave, usize::from(*register), dpp)?;
    }
    if inst.entangled {
        return entangled(wave, insts, inst, mode);
    }
    match inst.unit {
        Unit::Lane => valu::execute(wave, inst, mode),
        Unit::Compare => valu::execute_compare(wave, inst),
        Unit::Vector => vector::execute(wave, inst, mode)?,
        Unit::ScalarMemory => memory::scalar(wave, group, inst)?,
        Unit::Memory => memory::execute(wave, group, inst)?,
        Unit::Atomic => atomic::execute(wave, group, inst)?,
        Unit::Share => share::execute(wave, group, inst)?,
        Unit::Scalar | Unit::Control => {}
    }
    Ok(Flow::Next)
}

/// Both halves of a dual instruction, when each overwrites what the other reads: the second must still see the registers
/// as they were, so the first result is kept aside.
#[cold]
fn entangled<const W: usize>(
    wave: &mut Wave<W>,
    insts: &[Inst],
    first: &Inst,
    mode: Mode,
) -> Result<Flow, Trouble> {
    let second = insts.get(wave.pc + 1).ok_or_else(unimplemented)?;
    let register = usize::from(first.dst);
    let mut row = wave.vgpr[register];
    for (inst, swap) in [(first, true), (second, false)] {
        match inst.unit {
            Unit::Lane => valu::execute(wave, inst, mode),
            Unit::Vector => vector::execute(wave, inst, mode)?,
            _ => return Err(unimplemented()),
        }
        if swap {
            std::mem::swap(&mut row, &mut wave.vgpr[register]);
        }
    }
    wave.vgpr[register] = row;
    Ok(Flow::Jump(wave.pc + 2))
}
