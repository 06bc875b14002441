//! Arithmetic in other modes than the usual one: single precision without denormals (kernels compiled with
//! `-fgpu-flush-denormals-to-zero`, and machine code whose author did not ask for denormals), and results that are rounded in
//! another direction.
//!
//! An operation that rounds is replaced by its twin that asks for the direction, [`Op::directed`]. In a mode without denormals,
//! denormal sources become zeros and so does a denormal result. Functions of the operation table need not know of it, and kernels
//! in the usual mode do not pay for it. Output scaling (`omod`) has a meaning in a mode without denormals alone.

use super::host::Host;
use super::{lane, table};
use crate::fp::{self, Format as _, Mode};
use crate::isa::ops::Kind;
use crate::isa::{Inst, Op, Src, Unit};
use crate::wave::{Row, Wave};

/// A number with a denormal replaced by a zero of its sign.
#[inline(always)]
pub(super) fn flushed(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// Registers of single precision that source `i` of an operation has: those whose denormals are flushed.
fn registers(inst: &Inst, i: usize, kind: Kind) -> usize {
    match kind {
        Kind::F32 => 1,
        Kind::PF32 => 2,
        Kind::Mix | Kind::BrainMix => usize::from(inst.op_sel_hi >> i & 1 == 0),
        _ => 0,
    }
}

/// Whether the operation computes with its operands: others move them, or look at their bits.
fn computes(op: Op) -> bool {
    !matches!(op, Op::CndmaskB32 | Op::CmpClassF32 | Op::PkMovB32)
}

/// Executes an instruction whose unit [`Unit::is_tabled`].
pub(super) fn execute<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    match inst.op.directed().filter(|_| mode.is_directed()) {
        Some(op) => {
            let twin = Inst { op, ..inst.clone() };
            in_range(host, wave, &twin, mode);
        }
        None => in_range(host, wave, inst, mode),
    }
}

/// Executes an instruction with denormals as the mode says.
fn in_range<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    if !mode.flushes {
        return table::execute(host, wave, inst, mode);
    }
    let signature = inst.op.signature();
    let single = |kind: &Kind| matches!(kind, Kind::F32 | Kind::PF32) || kind.is_mixed();
    let concerns = single(&signature.dst) || signature.src.iter().any(single);
    if !concerns || !computes(inst.op) || inst.unit == Unit::Scalar {
        return table::execute(host, wave, inst, mode);
    }
    let mut changed = inst.clone();
    let mut saved: Vec<(usize, Row<W>)> = Vec::new();
    for (i, kind) in signature.src.iter().enumerate() {
        let count = registers(inst, i, *kind);
        if count == 0 {
            continue;
        }
        match inst.src[i] {
            Src::Vgpr(first) => {
                for register in usize::from(first)..usize::from(first) + count {
                    saved.push((register, wave.vgpr[register]));
                    wave.vgpr[register].0 = wave.vgpr[register].map(flushed);
                }
            }
            Src::Staged(number) => {
                let row = &mut wave.staged[usize::from(number & 1)];
                row.0 = row.map(flushed);
            }
            // A pair in scalar registers stays one: compilers keep constants there.
            Src::Scalar(n) if count == 1 => {
                changed.src[i] = Src::Const(flushed(wave.sgpr[usize::from(n & 127)]).into());
            }
            Src::Const(value) => {
                changed.src[i] = Src::Const(value >> 32 << 32 | u64::from(flushed(value as u32)))
            }
            Src::Scalar(_) | Src::Scc | Src::Vccz | Src::Execz | Src::None => {}
        }
    }
    let scale = if mode.ieee { 0 } else { inst.omod };
    changed.clamp &= scale == 0;
    table::execute(host, wave, &changed, mode);
    let results = match signature.dst {
        Kind::F32 => 1,
        Kind::PF32 => 2,
        _ => 0,
    };
    let (dst, written) = (usize::from(inst.dst), signature.dst.registers(W));
    let active = lane::spread::<W>(wave.active);
    for register in dst..dst + results {
        let scaled = wave.vgpr[register].map(|bits| finished(bits, scale, inst.clamp && scale != 0, mode));
        lane::store(wave, register, &scaled);
    }
    // Sources keep their denormals, in the lanes that were not written when they are the destination too.
    for (register, row) in saved.into_iter().rev() {
        let is_result = inst.unit != Unit::Compare && (dst..dst + usize::from(written)).contains(&register);
        let new = &mut wave.vgpr[register];
        for (lane, mask) in active.iter().enumerate() {
            if !is_result || *mask == 0 {
                new[lane] = row[lane];
            }
        }
    }
}

/// A result after output scaling (0 none, 1 times two, 2 times four, 3 half) and clamping, without denormals.
fn finished(bits: u32, scale: u8, clamp: bool, mode: Mode) -> u32 {
    let factor = [1.0_f32, 2.0, 4.0, 0.5][usize::from(scale & 3)];
    let scaled = match scale {
        0 => bits,
        _ => fp::mul::<fp::F32>(mode, flushed(bits), fp::F32::guest(factor)),
    };
    flushed(if clamp {
        fp::clamp::<fp::F32>(mode, scaled)
    } else {
        scaled
    })
}
