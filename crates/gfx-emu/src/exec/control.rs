//! Scalar operations on the wave's state: branches, calls, barriers, MODE, indexed scalar moves.

use super::salu::{source, source64};
use super::{Flow, Trouble, unimplemented};
use crate::fault::FaultKind;
use crate::fp::{Mode, UnmodelledMode};
use crate::isa::{Inst, Op, Program, Src};
use crate::wave::{Group, Stop, Wave, reg};

/// Message of RDNA3 that gives the vector registers back early: nothing to do.
const MSG_DEALLOC_VGPRS: i32 = 3;
/// Number of the MODE register in `s_getreg` and `s_setreg`.
const HW_REG_MODE: i32 = 1;

/// The modelled part of MODE, or a fault that says which value it has.
pub(super) fn mode(bits: u32) -> Result<Mode, FaultKind> {
    Mode::from_bits(bits).map_err(|UnmodelledMode(bits)| FaultKind::Unimplemented {
        what: format!("floating-point mode {bits:#x}; only round to nearest even with denormals (0xf0) is"),
    })
}

/// Whether a branch is taken; `None` for what is none, or does more.
#[inline(always)]
pub(super) fn branch<const W: usize>(wave: &Wave<W>, inst: &Inst) -> Option<bool> {
    Some(match inst.op {
        Op::SBranch => true,
        Op::SCbranchScc0 => !wave.scc,
        Op::SCbranchScc1 => wave.scc,
        Op::SCbranchVccz => wave.mask(reg::VCC) == 0,
        Op::SCbranchVccnz => wave.mask(reg::VCC) != 0,
        Op::SCbranchExecz => wave.exec() == 0,
        Op::SCbranchExecnz => wave.exec() != 0,
        // No debugger is attached.
        Op::SCbranchDebug => false,
        _ => return None,
    })
}

/// Executes one operation that is no [`branch`].
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    group: &Group<'_>,
    inst: &Inst,
    mode: &mut Mode,
) -> Result<Flow, Trouble> {
    let next = i64::from(inst.pc) + 4;
    match inst.op {
        // Waits, delays, priorities, prefetch and cache hints: there is nothing to wait for.
        Op::SNop | Op::SWait | Op::SVersion => Ok(Flow::Next),
        Op::SSendmsg if W == 32 && inst.imm == MSG_DEALLOC_VGPRS => Ok(Flow::Next),
        Op::SEndpgm => Ok(Flow::Stop(Stop::End)),
        Op::SBarrier => Ok(Flow::Stop(Stop::Barrier)),
        Op::STrap => Err((None, FaultKind::Trap { id: inst.imm as u16 })),
        Op::SGetpc => {
            wave.set_sgpr64(
                usize::from(inst.dst),
                group.text_address.wrapping_add_signed(next),
            );
            Ok(Flow::Next)
        }
        Op::SSetpc => jump(program, group, source64(wave, inst.src[0])),
        Op::SSwappc => {
            let to = source64(wave, inst.src[0]);
            wave.set_sgpr64(
                usize::from(inst.dst),
                group.text_address.wrapping_add_signed(next),
            );
            jump(program, group, to)
        }
        Op::SCall => {
            wave.set_sgpr64(
                usize::from(inst.dst),
                group.text_address.wrapping_add_signed(next),
            );
            Ok(Flow::Jump(inst.target as usize))
        }
        Op::SGetreg | Op::SSetreg | Op::SSetregImm32 | Op::SRoundMode | Op::SDenormMode => {
            registers(wave, inst)?;
            *mode = self::mode(wave.mode).map_err(|kind| (None, kind))?;
            Ok(Flow::Next)
        }
        Op::SSetGprIdxOn | Op::SSetGprIdxIdx | Op::SSetGprIdxMode | Op::SSetGprIdxOff => {
            index(wave, inst);
            Ok(Flow::Next)
        }
        Op::STime => {
            wave.clock += 1;
            wave.set_sgpr64(usize::from(inst.dst), wave.clock);
            Ok(Flow::Next)
        }
        Op::SMovrelsB32 | Op::SMovrelsB64 | Op::SMovreldB32 | Op::SMovreldB64 | Op::SMovrelsd2B32 => {
            move_relative(wave, inst)?;
            Ok(Flow::Next)
        }
        _ => Err(unimplemented()),
    }
}

/// Indexed vector registers: M0 holds the index in bits 7:0, and in bits 15:12 to which operands it is added.
fn index<const W: usize>(wave: &mut Wave<W>, inst: &Inst) {
    let value = source(wave, inst.src[0]) & 0xff;
    let m0 = &mut wave.sgpr[reg::M0];
    let operands = (inst.imm as u32 & 15) << 12;
    match inst.op {
        Op::SSetGprIdxOn => (*m0, wave.indexed) = (*m0 & !0xf0ff | value | operands, true),
        Op::SSetGprIdxIdx => *m0 = *m0 & !0xff | value,
        Op::SSetGprIdxMode => *m0 = *m0 & !0xf000 | operands,
        _ => wave.indexed = false,
    }
}

/// Goes to a guest address.
fn jump(program: &Program, group: &Group<'_>, address: u64) -> Result<Flow, Trouble> {
    let offset = address.wrapping_sub(group.text_address) as i64;
    program
        .index_at(offset)
        .map(Flow::Jump)
        .ok_or_else(|| (None, program.wild_jump(offset)))
}

/// Reads and writes of MODE. No other hardware register is modelled.
fn registers<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let (id, low, count) = (inst.imm & 63, inst.imm >> 6 & 31, (inst.imm >> 11 & 31) + 1);
    let field = ((1u64 << count) - 1) as u32;
    let value = match inst.op {
        Op::SRoundMode => {
            wave.mode = wave.mode & !0xf | inst.imm as u32 & 0xf;
            return Ok(());
        }
        Op::SDenormMode => {
            wave.mode = wave.mode & !0xf0 | (inst.imm as u32 & 0xf) << 4;
            return Ok(());
        }
        _ if id != HW_REG_MODE => return Err(unimplemented()),
        Op::SGetreg => {
            wave.set_sgpr(usize::from(inst.dst), wave.mode >> low & field);
            return Ok(());
        }
        _ => source(wave, inst.src[0]),
    };
    wave.mode = wave.mode & !(field << low) | (value & field) << low;
    Ok(())
}

/// Scalar moves whose register number has M0 added.
fn move_relative<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let m0 = wave.sgpr[reg::M0] as usize;
    let Src::Scalar(from) = inst.src[0] else {
        return Err(unimplemented());
    };
    let (from, to) = (usize::from(from), usize::from(inst.dst));
    let (from, to) = match inst.op {
        Op::SMovrelsB32 | Op::SMovrelsB64 => (from + m0, to),
        Op::SMovreldB32 | Op::SMovreldB64 => (from, to + m0),
        _ => (from + (m0 & 0x3ff), to + (m0 >> 16 & 0x3ff)),
    };
    // Beyond the last general register: what the card does there is not documented.
    if from.max(to) >= reg::VCC {
        return Err(unimplemented());
    }
    if matches!(inst.op, Op::SMovrelsB64 | Op::SMovreldB64) {
        wave.set_sgpr64(to, wave.sgpr64(from));
    } else {
        wave.set_sgpr(to, wave.sgpr[from]);
    }
    Ok(())
}
