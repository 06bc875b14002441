//! Shapes that follow from others: those of a layer's weights, and that of a gradient's.

use crate::Op;
use crate::op::grad::result;
use crate::op::{Differentiable, Indexing, Layers, Nn};

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

/// The shape of the argument after those of `shapes`, if the op says which it is.
fn following(op: Op, params: &[f64], shapes: &[Vec<usize>]) -> Option<Vec<usize>> {
    let (x, at) = (&shapes[0], shapes.len());
    let extent = |d: usize| x.get(d).copied();
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
        Op::Nn(op) => match op {
            Nn::RmsNorm | Nn::LayerNorm => Some(vec![*x.last()?]),
            Nn::Rope | Nn::RopeI => Some(vec![extent(2)?, extent(3)? / 2]),
            Nn::RopeThd => Some(vec![extent(1)?, extent(3)? / 2]),
            Nn::Sigmoid
            | Nn::HardSigmoid
            | Nn::LeakyRelu
            | Nn::Mish
            | Nn::Selu
            | Nn::Swiglu
            | Nn::SoftmaxLastDim
            | Nn::Softmax
            | Nn::LogSoftmax => None,
        },
        Op::Layers(op) => layer(op, params, shapes),
        Op::Indexing(op) => match op {
            Indexing::Scatter | Indexing::ScatterSet | Indexing::ScatterAdd | Indexing::ScatterAddSet => {
                shapes.get(1).cloned()
            }
            Indexing::IndexAdd => {
                let (dim, count) = (*params.first()? as usize, *shapes.get(1)?.first()?);
                let mut source = x.clone();
                *source.get_mut(dim)? = count;
                Some(source)
            }
            Indexing::IndexSelect | Indexing::Gather => None,
        },
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Broadcast(_)
        | Op::Cast(_)
        | Op::Where(_)
        | Op::Reduce(..)
        | Op::Matmul(_)
        | Op::Conv(_)
        | Op::Pool(_)
        | Op::Upsample(_)
        | Op::Copies(_)
        | Op::Sort(_)
        | Op::Random(_)
        | Op::Quantized(_) => None,
    }
}

fn layer(op: Layers, params: &[f64], shapes: &[Vec<usize>]) -> Option<Vec<usize>> {
    let (x, at) = (&shapes[0], shapes.len());
    let channels = || x.get(1).map(|channels| vec![*channels]);
    match op {
        Layers::Linear if at == 2 => Some(vec![*shapes[1].first()?]),
        Layers::Linear => None,
        Layers::Conv1dBias | Layers::Conv2dBias => Some(vec![*shapes.get(1)?.first()?]),
        Layers::ConvTranspose1dBias => Some(vec![
            shapes.get(1)?.get(1)?.saturating_mul(*params.get(4)? as usize),
        ]),
        Layers::ConvTranspose2dBias => Some(vec![*shapes.get(1)?.get(1)?]),
        Layers::RmsNormSlow | Layers::LayerNormSlow | Layers::RmsNormLayer | Layers::LayerNormLayer => {
            Some(vec![*x.last()?])
        }
        Layers::GroupNorm | Layers::BatchNormEval | Layers::BatchNormTrain | Layers::PRelu => channels(),
        Layers::RopeSlow | Layers::RopeISlow => Some(vec![*x.get(2)?, x.get(3)? / 2]),
        Layers::Nll | Layers::CrossEntropy => Some(vec![*x.first()?]),
        Layers::LstmStep => step(x, shapes.get(1)?, at, 2, 4),
        Layers::GruStep => step(x, shapes.get(1)?, at, 1, 3),
        Layers::Embedding
        | Layers::Attention
        | Layers::FlashAttention
        | Layers::Sdpa
        | Layers::Mse
        | Layers::Huber
        | Layers::BceWithLogit => None,
    }
}

/// Of a recurrent cell: more states, the weights of x and of the state, and their biases.
fn step(x: &[usize], state: &[usize], at: usize, states: usize, gates: usize) -> Option<Vec<usize>> {
    let (input, hidden) = (*x.get(1)?, *state.get(1)?);
    Some(match at.checked_sub(states + 1) {
        None => state.to_vec(),
        Some(0) => vec![gates.saturating_mul(hidden), input],
        Some(1) => vec![gates.saturating_mul(hidden), hidden],
        Some(_) => vec![gates.saturating_mul(hidden)],
    })
}
