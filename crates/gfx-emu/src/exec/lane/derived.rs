//! Sources that are not registers as they are: scalars, constants, halves, and what has modifiers. Their rows are made before the lane loop.

use super::Lane;
use super::rows::{each, halves, row, row64};
use crate::exec::host::Host;
use crate::isa::{Inst, Src};
use crate::wave::Wave;

/// Prepares source `i` as operand of a kind. Compiled for the host once for the kind, so that what works on registers as they
/// are, as most instructions do, is not in the way.
#[inline(never)]
pub(in crate::exec) fn derive<H: Host, const W: usize, L: Lane>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    i: usize,
) {
    host.run(
        #[inline(always)]
        move || L::prepare(wave, inst, i),
    );
}

/// What absolute value and negation of source `i` keep and flip, in a word of `bits` bits.
#[inline(always)]
pub(super) fn modifiers(inst: &Inst, i: usize, bits: u32) -> (u64, u64) {
    let sign = 1 << (bits - 1);
    let keep = if inst.abs >> i & 1 != 0 { !sign } else { u64::MAX };
    let flip = if inst.neg >> i & 1 != 0 { sign } else { 0 };
    (keep, flip)
}

/// Derives a row of 32-bit lanes. What most instructions ask for is here, so that it is compiled for the host with
/// the lane loop that reads it.
#[inline(always)]
pub(super) fn derive32<const W: usize>(wave: &mut Wave<W>, src: &Src, i: usize, (keep, flip): (u64, u64)) {
    let change = |value: u32| value & keep as u32 ^ flip as u32;
    wave.spare[2 * i].0 = match src {
        Src::Scalar(n) => filled(change(wave.sgpr[usize::from(n & 127)])),
        Src::Const(value) => filled(change(*value as u32)),
        Src::Vgpr(n) => each(&wave.vgpr[usize::from(*n)], change),
        _ => return derive32_rarely(wave, *src, i, (keep, flip)),
    };
}

#[cold]
#[inline(never)]
fn derive32_rarely<const W: usize>(wave: &mut Wave<W>, src: Src, i: usize, (keep, flip): (u64, u64)) {
    let mut buffer = [0; W];
    let row = *row(wave, src, &mut buffer);
    wave.spare[2 * i].0 = each(&row, |value| value & keep as u32 ^ flip as u32);
}

/// `value` in every lane, eight of them at a time: a row that is written in other pieces than it is read in a moment later
/// holds the host's processor up.
#[inline(always)]
fn filled<const W: usize>(value: u32) -> [u32; W] {
    let mut row = [0; W];
    for run in row.as_chunks_mut::<8>().0 {
        *run = [value; 8];
    }
    row
}

/// A source of 64 bits that is the same in every lane.
#[inline(always)]
pub(super) fn uniform64<const W: usize>(wave: &Wave<W>, src: &Src) -> Option<u64> {
    match src {
        Src::Scalar(n) => Some(wave.sgpr64(usize::from(*n))),
        Src::Const(value) => Some(*value),
        _ => None,
    }
}

/// [`derive32`] of 64-bit lanes.
#[inline(always)]
pub(super) fn derive64<const W: usize>(wave: &mut Wave<W>, src: &Src, i: usize, (keep, flip): (u64, u64)) {
    let Some(value) = uniform64(wave, src) else {
        return derive64_rarely(wave, *src, i, (keep, flip));
    };
    let value = value & keep ^ flip;
    wave.spare[2 * i].0 = filled(value as u32);
    wave.spare[2 * i + 1].0 = filled((value >> 32) as u32);
}

#[inline(never)]
fn derive64_rarely<const W: usize>(wave: &mut Wave<W>, src: Src, i: usize, (keep, flip): (u64, u64)) {
    let mut row = [0; W];
    row64(wave, src, &mut row);
    let row = each(&row, |value| value & keep ^ flip);
    wave.spare[2 * i].0 = each(&row, |value| value as u32);
    wave.spare[2 * i + 1].0 = each(&row, |value| (value >> 32) as u32);
}

#[inline(never)]
pub(super) fn derive16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize, (abs, neg): (bool, bool)) {
    let high = inst.op_sel >> i & 1 != 0;
    let row = halves(wave, inst.src[i], high, abs, neg);
    wave.spare[2 * i].0 = each(&row, u32::from);
}
