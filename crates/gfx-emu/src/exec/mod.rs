//! Executes waves: fetches decoded instructions and changes the state of one wave, its workgroup's LDS and device memory.
//!
//! Waits and delays do nothing here: every instruction is complete before the next begins. What an operation computes is
//! in the table of [`crate::isa::ops`]; this module applies it to registers. Scheduling waves is the launcher's.

mod address;
mod atomic;
mod batch;
mod buffer;
mod control;
mod convert;
mod count;
mod cube;
mod division;
pub(crate) mod double;
mod dpp;
mod flip;
mod flush;
mod fp8;
mod host;
mod int;
pub(crate) mod jit;
mod lane;
mod matrix;
mod memory;
mod mfma;
mod pair;
mod places;
mod probe;
mod product;
#[cfg(test)]
mod products;
#[cfg(test)]
mod random;
mod salu;
mod scalar_fn;
mod scaled;
mod sdwa;
mod share;
mod space;
mod sparse;
#[cfg(test)]
mod steps;
mod table;
mod tile;
mod tiles;
mod transcendental;
mod valu;
mod vector;
mod watch;

pub use probe::{Probe, Probe64, WaveProbe};

use crate::cover::mark;
use crate::fault::FaultKind;
use crate::fp::Mode;
use crate::isa::{Control, Inst, Program, Src, Unit, matrix_products, reaching_out, registers_alone};
use crate::wave::{Group, Stop, Wave, reg};
use buffer::BufferAccess;
use host::Host;

/// What went wrong, and in which lane when one is to blame.
type Trouble = (Option<usize>, FaultKind);

/// Where the wave goes on.
enum NextPc {
    /// At the next instruction.
    Next,
    /// After the next instruction, the other half of a dual one.
    SkipOne,
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
    #[cfg(target_arch = "x86_64")]
    if let Some(host) = host::Wide::detect() {
        return if group.notes() {
            run_on::<_, W, true>(host, wave, program, group, budget)
        } else {
            run_on::<_, W, false>(host, wave, program, group, budget)
        };
    }
    if group.notes() {
        run_on::<_, W, true>(host::Portable, wave, program, group, budget)
    } else {
        run_on::<_, W, false>(host::Portable, wave, program, group, budget)
    }
}

/// Executes one instruction whose unit [`Unit::is_tabled`], its sources ready, in the lanes of [`Wave::active`].
pub(crate) fn alone<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    #[cfg(target_arch = "x86_64")]
    if let Some(host) = host::Wide::detect() {
        return tabled(host, wave, inst, mode);
    }
    tabled(host::Portable, wave, inst, mode);
}

fn tabled<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    if mode.is_unusual() {
        flush::execute(host, wave, inst, mode);
    } else {
        table::execute(host, wave, inst, mode);
    }
}

/// [`run`] on a host of a certain kind. With `NOTES` it notes what it executes, counts it, or flips it.
fn run_on<H: Host, const W: usize, const NOTES: bool>(
    host: H,
    wave: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    budget: &mut u64,
) -> Result<Stop, (usize, Option<usize>, FaultKind)> {
    let limit = *budget;
    let mut mode = enter(wave, program).map_err(|kind| (program.pc(wave.pc), None, kind))?;
    let insts = program.insts();
    // Where the wave is and what is left to it stay in registers: each instruction's address hangs on the one before it.
    let (mut pc, mut left) = (wave.pc, limit);
    let mut touched = wave.touched;
    let mut guide = if NOTES || group.watch.is_some() {
        None
    } else {
        jit::Guide::new(program, group.compiling)
    };
    // Instructions left when the guide was told last.
    let mut told = left;
    let result = loop {
        if let Some(guide) = &guide
            && let Some(way) = guide.at(pc)
            && !mode.is_unusual()
            && !wave.indexed
        {
            match way.go(host, wave, group, program, mode, (&mut left, &mut touched)) {
                jit::Left::At(index) => pc = index,
                jit::Left::Failed(index, (lane, kind)) => {
                    pc = index;
                    let at = program.pc(pc);
                    break Err((at, lane, name(kind, program, at)));
                }
            }
            told = left;
        }
        let run = program.run_at(pc);
        touched = touched.max(run.touches);
        if run.count > 0
            && !wave.indexed
            && !(NOTES && group.flips_within(pc, run.next as usize))
            && let Some(rest) = left.checked_sub(u64::from(run.cost))
        {
            left = rest;
            wave.active = wave.exec();
            if NOTES {
                if group.cover {
                    program.marks().add(pc, mark::RUN);
                }
                count::run(group, program.straight(run), wave.active, run.cost);
            }
            if mode.is_unusual() {
                for inst in program.straight(run) {
                    flush::execute(host, wave, inst, mode);
                }
            } else {
                for inst in program.straight(run) {
                    debug_assert_eq!(wave.active, wave.exec(), "only the last of a run sets EXEC");
                    table::execute(host, wave, inst, mode);
                }
            }
            pc = run.next as usize;
            continue;
        }
        let Some(inst) = insts.get(pc) else {
            break Err((program.pc(pc), None, program.wild_jump(i64::MAX)));
        };
        let mut stride = usize::from(inst.stride);
        left = match left.checked_sub(u64::from(inst.cost)) {
            Some(left) => left,
            None => {
                // Not with the waits after it, then.
                stride = 1;
                let Some(left) = left.checked_sub(u64::from(inst.weight)) else {
                    break Err((program.pc(pc), None, FaultKind::Watchdog { limit }));
                };
                left
            }
        };
        if NOTES {
            if group.cover {
                let waits = if stride > 1 { mark::WITH_WAITS } else { 0 };
                program.marks().add(pc, mark::ALONE | waits);
            }
            count::alone(wave, group, inst, stride as u64 - 1);
        }
        let flow = match inst.unit {
            Unit::Control(Control::Branch(condition)) => {
                let taken = control::holds(wave, condition);
                if NOTES && group.cover {
                    program
                        .marks()
                        .add(pc, if taken { mark::TAKEN } else { mark::PASSED });
                }
                Ok(if taken {
                    NextPc::Jump(inst.target as usize)
                } else {
                    NextPc::Next
                })
            }
            Unit::Control(control) => control::execute(wave, program, group, inst, control, &mut mode),
            registers_alone!() | matrix_products!() | Unit::Unsupported | reaching_out!() => {
                // The other half of a dual instruction may be executed with this one.
                if NOTES && group.flips_within(pc, pc + 2) {
                    let flipped = [pc, pc + 1].map(|index| group.flips_within(index, index + 1));
                    flip::execute(host, wave, group, (inst, insts.get(pc + 1)), flipped, mode)
                } else {
                    execute(host, wave, group, inst, insts.get(pc + 1), mode)
                }
            }
        };
        match flow {
            Ok(NextPc::Next) => pc += stride,
            Ok(NextPc::Jump(index)) => {
                pc = index;
                if let Some(guide) = &mut guide
                    && told - left > jit::OFTEN
                {
                    guide.warm(program, told - left);
                    told = left;
                }
            }
            Ok(NextPc::SkipOne) => pc += 2,
            Ok(NextPc::Stop(stop)) => {
                pc += 1;
                break Ok(stop);
            }
            Err((lane, kind)) => {
                let at = program.pc(pc);
                break Err((at, lane, name(kind, program, at)));
            }
        }
    };
    if let Some(guide) = &mut guide {
        guide.warm(program, told - left);
    }
    (wave.pc, wave.touched, *budget) = (pc, touched, left);
    result
}

/// Checks what a wave brings along before its first instruction, and after each barrier.
fn enter<const W: usize>(wave: &Wave<W>, program: &Program) -> Result<Mode, FaultKind> {
    let named = program.registers();
    if named > wave.vgpr.len() {
        let given = wave.vgpr.len();
        let what = format!("code that names {named} vector registers in a wave of {given}");
        return Err(FaultKind::Unimplemented { what });
    }
    control::mode_of(wave.mode, program)
}

/// The floating-point mode that a program's waves begin with, in words, if it is not modelled, or not for all of its instructions.
pub(crate) fn refused_mode(bits: u32, program: &Program) -> Option<String> {
    match control::mode_of(program.isa().mode(bits), program) {
        Err(FaultKind::Unimplemented { what }) => Some(what),
        _ => None,
    }
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

/// Vector and memory instructions. A dual instruction may need its other half, the instruction `after` it.
#[inline]
fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    after: Option<&Inst>,
    mode: Mode,
) -> Result<NextPc, Trouble> {
    wave.active = wave.exec();
    if wave.indexed || inst.parts.is_some() {
        return unusual(host, wave, group, inst, mode);
    }
    dpp::apply(wave, inst)?;
    if inst.entangled {
        return entangled(host, wave, inst, after, mode);
    }
    operate(host, wave, group, inst, mode)
}

/// The operation itself, its sources ready.
#[inline(always)]
fn operate<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    mode: Mode,
) -> Result<NextPc, Trouble> {
    match inst.unit {
        Unit::Lane | Unit::Compare | Unit::Scalar | Unit::Vector if mode.is_unusual() => {
            flush::execute(host, wave, inst, mode);
        }
        Unit::Lane | Unit::Compare | Unit::Scalar | Unit::Vector => table::execute(host, wave, inst, mode),
        reaching_out!() => {
            reach(host, wave, group, inst)?;
        }
        Unit::MoveRelative(relative) => vector::move_relative(wave, inst, relative)?,
        Unit::SwapRelative => vector::swap_relative(wave, inst)?,
        Unit::Wmma(_) | Unit::Tiles(_) | Unit::Mfma(_) => match tile::Tiled::of(inst, W) {
            Some(tiled) => tile::execute(host, wave, tiled),
            None => multiply(wave, inst)?,
        },
        Unit::Smfmac(smfmac) => sparse::execute(wave, inst, smfmac)?,
        Unit::SparseTiles(tiles) => sparse::of_tiles(wave, inst, tiles)?,
        // Control operations change the program flow, which [`run_on`] has in hand.
        Unit::Control(_) | Unit::Unsupported => return Err(unimplemented()),
    }
    Ok(NextPc::Next)
}

/// A matrix product in the general way.
fn multiply<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    match inst.unit {
        Unit::Wmma(wmma) => matrix::execute(wave, inst, wmma),
        Unit::Tiles(tiles) => tiles::execute(wave, inst, tiles),
        Unit::Mfma(mfma) => mfma::execute(wave, inst, mfma),
        registers_alone!()
        | Unit::Smfmac(_)
        | Unit::SparseTiles(_)
        | Unit::Control(_)
        | Unit::Unsupported
        | reaching_out!() => Err(unimplemented()),
    }
}

/// An operation that reaches beyond the registers; the sanitizer looks at it first.
#[inline(always)]
fn reach<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    wave.cursor.aim(inst.place);
    if group.watch.is_some() {
        watch::before(wave, group, inst)?;
    }
    match inst.unit {
        Unit::ScalarMemory(access) => memory::scalar(wave, group, inst, access),
        Unit::Memory(transfer) if buffer::is_resource(wave, inst) => {
            buffer::execute(wave, group, inst, BufferAccess::Memory(transfer))
        }
        Unit::Memory(transfer) => memory::execute(host, wave, group, inst, transfer),
        Unit::Atomic(atomic) if buffer::is_resource(wave, inst) => {
            buffer::execute(wave, group, inst, BufferAccess::Atomic(atomic))
        }
        Unit::Atomic(atomic) => atomic::execute(wave, group, inst, atomic),
        Unit::Share(share) => share::execute(host, wave, group, inst, share),
        registers_alone!() | matrix_products!() | Unit::Control(_) | Unit::Unsupported => {
            Err(unimplemented())
        }
    }
}

/// An instruction on parts of registers, or one whose register numbers are indexed.
#[cold]
fn unusual<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    mode: Mode,
) -> Result<NextPc, Trouble> {
    if wave.indexed && inst.unit.is_vector() {
        // Compilers index plain moves only.
        if inst.dpp.is_some() || inst.parts.is_some() {
            return Err(unimplemented());
        }
        let moved = indexed(wave, inst)?;
        return operate(host, wave, group, &moved, mode);
    }
    if inst.parts.is_some() {
        sdwa::execute(host, wave, inst, mode)?;
        return Ok(NextPc::Next);
    }
    dpp::apply(wave, inst)?;
    operate(host, wave, group, inst, mode)
}

/// The instruction with M0's index added to the vector registers that M0 names.
fn indexed<const W: usize>(wave: &Wave<W>, inst: &Inst) -> Result<Inst, Trouble> {
    let m0 = wave.sgpr[reg::M0];
    let index = (m0 & 0xff) as u16;
    let moves = |operand: u32| m0 >> (12 + operand) & 1 != 0;
    let exists = |register: u16| usize::from(register) < wave.vgpr.len();
    let mut moved = inst.clone();
    for (i, source) in (0..).zip(&mut moved.src) {
        if let Src::Vgpr(n) = source
            && moves(i)
        {
            *n += index;
            exists(*n).then_some(()).ok_or_else(unimplemented)?;
        }
    }
    moved.rows = moved.src.map(Src::row);
    if moves(3) && inst.unit != Unit::Compare {
        moved.dst += index;
        exists(moved.dst).then_some(()).ok_or_else(unimplemented)?;
    }
    Ok(moved)
}

/// Both halves of a dual instruction, when each overwrites what the other reads: the second must still see the registers
/// as they were, so the first result is kept aside.
#[cold]
fn entangled<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    first: &Inst,
    second: Option<&Inst>,
    mode: Mode,
) -> Result<NextPc, Trouble> {
    let second = second.ok_or_else(unimplemented)?;
    let register = usize::from(first.dst);
    let mut row = wave.vgpr[register];
    for (inst, swap) in [(first, true), (second, false)] {
        if !inst.unit.is_tabled() {
            return Err(unimplemented());
        }
        if mode.is_unusual() {
            flush::execute(host, wave, inst, mode);
        } else {
            table::execute(host, wave, inst, mode);
        }
        if swap {
            std::mem::swap(&mut row, &mut wave.vgpr[register]);
        }
    }
    wave.vgpr[register] = row;
    Ok(NextPc::SkipOne)
}
