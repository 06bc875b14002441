//! The matrix products of RDNA4: 16 rows and columns, 16 or 32 steps of depth, spread over the lanes of a wave.
//!
//! Which lane and register holds which element: "RDNA4 Instruction Set Architecture", section "Matrix Element Storage in VGPRs".
//! The card's order of summation is not published; here the products are added one after the other in single precision.

use super::{Trouble, convert, fp8, lane, matrix, unimplemented};
use crate::fp::{self, Mode};
use crate::isa::{Element, Inst, Src, Tiles};
use crate::wave::Wave;

/// Rows and columns.
const SIZE: usize = 16;
/// Nothing here depends on MODE.
const MODE: Mode = Mode::NONE;

/// Where an element of a factor is: group of 16 lanes, register, place in the register. It is at step `k` of a row of A or of a
/// column of B, whose number is the lane's in its group.
fn factor(tiles: Tiles, lanes: usize, k: usize) -> (usize, usize, usize) {
    let bit = |at: usize| k >> at & 1;
    let wide = lanes == 64;
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
fn sum_of(lanes: usize, row: usize) -> (usize, usize) {
    if lanes == 64 {
        (2 * (row >> 2 & 1) + (row >> 3), row & 3)
    } else {
        (row >> 3, row & 7)
    }
}

/// The field of a register.
fn field(word: u32, place: usize, bits: usize) -> u32 {
    word >> (place * bits) & (u32::MAX >> (32 - bits))
}

/// A field as a number, signed or not.
fn integer(value: u32, bits: usize, signed: bool) -> i64 {
    let top = 32 - bits as u32;
    if signed {
        i64::from((value << top) as i32 >> top)
    } else {
        i64::from(value)
    }
}

/// A field as single precision.
fn single(element: Element, value: u32) -> u32 {
    match element {
        Element::Bf16 => value << 16,
        Element::Fp8 => fp8::widen(value as u8, fp8::OCP_FP8),
        Element::Bf8 => fp8::widen(value as u8, fp8::OCP_BF8),
        Element::F16 => lane::single(value as u16),
        // No product of floats has these here.
        Element::F64 | Element::F32 | Element::Xf32 | Element::I8 | Element::I4 => value,
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
    // Compilers use no signs with floats, and no halves at all.
    if inst.op_sel != 0 || inst.abs != 0 || inst.neg & if integers { 4 } else { 7 } != 0 {
        return Err(unimplemented());
    }
    let each = if tiles.narrow { 16 } else { 32 };
    let mut out = [[0_u32; W]; SIZE * SIZE / 32];
    for (row, column) in (0..SIZE).flat_map(|row| (0..SIZE).map(move |column| (row, column))) {
        let (group, item) = sum_of(W, row);
        let (at, register, place) = (column + SIZE * group, item * each / 32, item % (32 / each));
        let addend = match c {
            Src::Vgpr(n) => field(wave.vgpr[usize::from(n) + register][at], place, each),
            // Other constants would have to be halves.
            Src::Const(value) if value == 0 || !tiles.narrow => value as u32,
            _ => return Err(unimplemented()),
        };
        let pairs = (0..usize::from(tiles.depth)).map(|k| {
            let (group, register, place) = factor(tiles, W, k);
            let element = |first: u16, line: usize| {
                field(
                    wave.vgpr[usize::from(first) + register][line + SIZE * group],
                    place,
                    bits,
                )
            };
            (element(a, row), element(b, column))
        });
        let sum = if integers {
            let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
            let products = pairs.map(|(a, b)| integer(a, bits, signed[0]) * integer(b, bits, signed[1]));
            matrix::sum(addend, products.sum(), inst.clamp)
        } else {
            let start = if tiles.narrow {
                single(tiles.a, addend)
            } else {
                addend
            };
            let sum = pairs.fold(start, |sum, (a, b)| {
                fp::fma::<fp::F32>(MODE, single(tiles.a, a), single(tiles.b, b), sum)
            });
            match (tiles.narrow, tiles.a) {
                (false, _) => sum,
                (true, Element::Bf16) => u32::from(matrix::bf16_of_f32(sum)),
                (true, _) => u32::from(convert::f16_of_f32(MODE, sum)),
            }
        };
        out[register][at] |= sum << (place * each);
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().take(SIZE * SIZE * each / 32 / W).enumerate() {
        lane::store(wave, usize::from(inst.dst) + v, row);
    }
    Ok(())
}
