//! Element-wise launches over operands that are turned: whose adjacent elements lie along another dimension than the last one. Read
//! element by element, each of them would bring a line of memory; kernels `<name>_turned_<dtype>` of `kernels/turned.h` take tiles of them
//! through LDS.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::{Args, Grid, for_device, pack_len};
use crate::hip::context::Context;
use crate::view::{self, Region};
use crate::{DType, DynBuffer, Result, Scalar, module};

/// The dtypes that have such kernels.
const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];
/// The threads of a workgroup, the packs in a row of a tile, and a tile's rows, as `kernels/turned.h` has them.
const TURNERS: usize = 256;
const LINE: usize = 8;
const TILE_ROWS: usize = 128;
/// Elements that a side of a view must have: of fewer, most of a tile is empty.
pub(super) const SIDE_LEAST: usize = 16;

/// Elements of an operand from which on it pays to go by tiles.
fn least(context: &Context) -> usize {
    for_device(context, 1 << 18, 1 << 10)
}

/// Whether a view has too few elements for tiles, or more dimensions than anybody has looked at.
pub(super) fn is_few(context: &Context, x: &Region<'_>) -> bool {
    x.numel() < least(context) || x.dims().len() > view::INLINE
}

/// A walk that goes by tiles: sizes, and each operand's distances of batches, rows and columns.
#[derive(Debug, PartialEq, Eq)]
struct TileWalk {
    batches: usize,
    rows: usize,
    cols: usize,
    /// Distances of batches and rows in the result.
    result: [usize; 2],
    operands: Vec<[usize; 3]>,
}

impl TileWalk {
    /// The walk over operands of such strides in packs of `len` elements; `None` where none is turned, or something is not whole packs.
    fn of(dims: &[usize], operands: &[&[usize]], len: usize) -> Option<TileWalk> {
        let words = view::layout_table(dims, operands)?;
        let words: Vec<usize> = words.iter().map(|&word| word as usize).collect();
        let count = words.len() / (1 + operands.len());
        let (sizes, strides) = words.split_at_checked(count)?;
        let strides: Vec<&[usize]> = strides.chunks_exact(count.max(1)).collect();
        // Which dimension is the rows, which one the batches, if there is one.
        let orders: &[(usize, Option<usize>)] = match count {
            2 => &[(0, None)],
            3 => &[(1, Some(0)), (0, Some(1))],
            _ => return None,
        };
        let last = count - 1;
        let is_turned = |strides: &&[usize]| strides[last] > 1;
        let along = |row: usize| strides.iter().filter(|of| is_turned(of)).all(|of| of[row] == 1);
        let &(row, batch) = orders
            .iter()
            .find(|(row, _)| strides.iter().any(is_turned) && along(*row))?;
        let below = |dim: usize| {
            sizes[dim + 1..]
                .iter()
                .try_fold(1_usize, |n, size| n.checked_mul(*size))
        };
        let at = |of: &[usize], dim: Option<usize>| dim.map_or(0, |dim| of[dim]);
        let walk = TileWalk {
            batches: batch.map_or(1, |dim| sizes[dim]),
            rows: sizes[row],
            cols: sizes[last],
            result: [batch.map_or(Some(0), below)?, below(row)?],
            operands: strides
                .iter()
                .map(|of| [at(of, batch), of[row], of[last]])
                .collect(),
        };
        let whole = |number: usize| number.is_multiple_of(len);
        let are_whole = walk.operands.iter().all(|&[batch, row, col]| match col {
            0 => true,
            1 => whole(batch) && whole(row),
            _ => whole(batch) && whole(col) && whole(walk.rows),
        });
        (whole(walk.cols) && are_whole && walk.rows.min(walk.cols) >= SIDE_LEAST).then_some(walk)
    }

    /// Tiles down and across.
    fn tiles(&self, len: usize) -> [usize; 2] {
        [self.rows.div_ceil(TILE_ROWS), self.cols.div_ceil(LINE * len)]
    }

    /// How many tiles there are, if they and what they are made of can be counted in a launch.
    fn count(&self, len: usize, context: &Context) -> Option<usize> {
        let [down, across] = self.tiles(len);
        let tiles = self.batches.checked_mul(down)?.checked_mul(across)?;
        let most = tiles.max(self.rows).max(self.cols);
        (most <= context.most()).then_some(tiles)
    }

    /// `info`, as `Tiles` of `kernels/turned.h` has it.
    fn words(&self, tiles: usize, len: usize) -> Vec<u64> {
        let [down, across] = self.tiles(len);
        let mut words: Vec<u64> = [tiles, self.rows, self.cols].map(|n| n as u64).into();
        for number in [across, down] {
            words.extend([view::divisor(number), number as u64]);
        }
        let distances = self.result.iter().chain(self.operands.as_flattened());
        words.extend(distances.map(|&n| n as u64));
        words
    }

    /// Bytes of LDS for the tiles of operands that are turned, of elements of so many bytes each.
    fn lds(&self, sizes: impl Iterator<Item = usize>, len: usize) -> usize {
        let tiles = self.operands.iter().zip(sizes);
        let turned = tiles.filter(|([.., col], _)| *col > 1);
        turned.map(|(_, size)| TILE_ROWS * LINE * len * size).sum()
    }
}

/// The kernel: its module, what comes before and after `_turned_` in its symbol, and what errors call it.
pub(super) struct Name<'a> {
    pub(super) module: &'static str,
    pub(super) op: &'a str,
    pub(super) dtypes: &'a str,
}

/// Whether there are such kernels for elements of `dtype`.
pub(super) fn serves(dtype: DType) -> bool {
    DTYPES.contains(&dtype)
}

/// Computes by tiles, if the operands, of one shape, can be taken so; says whether it did. The results go to `out`, from
/// element `out_offset` on, where there is room for as many. `leading` and `trailing` are the kernel's values.
pub(super) fn map(
    context: &Arc<Context>,
    name: &Name<'_>,
    leading: &[Scalar],
    inputs: &[Region<'_>],
    (out, out_offset): (&DynBuffer, usize),
    trailing: &[Scalar],
) -> Result<bool> {
    let [first, ..] = inputs else {
        return Ok(false);
    };
    if is_few(context, first) {
        return Ok(false);
    }
    let dtypes: Vec<DType> = inputs.iter().map(|input| input.buffer().dtype()).collect();
    let len = pack_len(&dtypes).min(pack_len(&[out.dtype()]));
    let strides: Vec<&[usize]> = inputs.iter().map(Region::strides).collect();
    let Some(walk) = TileWalk::of(first.dims(), &strides, len) else {
        return Ok(false);
    };
    let is_aligned = |buffer: &DynBuffer, offset: usize| {
        let size = buffer.dtype().size_in_bytes();
        (buffer.memory().block().address() + offset * size).is_multiple_of(len * size)
    };
    let singles = walk.operands.iter().map(|[.., col]| *col == 0);
    let mut operands = inputs.iter().zip(singles);
    let are_aligned =
        operands.all(|(input, is_single)| is_single || is_aligned(input.buffer(), input.offset()));
    let Some(tiles) = walk.count(len, context) else {
        return Ok(false);
    };
    if !are_aligned || !is_aligned(out, out_offset) {
        return Ok(false);
    }
    let symbol = [name.op, "_turned_", name.dtypes].concat();
    let function = module::named(context, name.module, &symbol, name.op, out.dtype())?;
    let table = context.layout_table(walk.words(tiles, len))?;
    let mut args = Args::default();
    args.table(Some(&table)).scalars(leading);
    for input in inputs {
        args.element(input.buffer(), input.offset());
    }
    args.element(out, out_offset).scalars(trailing);
    let grid = Grid {
        lds: walk.lds(dtypes.iter().map(|dtype| dtype.size_in_bytes()), len),
        ..Grid::of(tiles, TURNERS).striding()
    };
    // SAFETY: the arguments are those of the kernel without its walk, with `info` for it, which says the sizes and distances of the
    // regions; those lie inside their buffers. All are whole aligned packs. `out` has room for the results. A workgroup has LDS for a tile
    // of each operand that is turned. `table` lives until the launch is submitted.
    unsafe { args.submit(name.op, context, &function, grid) }?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_has_the_dimension_along_which_operands_are_turned_as_its_rows() {
        let walk = TileWalk::of(&[64, 32], &[&[1, 64]], 4).unwrap();
        assert_eq!((walk.batches, walk.rows, walk.cols), (1, 64, 32));
        assert_eq!((walk.result, &walk.operands[..]), ([0, 32], &[[0, 1, 64]][..]));
        // [2, 48, 32] of [2, 32, 48], beside one that is contiguous; and [48, 2, 32] of a window of it, beside a row that repeats.
        let walk = TileWalk::of(&[2, 48, 32], &[&[1536, 32, 1], &[1536, 1, 48]], 8).unwrap();
        assert_eq!((walk.batches, walk.result), (2, [1536, 32]));
        assert_eq!(walk.operands, [[1536, 32, 1], [1536, 1, 48]]);
        let walk = TileWalk::of(&[48, 2, 32], &[&[1, 2000, 48], &[0, 0, 1]], 8).unwrap();
        assert_eq!((walk.batches, walk.rows, walk.result), (2, 48, [32, 64]));
        assert_eq!(walk.operands, [[2000, 1, 48], [0, 0, 1]]);
        // A column that repeats.
        let walk = TileWalk::of(&[64, 32], &[&[1, 64], &[1, 0]], 4).unwrap();
        assert_eq!(walk.operands, [[0, 1, 64], [0, 1, 0]]);
    }

    #[test]
    fn a_walk_needs_an_operand_that_is_turned_long_sides_and_whole_packs() {
        for (dims, operands) in [
            (&[64, 32][..], &[&[32, 1][..]][..]),
            (&[64, 32], &[&[64, 1]]),
            (&[64, 32], &[&[2, 128]]),
            (&[64, 8], &[&[1, 64]]),
            (&[8, 64], &[&[1, 8]]),
            (&[64, 30], &[&[1, 64]]),
            (&[66, 32], &[&[1, 66]]),
            (&[64, 32], &[&[1, 66]]),
            (&[2, 64, 32], &[&[2050, 1, 64]]),
            (&[64, 32], &[&[1, 64], &[34, 1]]),
            (&[64, 32], &[&[1, 64], &[64, 2]]),
            // One along the first dimension, one along the second.
            (&[32, 32, 32], &[&[1, 32, 1024], &[1024, 1, 32]]),
            (&[16, 3, 16, 16], &[&[1, 1000, 16, 5000]]),
        ] {
            assert_eq!(TileWalk::of(dims, operands, 4), None, "{dims:?} {operands:?}");
        }
        // A pack of eight is not whole where one of four is.
        assert!(TileWalk::of(&[64, 36], &[&[1, 64]], 4).is_some());
        assert_eq!(TileWalk::of(&[64, 36], &[&[1, 64]], 8), None);
    }

    #[test]
    fn the_words_of_a_walk_are_those_that_kernels_read() {
        let walk = TileWalk::of(&[2, 160, 40], &[&[6400, 40, 1], &[6400, 1, 160]], 4).unwrap();
        assert_eq!(walk.tiles(4), [2, 2]);
        let (by_two, words) = (view::divisor(2), walk.words(8, 4));
        assert_eq!(words[..9], [8, 160, 40, by_two, 2, by_two, 2, 6400, 40]);
        assert_eq!(words[9..], [6400, 40, 1, 6400, 1, 160]);
        assert_eq!(
            walk.lds([1, 4].into_iter(), 4),
            128 * 32 * 4,
            "the second operand alone"
        );
    }
}
