//! Matrix products of floats whose columns come in sixteens: where factors and sums lie, and the quick way to multiply them.
//!
//! What the lanes hold of such a product is a matrix already: sixteen lanes that follow each other have a row of C, or a step of
//! sixteen rows of A or of sixteen columns of B. So products of 16 or 32 rows are tiles of sixteen, and each is computed row by row. The
//! general way is in [`super::matrix`], [`super::tiles`] and [`super::mfma`]; a test holds this one to its bits.

use super::host::Host;
use super::{lane, mfma, product, tiles};
use crate::isa::{Element, Inst, Mfma, Src, Tiles, Unit, matrix_products, reaching_out, registers_alone};
use crate::wave::Wave;

/// Rows and columns of a tile.
pub(super) const SIDE: usize = 16;
/// Steps that are multiplied at once.
const STEPS: usize = 16;

/// A number in each lane of a tile's row, as bits.
type TileRow = [u32; SIDE];

/// Where sixteen elements lie: a register, a group of sixteen of its lanes, and the lowest bit of the element in the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPlace {
    pub(super) register: usize,
    pub(super) group: usize,
    pub(super) bit: usize,
}

#[derive(Clone, Copy, Debug)]
enum MatrixShape {
    Wmma(Element),
    Tiles(Tiles),
    Mfma(Mfma),
}

/// A product that consists of tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiled<'a> {
    inst: &'a Inst,
    lanes: usize,
    shape: MatrixShape,
    /// The first registers of A and of B.
    first: [usize; 2],
}

/// Whether an element is computed with in single precision, and lies in one register.
fn is_single(element: Element) -> bool {
    match element {
        Element::F32 | Element::Xf32 | Element::F16 | Element::Bf16 | Element::Fp8 | Element::Bf8 => true,
        Element::F64 | Element::I8 | Element::I4 | Element::Fp6 | Element::Bf6 | Element::Fp4 => false,
    }
}

impl<'a> Tiled<'a> {
    /// The instruction as such a product, if it is one in waves of so many lanes. What is refused, too, is left to the general way.
    pub(super) fn of(inst: &'a Inst, lanes: usize) -> Option<Tiled<'a>> {
        let [Src::Vgpr(a), Src::Vgpr(b), Src::Vgpr(_) | Src::Const(_)] = inst.src else {
            return None;
        };
        if (inst.neg | inst.abs) != 0 || inst.scales.is_some() {
            return None;
        }
        let shape = match inst.unit {
            Unit::Wmma(wmma) if !wmma.narrow => MatrixShape::Wmma(wmma.element),
            Unit::Tiles(tiles) if tiles.halves.is_none() && inst.op_sel & 7 == 0 => MatrixShape::Tiles(tiles),
            Unit::Mfma(mfma) if lanes == 64 && mfma.size >= 16 => MatrixShape::Mfma(mfma),
            registers_alone!()
            | matrix_products!()
            | Unit::Control(_)
            | Unit::Unsupported
            | reaching_out!() => return None,
        };
        let tiled = Tiled {
            inst,
            lanes,
            shape,
            first: [a, b].map(usize::from),
        };
        tiled.elements().into_iter().all(is_single).then_some(tiled)
    }

    /// The elements of A and of B.
    pub(super) fn elements(&self) -> [Element; 2] {
        match self.shape {
            MatrixShape::Wmma(element) => [element; 2],
            MatrixShape::Tiles(tiles) => [tiles.a, tiles.b],
            MatrixShape::Mfma(mfma) => [mfma.a, mfma.b],
        }
    }

    /// Steps of depth.
    pub(super) fn depth(&self) -> usize {
        match self.shape {
            MatrixShape::Wmma(_) => SIDE,
            MatrixShape::Tiles(tiles) => tiles.depth.into(),
            MatrixShape::Mfma(mfma) => mfma.depth.into(),
        }
    }

    /// How many tiles it has.
    pub(super) fn count(&self) -> usize {
        match self.shape {
            MatrixShape::Wmma(_) | MatrixShape::Tiles(_) => 1,
            MatrixShape::Mfma(mfma) => usize::from(mfma.blocks) * (usize::from(mfma.size) / SIDE).pow(2),
        }
    }

    /// The block of a tile, and its first row and column there.
    fn corner(size: u8, tile: usize) -> [usize; 3] {
        let across = usize::from(size) / SIDE;
        [
            tile / (across * across),
            tile / across % across * SIDE,
            tile % across * SIDE,
        ]
    }

    /// Where a step of the rows of A lies for a tile, `side` 0, or of the columns of B, `side` 1.
    pub(super) fn factor(&self, side: usize, tile: usize, k: usize) -> RowPlace {
        let (register, group, bit) = match self.shape {
            MatrixShape::Wmma(_) => (k / 2, 0, k % 2 * 16),
            MatrixShape::Tiles(tiles) => {
                let (group, register, place) = tiles::factor(tiles, self.lanes, k);
                (register, group, place * tiles.a.bits())
            }
            MatrixShape::Mfma(mfma) => {
                let [block, row, column] = Self::corner(mfma.size, tile);
                let broadcast = self.inst.broadcast;
                let (lane, item) = if side == 0 {
                    mfma.factor(mfma.a, broadcast.block(block), row, k)
                } else {
                    let (lane, item) = mfma.factor(mfma.b, block, column, k);
                    (broadcast.lane(lane), item)
                };
                let bit = item * self.elements()[side].bits();
                (bit / 32, lane / SIDE, bit % 32)
            }
        };
        RowPlace {
            register: self.first[side] + register,
            group,
            bit,
        }
    }

    /// Where a row of C and D lies, of the registers that each of them has: which one, and which of its groups of lanes.
    pub(super) fn sum(&self, tile: usize, row: usize) -> (usize, usize) {
        match self.shape {
            MatrixShape::Wmma(_) => {
                let groups = self.lanes / SIDE;
                (row / groups, row % groups)
            }
            MatrixShape::Tiles(_) => {
                let (group, item) = tiles::sum_of(self.lanes, row);
                (item, group)
            }
            MatrixShape::Mfma(mfma) => {
                let [block, first, column] = Self::corner(mfma.size, tile);
                let (lane, item) = mfma.sum(block, first + row, column);
                (item, lane / SIDE)
            }
        }
    }

    /// C: its first register, or a constant for all of it.
    pub(super) fn addend(&self) -> Src {
        self.inst.src[2]
    }

    /// An element as single precision.
    fn single(&self, element: Element, bits: u32) -> u32 {
        match self.shape {
            MatrixShape::Mfma(_) => mfma::single(self.inst.isa, element, bits.into()),
            MatrixShape::Wmma(_) | MatrixShape::Tiles(_) => tiles::single(element, bits),
        }
    }
}

/// Executes a product. Every lane takes part, whatever EXEC says.
pub(super) fn execute<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, tiled: Tiled<'_>) {
    match tiled.count() {
        1 => multiply::<H, W, 1>(host, wave, tiled),
        2..=4 => multiply::<H, W, 4>(host, wave, tiled),
        _ => multiply::<H, W, 8>(host, wave, tiled),
    }
}

/// The same, of up to `N` tiles.
#[inline(never)]
fn multiply<H: Host, const W: usize, const N: usize>(host: H, wave: &mut Wave<W>, tiled: Tiled<'_>) {
    host.run(
        #[inline(always)]
        || {
            // All is read before something is written.
            let mut out = [[[0; SIDE]; SIDE]; N];
            let (mut left, mut right) = ([[0; SIDE]; STEPS], [[0; SIDE]; STEPS]);
            let (depth, count) = (tiled.depth(), tiled.count());
            for (tile, sums) in out.iter_mut().take(count).enumerate() {
                for (row, sums) in sums.iter_mut().enumerate() {
                    *sums = match tiled.addend() {
                        Src::Vgpr(n) => {
                            let (register, group) = tiled.sum(tile, row);
                            *group_of(wave, usize::from(n) + register, group)
                        }
                        Src::Const(value) => [value as u32; SIDE],
                        _ => [0; SIDE],
                    };
                }
                for first in (0..depth).step_by(STEPS) {
                    let steps = STEPS.min(depth - first);
                    for step in 0..steps {
                        left[step] = factor(wave, &tiled, 0, tiled.factor(0, tile, first + step));
                        right[step] = factor(wave, &tiled, 1, tiled.factor(1, tile, first + step));
                    }
                    product::add_tile(host, &left[..steps], &right[..steps], sums);
                }
            }
            for (tile, sums) in out.iter().take(count).enumerate() {
                for (row, sums) in sums.iter().enumerate() {
                    let (register, group) = tiled.sum(tile, row);
                    let register = &mut wave.vgpr[usize::from(tiled.inst.dst) + register];
                    register.as_chunks_mut().0[group] = *sums;
                }
            }
        },
    );
}

/// Sixteen lanes of a register.
#[inline(always)]
fn group_of<const W: usize>(wave: &Wave<W>, register: usize, group: usize) -> &TileRow {
    &wave.vgpr[register].as_chunks().0[group]
}

/// Sixteen elements of a factor in single precision.
#[inline(always)]
fn factor<const W: usize>(wave: &Wave<W>, tiled: &Tiled<'_>, side: usize, place: RowPlace) -> TileRow {
    let words = group_of(wave, place.register, place.group);
    let bit = place.bit;
    match tiled.elements()[side] {
        Element::F32 => *words,
        Element::F16 => lane::each(words, |word| lane::single((word >> bit) as u16)),
        Element::Bf16 => lane::each(words, |word| word >> bit << 16),
        element @ (Element::F64
        | Element::Xf32
        | Element::Fp8
        | Element::Bf8
        | Element::I8
        | Element::I4
        | Element::Fp6
        | Element::Bf6
        | Element::Fp4) => {
            let mask = u32::MAX >> (32 - element.bits());
            lane::each(words, |word| tiled.single(element, word >> bit & mask))
        }
    }
}
