//! Operations whose sources are narrower than what they compute with: mixed precision, and sums of products.

use crate::exec::lane::{self, Lane};
use crate::exec::{convert, matrix};
use crate::fp::{self, FloatFormat as _, Mode};
use crate::isa::Inst;
use crate::wave::Wave;

/// A source of the mixed-precision operations as single precision.
#[inline(always)]
fn mixed<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, i: usize) -> [u32; W] {
    let bit = |bits: u8| bits >> i & 1 != 0;
    if bit(inst.op_sel_hi) {
        let halves = lane::halves(wave, inst.src[i], bit(inst.op_sel), bit(inst.abs), bit(inst.neg));
        return if BRAIN {
            lane::each(&halves, |half| u32::from(half) << 16)
        } else {
            lane::each(&halves, lane::single)
        };
    }
    lane::F32::prepare(wave, inst, i);
    *lane::F32::rows(wave, inst, i)
}

#[inline(always)]
fn fma_mix<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) -> [u32; W] {
    let [a, b, c] = [0, 1, 2].map(|i| mixed::<W, BRAIN>(wave, inst, i));
    if mode.is_directed() {
        return std::array::from_fn(|i| fp::directed::fma::<fp::F32>(mode, a[i], b[i], c[i]));
    }
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = fp::fma::<fp::F32>(mode, a[i], b[i], c[i]);
    }
    out
}

#[inline(always)]
pub(super) fn fma_mix32<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let out = fma_mix::<W, BRAIN>(wave, inst, mode);
    lane::F32::write(wave, inst, mode, &out);
}

/// The result in 16 bits, in one half of the destination.
#[inline(always)]
pub(super) fn fma_mix16<const W: usize, const BRAIN: bool, const HIGH: bool>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
) {
    let out = lane::each(&fma_mix::<W, BRAIN>(wave, inst, mode), |sum| {
        let half = if BRAIN {
            fp::brain::bf16_of_f32(f32::from_bits(sum))
        } else {
            convert::f16_of_f32(mode, sum)
        };
        match (inst.clamp, BRAIN) {
            (false, _) => half,
            (true, true) => fp::clamp::<fp::Bf16>(mode, half),
            (true, false) => fp::clamp::<fp::F16>(mode, half),
        }
    });
    lane::store_half(wave, usize::from(inst.dst), HIGH, &out);
}

/// `c + a.low * b.low + a.high * b.high` of every lane, in single precision, one fused step after the other.
#[inline(always)]
fn dot2_sums<const W: usize>(
    wave: &Wave<W>,
    inst: &Inst,
    mode: Mode,
    addend: &[u32; W],
    widen: impl Fn(u16) -> u32,
) -> [u32; W] {
    let mut sums = *addend;
    for high in [false, true] {
        let [a, b] = [0, 1].map(|i| lane::packed_source(wave, inst, i, high, true));
        for i in 0..W {
            sums[i] = fp::fma::<fp::F32>(mode, widen(a[i]), widen(b[i]), sums[i]);
        }
    }
    sums
}

#[inline(always)]
fn dot2<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, widen: impl Fn(u16) -> u32) {
    let mut buffer = [0; W];
    let flip = u32::from(inst.neg >> 2 & 1) << 31;
    let addend = lane::row(wave, inst.src[2], &mut buffer).map(|value| value ^ flip);
    let sums = dot2_sums(wave, inst, mode, &addend, widen);
    lane::F32::write(wave, inst, mode, &sums);
}

#[inline(always)]
pub(super) fn dot2_f16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2(wave, inst, mode, lane::single);
}

#[inline(always)]
pub(super) fn dot2_bf16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2(wave, inst, mode, single_of_bf16);
}

/// A number in the 16-bit brain format in single precision.
#[inline(always)]
fn single_of_bf16(half: u16) -> u32 {
    u32::from(half) << 16
}

pub(super) fn dot2_half_f16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2_half(wave, inst, mode, lane::single, |sum| {
        fp::F16::round(f64::from(f32::from_bits(sum)))
    });
}

pub(super) fn dot2_half_bf16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2_half(wave, inst, mode, single_of_bf16, matrix::bf16_of_f32);
}

/// [`dot2`] with a half as addend and result.
fn dot2_half<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    widen: impl Fn(u16) -> u32 + Copy,
    narrow: impl Fn(u32) -> u16,
) {
    let bit = |bits: u8| bits >> 2 & 1 != 0;
    let addend = lane::halves(wave, inst.src[2], bit(inst.op_sel), bit(inst.abs), bit(inst.neg)).map(widen);
    // VOP3 has no op_sel_hi: the sources are whole pairs, and op_sel is about addend and result.
    let pairs = Inst {
        op_sel: 0,
        op_sel_hi: 7,
        ..inst.clone()
    };
    let sums = dot2_sums(wave, &pairs, mode, &addend, widen).map(narrow);
    lane::B16::write(wave, inst, mode, &sums);
}

/// Products of integer fields, summed, plus `c`; the sign bits of the first two sources say which are signed.
#[inline(always)]
pub(super) fn dot_int<const W: usize, const BITS: u32>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let mut buffers = [[0; W]; 3];
    let [a, b, c] = &mut buffers;
    let a = lane::row(wave, inst.src[0], a);
    let b = lane::row(wave, inst.src[1], b);
    let c = lane::row(wave, inst.src[2], c);
    let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = matrix::sum(c[i], matrix::dot(a[i], b[i], BITS, signed), inst.clamp);
    }
    lane::B32::write(wave, inst, mode, &out);
}
