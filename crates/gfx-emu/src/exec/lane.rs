//! Reading and writing vector operands: one row of lanes at a time, with modifiers, halves, clamp and EXEC.

use crate::fp::{self, Format, Mode};
use crate::isa::{Inst, Src};
use crate::wave::{Wave, reg};

/// The 32-bit row of a source: a register as it is, anything else spread over `buffer`.
#[inline(always)]
pub(super) fn row<'a, const W: usize>(wave: &'a Wave<W>, src: Src, buffer: &'a mut [u32; W]) -> &'a [u32; W] {
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

/// A source that is one bit.
#[inline]
pub(super) fn condition<const W: usize>(wave: &Wave<W>, src: Src) -> bool {
    match src {
        Src::Scc => wave.scc,
        Src::Vccz => wave.mask(reg::VCC) == 0,
        Src::Execz => wave.exec() == 0,
        _ => false,
    }
}

/// The 64-bit row of a source.
#[inline(always)]
pub(super) fn row64<const W: usize>(wave: &Wave<W>, src: Src, out: &mut [u64; W]) {
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

/// Writes a row to a register, in the lanes that are active.
#[inline(always)]
pub(super) fn store<const W: usize>(wave: &mut Wave<W>, register: usize, values: &[u32; W]) {
    let active = wave.active;
    let row = &mut wave.vgpr[register];
    if active == Wave::<W>::ALL {
        *row = *values;
        return;
    }
    for i in 0..W {
        row[i] = if active >> i & 1 != 0 { values[i] } else { row[i] };
    }
}

/// Writes half of a register, in the lanes that are active.
#[inline(always)]
pub(super) fn store_half<const W: usize>(wave: &mut Wave<W>, register: usize, high: bool, values: &[u16; W]) {
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
fn write_half<const W: usize>(wave: &mut Wave<W>, inst: &Inst, values: &[u16; W]) {
    let high = inst.op_sel >> 3 & 1 != 0;
    if W > 32 && inst.clears_half {
        let shift = if high { 16 } else { 0 };
        store(
            wave,
            usize::from(inst.dst),
            &values.map(|value| u32::from(value) << shift),
        );
    } else {
        store_half(wave, usize::from(inst.dst), high, values);
    }
}

/// Half of each lane of a source, with negation.
#[inline(always)]
pub(super) fn halves<const W: usize>(wave: &Wave<W>, src: Src, high: bool, abs: bool, neg: bool) -> [u16; W] {
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

/// How a kind of operand is read and written; see [`crate::isa::ops::Kind`].
pub(super) trait Lane {
    /// The bits of one lane.
    type Value: Copy + Default;

    /// Source `i` of the instruction.
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [Self::Value; W],
    ) -> &'a [Self::Value; W];

    /// The destination.
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[Self::Value; W]);
}

/// 32-bit integers.
pub(super) struct B32;
/// Single precision.
pub(super) struct F32;
/// 64-bit unsigned integers.
pub(super) struct B64;
/// 64-bit signed integers: they differ from [`B64`] in their constants, which are resolved by now.
pub(super) type I64 = B64;
/// Double precision.
pub(super) struct F64;
/// 16-bit integers.
pub(super) struct B16;
/// Half precision.
pub(super) struct F16;
/// Two halves of a register as one number of 32 bits.
pub(super) type P16 = B32;

impl Lane for B32 {
    type Value = u32;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u32; W],
    ) -> &'a [u32; W] {
        row(wave, inst.src[i], buffer)
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u32; W]) {
        store(wave, usize::from(inst.dst), values);
    }
}

impl Lane for F32 {
    type Value = u32;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u32; W],
    ) -> &'a [u32; W] {
        if (inst.neg | inst.abs) >> i & 1 == 0 {
            return row(wave, inst.src[i], buffer);
        }
        let keep = if inst.abs >> i & 1 != 0 {
            0x7fff_ffff
        } else {
            u32::MAX
        };
        let flip = u32::from(inst.neg >> i & 1) << 31;
        let mut spread = [0; W];
        let row = row(wave, inst.src[i], &mut spread);
        for (out, value) in buffer.iter_mut().zip(row) {
            *out = value & keep ^ flip;
        }
        buffer
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u32; W]) {
        if inst.clamp {
            store(
                wave,
                usize::from(inst.dst),
                &values.map(|value| fp::clamp::<fp::F32>(mode, value)),
            );
        } else {
            store(wave, usize::from(inst.dst), values);
        }
    }
}

#[inline(always)]
fn store64<const W: usize>(wave: &mut Wave<W>, register: usize, values: &[u64; W]) {
    store(wave, register, &values.map(|value| value as u32));
    store(wave, register + 1, &values.map(|value| (value >> 32) as u32));
}

impl Lane for B64 {
    type Value = u64;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u64; W],
    ) -> &'a [u64; W] {
        row64(wave, inst.src[i], buffer);
        buffer
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u64; W]) {
        store64(wave, usize::from(inst.dst), values);
    }
}

impl Lane for F64 {
    type Value = u64;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u64; W],
    ) -> &'a [u64; W] {
        row64(wave, inst.src[i], buffer);
        if (inst.neg | inst.abs) >> i & 1 != 0 {
            let keep = if inst.abs >> i & 1 != 0 {
                u64::MAX >> 1
            } else {
                u64::MAX
            };
            let flip = u64::from(inst.neg >> i & 1) << 63;
            for value in buffer.iter_mut() {
                *value = *value & keep ^ flip;
            }
        }
        buffer
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u64; W]) {
        if inst.clamp {
            store64(
                wave,
                usize::from(inst.dst),
                &values.map(|value| fp::clamp::<fp::F64>(mode, value)),
            );
        } else {
            store64(wave, usize::from(inst.dst), values);
        }
    }
}

impl Lane for B16 {
    type Value = u16;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u16; W],
    ) -> &'a [u16; W] {
        *buffer = halves(wave, inst.src[i], inst.op_sel >> i & 1 != 0, false, false);
        buffer
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u16; W]) {
        write_half(wave, inst, values);
    }
}

impl Lane for F16 {
    type Value = u16;

    #[inline(always)]
    fn read<'a, const W: usize>(
        wave: &'a Wave<W>,
        inst: &Inst,
        i: usize,
        buffer: &'a mut [u16; W],
    ) -> &'a [u16; W] {
        let bit = |bits: u8| bits >> i & 1 != 0;
        *buffer = halves(wave, inst.src[i], bit(inst.op_sel), bit(inst.abs), bit(inst.neg));
        buffer
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u16; W]) {
        if inst.clamp {
            write_half(wave, inst, &values.map(|value| fp::clamp::<fp::F16>(mode, value)));
        } else {
            write_half(wave, inst, values);
        }
    }
}

/// Source `i` of a packed instruction for one half of the result: which half it takes and its sign.
#[inline(always)]
pub(super) fn packed_source<const W: usize>(
    wave: &Wave<W>,
    inst: &Inst,
    i: usize,
    high: bool,
    float: bool,
) -> [u16; W] {
    let (select, negate) = if high {
        (inst.op_sel_hi, inst.abs)
    } else {
        (inst.op_sel, inst.neg)
    };
    halves(
        wave,
        inst.src[i],
        select >> i & 1 != 0,
        false,
        float && negate >> i & 1 != 0,
    )
}

/// Writes both halves of a packed result.
#[inline(always)]
pub(super) fn packed_write<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    [low, high]: [[u16; W]; 2],
) {
    let mut out = [0; W];
    for i in 0..W {
        let half = |value: u16| {
            u32::from(if inst.clamp {
                fp::clamp::<fp::F16>(mode, value)
            } else {
                value
            })
        };
        out[i] = half(low[i]) | half(high[i]) << 16;
    }
    store(wave, usize::from(inst.dst), &out);
}

/// The lane mask a source holds.
#[inline(always)]
pub(super) fn mask<const W: usize>(wave: &Wave<W>, src: Src) -> u64 {
    match src {
        Src::Scalar(n) => wave.mask(usize::from(n)),
        Src::Const(value) => value,
        Src::Scc | Src::Vccz | Src::Execz => u64::from(condition(wave, src)),
        Src::Vgpr(_) | Src::Staged(_) | Src::None => 0,
    }
}

/// Format helpers used by the vector operations.
pub(super) fn single(bits: u16) -> u32 {
    (fp::F16::host(bits) as f32).to_bits()
}
