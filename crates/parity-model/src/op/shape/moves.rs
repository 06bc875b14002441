//! The shape rules of ops that put elements in other places.

use super::{Call, Shapes};
use crate::op::Copies;

pub(super) fn infer(call: &Call<'_>, op: Copies) -> Result<Shapes, String> {
    match op {
        Copies::PadSame => pad_same(call),
        Copies::Stack => stack(call),
        Copies::SliceSet | Copies::SliceScatter => slice_along_dim(call),
        Copies::SliceAssign => slice_anywhere(call),
        Copies::Repeat => repeat(call),
        Copies::Flip => flip(call),
        Copies::Roll => {
            call.dim(1)?;
            call.whole(0)?;
            Shapes::of(call.shapes[0].to_vec())
        }
        Copies::Unfold => unfold(call),
        Copies::Chunk => one_chunk(call),
        Copies::PixelShuffle => pixel_shuffle(call),
        Copies::PixelUnshuffle => pixel_unshuffle(call),
        Copies::ReplicationPad2d => replication_pad(call),
        Copies::KvCache | Copies::RotatingKvCache => cached(call, op),
        Copies::Meshgrid => meshgrid(call),
        Copies::OneHot => one_hot(call),
        // These have rules of their own.
        Copies::Copy
        | Copies::Cat
        | Copies::Fill
        | Copies::PadZeros
        | Copies::Narrow
        | Copies::Index
        | Copies::GetOnDim
        | Copies::Transpose
        | Copies::Permute
        | Copies::Squeeze
        | Copies::Unsqueeze
        | Copies::Flatten
        | Copies::Reshape
        | Copies::BroadcastAs
        | Copies::Full
        | Copies::Zeros
        | Copies::Ones
        | Copies::Eye
        | Copies::Tril
        | Copies::Triu
        | Copies::Arange => Err(format!("`{op}` moves nothing to another place")),
    }
}

/// The first argument's shape with another extent of one dimension.
fn with(call: &Call<'_>, dim: usize, extent: usize) -> Result<Shapes, String> {
    let mut output = call.shapes[0].to_vec();
    output[dim] = extent;
    Shapes::of(output)
}

fn pad_same(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, dim) = (call.shapes[0], call.dim(0)?);
    call.require(!x.contains(&0), "there is a slice to repeat")?;
    with(call, dim, x[dim] + call.whole(1)? + call.whole(2)?)
}

fn stack(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, dim) = (call.shapes[0], call.whole(0)?);
    call.require(x == call.shapes[1], "the arguments have one shape")?;
    call.require(dim <= x.len(), "there is a place for the new dimension")?;
    let mut output = x.to_vec();
    output.insert(dim, 2);
    Shapes::of(output)
}

/// The second argument takes the place of a slice of the first, from a start along one dimension.
fn slice_along_dim(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, source) = (call.shapes[0], call.shapes[1]);
    let (dim, start) = (call.dim(0)?, call.whole(1)?);
    let inside = source.len() == x.len()
        && (0..x.len()).all(|d| d == dim || x[d] == source[d])
        && start + source[dim] <= x[dim];
    call.require(inside, "the source lies inside the first argument")?;
    Shapes::of(x.to_vec())
}

/// The same, from a start along every dimension.
fn slice_anywhere(call: &Call<'_>) -> Result<Shapes, String> {
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

fn repeat(call: &Call<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let one_each = call.params.len() == x.len();
    call.require(one_each, "each dimension has its number of times")?;
    let times = (0..x.len()).map(|d| Ok(x[d].saturating_mul(call.whole(d)?)));
    Shapes::of(times.collect::<Result<_, String>>()?)
}

fn flip(call: &Call<'_>) -> Result<Shapes, String> {
    let dims = (0..call.params.len()).map(|i| call.dim(i));
    let dims = dims.collect::<Result<Vec<_>, _>>()?;
    let ascending = dims.windows(2).all(|pair| pair[0] < pair[1]);
    call.require(ascending, "dims are named once each, in ascending order")?;
    Shapes::of(call.shapes[0].to_vec())
}

fn unfold(call: &Call<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let (dim, size, step) = (call.dim(0)?, call.positive(1)?, call.positive(2)?);
    let room = x[dim].checked_sub(size);
    let room = room.ok_or_else(|| call.mismatch("the window fits into the dimension"))?;
    let mut output = x.to_vec();
    output[dim] = room / step + 1;
    output.push(size);
    Shapes::of(output)
}

fn one_chunk(call: &Call<'_>) -> Result<Shapes, String> {
    let (chunks, dim, which) = (call.positive(0)?, call.dim(1)?, call.whole(2)?);
    let extent = call.shapes[0][dim];
    call.require(which < chunks.min(extent), "there is such a chunk")?;
    with(call, dim, chunk(extent, chunks, which).1)
}

fn pixel_shuffle(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, factor) = (call.rank(0, 4)?, call.positive(0)?);
    let square = factor.saturating_mul(factor);
    let divides = x[1] % square == 0;
    call.require(divides, "the square of the factor divides the channels")?;
    Shapes::of(vec![x[0], x[1] / square, x[2] * factor, x[3] * factor])
}

fn pixel_unshuffle(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, factor) = (call.rank(0, 4)?, call.positive(0)?);
    let even = x[2] % factor == 0 && x[3] % factor == 0;
    call.require(even, "the factor divides height and width")?;
    let channels = x[1].saturating_mul(factor.saturating_mul(factor));
    Shapes::of(vec![x[0], channels, x[2] / factor, x[3] / factor])
}

fn replication_pad(call: &Call<'_>) -> Result<Shapes, String> {
    let (x, pad) = (call.rank(0, 4)?, call.whole(0)?);
    call.require(pad <= 1, "the pad is 0 or 1")?;
    call.require(!x.contains(&0), "there is an edge to repeat")?;
    Shapes::of(vec![x[0], x[1], x[2] + 2 * pad, x[3] + 2 * pad])
}

fn meshgrid(call: &Call<'_>) -> Result<Shapes, String> {
    let (m, n) = (call.rank(0, 1)?[0], call.rank(1, 1)?[0]);
    let (xy, which) = (call.whole(0)?, call.whole(1)?);
    call.require(xy <= 1 && which <= 1, "`xy` and `which` are 0 or 1")?;
    Shapes::of(if xy == 1 { vec![n, m] } else { vec![m, n] })
}

fn one_hot(call: &Call<'_>) -> Result<Shapes, String> {
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

/// What a cache gives back after two appends.
fn cached(call: &Call<'_>, op: Copies) -> Result<Shapes, String> {
    let (x, new) = (call.shapes[0], call.shapes[1]);
    let (dim, size) = (call.dim(0)?, call.positive(1)?);
    let alike = new.len() == x.len() && (0..x.len()).all(|d| d == dim || x[d] == new[d]);
    call.require(alike, "the arguments differ along the dimension only")?;
    call.require(!x.contains(&0) && new[dim] > 0, "there is something to keep")?;
    let all = x[dim] + new[dim];
    let mut output = x.to_vec();
    output[dim] = match op {
        Copies::RotatingKvCache if new[dim] >= size => new[dim],
        Copies::RotatingKvCache => {
            // Else the cache begins anew, and no rule says where.
            call.require(x[dim] <= size, "the first argument fits into the cache")?;
            all.min(size)
        }
        _ => all,
    };
    Shapes::of(output)
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
