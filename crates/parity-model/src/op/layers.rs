//! The shape rules of layers, losses and random numbers.

use super::shape::Shapes;
use super::{Conv, Layers, Op, Random};
use crate::case::shape_text;

/// A call's parameters and shapes, for rules to be written against.
struct Call<'a> {
    op: Op,
    params: &'a [f64],
    shapes: &'a [&'a [usize]],
}

impl Call<'_> {
    fn require(&self, holds: bool, why: &str) -> Result<(), String> {
        if holds {
            return Ok(());
        }
        let shapes: Vec<String> = self.shapes.iter().map(|shape| shape_text(shape)).collect();
        Err(format!(
            "`{}`: {why}, and the shapes are {}",
            self.op,
            shapes.join(",")
        ))
    }

    /// Whether the arguments from `first` on are lists of `len`.
    fn lists(&self, first: usize, len: usize) -> bool {
        self.shapes[first..].iter().all(|shape| **shape == [len])
    }

    fn whole(&self, i: usize) -> Option<usize> {
        let value = self.params[i];
        (value >= 0.0 && value.fract() == 0.0 && value <= 1e9).then_some(value as usize)
    }
}

/// The shape rule of a layer.
pub(super) fn layers(op: Layers, params: &[f64], shapes: &[&[usize]]) -> Result<Shapes, String> {
    let call = Call {
        op: op.into(),
        params,
        shapes,
    };
    let x = shapes[0];
    let last = x.last().copied().unwrap_or(0);
    let (mut output, mut bound) = (x.to_vec(), None);
    match op {
        Layers::Linear => {
            let fits =
                x.len() >= 2 && shapes[1].len() == 2 && shapes[1][1] == last && shapes[2] == [shapes[1][0]];
            call.require(fits, "x is [.., m, k], the weight [n, k] and the bias [n]")?;
            output[x.len() - 1] = shapes[1][0];
        }
        Layers::Conv1dBias
        | Layers::Conv2dBias
        | Layers::ConvTranspose1dBias
        | Layers::ConvTranspose2dBias => {
            let conv = match op {
                Layers::Conv1dBias => Conv::Conv1d,
                Layers::Conv2dBias => Conv::Conv2d,
                Layers::ConvTranspose1dBias => Conv::ConvTranspose1d,
                _ => Conv::ConvTranspose2d,
            };
            output = super::shape::infer(conv.into(), params, &shapes[..2])?.output;
            call.require(shapes[2] == [output[1]], "the bias has the output's channels")?;
        }
        Layers::Embedding => {
            call.require(
                x.len() == 2 && x[0] > 0,
                "the table is [rows, width] and has rows",
            )?;
            (output, bound) = ([shapes[1], &x[1..]].concat(), Some(x[0]));
        }
        Layers::RmsNormSlow | Layers::LayerNormSlow | Layers::RmsNormLayer | Layers::LayerNormLayer => {
            let fits = last > 0 && call.lists(1, last);
            call.require(
                fits,
                "the weights are as long as the last dimension, which is not empty",
            )?;
        }
        Layers::GroupNorm => {
            let channels = x.get(1).copied().unwrap_or(0);
            let groups = call.whole(0).filter(|groups| *groups > 0);
            let divided = groups.is_some_and(|groups| channels.is_multiple_of(groups));
            let fits = x.len() >= 3 && divided && call.lists(1, channels) && !x.contains(&0);
            call.require(
                fits,
                "x is [b, c, ..], the groups divide c and the weights are [c]",
            )?;
        }
        Layers::BatchNormEval | Layers::BatchNormTrain => {
            let channels = x.get(1).copied().unwrap_or(0);
            let several = x.iter().product::<usize>() > channels;
            let fits = x.len() >= 2 && call.lists(1, channels) && several && !x.contains(&0);
            call.require(
                fits,
                "x is [b, c, ..], with more than one element a channel, the rest is [c]",
            )?;
        }
        Layers::RopeISlow => {
            output = super::shape::infer(super::Nn::RopeI.into(), params, shapes)?.output;
            call.require(shapes[1].len() == 2, "cos and sin are [steps, width / 2]")?;
        }
        Layers::FlashAttention => output = flash(&call)?,
        Layers::RopeSlow => output = super::shape::infer(super::Nn::Rope.into(), params, shapes)?.output,
        Layers::Attention | Layers::Sdpa => {
            let (k, v) = (shapes[1], shapes[2]);
            let ranks = x.len() == 4 && k.len() == 4 && v.len() == 4;
            let fits = ranks && x[..2] == k[..2] && k[..3] == v[..3] && x[3] == k[3] && x[3] > 0;
            // A causal mask leaves each query a key.
            let causal = fits && (params[0] == 0.0 || params[0] == 1.0 && x[2] == k[2]);
            call.require(
                causal && k[2] > 0,
                "q is [b, h, t, d], k [b, h, s, d], v [b, h, s, e], causal 0, or 1 with s = t",
            )?;
            output[3] = v[3];
        }
        Layers::Nll | Layers::CrossEntropy => {
            let fits = x.len() == 2 && x[1] > 0 && x[0] > 0 && shapes[1] == [x[0]];
            call.require(fits, "x is [n, classes] and the target [n]")?;
            (output, bound) = (vec![], Some(x[1]));
        }
        Layers::Mse | Layers::Huber | Layers::BceWithLogit => {
            call.require(
                x == shapes[1] && !x.contains(&0),
                "input and target have one shape, which is not empty",
            )?;
            output = vec![];
        }
        Layers::PRelu => {
            let channels = x.get(1).copied().unwrap_or(1);
            call.require(call.lists(1, channels), "the slopes are [channels]")?;
        }
        Layers::LstmStep | Layers::GruStep => {
            let states = if op == Layers::LstmStep { 2 } else { 1 };
            let gates = if op == Layers::LstmStep { 4 } else { 3 };
            call.require(
                x.len() == 2 && shapes[1].len() == 2,
                "x is [b, i] and the state [b, h]",
            )?;
            let (input, hidden) = (x[1], shapes[1][1]);
            let weights = &shapes[1 + states..];
            let fits = shapes[1..=states].iter().all(|state| **state == [x[0], hidden])
                && weights[0] == [gates * hidden, input]
                && weights[1] == [gates * hidden, hidden]
                && weights[2..].iter().all(|bias| **bias == [gates * hidden]);
            call.require(
                fits,
                "weights are [gates h, i] and [gates h, h], biases [gates h]",
            )?;
            output = vec![x[0], hidden];
        }
    }
    Ok(Shapes { output, bound })
}

/// Attention over q [b, t, h, d] and a divisor of its heads in k and v.
fn flash(call: &Call<'_>) -> Result<Vec<usize>, String> {
    let (q, k, v) = (call.shapes[0], call.shapes[1], call.shapes[2]);
    let ranks = q.len() == 4 && k.len() == 4 && v.len() == 4;
    let fits = ranks
        && [q, k, v].iter().all(|shape| !shape.contains(&0))
        && k[..3] == v[..3]
        && (q[0], q[3]) == (k[0], k[3])
        && q[2].is_multiple_of(k[2]);
    let causal = fits && (call.params[0] == 0.0 || call.params[0] == 1.0 && q[1] == k[1]);
    call.require(
        causal,
        "q is [b, t, h, d], k [b, s, g, d], v [b, s, g, e], g divides h, causal 0, or 1 with s = t",
    )?;
    Ok(vec![q[0], q[2], q[1], v[3]])
}

/// The shape rule of random numbers: two draws of the shape of the argument.
pub(super) fn random(op: Random, params: &[f64], shapes: &[&[usize]]) -> Result<Shapes, String> {
    let call = Call {
        op: op.into(),
        params,
        shapes,
    };
    match op {
        Random::Uniform | Random::UniformSeeded => {
            call.require(params[0] < params[1], "`lo` is below `up`")?
        }
        Random::Normal | Random::NormalSeeded => call.require(params[1] > 0.0, "`std` is above 0")?,
    }
    if params.len() > 2 && call.whole(2).is_none() {
        return Err(format!(
            "`{}` takes a whole number as `seed`, not {}",
            call.op, params[2]
        ));
    }
    Ok(Shapes {
        output: [&[2], shapes[0]].concat(),
        bound: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: Layers, params: &[f64], args: &[&[usize]]) -> Result<Vec<usize>, String> {
        layers(op, params, args).map(|shapes| shapes.output)
    }

    #[test]
    fn layers_give_their_shapes() {
        for (op, params, args, output) in [
            (
                Layers::Linear,
                &[][..],
                &[&[2, 5, 3][..], &[4, 3], &[4]][..],
                &[2, 5, 4][..],
            ),
            (
                Layers::Conv1dBias,
                &[1.0, 1.0, 1.0, 2.0],
                &[&[1, 4, 7], &[6, 2, 3], &[6]],
                &[1, 6, 7],
            ),
            (Layers::Embedding, &[], &[&[5, 7], &[2, 3]], &[2, 3, 7]),
            (
                Layers::GroupNorm,
                &[2.0, 1e-5],
                &[&[2, 4, 3], &[4], &[4]],
                &[2, 4, 3],
            ),
            (
                Layers::Attention,
                &[0.0],
                &[&[1, 2, 3, 4], &[1, 2, 5, 4], &[1, 2, 5, 6]],
                &[1, 2, 3, 6],
            ),
            (Layers::CrossEntropy, &[], &[&[3, 8], &[3]], &[]),
            (
                Layers::GruStep,
                &[],
                &[&[2, 3], &[2, 4], &[12, 3], &[12, 4], &[12], &[12]],
                &[2, 4],
            ),
        ] {
            assert_eq!(of(op, params, args), Ok(output.to_vec()), "{op}");
        }
    }

    #[test]
    fn a_broken_rule_is_named() {
        for (op, params, args, why) in [
            (
                Layers::Linear,
                &[][..],
                &[&[2, 3][..], &[4, 5], &[4]][..],
                "the weight [n, k]",
            ),
            (
                Layers::GroupNorm,
                &[3.0, 1e-5],
                &[&[2, 4, 3], &[4], &[4]],
                "divide",
            ),
            (
                Layers::Attention,
                &[1.0],
                &[&[1, 2, 3, 4], &[1, 2, 5, 4], &[1, 2, 5, 6]],
                "s = t",
            ),
            (Layers::Mse, &[], &[&[3], &[4]], "one shape"),
        ] {
            let message = of(op, params, args).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
        let draw = |lo, up| random(Random::Uniform, &[lo, up], &[&[3]]).map(|shapes| shapes.output);
        assert_eq!(draw(0.0, 1.0), Ok(vec![2, 3]));
        assert!(draw(1.0, 1.0).unwrap_err().contains("below"));
    }
}
