//! Rows of lanes: a source as one, a row into a register, and masks as rows.

use crate::isa::{Inst, Src};
use crate::wave::{Wave, reg};

/// The 32-bit row of a source: a register as it is, anything else spread over `buffer`.
#[inline(always)]
pub(in crate::exec) fn row<'a, const W: usize>(
    wave: &'a Wave<W>,
    src: Src,
    buffer: &'a mut [u32; W],
) -> &'a [u32; W] {
    let value = match src {
        Src::Vgpr(n) => return &wave.vgpr[usize::from(n)],
        Src::Staged(i) => return &wave.staged[usize::from(i & 1)],
        Src::Scalar(n) => wave.sgpr[usize::from(n & 127)],
        Src::Const(value) => value as u32,
        Src::Scc | Src::Vccz | Src::Execz => u32::from(condition(wave, src)),
        Src::None => 0,
    };
    *buffer = [value; W];
    buffer
}

/// A source that is one bit. Apart from the usual ones, so that they are two comparisons and not a jump to who knows where.
#[cold]
#[inline(never)]
pub(in crate::exec) fn condition<const W: usize>(wave: &Wave<W>, src: Src) -> bool {
    match src {
        Src::Scc => wave.scc,
        Src::Vccz => wave.mask(reg::VCC) == 0,
        Src::Execz => wave.exec() == 0,
        _ => false,
    }
}

/// The 64-bit row of a source.
#[inline(always)]
pub(in crate::exec) fn row64<const W: usize>(wave: &Wave<W>, src: Src, out: &mut [u64; W]) {
    let value = match src {
        Src::Vgpr(n) => {
            let (low, high) = (&wave.vgpr[usize::from(n)], &wave.vgpr[usize::from(n) + 1]);
            for i in 0..W {
                out[i] = u64::from(low[i]) | u64::from(high[i]) << 32;
            }
            return;
        }
        Src::Staged(_) => {
            let [low, high] = &wave.staged;
            for i in 0..W {
                out[i] = u64::from(low[i]) | u64::from(high[i]) << 32;
            }
            return;
        }
        Src::Scalar(n) => wave.sgpr64(usize::from(n)),
        Src::Const(value) => value,
        Src::Scc | Src::Vccz | Src::Execz => u64::from(condition(wave, src)),
        Src::None => 0,
    };
    *out = [value; W];
}

/// All ones in the lanes whose bit is set in a mask.
#[inline(always)]
pub(in crate::exec) fn spread<const W: usize>(mask: u64) -> [u32; W] {
    let mut out = [0; W];
    for (half, lanes) in out.chunks_mut(32).enumerate() {
        let bits = (mask >> (32 * half)) as u32;
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = 0_u32.wrapping_sub(bits >> i & 1);
        }
    }
    out
}

/// One bit for each lane: the lowest of its number.
#[inline(always)]
pub(in crate::exec) fn pack<const W: usize>(hits: &[u32; W]) -> u64 {
    let mut mask = 0;
    for (half, lanes) in hits.chunks(32).enumerate() {
        let mut bits = 0_u32;
        for (i, hit) in lanes.iter().enumerate() {
            bits |= (hit & 1) << i;
        }
        mask |= u64::from(bits) << (32 * half);
    }
    mask
}

/// `f` of every lane. [`array::map`] is a call for arrays as long as these.
#[inline(always)]
pub(in crate::exec) fn each<const W: usize, T: Copy, R: Copy + Default>(
    row: &[T; W],
    f: impl Fn(T) -> R,
) -> [R; W] {
    let mut out = [R::default(); W];
    for i in 0..W {
        out[i] = f(row[i]);
    }
    out
}

/// Writes a row to a register, in the lanes that are active.
#[inline(always)]
pub(in crate::exec) fn store<const W: usize>(wave: &mut Wave<W>, register: usize, values: &[u32; W]) {
    let active = wave.active;
    let row = &mut wave.vgpr[register];
    if active == Wave::<W>::ALL {
        row.0 = *values;
        return;
    }
    let mask = spread::<W>(active);
    for i in 0..W {
        row[i] ^= (row[i] ^ values[i]) & mask[i];
    }
}

/// Writes half of a register, in the lanes that are active.
#[inline(always)]
pub(in crate::exec) fn store_half<const W: usize>(
    wave: &mut Wave<W>,
    register: usize,
    high: bool,
    values: &[u16; W],
) {
    let old = &wave.vgpr[register];
    let mut out = [0; W];
    for i in 0..W {
        let value = u32::from(values[i]);
        out[i] = if high {
            old[i] & 0xffff | value << 16
        } else {
            old[i] & 0xffff_0000 | value
        };
    }
    store(wave, register, &out);
}

/// Writes the half that the instruction's destination is. Most 16-bit instructions of CDNA3 clear the other one.
#[inline(always)]
pub(super) fn write_half<const W: usize>(wave: &mut Wave<W>, inst: &Inst, values: &[u16; W]) {
    let high = inst.op_sel >> 3 & 1 != 0;
    if inst.clears_half {
        let shift = if high { 16 } else { 0 };
        let out = each(values, |value| u32::from(value) << shift);
        store(wave, usize::from(inst.dst), &out);
    } else {
        store_half(wave, usize::from(inst.dst), high, values);
    }
}

/// Half of each lane of a source, with negation.
#[inline(always)]
pub(in crate::exec) fn halves<const W: usize>(
    wave: &Wave<W>,
    src: Src,
    high: bool,
    abs: bool,
    neg: bool,
) -> [u16; W] {
    let mut buffer = [0; W];
    let row = row(wave, src, &mut buffer);
    let (shift, keep, flip) = (
        if high { 16 } else { 0 },
        if abs { 0x7fff } else { 0xffff },
        u16::from(neg) << 15,
    );
    let mut out = [0; W];
    for i in 0..W {
        out[i] = (row[i] >> shift) as u16 & keep ^ flip;
    }
    out
}

/// The lane mask a source holds.
#[inline(always)]
pub(in crate::exec) fn mask<const W: usize>(wave: &Wave<W>, src: Src) -> u64 {
    match src {
        Src::Scalar(n) => wave.mask(usize::from(n)),
        Src::Const(value) => value,
        other => u64::from(condition(wave, other)),
    }
}
