//! Where an element comes from that is moved and not computed: for each op that puts elements in other places, the
//! argument and the index in it, for every index of the output.

use parity_model::op::Copies;
use parity_model::op::shape::chunk;

use crate::numbers::{ravel, unravel};

/// A call that moves elements.
pub(crate) struct Moves<'a> {
    pub(crate) params: &'a [f64],
    /// The shapes of the arguments.
    pub(crate) shapes: Vec<&'a [usize]>,
    /// The shape of the result.
    pub(crate) output: &'a [usize],
}

impl Moves<'_> {
    /// Parameter `i`, which the shape rules have found to be a whole number.
    fn whole(&self, i: usize) -> usize {
        self.params[i] as usize
    }

    /// The argument, and the index in it, whose element belongs at `index` of the output.
    pub(crate) fn origin(&self, op: Copies, index: &[usize]) -> (usize, Vec<usize>) {
        let x = self.shapes[0];
        let mut from = index.to_vec();
        match op {
            Copies::PadSame => {
                let (dim, left) = (self.whole(0), self.whole(1));
                from[dim] = from[dim].saturating_sub(left).min(x[dim] - 1);
            }
            Copies::Stack => return (from.remove(self.whole(0)), from),
            Copies::SliceSet | Copies::SliceScatter => {
                let (dim, start) = (self.whole(0), self.whole(1));
                if (start..start + self.shapes[1][dim]).contains(&from[dim]) {
                    from[dim] -= start;
                    return (1, from);
                }
            }
            Copies::SliceAssign => {
                let source = self.shapes[1];
                let inside = |d: usize| (self.whole(d)..self.whole(d) + source[d]).contains(&index[d]);
                if (0..x.len()).all(inside) {
                    (0..x.len()).for_each(|d| from[d] -= self.whole(d));
                    return (1, from);
                }
            }
            Copies::KvCache => return self.cached(from, None),
            Copies::RotatingKvCache => return self.cached(from, Some(self.whole(1))),
            Copies::Repeat => from.iter_mut().zip(x).for_each(|(i, extent)| *i %= extent),
            Copies::Flip => {
                for dim in (0..self.params.len()).map(|i| self.whole(i)) {
                    from[dim] = x[dim] - 1 - from[dim];
                }
            }
            Copies::Roll => {
                let (dim, shift) = (self.whole(1), self.whole(0));
                from[dim] = (from[dim] + x[dim] - shift % x[dim]) % x[dim];
            }
            Copies::Unfold => {
                let within = from.pop().unwrap_or(0);
                from[self.whole(0)] = from[self.whole(0)] * self.whole(2) + within;
            }
            Copies::Chunk => {
                let dim = self.whole(1);
                from[dim] += chunk(x[dim], self.whole(0), self.whole(2)).0;
            }
            Copies::PixelShuffle | Copies::PixelUnshuffle => from = shuffled(op, self.whole(0), index),
            Copies::ReplicationPad2d => {
                for dim in [2, 3] {
                    from[dim] = from[dim].saturating_sub(self.whole(0)).min(x[dim] - 1);
                }
            }
            Copies::Meshgrid => {
                // The first list runs along the first dimension, or along the second with `xy`.
                let which = self.whole(1);
                return (which, vec![index[which ^ self.whole(0)]]);
            }
            Copies::Narrow | Copies::Index => from[self.whole(0)] += self.whole(1),
            Copies::GetOnDim => from.insert(self.whole(0), self.whole(1)),
            Copies::Transpose => from.swap(self.whole(0), self.whole(1)),
            Copies::Permute => {
                for (d, i) in index.iter().enumerate() {
                    from[self.whole(d)] = *i;
                }
            }
            Copies::Squeeze => {
                // A dimension that is longer stays.
                if from.len() < x.len() {
                    from.insert(self.whole(0), 0);
                }
            }
            Copies::Unsqueeze => {
                from.remove(self.whole(0));
            }
            Copies::Flatten | Copies::Reshape => from = unravel(ravel(&from, self.output), x),
            Copies::BroadcastAs => {
                from.drain(..from.len() - x.len());
                from.iter_mut()
                    .zip(x)
                    .for_each(|(i, extent)| *i = if *extent == 1 { 0 } else { *i });
            }
            // Answers and formulas of their own.
            Copies::Copy
            | Copies::CopyApart
            | Copies::Cat
            | Copies::Fill
            | Copies::PadZeros
            | Copies::Full
            | Copies::Zeros
            | Copies::Ones
            | Copies::Eye
            | Copies::Tril
            | Copies::Triu
            | Copies::Arange
            | Copies::OneHot => panic!("`{op}` moves nothing to another place"),
        }
        (0, from)
    }

    /// In what a cache holds after both arguments were appended; one of a size keeps its last slices, each at the remainder
    /// of its number.
    fn cached(&self, mut from: Vec<usize>, size: Option<usize>) -> (usize, Vec<usize>) {
        let dim = self.whole(0);
        let (old, new) = (self.shapes[0][dim], self.shapes[1][dim]);
        let number = match size {
            Some(size) if new >= size => old + from[dim],
            Some(size) if old + new > size => {
                let newest = old + new - 1;
                newest - (newest - from[dim]) % size
            }
            Some(_) | None => from[dim],
        };
        from[dim] = number;
        match number.checked_sub(old) {
            None => (0, from),
            Some(at) => {
                from[dim] = at;
                (1, from)
            }
        }
    }
}

/// Between [b, c f f, h, w] and [b, c, h f, w f].
fn shuffled(op: Copies, f: usize, index: &[usize]) -> Vec<usize> {
    if op == Copies::PixelShuffle {
        let within = index[2] % f * f + index[3] % f;
        return vec![index[0], index[1] * f * f + within, index[2] / f, index[3] / f];
    }
    let within = index[1] % (f * f);
    vec![
        index[0],
        index[1] / (f * f),
        index[2] * f + within / f,
        index[3] * f + within % f,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotating_cache_keeps_the_last_slices_each_in_its_place() {
        let of = |size: f64, old: usize, new: usize, count: usize| -> Vec<(usize, usize)> {
            let (x, y, output) = ([old], [new], [count]);
            let moves = Moves {
                params: &[0.0, size],
                shapes: vec![&x, &y],
                output: &output,
            };
            let origin = |i: usize| moves.origin(Copies::RotatingKvCache, &[i]);
            (0..count)
                .map(|i| {
                    let (arg, from) = origin(i);
                    (arg, from[0])
                })
                .collect()
        };
        // 0 1 2 | 3 4 5 in five places: the sixth takes that of the first.
        assert_eq!(of(5.0, 3, 3, 5), [(1, 2), (0, 1), (0, 2), (1, 0), (1, 1)]);
        assert_eq!(of(5.0, 1, 2, 3), [(0, 0), (1, 0), (1, 1)]);
        assert_eq!(of(2.0, 1, 3, 3), [(1, 0), (1, 1), (1, 2)]);
    }
}
