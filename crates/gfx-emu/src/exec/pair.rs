//! Operations on two single-precision numbers in consecutive registers (CDNA3).

use super::lane;
use crate::fp::{self, Mode, directed};
use crate::isa::{Inst, Src};
use crate::wave::Wave;

/// One register of source `i`: the first or the second. A constant is the first; lowering refuses the second of one.
#[inline(always)]
fn half<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize, second: bool) -> [u32; W] {
    let source = match inst.src[i] {
        Src::Vgpr(n) => Src::Vgpr(n + u16::from(second)),
        Src::Scalar(n) => Src::Scalar(n + u8::from(second)),
        other => other,
    };
    let mut buffer = [0; W];
    *lane::row(wave, source, &mut buffer)
}

#[inline(always)]
fn store<const W: usize>(wave: &mut Wave<W>, inst: &Inst, halves: &[[u32; W]; 2]) {
    for (i, half) in halves.iter().enumerate() {
        lane::store(wave, usize::from(inst.dst) + i, half);
    }
}

/// A function of each half, with the half and the sign of each source that the instruction asks for. With two sources
/// the third reads as zero.
#[inline(always)]
fn arithmetic<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, u32, u32, u32) -> u32,
) {
    let mut halves = [[0; W]; 2];
    for ((select, negate), out) in [(inst.op_sel, inst.neg), (inst.op_sel_hi, inst.abs)]
        .into_iter()
        .zip(&mut halves)
    {
        let source = |i: usize| half(wave, inst, i, select >> i & 1 != 0);
        let flip = |i: usize| u32::from(negate >> i & 1) << 31;
        let (a, b, c) = (source(0), source(1), source(2));
        let flips = (flip(0), flip(1), flip(2));
        for i in 0..W {
            let value = f(mode, a[i] ^ flips.0, b[i] ^ flips.1, c[i] ^ flips.2);
            out[i] = if inst.clamp {
                fp::clamp::<fp::F32>(mode, value)
            } else {
                value
            };
        }
    }
    store(wave, inst, &halves);
}

/// `a * b + c` of each half.
#[inline(always)]
pub(super) fn fma<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, fp::fma::<fp::F32>);
}

/// `a * b` of each half.
#[inline(always)]
pub(super) fn mul<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, |mode, a, b, _| fp::mul::<fp::F32>(mode, a, b));
}

/// `a + b` of each half.
#[inline(always)]
pub(super) fn add<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, |mode, a, b, _| fp::add::<fp::F32>(mode, a, b));
}

/// [`fma`], rounded as the mode says.
pub(super) fn fma_directed<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, directed::fma::<fp::F32>);
}

/// [`mul`], rounded as the mode says.
pub(super) fn mul_directed<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, |mode, a, b, _| {
        directed::mul::<fp::F32>(mode, a, b)
    });
}

/// [`add`], rounded as the mode says.
pub(super) fn add_directed<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    arithmetic(wave, inst, mode, |mode, a, b, _| {
        directed::add::<fp::F32>(mode, a, b)
    });
}

/// One register of the first source, then one of the second.
pub(super) fn select<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let halves = [0, 1].map(|i| half(wave, inst, i, inst.op_sel >> i & 1 != 0));
    store(wave, inst, &halves);
}
