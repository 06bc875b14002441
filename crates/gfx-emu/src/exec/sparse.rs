//! The sparse matrix products of CDNA3, CDNA4 and RDNA4: `D += A * B`, where of each four elements of a row of A two are there and the others zero.
//!
//! The third source says, two bits an element, which of its four places it has. Layouts: "AMD Instinct MI300 Instruction
//! Set Architecture", section "Sparse Matrix Instructions": A as the dense product of half the depth has it, B as that of the
//! whole, with twice the elements a lane.

use super::tiles::{field, integer, single, sum_of};
use super::{Trouble, convert, fp8, lane, matrix, mfma, unimplemented};
use crate::isa::{Element, Inst, Smfmac, Src, Tiles};
use crate::wave::Wave;

/// Lanes of the waves that have matrix cores.
const LANES: usize = 64;

/// Executes a sparse product. Every lane takes part, whatever EXEC says.
#[inline(never)]
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, shape: Smfmac) -> Result<(), Trouble> {
    if W != LANES {
        return Err(unimplemented());
    }
    let Smfmac {
        size,
        depth,
        a: kind_a,
        b: kind_b,
    } = shape;
    let (size, depth, kinds) = (usize::from(size), usize::from(depth), [kind_a, kind_b]);
    let [Src::Vgpr(a), Src::Vgpr(b), Src::Vgpr(places)] = inst.src else {
        return Err(unimplemented());
    };
    let [a, b, places, dst] = [a, b, places, inst.dst].map(usize::from);
    let groups = LANES / size;
    let bits = kinds[0].bits();
    // Elements of A a lane has, and bits of their places: one of several sets in the third source.
    let held = depth / 2 / groups;
    let set = 2 * held;
    let shift = inst.imm as usize * set;
    if shift >= 32 {
        return Err(unimplemented());
    }
    let mut out = vec![[0; W]; size * size / LANES];
    for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
        let group = row / 4 % groups;
        let (lane, item) = (column + size * group, row / (4 * groups) * 4 + row % 4);
        let mut sum = mfma::element(wave, dst, lane, item, 32);
        for (group, element) in (0..groups).flat_map(|group| (0..held).map(move |element| (group, element))) {
            let (lane_a, lane_b) = (row + size * group, column + size * group);
            let place = wave.vgpr[places][lane_a] >> shift >> (2 * element) & 3;
            let left = mfma::element(wave, a, lane_a, element, bits);
            let right = mfma::element(wave, b, lane_b, element / 2 * 4 + place as usize, bits);
            sum = mfma::step(inst.isa, kinds, sum, left, right);
        }
        out[item][lane] = sum as u32;
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().enumerate() {
        lane::store(wave, dst + v, row);
    }
    Ok(())
}

/// Rows and columns of RDNA4's products.
const SIZE: usize = 16;

/// Executes a sparse product of RDNA4. Every lane takes part, whatever EXEC says.
///
/// Layouts: AMD's matrix instruction calculator, architecture `rdna4`. A lane has the pairs of elements of A whose four places in B the lanes of
/// its group have, in the same order. Its places lie in the third source likewise, in one of as many sets as fit 32 bits.
#[inline(never)]
pub(super) fn of_tiles<const W: usize>(wave: &mut Wave<W>, inst: &Inst, tiles: Tiles) -> Result<(), Trouble> {
    let [Src::Vgpr(a), Src::Vgpr(b), Src::Vgpr(places)] = inst.src else {
        return Err(unimplemented());
    };
    let [a, b, places, dst] = [a, b, places, inst.dst].map(usize::from);
    let integers = matches!(tiles.a, Element::I8 | Element::I4);
    // What signs of floats do is not said; compilers use none.
    if inst.abs != 0 || inst.neg & !(if integers { 3 } else { 0 }) != 0 {
        return Err(unimplemented());
    }
    let (bits, depth) = (tiles.a.bits(), usize::from(tiles.depth));
    // Of the fewest bits a lane of the lower half has twice as many, so that a register is full. B's are in both halves.
    let lower = W == 64 && bits == 4 && depth == 32;
    let groups = if lower { 2 } else { W / SIZE };
    let held = depth / 2 / groups;
    let set = 2 * held;
    let shift = usize::from(inst.op_sel) * set;
    if shift >= 32 {
        return Err(unimplemented());
    }
    let place_of_b = |group: usize, item: usize| match lower {
        true => (group + 2 * (item / 8), item % 8),
        false => (group, item),
    };
    let each = if tiles.halves.is_some() { 16 } else { 32 };
    let mut out = [[0_u32; W]; SIZE * SIZE / 32];
    for (row, column) in (0..SIZE).flat_map(|row| (0..SIZE).map(move |column| (row, column))) {
        let (group, item) = sum_of(W, row);
        let (register, at, place) = (item * each / 32, column + SIZE * group, item % (32 / each));
        let old = field(wave.vgpr[dst + register][at], place, each);
        let pairs = (0..groups).flat_map(|group| (0..held).map(move |element| (group, element)));
        let pairs = pairs.map(|(group, element)| {
            let lane = row + SIZE * group;
            let chosen = wave.vgpr[places][lane] >> shift >> (2 * element) & 3;
            let (group_b, item_b) = place_of_b(group, element / 2 * 4 + chosen as usize);
            let left = mfma::element(wave, a, lane, element, bits);
            let right = mfma::element(wave, b, column + SIZE * group_b, item_b, bits);
            (left as u32, right as u32)
        });
        let sum = if integers {
            let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
            let products =
                pairs.map(|(left, right)| integer(left, bits, signed[0]) * integer(right, bits, signed[1]));
            matrix::sum(old, products.sum(), inst.clamp)
        } else {
            let start = tiles.halves.map_or(old, |half| single(half, old));
            let sum = pairs.fold(start, |sum, (left, right)| {
                fp8::fma(single(tiles.a, left), single(tiles.b, right), sum)
            });
            match tiles.halves {
                None => sum,
                Some(Element::Bf16) => matrix::bf16_of_f32(sum).into(),
                Some(_) => convert::f16_of_f32(fp8::MODE, sum).into(),
            }
        };
        out[register][at] |= sum << (place * each);
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().take(SIZE * SIZE * each / 32 / W).enumerate() {
        lane::store(wave, dst + v, row);
    }
    Ok(())
}
