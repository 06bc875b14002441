//! Arithmetic in other modes than the usual one: without denormals of some precision (kernels compiled with
//! `-fgpu-flush-denormals-to-zero` or `-fdenormal-fp-math=preserve-sign`, and machine code whose author did not ask for denormals), and
//! results that are rounded in another direction.
//!
//! An operation that rounds is replaced by its twin that asks for the direction, [`Op::directed`]. Where the mode has denormals of
//! sources be zeros, they are zeros before the operation, and where it has those of results, after it: MODE says it of single
//! precision, and of half and double precision together. Functions of the operation table need not know of it, and kernels in the
//! usual mode do not pay for it. Output scaling (`omod`) has a meaning where denormal results are zeros, and IEEE is off; a result that
//! it scales is never minus zero ("RDNA3 Instruction Set Architecture", section "Output Modifiers").

use super::host::Host;
use super::{lane, table};
use crate::fp::{self, Flushed, Mode, directed, zeroed};
use crate::isa::ops::Kind;
use crate::isa::{Inst, Op, Src, Unit};
use crate::wave::{Row, Wave};

/// What numbers lie in the registers of an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// So many of single precision, one in a register.
    Single(usize),
    /// One or two of half precision.
    Half,
    /// One of double precision.
    Double,
}

impl Numbers {
    /// Those of an operand whose denormals the mode has to do with.
    fn of(kind: Kind) -> Option<Numbers> {
        match kind {
            Kind::F32 => Some(Numbers::Single(1)),
            Kind::PF32 => Some(Numbers::Single(2)),
            Kind::F16 | Kind::PF16 => Some(Numbers::Half),
            Kind::F64 => Some(Numbers::Double),
            _ => None,
        }
    }

    /// Those of source `i`.
    fn of_source(inst: &Inst, i: usize, kind: Kind) -> Option<Numbers> {
        match kind {
            Kind::Mix | Kind::BrainMix => (inst.op_sel_hi >> i & 1 == 0).then_some(Numbers::Single(1)),
            _ => Numbers::of(kind),
        }
    }

    fn registers(self) -> usize {
        match self {
            Numbers::Single(count) => count,
            Numbers::Half => 1,
            Numbers::Double => 2,
        }
    }

    /// What the mode says of them.
    fn flushed(self, mode: Mode) -> Flushed {
        match self {
            Numbers::Single(_) => mode.single_flushed,
            Numbers::Half | Numbers::Double => mode.others_flushed,
        }
    }

    /// Both words of a constant or of scalar registers.
    fn without_denormals(self, value: u64) -> u64 {
        match self {
            Numbers::Single(_) => value >> 32 << 32 | u64::from(zeroed::<fp::F32>(value as u32, true)),
            Numbers::Half => {
                value >> 32 << 32 | u64::from(halves(value as u32, |half| zeroed::<fp::F16>(half, true)))
            }
            Numbers::Double => zeroed::<fp::F64>(value, true),
        }
    }
}

/// A function of each half of a register.
fn halves(word: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f(word as u16)) | u32::from(f((word >> 16) as u16)) << 16
}

/// Whether the operation computes with its operands: others move them, or look at their bits.
fn computes(op: Op) -> bool {
    !matches!(
        op,
        Op::CndmaskB32 | Op::CndmaskB16 | Op::CmpClassF16 | Op::CmpClassF32 | Op::CmpClassF64 | Op::PkMovB32
    )
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
    if !mode.flushes() || !computes(inst.op) || inst.unit == Unit::Scalar {
        return table::execute(host, wave, inst, mode);
    }
    let signature = inst.op.signature();
    let mut changed = inst.clone();
    let mut saved: Vec<(usize, Row<W>)> = Vec::new();
    for (i, kind) in signature.src.iter().enumerate() {
        let Some(numbers) =
            Numbers::of_source(inst, i, *kind).filter(|numbers| numbers.flushed(mode).sources)
        else {
            continue;
        };
        match inst.src[i] {
            Src::Vgpr(first) => {
                let registers = usize::from(first)..usize::from(first) + numbers.registers();
                saved.extend(registers.clone().map(|register| (register, wave.vgpr[register])));
                flush_rows(&mut wave.vgpr[registers], numbers);
            }
            Src::Staged(number) => {
                let number = usize::from(number & 1);
                let last = if numbers == Numbers::Double { 1 } else { number };
                flush_rows(&mut wave.staged[number..=last.max(number)], numbers);
            }
            // Single precision in pairs of scalar registers stays: compilers keep constants there.
            Src::Scalar(_) if numbers == Numbers::Single(2) => {}
            Src::Scalar(n) if numbers == Numbers::Double => {
                changed.src[i] = Src::Const(numbers.without_denormals(wave.sgpr64(usize::from(n))));
            }
            Src::Scalar(n) => {
                let word = wave.sgpr[usize::from(n & 127)];
                changed.src[i] = Src::Const(numbers.without_denormals(word.into()));
            }
            Src::Const(value) => changed.src[i] = Src::Const(numbers.without_denormals(value)),
            Src::Scc | Src::Vccz | Src::Execz | Src::None => {}
        }
    }
    let results = Numbers::of(signature.dst).filter(|numbers| numbers.flushed(mode).results);
    let scale = if mode.ieee || results.is_none() {
        0
    } else {
        inst.omod
    };
    changed.clamp &= scale == 0;
    table::execute(host, wave, &changed, mode);
    let (dst, written) = (usize::from(inst.dst), signature.dst.registers(W));
    if let Some(numbers) = results {
        finish(wave, inst, numbers, scale, mode);
    }
    // Sources keep their denormals, in the lanes that were not written when they are the destination too.
    let active = lane::spread::<W>(wave.active);
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

/// Makes denormals of a source zeros.
fn flush_rows<const W: usize>(rows: &mut [Row<W>], numbers: Numbers) {
    match (numbers, rows) {
        (Numbers::Double, [low, high]) => {
            for (low, high) in low.0.iter_mut().zip(&mut high.0) {
                let value = zeroed::<fp::F64>(u64::from(*low) | u64::from(*high) << 32, true);
                (*low, *high) = (value as u32, (value >> 32) as u32);
            }
        }
        (_, rows) => {
            for row in rows {
                row.0 = row.map(|word| numbers.without_denormals(word.into()) as u32);
            }
        }
    }
}

/// Scales and clamps the results of the active lanes, and makes denormals of them zeros.
fn finish<const W: usize>(wave: &mut Wave<W>, inst: &Inst, numbers: Numbers, scale: u8, mode: Mode) {
    let dst = usize::from(inst.dst);
    let clamp = inst.clamp && scale != 0;
    match numbers {
        Numbers::Single(count) => {
            for register in dst..dst + count {
                let row = wave.vgpr[register].map(|bits| finished::<fp::F32>(bits, scale, clamp, mode));
                lane::store(wave, register, &row);
            }
        }
        Numbers::Half => {
            // Of a register with one result, the other half is not this instruction's.
            let pair = inst.op.signature().dst == Kind::PF16;
            let high = inst.op_sel >> 3 & 1 != 0;
            let row = wave.vgpr[dst].map(|word| {
                let done = halves(word, |bits| finished::<fp::F16>(bits, scale, clamp, mode));
                match (pair, high) {
                    (true, _) => done,
                    (false, true) => word & 0xffff | done & 0xffff_0000,
                    (false, false) => word & 0xffff_0000 | done & 0xffff,
                }
            });
            lane::store(wave, dst, &row);
        }
        Numbers::Double => {
            let (low, high) = (wave.vgpr[dst], wave.vgpr[dst + 1]);
            let values: [u64; W] = std::array::from_fn(|i| {
                let bits = u64::from(low[i]) | u64::from(high[i]) << 32;
                finished::<fp::F64>(bits, scale, clamp, mode)
            });
            lane::store(wave, dst, &values.map(|bits| bits as u32));
            lane::store(wave, dst + 1, &values.map(|bits| (bits >> 32) as u32));
        }
    }
}

/// A result after output scaling (0 none, 1 times two, 2 times four, 3 half) and clamping, without denormals.
fn finished<F: fp::FloatFormat>(bits: F::Bits, scale: u8, clamp: bool, mode: Mode) -> F::Bits {
    let mut bits = zeroed::<F>(bits, true);
    if scale != 0 {
        let factor = F::round([1.0, 2.0, 4.0, 0.5][usize::from(scale & 3)]);
        bits = if mode.is_directed() {
            directed::mul::<F>(mode, bits, factor)
        } else {
            fp::mul::<F>(mode, bits, factor)
        };
        if F::is_zero(bits) {
            bits = F::narrow(0);
        }
    }
    zeroed::<F>(if clamp { fp::clamp::<F>(mode, bits) } else { bits }, true)
}
