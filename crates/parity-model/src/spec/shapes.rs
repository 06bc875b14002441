//! Shapes that follow from others: those of a layer's weights, and that of a gradient's.

use crate::Op;
use crate::op::grad::result;
use crate::op::shape::patterns;
use crate::op::{Differentiable, Indexing, Layers};

/// A shape for each argument of `op`, of which the first are `given`. One shape alone is that of every argument, unless the op
/// says otherwise.
///
/// # Errors
/// A sentence that says which shape does not follow.
pub(super) fn complete(op: Op, params: &[f64], given: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, String> {
    let mut shapes = given.to_vec();
    while shapes.len() < op.arity() {
        let next = match following(op, params, &shapes) {
            None if given.len() == 1 => shapes[0].clone(),
            None => {
                return Err(format!(
                    "`{op}`: the shape of argument {} does not follow from those before it",
                    shapes.len()
                ));
            }
            Some(next) => next,
        };
        shapes.push(next);
    }
    Ok(shapes)
}

/// The shape of the argument after those of `shapes`, if the op's rule says which it is.
fn following(op: Op, params: &[f64], shapes: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Of several patterns the last has the least dimensions.
    let mut found = patterns(op).into_iter().rev();
    if let Some(next) = found.find_map(|pattern| pattern.following(shapes)) {
        return Some(next);
    }
    let (x, at) = (&shapes[0], shapes.len());
    match op {
        Op::Grad(grad) => {
            let (own, _) = grad.split(params).ok()?;
            if at + 1 == op.arity() {
                let args: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
                return result(grad, own, &args).ok().map(|result| result.output);
            }
            match grad.of() {
                Differentiable::Op(function) => following(function, own, shapes),
                Differentiable::GradOnly(_) => None,
            }
        }
        Op::Indexing(Indexing::IndexAdd) => {
            let (dim, count) = (*params.first()? as usize, *shapes.get(1)?.first()?);
            let mut source = x.clone();
            *source.get_mut(dim)? = count;
            Some(source)
        }
        Op::Indexing(_) => shapes.get(1).cloned(),
        Op::Layers(op) => match op {
            Layers::Conv1dBias | Layers::Conv2dBias => Some(vec![*shapes.get(1)?.first()?]),
            Layers::ConvTranspose1dBias => Some(vec![
                shapes.get(1)?.get(1)?.saturating_mul(*params.get(4)? as usize),
            ]),
            Layers::ConvTranspose2dBias => Some(vec![*shapes.get(1)?.get(1)?]),
            Layers::GroupNorm | Layers::BatchNormEval | Layers::BatchNormTrain | Layers::PRelu => {
                Some(vec![*x.get(1)?])
            }
            _ => None,
        },
        _ => None,
    }
}
