//! Which ops are batched, and along which dimensions: f(cat(a, b)) = cat(f(a), f(b)).
//!
//! A property of the op's definition; a row of the table names its rule. Rules that several families share are here, the
//! others are beside their rows, in `ops/`. What a backend makes of a batch is not known here.

use super::shape::{Operands, infer};
use super::{Form, Op};

/// How the arguments of an op are cut in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// For each argument the dimension that is cut; `None` for one that both parts get whole.
    pub args: Vec<Option<usize>>,
    /// The dimension of the output along which the parts follow one another.
    pub output: usize,
    /// Where the cut is.
    pub at: usize,
}

/// The dimensions to cut of the arguments, and of the output.
pub(crate) type Cut = (Vec<Option<usize>>, usize);

/// What a row's `batch:` is: the dimensions that are the batch, `None` where there are none.
pub(crate) type BatchRule = fn(&Operands<'_>) -> Option<Cut>;

/// How the arguments can be cut; `None` when nothing of them is a batch, or the batch is of one. `params` and `shapes` go
/// together, as [`infer`] says.
pub fn batch(op: Op, params: &[f64], shapes: &[&[usize]]) -> Option<Batch> {
    let call = Operands::new(op, params, shapes);
    let (row, form) = op.row();
    let (args, output) = match form {
        Form::Plain | Form::Kept(_) => (row.batch)(&call),
        Form::Broadcast => repeated(&call),
        // They mix what is in a batch, or depend on its size.
        Form::Gradient(_) => None,
    }?;
    let mut extents = args
        .iter()
        .zip(shapes)
        .filter_map(|(dim, shape)| Some(*shape.get((*dim)?)?));
    let extent = extents.next()?;
    let whole = infer(op, params, shapes).ok()?.output;
    let even = extents.all(|other| other == extent) && whole.get(output) == Some(&extent);
    let cut = args
        .iter()
        .zip(shapes)
        .all(|(dim, shape)| dim.is_none_or(|dim| dim < shape.len()));
    (even && cut && extent >= 2).then_some(Batch {
        args,
        output,
        at: extent.div_ceil(3),
    })
}

fn along(call: &Operands<'_>, dim: usize) -> Option<Cut> {
    Some((vec![Some(dim); call.shapes.len()], dim))
}

/// Nothing is a batch: the op mixes what is in it, or its parameters say the shape or the order of dimensions.
pub(crate) fn never(_: &Operands<'_>) -> Option<Cut> {
    None
}

/// Every argument along its first dimension.
pub(crate) fn every(call: &Operands<'_>) -> Option<Cut> {
    along(call, 0)
}

/// The first dimension of what the arguments are broadcast to: those that have it are cut, those that lack it or have it with
/// extent 1 are for either part.
pub(crate) fn repeated(call: &Operands<'_>) -> Option<Cut> {
    let rank = call.shapes.iter().map(|shape| shape.len()).max()?;
    let cut = |shape: &&[usize]| (shape.len() == rank && shape.first() != Some(&1)).then_some(0);
    Some((call.shapes.iter().map(cut).collect(), 0))
}

/// The first argument along its first dimension, of `RANK` or more; the others are for either part.
pub(crate) fn leading<const RANK: usize>(call: &Operands<'_>) -> Option<Cut> {
    let mut args = vec![None; call.shapes.len()];
    args[0] = Some(0);
    (call.shapes[0].len() >= RANK).then_some((args, 0))
}

/// The second argument along its first dimension: the ids, to which the first answers.
pub(crate) fn ids(_: &Operands<'_>) -> Option<Cut> {
    Some((vec![None, Some(0)], 0))
}

/// Every argument along the first dimension that is not the one that parameter `DIM` names.
pub(crate) fn beside<const DIM: usize>(call: &Operands<'_>) -> Option<Cut> {
    along(call, call.other_than(call.whole(DIM).ok()?)?)
}

/// Along the first dimension that no parameter names.
pub(crate) fn unnamed(call: &Operands<'_>) -> Option<Cut> {
    let named = call.wholes().ok()?;
    along(call, (0..call.shapes[0].len()).find(|d| !named.contains(d))?)
}

/// Along the first dimension that all arguments have whole, and that the first parameter does not name: where each has a
/// start of its own, that of such a dimension is 0.
pub(crate) fn whole(call: &Operands<'_>) -> Option<Cut> {
    let whole = infer(call.op, call.params, call.shapes).ok()?.output;
    let same = |d: usize| call.shapes.iter().all(|shape| shape.get(d) == whole.get(d));
    let dim = (0..whole.len()).find(|d| same(*d) && call.params.first() != Some(&(*d as f64)))?;
    along(call, dim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn of(id: &str) -> Option<(Vec<Option<usize>>, usize, usize)> {
        let case: Case = id.parse().unwrap();
        let shapes: Vec<&[usize]> = case.args.iter().map(|arg| arg.shape.as_slice()).collect();
        batch(case.op, &case.params, &shapes).map(|batch| (batch.args, batch.output, batch.at))
    }

    #[test]
    fn calls_are_cut_along_dimensions_that_do_not_meet_in_the_op() {
        for (id, want) in [
            ("unary/exp:f32:[5,3]:contiguous:any", Some((vec![Some(0)], 0, 2))),
            ("unary/exp:f32:[1,3]:contiguous:any", None),
            ("unary/exp:f32:[]:contiguous:any", None),
            (
                "reduce/sum(0):f32:[5,7]:contiguous:any",
                Some((vec![Some(1)], 0, 3)),
            ),
            ("reduce/sum(0,1):f32:[5,7]:contiguous:any", None),
            (
                "reduce/max(2):f32:[5,7,3]:contiguous:any",
                Some((vec![Some(0)], 0, 2)),
            ),
            (
                "matmul/matmul:f32:[4,3],[3,2]:contiguous,contiguous:any",
                Some((vec![Some(0), None], 0, 2)),
            ),
            (
                "indexing/index_select(0):f32,u32:[9],[4]:contiguous,contiguous:any",
                Some((vec![None, Some(0)], 0, 2)),
            ),
            (
                "indexing/gather(0):f32,u32:[5,7],[5,6]:contiguous,contiguous:any",
                None,
            ),
            (
                "nn/softmax(0):f32:[5,7]:contiguous:any",
                Some((vec![Some(1)], 1, 3)),
            ),
            ("sort/argsort_asc:f32:[7]:contiguous:any", None),
            (
                "broadcast/broadcast_add:f32:[4,4],[4]:contiguous,contiguous:any",
                Some((vec![Some(0), None], 0, 2)),
            ),
            (
                "broadcast/broadcast_add:f32:[1,4],[5,1]:contiguous,contiguous:any",
                Some((vec![None, Some(0)], 0, 2)),
            ),
            (
                "matmul/broadcast_matmul:f32:[4,5,2],[4,1,2,3]:contiguous,contiguous:any",
                Some((vec![None, Some(0)], 0, 2)),
            ),
            (
                "matmul/broadcast_matmul:f32:[5,2],[2,3]:contiguous,contiguous:any",
                None,
            ),
        ] {
            assert_eq!(of(id), want, "{id}");
        }
    }
}
