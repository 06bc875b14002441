//! Matrix multiply-accumulate: 16x16x16 products spread over the lanes of a wave.
//!
//! Lane `l` holds row `l % 16` of A and column `l % 16` of B, sixteen elements packed into consecutive registers. Register
//! `v` of C and D holds row `2 * v + l / 16`, column `l % 16`. The card's order of summation is not published; here the
//! sixteen products are added one after the other in single precision.

use super::{Trouble, lane, unimplemented};
use crate::fp::{self, Format as _, Mode};
use crate::isa::{Inst, Op, Src};
use crate::wave::Wave;

/// Rows, columns and depth.
const SIZE: usize = 16;
/// Registers of C and D.
const ROWS: usize = 8;
/// Nothing here depends on MODE.
const MODE: Mode = Mode::NONE;

/// A field of `bits` bits, sign-extended when it is signed.
fn field(word: u32, i: u32, bits: u32, signed: bool) -> i32 {
    let shift = 32 - bits;
    let top = word << (shift - bits * i);
    if signed {
        top as i32 >> shift
    } else {
        (top >> shift) as i32
    }
}

/// Sum of the products of the fields of two words.
pub(super) fn dot(a: u32, b: u32, bits: u32, signed: [bool; 2]) -> i32 {
    (0..32 / bits).fold(0, |sum: i32, i| {
        sum.wrapping_add(field(a, i, bits, signed[0]).wrapping_mul(field(b, i, bits, signed[1])))
    })
}

/// Rounds to the 16-bit brain format, to nearest even.
pub(super) fn bf16_of_f32(bits: u32) -> u16 {
    if fp::F32::is_nan(bits) {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

fn register(src: Src) -> Option<usize> {
    match src {
        Src::Vgpr(n) => Some(usize::from(n)),
        _ => None,
    }
}

/// What the sources of one operation hold.
struct Shape {
    /// Registers of A and of B.
    registers: usize,
    /// Bits of an integer element; 0 for floats.
    bits: u32,
    /// Brain format instead of half precision.
    brain: bool,
    /// C and D are 16-bit, in the half that `op_sel` names.
    narrow: bool,
}

/// Executes a matrix operation. Every lane takes part, whatever EXEC says.
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let shape = match inst.op {
        Op::WmmaF32F16 => Shape {
            registers: 8,
            bits: 0,
            brain: false,
            narrow: false,
        },
        Op::WmmaF32Bf16 => Shape {
            registers: 8,
            bits: 0,
            brain: true,
            narrow: false,
        },
        Op::WmmaF16F16 => Shape {
            registers: 8,
            bits: 0,
            brain: false,
            narrow: true,
        },
        Op::WmmaBf16Bf16 => Shape {
            registers: 8,
            bits: 0,
            brain: true,
            narrow: true,
        },
        Op::WmmaI32Iu8 => Shape {
            registers: 4,
            bits: 8,
            brain: false,
            narrow: false,
        },
        Op::WmmaI32Iu4 => Shape {
            registers: 2,
            bits: 4,
            brain: false,
            narrow: false,
        },
        _ => return Err(unimplemented()),
    };
    let (Some(a), Some(b)) = (register(inst.src[0]), register(inst.src[1])) else {
        return Err(unimplemented());
    };
    // Signs of the float forms would need op_sel_hi and neg_hi as well; compilers do not use them.
    if W != 32 || (shape.bits == 0 && (inst.neg | inst.abs) != 0) {
        return Err(unimplemented());
    }
    let mut out = [[0; W]; ROWS];
    for (v, out) in out.iter_mut().enumerate() {
        for (lane, out) in out.iter_mut().enumerate() {
            let (row, column) = (2 * v + lane / SIZE, lane % SIZE);
            let c = match inst.src[2] {
                Src::Vgpr(n) => wave.vgpr[usize::from(n) + v][lane],
                Src::Const(value) => value as u32,
                _ => return Err(unimplemented()),
            };
            let pairs = (0..shape.registers).map(|k| (wave.vgpr[a + k][row], wave.vgpr[b + k][column]));
            *out = if shape.bits == 0 {
                float(&shape, inst, pairs, c)
            } else {
                integer(&shape, inst, pairs, c)
            };
        }
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().enumerate() {
        let register = usize::from(inst.dst) + v;
        if shape.narrow {
            lane::store_half(
                wave,
                register,
                inst.op_sel & 4 != 0,
                &row.map(|value| value as u16),
            );
        } else {
            lane::store(wave, register, row);
        }
    }
    Ok(())
}

fn integer(shape: &Shape, inst: &Inst, pairs: impl Iterator<Item = (u32, u32)>, c: u32) -> u32 {
    let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
    pairs.fold(c as i32, |sum, (a, b)| {
        sum.wrapping_add(dot(a, b, shape.bits, signed))
    }) as u32
}

fn float(shape: &Shape, inst: &Inst, pairs: impl Iterator<Item = (u32, u32)>, c: u32) -> u32 {
    let widen = |half: u32| {
        if shape.brain {
            half << 16
        } else {
            lane::single(half as u16)
        }
    };
    let c = match (shape.narrow, inst.op_sel & 4 != 0) {
        (false, _) => c,
        (true, false) => widen(c & 0xffff),
        (true, true) => widen(c >> 16),
    };
    let sum = pairs.fold(c, |sum, (a, b)| {
        let low = fp::fma::<fp::F32>(MODE, widen(a & 0xffff), widen(b & 0xffff), sum);
        fp::fma::<fp::F32>(MODE, widen(a >> 16), widen(b >> 16), low)
    });
    match (shape.narrow, shape.brain) {
        (false, _) => sum,
        (true, true) => u32::from(bf16_of_f32(sum)),
        (true, false) => u32::from(super::convert::f16_of_f32(MODE, sum)),
    }
}
