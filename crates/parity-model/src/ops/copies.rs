//! Ops that move, repeat or set elements. How they are computed is not said here.

use super::ops;
use crate::op::batch::{Cut, beside, every, ids, leading, never, unnamed, whole};
use crate::op::shape::{Operands, Shapes, alike, broadcast_to, same_along_dims};

ops! {
    /// Elements moved, repeated or set, unchanged.
    pub enum Copies;

    /// The elements, row-major.
    Copy "copy" (x: Data) on ANY, shape: alike, batch: every, grad on WIDE: "w.";
    /// The elements of a matrix whose rows lie `apart` elements from one another in a tensor of zeros, row-major.
    CopyApart "copy_apart" ["apart"] (x: Data) on ANY, shape: apart, batch: never;
    /// Both arguments one after the other along the dimension.
    Cat "cat" ["dim"] (a: Data, b: Data) on ANY, shape: cat, batch: beside::<0>,
        grad on WIDE: "The part of w that is the argument's.";
    /// The first argument with the second written over its slices from `offset` on.
    SliceSet "slice_set" ["dim", "offset"] (x: Data, source: Data) on ANY, shape: along_dim, batch: beside::<0>;
    /// A copy of the argument whose slices from `start` on along the dimension were set to `value`, converted to the
    /// dtype as Rust's `as` does.
    Fill "fill" ["value", "dim", "start", "len"] (x: Data) on ANY, shape: fill, batch: beside::<1>;
    /// Zeros before and after along the dimension.
    PadZeros "pad_with_zeros" ["dim", "left", "right"] (x: Data) on ANY, shape: pad, batch: beside::<0>,
        grad on WIDE: "w without the padding.";
    /// The first slice repeated before, the last one after along the dimension.
    PadSame "pad_with_same" ["dim", "left", "right"] (x: Data) on ANY, shape: pad_same, batch: beside::<0>,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// Both arguments as the two slices of a new dimension.
    Stack "stack" ["dim"] (a: Data, b: Data) on ANY, shape: stack, batch: stacked,
        grad on WIDE: "The slice of w that is the argument's.";
    /// The first argument with the second in the place of its slices from `start` on, as a new tensor.
    SliceScatter "slice_scatter" ["dim", "start"] (x: Data, source: Data) on ANY, shape: along_dim, batch: beside::<0>,
        grad on WIDE: "w where the argument's elements are, 0 where they were written over.";
    /// The tensor beside itself, as often as is said for each dimension.
    Repeat "repeat" ["times.."] (x: Data) on ANY, shape: repeat, batch: repeated_once,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The slices along the dimensions in reverse order.
    Flip "flip" ["dims.."] (x: Data) on ANY, shape: same_along_dims, batch: unnamed,
        grad on F32_F64: "w with the slices in reverse order.";
    /// out[(i + shift) mod n] = x[i] along the dimension.
    Roll "roll" ["shift", "dim"] (x: Data) on ANY, shape: roll, batch: beside::<1>, grad on WIDE: "w rolled back.";
    /// Windows of `size` along the dimension, each `step` after the one before, as a new last dimension.
    Unfold "unfold" ["dim", "size", "step"] (x: Data) on ANY, shape: unfold, batch: beside::<0>,
        grad on F32_F64: "The sum of w over the windows that hold the element.";
    /// One of the chunks along the dimension; the first ones are one longer where they cannot all be alike.
    Chunk "chunk" ["chunks", "dim", "which"] (x: Data) on ANY, shape: chunked, batch: beside::<1>,
        grad on WIDE: "w in the chunk, 0 elsewhere.";
    /// [b, c f f, h, w] to [b, c, h f, w f]: out[c, h f + i, w f + j] = x[c f f + i f + j, h, w].
    PixelShuffle "pixel_shuffle" ["factor"] (x: Data) on ANY, shape: pixel_shuffle, batch: leading::<4>,
        grad on WIDE: "w unshuffled.";
    /// The inverse of `pixel_shuffle`.
    PixelUnshuffle "pixel_unshuffle" ["factor"] (x: Data) on ANY, shape: pixel_unshuffle, batch: leading::<4>,
        grad on WIDE: "w shuffled.";
    /// The edges of the last two of four dimensions repeated, by one element or by none.
    ReplicationPad2d "replication_pad2d" ["pad"] (x: Data) on ANY, shape: replication_pad, batch: leading::<4>,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The slices from `start` on along the dimension.
    Narrow "narrow" ["dim", "start", "len"] (x: Data) on ANY, shape: narrow, batch: whole,
        grad on WIDE: "w in the slices from `start` on, 0 elsewhere.";
    /// As `narrow`, by the range of the index operator.
    Index "i" ["dim", "start", "end"] (x: Data) on ANY, shape: index, batch: whole;
    /// One slice along the dimension, without it.
    GetOnDim "get_on_dim" ["dim", "index"] (x: Data) on ANY, shape: get_on_dim, batch: never,
        grad on WIDE: "w in the slice, 0 elsewhere.";
    /// Two dimensions swapped.
    Transpose "transpose" ["dim1", "dim2"] (x: Data) on ANY, shape: transpose, batch: never,
        grad on WIDE: "w with the dimensions swapped back.";
    /// The dimensions in the order given.
    Permute "permute" ["dims.."] (x: Data) on ANY, shape: permute, batch: never;
    /// Without a dimension of extent 1; the same where its extent is another.
    Squeeze "squeeze" ["dim"] (x: Data) on ANY, shape: squeeze, batch: never;
    /// With a new dimension of extent 1.
    Unsqueeze "unsqueeze" ["dim"] (x: Data) on ANY, shape: unsqueeze, batch: never;
    /// The dimensions from `first` to `last` as one, row-major.
    Flatten "flatten" ["first", "last"] (x: Data) on ANY, shape: flatten, batch: never;
    /// The elements, row-major, under another shape.
    Reshape "reshape" ["dims.."] (x: Data) on ANY, shape: reshape, batch: never, grad on WIDE: "w in the shape of x.";
    /// The tensor repeated along dimensions that it lacks, or has with extent 1.
    BroadcastAs "broadcast_as" ["dims.."] (x: Data) on ANY, shape: broadcast_as, batch: never,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The first argument with the second in the place of its elements from one start in each dimension on.
    SliceAssign "slice_assign" ["starts.."] (x: Data, source: Data) on ANY, shape: anywhere, batch: whole,
        grad on WIDE: "By the first argument: w where its elements are, 0 where they were written over.";
    /// What a cache of candle-nn's for `size` slices holds after both were appended: one after the other, grown where
    /// they do not fit.
    KvCache "kv_cache" ["dim", "size"] (x: Data, next: Data) on ANY, shape: kv_cache, batch: whole;
    /// What appending the second returns: the last `size` slices, slice i of all that came at place i mod `size`; the
    /// second itself where it is as long as the cache.
    RotatingKvCache "rotating_kv_cache" ["dim", "size"] (x: Data, next: Data) on ANY, shape: rotating_kv_cache,
        batch: whole;
    /// One of the two grids of two lists: [m, n], or [n, m] with `xy` 1.
    Meshgrid "meshgrid" ["xy", "which"] (a: Data, b: Data) on ANY, shape: meshgrid, batch: never;
    /// `value` everywhere, converted to the dtype as Rust's `as` does; the argument lends its shape and dtype.
    Full "full" ["value"] (x: Data) on ANY, shape: alike, batch: every;
    /// Zeros; the argument lends its shape and dtype.
    Zeros "zeros" (x: Data) on ANY, shape: alike, batch: every;
    /// Ones; the argument lends its shape and dtype.
    Ones "ones" (x: Data) on ANY, shape: alike, batch: every;
    /// Ones on the diagonal, zeros elsewhere; the argument, [n, n], lends its shape and dtype.
    Eye "eye" (x: Data) on ANY, shape: square, batch: never;
    /// Ones on and below the diagonal, zeros above; the argument, [n, n], lends its shape and dtype.
    Tril "tril2" (x: Data) on ANY, shape: square, batch: never;
    /// Ones on and above the diagonal, zeros below; the argument, [n, n], lends its shape and dtype.
    Triu "triu2" (x: Data) on ANY, shape: square, batch: never;
    /// start + i step below `end`, or above it where the step is negative, rounded once; all three converted to the
    /// dtype first, and the argument lends its shape and dtype.
    Arange "arange_step" ["start", "end", "step"] (x: Data) on ANY, shape: arange, batch: never;
    /// For each id a row of `depth` numbers: the second of the data where the id is, the first elsewhere.
    OneHot "one_hot" ["depth"] (values: Data, ids: Index) on ANY, shape: one_hot, batch: ids;
}

/// Whether two shapes differ along `dim` alone, if anywhere.
fn alike_beside(x: &[usize], other: &[usize], dim: usize) -> bool {
    other.len() == x.len() && (0..x.len()).all(|d| d == dim || x[d] == other[d])
}

/// Most elements of the tensor that holds rows which lie apart: 8 GiB of bytes.
const MOST_APART: f64 = (1_u64 << 33) as f64;

fn apart(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, apart) = (call.shapes[0], call.params[0]);
    call.require(
        x.len() == 2 && apart.fract() == 0.0 && apart >= 1.0_f64.max(x[1] as f64) && x[0] as f64 * apart <= MOST_APART,
        "a matrix, whose rows are a whole number of elements apart, as many as they are long or more, in 2^33 elements at most",
    )?;
    Shapes::of(x.to_vec())
}

fn cat(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, x, other) = (call.dim(0)?, call.shapes[0], call.shapes[1]);
    call.require(
        alike_beside(x, other, dim),
        "the arguments differ along the dimension only",
    )?;
    Shapes::of(call.with_extent(dim, x[dim] + other[dim]))
}

fn fill(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, end) = (call.shapes[0], call.whole(2)? + call.whole(3)?);
    call.require(end <= x[call.dim(1)?], "the slices lie inside the argument")?;
    Shapes::of(x.to_vec())
}

fn pad(call: &Operands<'_>) -> Result<Shapes, String> {
    let dim = call.dim(0)?;
    let extent = call.shapes[0][dim] + call.whole(1)? + call.whole(2)?;
    Shapes::of(call.with_extent(dim, extent))
}

fn pad_same(call: &Operands<'_>) -> Result<Shapes, String> {
    call.require(!call.shapes[0].contains(&0), "there is a slice to repeat")?;
    pad(call)
}

fn stack(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, dim) = (call.shapes[0], call.whole(0)?);
    call.require(x == call.shapes[1], "the arguments have one shape")?;
    call.require(dim <= x.len(), "there is a place for the new dimension")?;
    let mut output = x.to_vec();
    output.insert(dim, 2);
    Shapes::of(output)
}

/// The new dimension comes before the batch, or after it.
fn stacked(call: &Operands<'_>) -> Option<Cut> {
    match call.whole(0).ok()? {
        0 => Some((vec![Some(0); 2], 1)),
        _ => every(call),
    }
}

/// The second argument takes the place of a slice of the first, from a start along one dimension.
fn along_dim(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, source) = (call.shapes[0], call.shapes[1]);
    let (dim, start) = (call.dim(0)?, call.whole(1)?);
    let inside = alike_beside(x, source, dim) && start + source[dim] <= x[dim];
    call.require(inside, "the source lies inside the first argument")?;
    Shapes::of(x.to_vec())
}

/// The same, from a start along every dimension.
fn anywhere(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, source) = (call.shapes[0], call.shapes[1]);
    call.require(
        call.params.len() == x.len() && source.len() == x.len(),
        "both have one rank, and each dimension its start",
    )?;
    for d in 0..x.len() {
        let inside = source[d] > 0 && call.whole(d)? + source[d] <= x[d];
        call.require(inside, "the source lies inside the first argument")?;
    }
    Shapes::of(x.to_vec())
}

fn repeat(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let one_each = call.params.len() == x.len();
    call.require(one_each, "each dimension has its number of times")?;
    let times = (0..x.len()).map(|d| Ok(x[d].saturating_mul(call.whole(d)?)));
    Shapes::of(times.collect::<Result<_, String>>()?)
}

/// Along the first dimension that is there once.
fn repeated_once(call: &Operands<'_>) -> Option<Cut> {
    let dim = call.params.iter().position(|times| *times == 1.0)?;
    Some((vec![Some(dim)], dim))
}

fn roll(call: &Operands<'_>) -> Result<Shapes, String> {
    call.whole(0)?;
    call.dim(1)?;
    Shapes::of(call.shapes[0].to_vec())
}

fn unfold(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, size, step) = (call.dim(0)?, call.positive(1)?, call.positive(2)?);
    let room = call.shapes[0][dim].checked_sub(size);
    let room = room.ok_or_else(|| call.mismatch("the window fits into the dimension"))?;
    let mut output = call.with_extent(dim, room / step + 1);
    output.push(size);
    Shapes::of(output)
}

fn chunked(call: &Operands<'_>) -> Result<Shapes, String> {
    let (chunks, dim, which) = (call.positive(0)?, call.dim(1)?, call.whole(2)?);
    let extent = call.shapes[0][dim];
    call.require(which < chunks.min(extent), "there is such a chunk")?;
    Shapes::of(call.with_extent(dim, chunk(extent, chunks, which).1))
}

/// Start and length of one of `chunks` chunks of a dimension of `extent`: the first ones are one longer where they cannot
/// all be alike; more chunks than elements have one element each.
pub fn chunk(extent: usize, chunks: usize, which: usize) -> (usize, usize) {
    if extent < chunks {
        return (which, 1);
    }
    let (len, longer) = (extent / chunks, extent % chunks);
    (which * len + which.min(longer), len + usize::from(which < longer))
}

fn pixel_shuffle(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, factor) = (call.rank(0, 4)?, call.positive(0)?);
    let square = factor.saturating_mul(factor);
    let divides = x[1] % square == 0;
    call.require(divides, "the square of the factor divides the channels")?;
    Shapes::of(vec![x[0], x[1] / square, x[2] * factor, x[3] * factor])
}

fn pixel_unshuffle(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, factor) = (call.rank(0, 4)?, call.positive(0)?);
    let even = x[2] % factor == 0 && x[3] % factor == 0;
    call.require(even, "the factor divides height and width")?;
    let channels = x[1].saturating_mul(factor.saturating_mul(factor));
    Shapes::of(vec![x[0], channels, x[2] / factor, x[3] / factor])
}

fn replication_pad(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, pad) = (call.rank(0, 4)?, call.whole(0)?);
    call.require(pad <= 1, "the pad is 0 or 1")?;
    call.require(!x.contains(&0), "there is an edge to repeat")?;
    Shapes::of(vec![x[0], x[1], x[2] + 2 * pad, x[3] + 2 * pad])
}

fn narrow(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, start, len) = (call.dim(0)?, call.whole(1)?, call.whole(2)?);
    let inside = start + len <= call.shapes[0][dim];
    call.require(inside, "the slices lie inside the argument")?;
    Shapes::of(call.with_extent(dim, len))
}

fn index(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, start, end) = (call.dim(0)?, call.whole(1)?, call.whole(2)?);
    let inside = end <= call.shapes[0][dim];
    call.require(inside, "the slices lie inside the argument")?;
    let written = start < end && dim < 3;
    call.require(
        written,
        "the range is not empty, and one of the first three dimensions",
    )?;
    Shapes::of(call.with_extent(dim, end - start))
}

fn get_on_dim(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, mut output) = (call.dim(0)?, call.shapes[0].to_vec());
    call.require(call.whole(1)? < output[dim], "there is such a slice")?;
    output.remove(dim);
    Shapes::of(output)
}

fn transpose(call: &Operands<'_>) -> Result<Shapes, String> {
    let mut output = call.shapes[0].to_vec();
    output.swap(call.dim(0)?, call.dim(1)?);
    Shapes::of(output)
}

fn permute(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, order) = (call.shapes[0], call.wholes()?);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    call.require(sorted.into_iter().eq(0..x.len()), "every dimension is named once")?;
    Shapes::of(order.into_iter().map(|dim| x[dim]).collect())
}

fn squeeze(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, mut output) = (call.dim(0)?, call.shapes[0].to_vec());
    if output[dim] == 1 {
        output.remove(dim);
    }
    Shapes::of(output)
}

fn unsqueeze(call: &Operands<'_>) -> Result<Shapes, String> {
    let (dim, mut output) = (call.whole(0)?, call.shapes[0].to_vec());
    call.require(dim <= output.len(), "there is a place for the new dimension")?;
    output.insert(dim, 1);
    Shapes::of(output)
}

fn flatten(call: &Operands<'_>) -> Result<Shapes, String> {
    let (first, last) = (call.dim(0)?, call.dim(1)?);
    call.require(first <= last, "`first` does not come after `last`")?;
    let mut output = call.shapes[0].to_vec();
    let extent = output[first..=last].iter().product();
    output.splice(first..=last, [extent]);
    Shapes::of(output)
}

fn reshape(call: &Operands<'_>) -> Result<Shapes, String> {
    let output = call.wholes()?;
    let elements = |shape: &[usize]| shape.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent));
    call.require(
        elements(&output) == elements(call.shapes[0]),
        "both shapes have as many elements",
    )?;
    Shapes::of(output)
}

fn broadcast_as(call: &Operands<'_>) -> Result<Shapes, String> {
    let wanted = call.wholes()?;
    let common = broadcast_to(call.shapes[0], &wanted);
    call.require(
        common.as_ref() == Some(&wanted),
        "the argument can be repeated to the shape",
    )?;
    Shapes::of(wanted)
}

/// What a cache gives back after two appends: as many slices as `kept` says of the first, the second and the cache.
fn cached(
    call: &Operands<'_>,
    kept: impl Fn(usize, usize, usize) -> Result<usize, String>,
) -> Result<Shapes, String> {
    let (x, next) = (call.shapes[0], call.shapes[1]);
    let (dim, size) = (call.dim(0)?, call.positive(1)?);
    call.require(
        alike_beside(x, next, dim),
        "the arguments differ along the dimension only",
    )?;
    call.require(!x.contains(&0) && next[dim] > 0, "there is something to keep")?;
    Shapes::of(call.with_extent(dim, kept(x[dim], next[dim], size)?))
}

fn kv_cache(call: &Operands<'_>) -> Result<Shapes, String> {
    cached(call, |first, second, _| Ok(first + second))
}

fn rotating_kv_cache(call: &Operands<'_>) -> Result<Shapes, String> {
    cached(call, |first, second, size| {
        if second >= size {
            return Ok(second);
        }
        // Else the cache begins anew, and no rule says where.
        call.require(first <= size, "the first argument fits into the cache")?;
        Ok((first + second).min(size))
    })
}

fn meshgrid(call: &Operands<'_>) -> Result<Shapes, String> {
    let (m, n) = (call.rank(0, 1)?[0], call.rank(1, 1)?[0]);
    call.flag(1)?;
    Shapes::of(if call.flag(0)? { vec![n, m] } else { vec![m, n] })
}

fn square(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    call.require(x.len() == 2 && x[0] == x[1], "the argument is square")?;
    Shapes::of(x.to_vec())
}

fn arange(call: &Operands<'_>) -> Result<Shapes, String> {
    let (start, end, step) = (call.params[0], call.params[1], call.params[2]);
    let steps = ((end - start) / step).ceil().max(0.0);
    let fits = step != 0.0 && steps <= 1e6 && call.shapes[0] == [steps as usize];
    call.require(fits, &format!("there are [{steps}] numbers"))?;
    Shapes::of(call.shapes[0].to_vec())
}

fn one_hot(call: &Operands<'_>) -> Result<Shapes, String> {
    let depth = call.positive(0)?;
    call.require(
        call.shapes[0] == [2],
        "the data are the two numbers for places without the id and with it",
    )?;
    Ok(Shapes {
        output: [call.shapes[1], &[depth]].concat(),
        bound: Some(depth),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_one_another_to_the_end() {
        for (extent, chunks) in [(7, 3), (6, 3), (2, 5), (1, 1), (9, 9)] {
            let mut end = 0;
            for which in 0..chunks.min(extent) {
                let (start, len) = chunk(extent, chunks, which);
                assert_eq!(start, end, "chunk {which} of {chunks} of {extent}");
                end = start + len;
            }
            assert_eq!(end, extent);
        }
    }
}
