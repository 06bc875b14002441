//! Scalar operations on the wave's state: branches, calls, barriers, MODE, indexed scalar moves.

use super::salu::{source, source64};
use super::{NextPc, Trouble, unimplemented};
use crate::fault::FaultKind;
use crate::fp::Mode;
use crate::isa::{Condition, Control, Inst, Isa, Program, RegisterCount, Relative, Src, TRAP_DEBUG};
use crate::wave::{Group, Stop, Wave, reg};

/// Message of RDNA that gives the vector registers back early.
const MSG_DEALLOC_VGPRS: i32 = 3;
/// Messages that ask for the queue and for the time.
const MSG_RTN_GET_DOORBELL: i32 = 128;
const MSG_RTN_GET_REALTIME: i32 = 131;
/// Number of the barrier that all waves of a workgroup have on RDNA4, -1.
const WORKGROUP_BARRIER: u32 = u32::MAX;
/// Bit of `s_sethalt` that says whether the wave halts; another one says which of two status bits keeps that.
const HALT: i32 = 1;
/// Number of the MODE register in `s_getreg` and `s_setreg`.
const HW_REG_MODE: i32 = 1;

/// The mode of a program, if it is known what each of its operations does in it.
pub(super) fn mode_of(bits: u32, program: &Program) -> Result<Mode, FaultKind> {
    let mode = Mode::from_bits(program.isa().mode(bits));
    // Without bits for them, a clamped NaN is zero.
    let mode = Mode {
        dx10_clamp: mode.dx10_clamp || program.isa().is_gfx12(),
        ..mode
    };
    // Every wave comes here, and the usual mode needs no look at the program.
    if !mode.is_unusual() {
        return Ok(mode);
    }
    let refused = |why: &str, inst: &Inst| {
        let what = program.describe(inst.pc as usize);
        Err(FaultKind::Unimplemented {
            what: format!("floating-point mode {bits:#x} for {what}, {why}"),
        })
    };
    let nearest = |inst: &&Inst| inst.op.rounds_to_nearest_only();
    if mode.is_directed()
        && let Some(inst) = program.insts().iter().find(nearest)
    {
        return refused("which is rounded to nearest even here", inst);
    }
    if !mode.others_flushed.any() {
        return Ok(mode);
    }
    // By their names, which say what they compute with; RDNA2's atomics of 64 bits say it otherwise.
    let concerned = |name: &str| {
        let wide_atomic = name.contains("atomic_f") && name.ends_with("x2");
        ["f16", "f64", "mix"].iter().any(|part| name.contains(part)) || wide_atomic
    };
    let names = program.names().iter().map(|name| name.mnemonic);
    let mut insts = program.insts().iter().zip(names);
    match insts.find(|(inst, name)| !inst.op.follows_denormals_of_others() && concerned(name)) {
        None => Ok(mode),
        Some((inst, _)) => refused("whose denormals are kept here", inst),
    }
}

/// Whether the condition of a branch holds.
#[inline(always)]
pub(super) fn holds<const W: usize>(wave: &Wave<W>, condition: Condition) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Scc(value) => wave.scc == value,
        Condition::VccIsZero(value) => (wave.mask(reg::VCC) == 0) == value,
        Condition::ExecIsZero(value) => (wave.exec() == 0) == value,
        // None is attached.
        Condition::Debugger => false,
    }
}

/// Whether a message is the one that gives the vector registers back.
pub(super) fn gives_registers_back(inst: &Inst) -> bool {
    inst.imm == MSG_DEALLOC_VGPRS && inst.isa.gives_registers_back()
}

/// Executes one operation.
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    group: &Group<'_>,
    inst: &Inst,
    control: Control,
    mode: &mut Mode,
) -> Result<NextPc, Trouble> {
    let next = group.text_address.wrapping_add_signed(i64::from(inst.pc) + 4);
    match control {
        Control::Wait => {}
        Control::Branch(condition) if holds(wave, condition) => {
            return Ok(NextPc::Jump(inst.target as usize));
        }
        Control::Branch(_) => {}
        // The vector registers are given back early: nothing to do.
        Control::Message if gives_registers_back(inst) => {}
        Control::Message => return Err(unimplemented()),
        Control::MessageReturn(words) => {
            let answer = match inst.imm {
                MSG_RTN_GET_REALTIME => {
                    wave.clock += 1;
                    wave.clock
                }
                // There is one queue.
                MSG_RTN_GET_DOORBELL => 0,
                _ => return Err(unimplemented()),
            };
            for i in 0..words.count() {
                wave.set_sgpr(usize::from(inst.dst) + i, (answer >> (32 * i)) as u32);
            }
        }
        Control::End => return Ok(NextPc::Stop(Stop::End)),
        Control::Barrier => return Ok(NextPc::Stop(Stop::Barrier)),
        // The workgroup's barrier, by its number. What a wave does between the two halves is done before all have met.
        Control::BarrierSignal if source(wave, inst.src[0]) == WORKGROUP_BARRIER && !wave.signalled => {
            wave.signalled = true;
        }
        Control::BarrierWait if inst.imm.cast_unsigned() == WORKGROUP_BARRIER && wave.signalled => {
            wave.signalled = false;
            return Ok(NextPc::Stop(Stop::Barrier));
        }
        // Other barriers, and a wave that is at the same one twice or waits for one where it is not.
        Control::BarrierSignal | Control::BarrierWait => return Err(unimplemented()),
        // Without a debugger, its trap does nothing.
        Control::Trap if inst.imm == TRAP_DEBUG => {}
        Control::Trap => return Err((None, FaultKind::Trap { id: inst.imm as u16 })),
        // A running wave is not halted, so there is nothing to take back.
        Control::Halt if inst.imm & HALT == 0 => {}
        Control::Halt => {
            return Err((
                None,
                FaultKind::Halt {
                    bits: inst.imm as u16,
                },
            ));
        }
        Control::GetPc => wave.set_sgpr64(usize::from(inst.dst), next),
        Control::SetPc => return jump(program, group, source64(wave, inst.src[0])),
        Control::SwapPc => {
            let to = source64(wave, inst.src[0]);
            wave.set_sgpr64(usize::from(inst.dst), next);
            return jump(program, group, to);
        }
        Control::Call => {
            wave.set_sgpr64(usize::from(inst.dst), next);
            return Ok(NextPc::Jump(inst.target as usize));
        }
        Control::GetRegister => {
            let register = HardwareRegister::of(inst).ok_or_else(unimplemented)?;
            let value = match register {
                HardwareRegister::Mode => wave.mode,
                // All waves run in one place, and their private memory begins at no address that a register holds.
                HardwareRegister::Place | HardwareRegister::Scratch => 0,
                HardwareRegister::Cycles => {
                    wave.clock += 1;
                    wave.clock as u32
                }
            };
            wave.set_sgpr(usize::from(inst.dst), RegisterField::of(inst).read(value));
        }
        Control::SetRegister => {
            let value = source(wave, inst.src[0]);
            return match HardwareRegister::of(inst) {
                Some(HardwareRegister::Mode) => set_mode(wave, program, mode, RegisterField::of(inst), value),
                Some(HardwareRegister::Scratch) => Ok(NextPc::Next),
                Some(HardwareRegister::Place | HardwareRegister::Cycles) | None => Err(unimplemented()),
            };
        }
        Control::RoundMode => {
            return set_mode(
                wave,
                program,
                mode,
                RegisterField { low: 0, count: 4 },
                inst.imm as u32,
            );
        }
        Control::DenormMode => {
            return set_mode(
                wave,
                program,
                mode,
                RegisterField { low: 4, count: 4 },
                inst.imm as u32,
            );
        }
        // Results must not depend on when they are computed, so a question for the time is a tick.
        Control::Time => {
            wave.clock += 1;
            wave.set_sgpr64(usize::from(inst.dst), wave.clock);
        }
        Control::MoveRelative(relative, words) => move_relative(wave, inst, relative, words)?,
        // M0 holds the index in bits 7:0, and in bits 15:12 to which operands it is added.
        Control::IndexOn => {
            index(wave, inst, 0xf0ff);
            wave.indexed = true;
        }
        Control::IndexValue => index(wave, inst, 0xff),
        Control::IndexMode => index(wave, inst, 0xf000),
        Control::IndexOff => wave.indexed = false,
    }
    Ok(NextPc::Next)
}

/// Sets the fields of M0 that index vector registers, as far as they are in `fields`.
fn index<const W: usize>(wave: &mut Wave<W>, inst: &Inst, fields: u32) {
    let value = source(wave, inst.src[0]) & 0xff | (inst.imm as u32 & 15) << 12;
    let m0 = &mut wave.sgpr[reg::M0];
    *m0 = *m0 & !fields | value & fields;
}

/// Goes to a guest address.
fn jump(program: &Program, group: &Group<'_>, address: u64) -> Result<NextPc, Trouble> {
    let offset = address.wrapping_sub(group.text_address) as i64;
    program
        .index_at(offset)
        .map(NextPc::Jump)
        .ok_or_else(|| (None, program.wild_jump(offset)))
}

/// A hardware register that `s_getreg` reads.
#[derive(Clone, Copy)]
enum HardwareRegister {
    Mode,
    /// Where the wave runs: slot, SIMD, compute unit, shader engine, or die.
    Place,
    /// Where private memory is.
    Scratch,
    /// A count of cycles.
    Cycles,
}

impl HardwareRegister {
    /// The one that an instruction names, where it is modelled.
    fn of(inst: &Inst) -> Option<HardwareRegister> {
        let number = inst.imm & 63;
        Some(match inst.isa {
            _ if number == HW_REG_MODE => HardwareRegister::Mode,
            // FLAT_SCR: kernels of RDNA2 write where private memory is; nothing here reads it.
            Isa::Rdna2 if matches!(number, 20 | 21) => HardwareRegister::Scratch,
            // HW_ID1, HW_ID2 and SHADER_CYCLES.
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 if matches!(number, 23 | 24) => HardwareRegister::Place,
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 if number == 29 => HardwareRegister::Cycles,
            // The upper half of SHADER_CYCLES is zero for as long as a test runs.
            Isa::Rdna4 | Isa::Gfx125 if matches!(number, 23 | 24 | 30) => HardwareRegister::Place,
            Isa::Rdna4 | Isa::Gfx125 if number == 29 => HardwareRegister::Cycles,
            // IB_STS2: where the workgroup is in its cluster; none is in one.
            Isa::Gfx125 if number == 28 => HardwareRegister::Place,
            // HW_ID, and XCC_ID.
            Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 if number == 4 => HardwareRegister::Place,
            Isa::Cdna3 | Isa::Cdna4 if number == 20 => HardwareRegister::Place,
            _ => return None,
        })
    }
}

/// Some bits of a hardware register.
struct RegisterField {
    low: u32,
    count: u32,
}

impl RegisterField {
    /// Those that `s_getreg` and `s_setreg` name.
    fn of(inst: &Inst) -> RegisterField {
        RegisterField {
            low: inst.imm as u32 >> 6 & 31,
            count: (inst.imm as u32 >> 11 & 31) + 1,
        }
    }

    fn mask(&self) -> u32 {
        ((1_u64 << self.count) - 1) as u32
    }

    fn read(&self, mode: u32) -> u32 {
        mode >> self.low & self.mask()
    }
}

/// Writes bits of MODE.
fn set_mode<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    mode: &mut Mode,
    field: RegisterField,
    value: u32,
) -> Result<NextPc, Trouble> {
    wave.mode = wave.mode & !(field.mask() << field.low) | (value & field.mask()) << field.low;
    *mode = mode_of(wave.mode, program).map_err(|kind| (None, kind))?;
    Ok(NextPc::Next)
}

/// Scalar moves whose register number has M0 added.
fn move_relative<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    relative: Relative,
    words: RegisterCount,
) -> Result<(), Trouble> {
    let Src::Scalar(from) = inst.src[0] else {
        return Err(unimplemented());
    };
    let (source, destination) = relative.offsets(wave.sgpr[reg::M0]);
    let (from, to) = (
        usize::from(from).wrapping_add(source),
        usize::from(inst.dst).wrapping_add(destination),
    );
    // Beyond the last general register: what the card does there is not documented.
    if from.max(to) >= reg::VCC {
        return Err(unimplemented());
    }
    let old = [wave.sgpr[from], wave.sgpr[from + 1]];
    for (i, word) in old.into_iter().take(words.count()).enumerate() {
        wave.set_sgpr(to + i, word);
    }
    Ok(())
}
