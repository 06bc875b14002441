//! Walks that are longer than kernels count, cut into launches. Kernels number the elements of a strided walk in 32 bits, where a
//! division by a size is a multiplication; `Context::most` says up to how many.

use crate::hip::context::Context;
use crate::view::{self, Region};
use crate::{Error, Result};

/// The launches of a walk, in row-major order.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    dims: &'a [usize],
    /// The dimension that is cut, and into how long parts; the ones before it are taken one by one. `None` for the whole walk.
    cut: Option<(usize, usize)>,
    next: usize,
    count: usize,
}

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The coordinates of its first element; none where that is the walk's own first one.
    first: Vec<usize>,
    /// Its sizes: as many dimensions as the walk has.
    pub(crate) dims: Vec<usize>,
}

impl Piece {
    /// Elements from that of the walk's first one to that of the piece's, in an operand of such strides.
    pub(crate) fn offset(&self, strides: &[usize]) -> usize {
        self.first
            .iter()
            .zip(strides)
            .map(|(at, stride)| at * stride)
            .sum()
    }

    pub(crate) fn numel(&self) -> usize {
        self.dims.iter().product()
    }
}

impl<'a> Pieces<'a> {
    /// Cuts `dims` so that no piece has more than `most` elements, along its first `outer` dimensions; `None` where that is not
    /// enough.
    pub(crate) fn new(dims: &'a [usize], outer: usize, most: usize) -> Option<Pieces<'a>> {
        let (mut whole, mut inner) = (dims.len(), 1_usize);
        while let Some(&dim) = whole.checked_sub(1).and_then(|last| dims.get(last)) {
            let more = inner.saturating_mul(dim);
            if more > most {
                break;
            }
            (whole, inner) = (whole - 1, more);
        }
        let Some(cut) = whole.checked_sub(1) else {
            return Some(Pieces {
                dims,
                cut: None,
                next: 0,
                count: 1,
            });
        };
        let chunk = most / inner.max(1);
        if cut >= outer || chunk == 0 {
            return None;
        }
        let before: usize = dims[..cut].iter().product();
        Some(Pieces {
            dims,
            cut: Some((cut, chunk)),
            next: 0,
            count: before * dims[cut].div_ceil(chunk),
        })
    }

    /// As [`Pieces::new`], in as many elements as kernels of `op` count.
    pub(crate) fn of(op: &str, dims: &'a [usize], outer: usize, context: &Context) -> Result<Pieces<'a>> {
        Pieces::new(dims, outer, context.most()).ok_or_else(|| {
            let inner = dims[outer..].iter().product::<usize>();
            Error::too_large(
                op,
                format!(
                    "{inner} elements that belong together; its kernel counts {} in a launch",
                    context.most()
                ),
            )
        })
    }

    /// The launches over operands of one shape. Contiguous ones need one launch, whatever their size.
    pub(crate) fn of_walk(
        op: &str,
        dims: &'a [usize],
        operands: &[&[usize]],
        context: &Context,
    ) -> Result<Pieces<'a>> {
        let numel: usize = dims.iter().product();
        if numel > context.most() && view::layout_table(dims, operands).is_none() {
            return Ok(Pieces {
                dims,
                cut: None,
                next: 0,
                count: 1,
            });
        }
        Pieces::of(op, dims, dims.len(), context)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.next == self.count {
            return None;
        }
        let mut rest = self.next;
        self.next += 1;
        let mut piece = Piece {
            first: Vec::new(),
            dims: self.dims.to_vec(),
        };
        if let Some((cut, chunk)) = self.cut {
            piece.first = vec![0; self.dims.len()];
            let size = self.dims[cut];
            let parts = size.div_ceil(chunk);
            piece.first[cut] = rest % parts * chunk;
            piece.dims[cut] = chunk.min(size - piece.first[cut]);
            rest /= parts;
            for d in (0..cut).rev() {
                piece.first[d] = rest % self.dims[d];
                piece.dims[d] = 1;
                rest /= self.dims[d];
            }
        }
        Some(piece)
    }
}

/// Whether kernels cannot number the elements of a view, because it is strided and has too many.
pub(crate) fn is_beyond(context: &Context, x: &Region<'_>, numbers: usize) -> bool {
    numbers > context.most() && !x.is_contiguous()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_element_once_in_order_and_are_no_longer_than_asked() {
        for dims in [
            &[][..],
            &[1],
            &[17],
            &[3, 5],
            &[2, 3, 4],
            &[5, 1, 2, 3],
            &[3, 0, 2],
        ] {
            let numel: usize = dims.iter().product();
            let mut strides = vec![1; dims.len()];
            for d in (1..dims.len()).rev() {
                strides[d - 1] = strides[d] * dims[d];
            }
            for most in 1..=numel + 1 {
                let mut next = 0;
                for piece in Pieces::new(dims, dims.len(), most).unwrap() {
                    assert_eq!(piece.offset(&strides), next, "{dims:?} by {most}: {piece:?}");
                    assert!(piece.numel() <= most, "{dims:?} by {most}: {piece:?}");
                    next += piece.numel();
                }
                assert_eq!(next, numel, "{dims:?} by {most}");
            }
        }
    }

    #[test]
    fn dimensions_that_belong_together_are_not_cut() {
        let dims = [4, 3, 5];
        assert!(Pieces::new(&dims, 1, 14).is_none(), "a step has 15");
        assert_eq!(Pieces::new(&dims, 1, 15).unwrap().count(), 4);
        assert_eq!(Pieces::new(&dims, 1, 44).unwrap().count(), 2);
        assert_eq!(Pieces::new(&dims, 2, 14).unwrap().count(), 8);
        assert!(Pieces::new(&dims, 2, 4).is_none());
        assert_eq!(Pieces::new(&dims, 0, 60).unwrap().count(), 1, "nothing is cut");
    }
}
