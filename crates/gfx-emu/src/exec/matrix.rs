//! Matrix multiply-accumulate: 16x16x16 products spread over the lanes of a wave.
//!
//! Lane `l` holds row `l % 16` of A and column `l % 16` of B, sixteen elements packed into consecutive registers. In a wave
//! of `W` lanes, register `v` of C and D holds row `W / 16 * v + l / 16`, column `l % 16`. The card's order of summation is not published; here the
//! sixteen products are added one after the other in single precision.

use super::{Trouble, lane, product, unimplemented};
use crate::fp::{self, Mode};
use crate::isa::{Element, Inst, Src, Wmma};
use crate::wave::Wave;

/// Rows, columns and depth.
const SIZE: usize = 16;
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
pub(super) fn dot(a: u32, b: u32, bits: u32, signed: [bool; 2]) -> i64 {
    (0..32 / bits).fold(0, |sum, i| {
        sum + i64::from(field(a, i, bits, signed[0])) * i64::from(field(b, i, bits, signed[1]))
    })
}

/// A 32-bit addend and a sum of products, wrapped to 32 bits, or saturated when it is to be clamped.
pub(super) fn sum(addend: u32, products: i64, clamp: bool) -> u32 {
    let sum = i64::from(addend as i32) + products;
    let saturated = sum.clamp(i32::MIN.into(), i32::MAX.into());
    if clamp { saturated as u32 } else { sum as u32 }
}

/// Rounds to the 16-bit brain format, to nearest even.
pub(super) fn bf16_of_f32(bits: u32) -> u16 {
    fp::brain::bf16_of_f32(f32::from_bits(bits))
}

fn register(src: Src) -> Option<usize> {
    match src {
        Src::Vgpr(n) => Some(usize::from(n)),
        _ => None,
    }
}

/// Executes a matrix operation. Every lane takes part, whatever EXEC says.
#[inline(never)]
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, wmma: Wmma) -> Result<(), Trouble> {
    let (Some(a), Some(b)) = (register(inst.src[0]), register(inst.src[1])) else {
        return Err(unimplemented());
    };
    let integers = matches!(wmma.element, Element::I8 | Element::I4);
    // Signs of the float forms would need op_sel_hi and neg_hi as well; compilers do not use them.
    if !integers && (inst.neg | inst.abs) != 0 {
        return Err(unimplemented());
    }
    // Registers of A and of B.
    let registers = SIZE * wmma.element.bits() / 32;
    // By row and column, each in the format of its register.
    let mut sums = [[0; SIZE]; SIZE];
    for (row, sums) in sums.iter_mut().enumerate() {
        let (v, first) = place::<W>(row);
        match inst.src[2] {
            Src::Vgpr(n) => sums.copy_from_slice(&wave.vgpr[usize::from(n) + v].0[first..first + SIZE]),
            Src::Const(value) => *sums = [value as u32; SIZE],
            _ => return Err(unimplemented()),
        }
    }
    if integers {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let pairs = (0..registers).map(|k| (wave.vgpr[a + k][row], wave.vgpr[b + k][column]));
                *sum = integer(wmma, inst, pairs, *sum);
            }
        }
    } else {
        float(wmma, inst, wave, [a, b], &mut sums);
    }
    let mut out = [[0; W]; SIZE * SIZE / 32];
    let out = &mut out[..SIZE * SIZE / W];
    for (row, sums) in sums.iter().enumerate() {
        let (v, first) = place::<W>(row);
        out[v][first..first + SIZE].copy_from_slice(sums);
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().enumerate() {
        let register = usize::from(inst.dst) + v;
        if wmma.narrow {
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

/// Register of C and D with a row, and the lane with its first column.
fn place<const W: usize>(row: usize) -> (usize, usize) {
    let rows = W / SIZE;
    (row / rows, row % rows * SIZE)
}

fn integer(wmma: Wmma, inst: &Inst, pairs: impl Iterator<Item = (u32, u32)>, c: u32) -> u32 {
    let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
    let products = pairs
        .map(|(a, b)| dot(a, b, wmma.element.bits() as u32, signed))
        .sum();
    sum(c, products, inst.clamp)
}

/// Adds the product of 16-bit floats in the registers from `first` on, A's and B's, to what the registers of C hold.
fn float<const W: usize>(
    wmma: Wmma,
    inst: &Inst,
    wave: &Wave<W>,
    first: [usize; 2],
    sums: &mut [[u32; SIZE]; SIZE],
) {
    let widen = |half: u32| {
        if wmma.element == Element::Bf16 {
            half << 16
        } else {
            lane::single(half as u16)
        }
    };
    // Step `k` of a row of A or of a column of B.
    let element = |first: usize, line: usize, k: usize| {
        let word = wave.vgpr[first + k / 2][line];
        widen(word >> (k % 2 * 16) & 0xffff)
    };
    let mut left = [0; SIZE * SIZE];
    let mut right = [[0; SIZE]; SIZE];
    for line in 0..SIZE {
        for k in 0..SIZE {
            left[line * SIZE + k] = element(first[0], line, k);
            right[k][line] = element(first[1], line, k);
        }
    }
    let places = sums.as_flattened_mut();
    if wmma.narrow {
        let shift = if inst.op_sel & 4 != 0 { 16 } else { 0 };
        places.iter_mut().for_each(|c| *c = widen(*c >> shift & 0xffff));
    }
    product::add(&left, &right, sums);
    if wmma.narrow {
        let brain = wmma.element == Element::Bf16;
        let narrow = |sum: u32| {
            if brain {
                bf16_of_f32(sum)
            } else {
                super::convert::f16_of_f32(MODE, sum)
            }
        };
        let places = sums.as_flattened_mut();
        places.iter_mut().for_each(|sum| *sum = u32::from(narrow(*sum)));
    }
}
