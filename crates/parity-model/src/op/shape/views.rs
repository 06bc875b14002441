//! The shape rules of ops that see a tensor in another way, and of those that make one.

use super::{Call, Shapes};
use crate::case::shape_text;
use crate::op::Copies;

/// All parameters as extents or dimensions.
fn wholes(call: &Call<'_>) -> Result<Vec<usize>, String> {
    (0..call.params.len()).map(|i| call.whole(i)).collect()
}

/// The rule of an op whose output has elements of its argument in another form.
pub(super) fn infer(call: &Call<'_>, op: Copies) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let mut output = x.to_vec();
    match op {
        Copies::Narrow | Copies::Index => {
            let (dim, start, end) = (call.dim(0)?, call.whole(1)?, call.whole(2)?);
            let len = match op {
                Copies::Narrow => end,
                _ => end.saturating_sub(start),
            };
            call.require(start + len <= x[dim], "the slices lie inside the argument")?;
            let written = op == Copies::Narrow || start < end && dim < 3;
            call.require(
                written,
                "the range is not empty, and one of the first three dimensions",
            )?;
            output[dim] = len;
        }
        Copies::GetOnDim => {
            let dim = call.dim(0)?;
            call.require(call.whole(1)? < x[dim], "there is such a slice")?;
            output.remove(dim);
        }
        Copies::Transpose => output.swap(call.dim(0)?, call.dim(1)?),
        Copies::Permute => {
            let order = wholes(call)?;
            let mut sorted = order.clone();
            sorted.sort_unstable();
            call.require(sorted.into_iter().eq(0..x.len()), "every dimension is named once")?;
            output = order.into_iter().map(|dim| x[dim]).collect();
        }
        Copies::Squeeze => {
            let dim = call.dim(0)?;
            if x[dim] == 1 {
                output.remove(dim);
            }
        }
        Copies::Unsqueeze => {
            let dim = call.whole(0)?;
            call.require(dim <= x.len(), "there is a place for the new dimension")?;
            output.insert(dim, 1);
        }
        Copies::Flatten => {
            let (first, last) = (call.dim(0)?, call.dim(1)?);
            call.require(first <= last, "`first` is not behind `last`")?;
            let extent = x[first..=last].iter().product();
            output.splice(first..=last, [extent]);
        }
        Copies::Reshape => {
            output = wholes(call)?;
            let product =
                |shape: &[usize]| shape.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent));
            call.require(
                product(&output) == product(x),
                "both shapes have as many elements",
            )?;
        }
        Copies::BroadcastAs => {
            let wanted = wholes(call)?;
            let common = crate::op::grad::broadcast(x, &wanted);
            call.require(
                common.as_ref() == Some(&wanted),
                "the argument can be repeated to the shape",
            )?;
            output = wanted;
        }
        _ => return Err(format!("`{op}` is no view")),
    }
    Shapes::of(output)
}

/// The rule of an op that makes numbers for the shape and dtype of its argument.
pub(super) fn made(call: &Call<'_>, op: Copies) -> Result<Shapes, String> {
    let x = call.shapes[0];
    match op {
        Copies::Eye | Copies::Tril | Copies::Triu => {
            call.require(x.len() == 2 && x[0] == x[1], "the argument is square")?;
        }
        Copies::Arange => {
            let (start, end, step) = (call.params[0], call.params[1], call.params[2]);
            let steps = ((end - start) / step).ceil().max(0.0);
            let finite = step != 0.0 && steps <= 1e6;
            if !finite || x != [steps as usize] {
                return Err(format!(
                    "`{op}` gives [{steps}] numbers, and the argument is {}",
                    shape_text(x)
                ));
            }
        }
        _ => {}
    }
    Shapes::of(x.to_vec())
}

#[cfg(test)]
mod tests {
    use crate::op::shape::infer;
    use crate::op::{Copies, Op};

    fn of(op: Copies, params: &[f64], shape: &[usize]) -> Result<Vec<usize>, String> {
        infer(Op::from(op), params, &[shape]).map(|shapes| shapes.output)
    }

    #[test]
    fn views_give_their_shapes() {
        for (op, params, shape, output) in [
            (Copies::Narrow, &[1.0, 2.0, 3.0][..], &[4, 5][..], &[4, 3][..]),
            (Copies::Index, &[1.0, 2.0, 3.0], &[4, 5], &[4, 1]),
            (Copies::GetOnDim, &[0.0, 3.0], &[4, 5], &[5]),
            (Copies::Transpose, &[0.0, 2.0], &[2, 3, 4], &[4, 3, 2]),
            (Copies::Permute, &[2.0, 0.0, 1.0], &[2, 3, 4], &[4, 2, 3]),
            (Copies::Squeeze, &[1.0], &[2, 1, 4], &[2, 4]),
            (Copies::Squeeze, &[0.0], &[2, 1, 4], &[2, 1, 4]),
            (Copies::Unsqueeze, &[2.0], &[2, 3], &[2, 3, 1]),
            (Copies::Flatten, &[1.0, 2.0], &[2, 3, 4, 5], &[2, 12, 5]),
            (Copies::Reshape, &[3.0, 4.0], &[2, 6], &[3, 4]),
            (Copies::BroadcastAs, &[4.0, 2.0, 3.0], &[2, 1], &[4, 2, 3]),
            (Copies::Arange, &[0.0, 1.0, 0.25], &[4], &[4]),
        ] {
            assert_eq!(of(op, params, shape), Ok(output.to_vec()), "{op}");
        }
    }

    #[test]
    fn a_broken_rule_is_named() {
        for (op, params, shape, why) in [
            (Copies::Narrow, &[1.0, 4.0, 2.0][..], &[4, 5][..], "inside"),
            (Copies::Index, &[0.0, 2.0, 2.0], &[4, 5], "not empty"),
            (Copies::GetOnDim, &[0.0, 4.0], &[4, 5], "such a slice"),
            (Copies::Permute, &[0.0, 0.0], &[2, 3], "named once"),
            (Copies::Reshape, &[5.0], &[2, 3], "as many elements"),
            (Copies::BroadcastAs, &[3.0], &[2], "be repeated"),
            (Copies::Eye, &[], &[2, 3], "square"),
            (Copies::Arange, &[0.0, 1.0, 0.0], &[4], "the argument is [4]"),
        ] {
            let message = of(op, params, shape).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
    }
}
