//! The matrix products of GFX12: 16 rows and columns, 4 to 128 steps of depth, spread over the lanes of a wave.
//!
//! Which lane and register holds which element: "RDNA4 Instruction Set Architecture", section "Matrix Element Storage in VGPRs".
//! No manual of gfx1250 is public. Rows of A, columns of B and the places of C and D are assumed to be in the lanes where RDNA4 has them, and
//! the steps of A and B to lie alike, in whatever order: a sum of products does not depend on it.
//! The card's order of summation is not published; here the products are added one after the other in single precision.

use super::{Trouble, convert, fp8, lane, matrix, product, unimplemented};
use crate::fp::Mode;
use crate::isa::{Element, Inst, Src, Tiles};
use crate::wave::Wave;

/// Rows and columns.
const SIZE: usize = 16;
/// Steps that a row has at most.
const MOST_DEPTH: usize = 128;
/// Nothing here depends on MODE.
const MODE: Mode = Mode::NONE;

/// Where an element of a factor is: group of 16 lanes, register, place in the register. It is at step `k` of a row of A or of a
/// column of B, whose number is the lane's in its group.
pub(super) fn factor(tiles: Tiles, lanes: usize, k: usize) -> (usize, usize, usize) {
    let bit = |at: usize| k >> at & 1;
    let wide = lanes == 64;
    // gfx1250's: runs of 16 bytes, or of one number where a lane has two.
    if tiles.is_in_runs() {
        let bits = tiles.a.bits();
        let run = if bits == 32 { 1 } else { 128 / bits };
        let item = k / (2 * run) * run + k % run;
        return (k / run % 2, item * bits / 32, item % (32 / bits));
    }
    match (tiles.a.bits(), tiles.depth) {
        (16, _) if wide => (k >> 2 & 3, bit(1), bit(0)),
        (16, _) => (bit(2), 2 * bit(3) + bit(1), bit(0)),
        (8, _) if wide => (2 * bit(2) + bit(3), 0, k & 3),
        (8, _) => (bit(3), bit(2), k & 3),
        // In waves of 64 lanes too, the lower half alone.
        (_, 16) => (bit(3), 0, k & 7),
        _ if wide => (2 * bit(3) + bit(4), 0, k & 7),
        _ => (bit(4), bit(3), k & 7),
    }
}

/// Where a row of C and D is: group of 16 lanes, and which of their elements.
pub(super) fn sum_of(lanes: usize, row: usize) -> (usize, usize) {
    if lanes == 64 {
        (2 * (row >> 2 & 1) + (row >> 3), row & 3)
    } else {
        (row >> 3, row & 7)
    }
}

/// The field of a register.
pub(super) fn field(word: u32, place: usize, bits: usize) -> u32 {
    word >> (place * bits) & (u32::MAX >> (32 - bits))
}

/// A field as a number, signed or not.
pub(super) fn integer(value: u32, bits: usize, signed: bool) -> i64 {
    let top = 32 - bits as u32;
    if signed {
        i64::from((value << top) as i32 >> top)
    } else {
        i64::from(value)
    }
}

/// A field as single precision.
pub(super) fn single(element: Element, value: u32) -> u32 {
    match element {
        Element::Bf16 => value << 16,
        Element::Fp8 => fp8::widen(value as u8, fp8::OCP_FP8),
        Element::Bf8 => fp8::widen(value as u8, fp8::OCP_BF8),
        Element::F16 => lane::single(value as u16),
        Element::F32 => value,
        // No product of floats has these here.
        Element::F64 | Element::Xf32 | Element::I8 | Element::I4 => value,
        Element::Fp6 | Element::Bf6 | Element::Fp4 => value,
    }
}

/// Adds the product of floats to `sums`. `elements` gives those at a step of a row of A, and of the column of B with its number.
fn floats(tiles: Tiles, sums: &mut [[u32; SIZE]; SIZE], elements: impl Fn(usize, usize) -> [u32; 2]) {
    let depth = usize::from(tiles.depth);
    let mut left = [0; SIZE * MOST_DEPTH];
    let left = &mut left[..SIZE * depth];
    let mut right = [[0; SIZE]; MOST_DEPTH];
    let right = &mut right[..depth];
    for (k, row) in right.iter_mut().enumerate() {
        for (at, right) in row.iter_mut().enumerate() {
            let [a, b] = elements(k, at);
            left[at * depth + k] = single(tiles.a, a);
            *right = single(tiles.b, b);
        }
    }
    let places = sums.as_flattened_mut();
    if let Some(half) = tiles.halves {
        places.iter_mut().for_each(|sum| *sum = single(half, *sum));
    }
    product::add(left, right, sums);
    if let Some(half) = tiles.halves {
        let narrow = |sum: u32| {
            let half = if half == Element::Bf16 {
                matrix::bf16_of_f32(sum)
            } else {
                convert::f16_of_f32(MODE, sum)
            };
            u32::from(half)
        };
        let places = sums.as_flattened_mut();
        places.iter_mut().for_each(|sum| *sum = narrow(*sum));
    }
}

/// Executes a product. Every lane takes part, whatever EXEC says.
#[inline(never)]
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, tiles: Tiles) -> Result<(), Trouble> {
    let [Src::Vgpr(a), Src::Vgpr(b), c] = inst.src else {
        return Err(unimplemented());
    };
    let bits = tiles.a.bits();
    let integers = matches!(tiles.a, Element::I8 | Element::I4);
    // Compilers use no signs with floats, and no halves at all; where gfx1250 has those, it says that a factor will come again.
    let halves = if tiles.is_in_runs() { 3 } else { 7 };
    if inst.op_sel & halves != 0 || inst.abs != 0 || inst.neg & if integers { 4 } else { 7 } != 0 {
        return Err(unimplemented());
    }
    let each = if tiles.halves.is_some() { 16 } else { 32 };
    let line = |first: u16, line: usize, k: usize| {
        let (group, register, place) = factor(tiles, W, k);
        let word = wave.vgpr[usize::from(first) + register][line + SIZE * group];
        field(word, place, bits)
    };
    let depth = usize::from(tiles.depth);
    // Register, lane, and place in the register of an element of C and D.
    let place = |row: usize, column: usize| {
        let (group, item) = sum_of(W, row);
        (item * each / 32, column + SIZE * group, item % (32 / each))
    };
    let mut sums = [[0; SIZE]; SIZE];
    for (row, sums) in sums.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            let (register, at, place) = place(row, column);
            *sum = match c {
                Src::Vgpr(n) => field(wave.vgpr[usize::from(n) + register][at], place, each),
                // Other constants would have to be halves.
                Src::Const(value) if value == 0 || tiles.halves.is_none() => value as u32,
                _ => return Err(unimplemented()),
            };
        }
    }
    if integers {
        let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let number = |first, at, k, side: usize| integer(line(first, at, k), bits, signed[side]);
                let products = (0..depth).map(|k| number(a, row, k, 0) * number(b, column, k, 1));
                *sum = matrix::sum(*sum, products.sum(), inst.clamp);
            }
        }
    } else {
        floats(tiles, &mut sums, |k, at| [line(a, at, k), line(b, at, k)]);
    }
    let mut out = [[0_u32; W]; SIZE * SIZE / 32];
    for (row, sums) in sums.iter().enumerate() {
        for (column, sum) in sums.iter().enumerate() {
            let (register, at, place) = place(row, column);
            out[register][at] |= sum << (place * each);
        }
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().take(SIZE * SIZE * each / 32 / W).enumerate() {
        lane::store(wave, usize::from(inst.dst) + v, row);
    }
    Ok(())
}
