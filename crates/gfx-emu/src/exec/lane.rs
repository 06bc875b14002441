//! Reading and writing vector operands: one row of lanes at a time, with modifiers, halves, clamp and EXEC.

use std::marker::PhantomData;
use std::ops::BitOr;

use super::host::Host;
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

/// A source that is one bit. Apart from the usual ones, so that they are two comparisons and not a jump to who knows where.
#[cold]
#[inline(never)]
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

/// All ones in the lanes whose bit is set in a mask.
#[inline(always)]
pub(super) fn spread<const W: usize>(mask: u64) -> [u32; W] {
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
pub(super) fn pack<const W: usize>(hits: &[u32; W]) -> u64 {
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
pub(super) fn each<const W: usize, T: Copy, R: Copy + Default>(row: &[T; W], f: impl Fn(T) -> R) -> [R; W] {
    let mut out = [R::default(); W];
    for i in 0..W {
        out[i] = f(row[i]);
    }
    out
}

/// Writes a row to a register, in the lanes that are active.
#[inline(always)]
pub(super) fn store<const W: usize>(wave: &mut Wave<W>, register: usize, values: &[u32; W]) {
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
///
/// Reading has two steps, so that the lane loop sees only rows. [`Lane::prepare`] writes a source that cannot be
/// read directly from a vector register into [`Wave::spare`]. [`Lane::rows`] says where the lanes are.
pub(super) trait Lane {
    /// The bits of one lane.
    type Value: Copy + Default + PartialEq + BitOr<Output = Self::Value>;
    /// The rows of a source.
    type Rows<'a, const W: usize>: Copy;

    /// Makes source `i` of the instruction ready.
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize);

    /// Source `i` of the instruction, which was prepared.
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> Self::Rows<'a, W>;

    /// One lane of a source.
    fn get<const W: usize>(rows: Self::Rows<'_, W>, lane: usize) -> Self::Value;

    /// The destination.
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[Self::Value; W]);

    /// Source `i` as it is, where that is known to be the same in every lane. Compilers compare 64-bit scalars as lanes: scalar
    /// instructions cannot order them.
    #[inline(always)]
    fn uniform<const W: usize>(_: &Wave<W>, _: &Inst, _: usize) -> Option<Self::Value> {
        None
    }

    /// Not zero where a result is a NaN.
    #[inline(always)]
    fn nan(_: Self::Value) -> Self::Value {
        Self::Value::default()
    }
}

/// The rows of source `i`: its register, or what was prepared.
#[inline(always)]
fn place<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize, second: usize) -> &'a [u32; W] {
    if is_derived(inst, i) {
        return &wave.spare[2 * i + second];
    }
    &wave.vgpr[usize::from(inst.rows[i]) + second]
}

/// Whether source `i` must be prepared.
#[inline(always)]
pub(super) fn is_derived(inst: &Inst, i: usize) -> bool {
    inst.direct >> i & 1 == 0
}

/// Prepares source `i` as operand of a kind. Compiled for the host once for the kind, so that what works on registers as they
/// are, as most instructions do, is not in the way.
#[inline(never)]
pub(super) fn derive<H: Host, const W: usize, L: Lane>(host: H, wave: &mut Wave<W>, inst: &Inst, i: usize) {
    host.run(
        #[inline(always)]
        move || L::prepare(wave, inst, i),
    );
}

/// What absolute value and negation of source `i` keep and flip, in a word of `bits` bits.
#[inline(always)]
fn modifiers(inst: &Inst, i: usize, bits: u32) -> (u64, u64) {
    let sign = 1 << (bits - 1);
    let keep = if inst.abs >> i & 1 != 0 { !sign } else { u64::MAX };
    let flip = if inst.neg >> i & 1 != 0 { sign } else { 0 };
    (keep, flip)
}

/// Derives a row of 32-bit lanes. What most instructions ask for is here, so that it is compiled for the host with
/// the lane loop that reads it.
#[inline(always)]
fn derive32<const W: usize>(wave: &mut Wave<W>, src: &Src, i: usize, (keep, flip): (u64, u64)) {
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
fn uniform64<const W: usize>(wave: &Wave<W>, src: &Src) -> Option<u64> {
    match src {
        Src::Scalar(n) => Some(wave.sgpr64(usize::from(*n))),
        Src::Const(value) => Some(*value),
        _ => None,
    }
}

/// [`derive32`] of 64-bit lanes.
#[inline(always)]
fn derive64<const W: usize>(wave: &mut Wave<W>, src: &Src, i: usize, (keep, flip): (u64, u64)) {
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
fn derive16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize, (abs, neg): (bool, bool)) {
    let high = inst.op_sel >> i & 1 != 0;
    let row = halves(wave, inst.src[i], high, abs, neg);
    wave.spare[2 * i].0 = each(&row, u32::from);
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
/// A float of 16 bits, in a format.
pub(super) struct Half<F>(PhantomData<F>);
/// Half precision.
pub(super) type F16 = Half<fp::F16>;
/// The 16-bit brain format.
pub(super) type Bf16 = Half<fp::Bf16>;
/// Two halves of a register as one number of 32 bits.
pub(super) type P16 = B32;
/// The same of floats.
pub(super) type PF16 = B32;

impl Lane for B32 {
    type Value = u32;
    type Rows<'a, const W: usize> = &'a [u32; W];

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive32(wave, &inst.src[i], i, (u64::MAX, 0));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> &'a [u32; W] {
        place(wave, inst, i, 0)
    }

    #[inline(always)]
    fn get<const W: usize>(rows: &[u32; W], lane: usize) -> u32 {
        rows[lane]
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u32; W]) {
        store(wave, usize::from(inst.dst), values);
    }
}

impl Lane for F32 {
    type Value = u32;
    type Rows<'a, const W: usize> = &'a [u32; W];

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive32(wave, &inst.src[i], i, modifiers(inst, i, 32));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> &'a [u32; W] {
        place(wave, inst, i, 0)
    }

    #[inline(always)]
    fn get<const W: usize>(rows: &[u32; W], lane: usize) -> u32 {
        rows[lane]
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u32; W]) {
        if inst.clamp {
            let out = each(values, |value| fp::clamp::<fp::F32>(mode, value));
            store(wave, usize::from(inst.dst), &out);
        } else {
            store(wave, usize::from(inst.dst), values);
        }
    }

    #[inline(always)]
    fn nan(value: u32) -> u32 {
        u32::from(fp::F32::is_nan(value))
    }
}

#[inline(always)]
fn store64<const W: usize>(wave: &mut Wave<W>, register: usize, values: &[u64; W]) {
    store(wave, register, &each(values, |value| value as u32));
    store(wave, register + 1, &each(values, |value| (value >> 32) as u32));
}

impl Lane for B64 {
    type Value = u64;
    type Rows<'a, const W: usize> = [&'a [u32; W]; 2];

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive64(wave, &inst.src[i], i, (u64::MAX, 0));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> [&'a [u32; W]; 2] {
        [place(wave, inst, i, 0), place(wave, inst, i, 1)]
    }

    #[inline(always)]
    fn get<const W: usize>([low, high]: [&[u32; W]; 2], lane: usize) -> u64 {
        u64::from(low[lane]) | u64::from(high[lane]) << 32
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u64; W]) {
        store64(wave, usize::from(inst.dst), values);
    }

    #[inline(always)]
    fn uniform<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize) -> Option<u64> {
        uniform64(wave, &inst.src[i])
    }
}

impl Lane for F64 {
    type Value = u64;
    type Rows<'a, const W: usize> = [&'a [u32; W]; 2];

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive64(wave, &inst.src[i], i, modifiers(inst, i, 64));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> [&'a [u32; W]; 2] {
        [place(wave, inst, i, 0), place(wave, inst, i, 1)]
    }

    #[inline(always)]
    fn get<const W: usize>([low, high]: [&[u32; W]; 2], lane: usize) -> u64 {
        u64::from(low[lane]) | u64::from(high[lane]) << 32
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u64; W]) {
        if inst.clamp {
            let out = each(values, |value| fp::clamp::<fp::F64>(mode, value));
            store64(wave, usize::from(inst.dst), &out);
        } else {
            store64(wave, usize::from(inst.dst), values);
        }
    }

    #[inline(always)]
    fn nan(value: u64) -> u64 {
        u64::from(fp::F64::is_nan(value))
    }
}

impl Lane for B16 {
    type Value = u16;
    type Rows<'a, const W: usize> = (&'a [u32; W], u32);

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive16(wave, inst, i, (false, false));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> (&'a [u32; W], u32) {
        let derived = is_derived(inst, i);
        let shift = if !derived && inst.op_sel >> i & 1 != 0 {
            16
        } else {
            0
        };
        (place(wave, inst, i, 0), shift)
    }

    #[inline(always)]
    fn get<const W: usize>((row, shift): (&[u32; W], u32), lane: usize) -> u16 {
        (row[lane] >> shift) as u16
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, values: &[u16; W]) {
        write_half(wave, inst, values);
    }
}

impl<F: Format<Bits = u16>> Lane for Half<F> {
    type Value = u16;
    type Rows<'a, const W: usize> = (&'a [u32; W], u32);

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive16(wave, inst, i, (inst.abs >> i & 1 != 0, inst.neg >> i & 1 != 0));
        }
    }

    #[inline(always)]
    fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> (&'a [u32; W], u32) {
        let derived = is_derived(inst, i);
        let shift = if !derived && inst.op_sel >> i & 1 != 0 {
            16
        } else {
            0
        };
        (place(wave, inst, i, 0), shift)
    }

    #[inline(always)]
    fn get<const W: usize>((row, shift): (&[u32; W], u32), lane: usize) -> u16 {
        (row[lane] >> shift) as u16
    }

    #[inline(always)]
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[u16; W]) {
        if inst.clamp {
            let out = each(values, |value| fp::clamp::<F>(mode, value));
            write_half(wave, inst, &out);
        } else {
            write_half(wave, inst, values);
        }
    }

    #[inline(always)]
    fn nan(value: u16) -> u16 {
        u16::from(F::is_nan(value))
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
    [low, high]: &[[u16; W]; 2],
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
        other => u64::from(condition(wave, other)),
    }
}

/// A half in single precision; a NaN is quieted.
#[inline(always)]
pub(super) fn single(bits: u16) -> u32 {
    let bits = fp::f32_of_f16(bits).to_bits();
    if fp::F32::is_nan(bits) {
        fp::F32::quiet(bits)
    } else {
        bits
    }
}
