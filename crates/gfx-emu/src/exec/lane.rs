//! Reading and writing vector operands: one row of lanes at a time, with modifiers, halves, clamp and EXEC.

mod derived;
mod rows;

use std::marker::PhantomData;
use std::ops::BitOr;

use crate::fp::{self, FloatFormat, Mode};
use crate::isa::Inst;
use crate::wave::Wave;
pub(super) use derived::derive;
use derived::{derive16, derive32, derive64, modifiers, uniform64};
use rows::write_half;
pub(super) use rows::{condition, each, halves, mask, pack, row, row64, spread, store, store_half};

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
pub(super) struct Float16<F>(PhantomData<F>);
/// Half precision.
pub(super) type F16 = Float16<fp::F16>;
/// The 16-bit brain format.
pub(super) type Bf16 = Float16<fp::Bf16>;
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

/// What a lane of a format has of the lane of as many bits: where its numbers lie. They are clamped where they are written.
macro_rules! of_format {
    ($format:ty, $bits:ty) => {
        type Value = <$bits as Lane>::Value;
        type Rows<'a, const W: usize> = <$bits as Lane>::Rows<'a, W>;

        #[inline(always)]
        fn rows<'a, const W: usize>(wave: &'a Wave<W>, inst: &Inst, i: usize) -> Self::Rows<'a, W> {
            <$bits>::rows(wave, inst, i)
        }

        #[inline(always)]
        fn get<const W: usize>(rows: Self::Rows<'_, W>, lane: usize) -> Self::Value {
            <$bits>::get(rows, lane)
        }

        #[inline(always)]
        fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, values: &[Self::Value; W]) {
            if inst.clamp {
                let out = each(values, |value| fp::clamp::<$format>(mode, value));
                <$bits>::write(wave, inst, mode, &out);
            } else {
                <$bits>::write(wave, inst, mode, values);
            }
        }

        #[inline(always)]
        fn nan(value: Self::Value) -> Self::Value {
            <$format>::is_nan(value).into()
        }
    };
}

impl Lane for F32 {
    of_format!(fp::F32, B32);

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive32(wave, &inst.src[i], i, modifiers(inst, i, 32));
        }
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
    of_format!(fp::F64, B64);

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive64(wave, &inst.src[i], i, modifiers(inst, i, 64));
        }
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

impl<F: FloatFormat<Bits = u16>> Lane for Float16<F> {
    of_format!(F, B16);

    #[inline(always)]
    fn prepare<const W: usize>(wave: &mut Wave<W>, inst: &Inst, i: usize) {
        if is_derived(inst, i) {
            derive16(wave, inst, i, (inst.abs >> i & 1 != 0, inst.neg >> i & 1 != 0));
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
