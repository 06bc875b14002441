//! CDNA4's conversions between small floats and wider ones with a scale: the exponent of a number in single precision.
//!
//! A wide number is divided by the power of two on the way down and a small one multiplied by it on the way up; both are rounded once, to
//! nearest even. Sources: AMD's headers `amd_hip_ocp_*`, which call the compiler's functions beside their own code for hosts. An exponent
//! of all ones is taken for NaN, as it is in the products with scales; this is an assumption. Where the result has no NaN the largest
//! number stands for it; this is another.

use super::fp8::{self, Byte};
use super::lane;
use super::matrix::bf16_of_f32;
use crate::fp::{self, Mode};
use crate::isa::{Inst, Src};
use crate::wave::Wave;

/// Wide formats.
pub(super) const SINGLE: u8 = 0;
pub(super) const HALF: u8 = 1;
pub(super) const BRAIN: u8 = 2;
/// Small formats.
pub(super) const FP8: u8 = 3;
pub(super) const BF8: u8 = 4;
pub(super) const FP6: u8 = 5;
pub(super) const BF6: u8 = 6;
pub(super) const FP4: u8 = 7;

/// Elements of the longest conversions.
const ALL: usize = 32;

/// The small format of this number.
const fn format(small: u8) -> Byte {
    [fp8::OCP_FP8, fp8::OCP_BF8, fp8::FP6, fp8::BF6, fp8::FP4][(small - FP8) as usize]
}

/// Bits of an element of any format.
const fn bits(format: u8) -> usize {
    [32, 16, 16, 8, 8, 6, 6, 4][format as usize]
}

/// The power of two that a scale stands for.
fn power(scale: u32) -> f64 {
    match scale >> 23 & 0xff {
        0xff => f64::NAN,
        exponent => 2f64.powi(exponent as i32 - 127),
    }
}

/// A wide number.
fn number(wide: u8, bits: u32) -> f64 {
    match wide {
        SINGLE => f32::from_bits(bits).into(),
        HALF => f32::from_bits(lane::single(bits as u16)).into(),
        _ => f32::from_bits(bits << 16).into(),
    }
}

/// A number as a wide one.
fn widened(wide: u8, number: f64) -> u32 {
    match wide {
        SINGLE => (number as f32).to_bits(),
        HALF => fp::f16_of_f64(number).into(),
        _ => bf16_of_f32((number as f32).to_bits()).into(),
    }
}

/// The bits of element `item` of each lane, in as many registers from that of a source on as they take.
fn element<const W: usize>(wave: &Wave<W>, src: Src, item: usize, bits: usize) -> [u32; W] {
    let at = item * bits;
    let words = |word: usize| {
        let mut buffer = [0; W];
        match src {
            Src::Vgpr(first) => wave
                .vgpr
                .get(usize::from(first) + word)
                .map_or(buffer, |row| **row),
            _ => *lane::row(wave, src, &mut buffer),
        }
    };
    let (low, shift) = (words(at / 32), at % 32);
    let high = if shift + bits > 32 {
        words(at / 32 + 1)
    } else {
        [0; W]
    };
    let mask = u32::MAX >> (32 - bits);
    std::array::from_fn(|i| ((u64::from(high[i]) << 32 | u64::from(low[i])) >> shift) as u32 & mask)
}

/// The scale of each lane, which is the last source.
fn scales<const W: usize>(wave: &Wave<W>, inst: &Inst, at: usize) -> [f64; W] {
    let mut buffer = [0; W];
    lane::each(lane::row(wave, inst.src[at], &mut buffer), power)
}

/// Puts `codes`, as they follow each other from bit `at` of the destination on, into its registers and keeps the other bits of these.
fn place<const W: usize>(wave: &mut Wave<W>, inst: &Inst, at: usize, bits: usize, codes: &[[u32; W]]) {
    let end = at + bits * codes.len();
    for word in at / 32..end.div_ceil(32) {
        let register = usize::from(inst.dst) + word;
        let mut row = *wave.vgpr[register];
        for (i, code) in codes.iter().enumerate() {
            let start = at + bits * i;
            if start + bits <= 32 * word || start >= 32 * (word + 1) {
                continue;
            }
            let shift = start as i64 - 32 * word as i64;
            let moved = |value: u64| if shift < 0 { value >> -shift } else { value << shift } as u32;
            let mask = moved(u64::MAX >> (64 - bits));
            for (lane, value) in row.iter_mut().zip(code) {
                *lane = *lane & !mask | moved(u64::from(*value)) & mask;
            }
        }
        lane::store(wave, register, &row);
    }
}

/// The codes of the first `N` numbers: of two sources in turn in single precision, of one in 16 bits.
fn narrowed<const W: usize, const FROM: u8, const TO: u8, const N: usize>(
    wave: &Wave<W>,
    inst: &Inst,
) -> [[u32; W]; N] {
    let sources = if FROM == SINGLE { 2 } else { 1 };
    let scales = scales(wave, inst, sources);
    std::array::from_fn(|i| {
        let values = element(wave, inst.src[i % sources], i / sources, bits(FROM));
        let code = |lane: usize| fp8::narrow_short(number(FROM, values[lane]) / scales[lane], format(TO));
        std::array::from_fn(|lane| code(lane).into())
    })
}

fn widen<const W: usize>(wide: u8, small: u8, codes: &[u32; W], scales: &[f64; W]) -> [u32; W] {
    let value = |i: usize| f64::from(f32::from_bits(fp8::widen_short(codes[i] as u8, format(small))));
    std::array::from_fn(|i| widened(wide, value(i) * scales[i]))
}

/// Two numbers to bytes, in the half of the destination that `op_sel` names, or to nibbles, in its byte.
pub(super) fn narrow_two<const W: usize, const FROM: u8, const TO: u8>(
    wave: &mut Wave<W>,
    inst: &Inst,
    _: Mode,
) {
    let codes = narrowed::<W, FROM, TO, 2>(wave, inst);
    let at = match TO {
        FP4 => usize::from(inst.op_sel >> 2) * 8,
        _ => usize::from(inst.op_sel >> 3) * 16,
    };
    place(wave, inst, at, bits(TO), &codes);
}

/// 32 numbers, in the order of the registers; those of two sources in turn.
pub(super) fn narrow_all<const W: usize, const FROM: u8, const TO: u8>(
    wave: &mut Wave<W>,
    inst: &Inst,
    _: Mode,
) {
    let codes = narrowed::<W, FROM, TO, ALL>(wave, inst);
    place(wave, inst, 0, bits(TO), &codes);
}

/// The byte that `op_sel` names: its first bit the half, its second one the byte of that.
fn byte_of(inst: &Inst) -> usize {
    usize::from(inst.op_sel & 1) * 2 + usize::from(inst.op_sel >> 1 & 1)
}

/// A byte to the destination, or to the half of it that `op_sel` names.
pub(super) fn widen_one<const W: usize, const FROM: u8, const TO: u8>(
    wave: &mut Wave<W>,
    inst: &Inst,
    _: Mode,
) {
    let codes = element(wave, inst.src[0], byte_of(inst), 8);
    let out = widen(TO, FROM, &codes, &scales(wave, inst, 1));
    place(
        wave,
        inst,
        usize::from(inst.op_sel >> 3) * 16 % 32 * usize::from(TO != SINGLE),
        bits(TO),
        &[out],
    );
}

/// Two bytes of the half that `op_sel` names, or two nibbles of its byte.
pub(super) fn widen_two<const W: usize, const FROM: u8, const TO: u8>(
    wave: &mut Wave<W>,
    inst: &Inst,
    _: Mode,
) {
    let first = match FROM {
        FP4 => 2 * byte_of(inst),
        _ => 2 * usize::from(inst.op_sel & 1),
    };
    let scales = scales(wave, inst, 1);
    let out: [[u32; W]; 2] = std::array::from_fn(|i| {
        let codes = element(wave, inst.src[0], first + i, bits(FROM));
        widen(TO, FROM, &codes, &scales)
    });
    place(wave, inst, 0, bits(TO), &out);
}

/// 32 numbers, in the order of the registers.
pub(super) fn widen_all<const W: usize, const FROM: u8, const TO: u8>(
    wave: &mut Wave<W>,
    inst: &Inst,
    _: Mode,
) {
    let scales = scales(wave, inst, 1);
    let out: [[u32; W]; ALL] = std::array::from_fn(|i| {
        let codes = element(wave, inst.src[0], i, bits(FROM));
        widen(TO, FROM, &codes, &scales)
    });
    place(wave, inst, 0, bits(TO), &out);
}
