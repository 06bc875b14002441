//! candle-nn's layers and losses as steps on a tape.
//!
//! The layers that convert to f32 before they compute do so here: their steps are rounded as f32's in between.

use parity_model::op::{Binary, Conv, Layers, Nn, Unary};

use crate::each::Each;
use crate::program::{Program, choose, log_softmax, softmax};
use crate::tape::{Id, Tape};

use Binary::{Add, Div, Maximum, Minimum, Mul, Sub};

/// Puts a layer on the tape.
pub(crate) fn run(call: &Program<'_>, tape: &mut Tape, op: Layers) -> Id {
    let x = call.x(0);
    match op {
        Layers::Linear => {
            let product = linear(tape, x, call.x(1), call.output);
            tape.pair(Add, product, call.x(2))
        }
        Layers::Conv1dBias => conv_bias(call, tape, Conv::Conv1d),
        Layers::Conv2dBias => conv_bias(call, tape, Conv::Conv2d),
        Layers::ConvTranspose1dBias => conv_bias(call, tape, Conv::ConvTranspose1d),
        Layers::ConvTranspose2dBias => conv_bias(call, tape, Conv::ConvTranspose2d),
        Layers::Embedding => embedding(call, tape),
        Layers::RmsNormSlow | Layers::RmsNormLayer => {
            let normed = normed(tape, x, false, f64::from(call.params[0] as f32), |tape, x| {
                vec![tape.shape(x).len() - 1]
            });
            tape.pair(Mul, normed, call.x(1))
        }
        Layers::LayerNormSlow | Layers::LayerNormLayer => {
            let normed = normed(tape, x, true, f64::from(call.params[0] as f32), |tape, x| {
                vec![tape.shape(x).len() - 1]
            });
            let scaled = tape.pair(Mul, normed, call.x(1));
            tape.pair(Add, scaled, call.x(2))
        }
        Layers::GroupNorm => group_norm(call, tape),
        Layers::BatchNormTrain => {
            let normed = normed(tape, x, true, call.params[0], |tape, x| {
                (0..tape.shape(x).len()).filter(|d| *d != 1).collect()
            });
            channels_affine(tape, normed, call.x(1), call.x(2))
        }
        Layers::BatchNormEval => batch_norm_eval(call, tape),
        Layers::RopeSlow => rope(call, tape),
        Layers::RopeISlow => rope_of_pairs(call, tape),
        Layers::Attention | Layers::Sdpa => {
            let arguments = [call.x(0), call.x(1), call.x(2)];
            attention(tape, arguments, call.whole(0) == 1)
        }
        Layers::FlashAttention => {
            let heads = tape.shape(call.x(0))[2];
            let arguments = [0, 1, 2].map(|i| by_heads(tape, call.x(i), heads));
            attention(tape, arguments, call.whole(0) == 1)
        }
        Layers::Nll | Layers::CrossEntropy => {
            let scores = if op == Layers::Nll {
                x
            } else {
                log_softmax(tape, x, 1)
            };
            nll(call, tape, scores)
        }
        Layers::Mse => {
            let difference = tape.pair(Sub, x, call.x(1));
            let square = unary(tape, difference, Unary::Sqr);
            mean_all(tape, square)
        }
        Layers::Huber => huber(call, tape),
        Layers::BceWithLogit => bce(call, tape),
        Layers::PRelu => {
            let slopes = over_channels(tape, call.x(1), x);
            rectified(tape, x, |tape, below| tape.pair(Mul, below, slopes))
        }
        Layers::LstmStep => lstm(call, tape),
        Layers::GruStep => gru(call, tape),
    }
}

fn unary(tape: &mut Tape, x: Id, op: Unary) -> Id {
    tape.each(x, Each::Unary(op, vec![]))
}

fn affine(tape: &mut Tape, x: Id, mul: f64, add: f64) -> Id {
    tape.each(x, Each::Unary(Unary::Affine, vec![mul, add]))
}

fn sigmoid(tape: &mut Tape, x: Id) -> Id {
    tape.each(x, Each::Sigmoid)
}

/// The mean of all elements, as a scalar.
fn mean_all(tape: &mut Tape, x: Id) -> Id {
    let dims: Vec<usize> = (0..tape.shape(x).len()).collect();
    let mean = tape.mean(x, &dims);
    tape.reshaped(mean, &[])
}

/// x [.., k] times the transpose of a weight [n, k], in the shape of the result.
fn linear(tape: &mut Tape, x: Id, weight: Id, output: &[usize]) -> Id {
    let width = tape.shape(weight)[1];
    let rows = tape.shape(x).iter().product::<usize>() / width;
    let flat = tape.reshaped(x, &[rows, width]);
    let weight = tape.transposed(weight);
    let product = tape.matmul(flat, weight);
    tape.reshaped(product, output)
}

/// A list with one element a channel, in a shape that is broadcast over `x` [b, c, ..].
fn over_channels(tape: &mut Tape, list: Id, x: Id) -> Id {
    let mut shape = vec![1; tape.shape(x).len()];
    let channels = tape.shape(list)[0];
    if let Some(extent) = shape.get_mut(1) {
        *extent = channels;
    }
    tape.reshaped(list, &shape)
}

fn channels_affine(tape: &mut Tape, x: Id, weight: Id, bias: Id) -> Id {
    let (weight, bias) = (over_channels(tape, weight, x), over_channels(tape, bias, x));
    let scaled = tape.pair(Mul, x, weight);
    tape.pair(Add, scaled, bias)
}

fn conv_bias(call: &Program<'_>, tape: &mut Tape, op: Conv) -> Id {
    let product = call.conv(tape, op);
    let bias = over_channels(tape, call.x(2), product);
    tape.pair(Add, product, bias)
}

fn embedding(call: &Program<'_>, tape: &mut Tape) -> Id {
    let width = tape.shape(call.x(0))[1];
    let rows = call.ids(1);
    let places = rows
        .iter()
        .flat_map(|row| (0..width).map(move |at| Some(row * width + at)));
    let places = places.collect();
    tape.taken(call.x(0), call.output, places, crate::ball::Sums::InDtype)
}

/// x, less its mean over some dimensions if asked, over the root of the mean of its squares and `eps`: in f32 at least,
/// rounded to the dtype at the end.
fn normed(tape: &mut Tape, x: Id, centred: bool, eps: f64, dims: impl Fn(&Tape, Id) -> Vec<usize>) -> Id {
    let own = tape.round_as(tape.steps().widened());
    let dims = dims(tape, x);
    let x = if centred {
        let mean = tape.mean(x, &dims);
        tape.pair(Sub, x, mean)
    } else {
        x
    };
    let square = unary(tape, x, Unary::Sqr);
    let variance = tape.mean(square, &dims);
    let variance = affine(tape, variance, 1.0, eps);
    let deviation = unary(tape, variance, Unary::Sqrt);
    let normed = tape.pair(Div, x, deviation);
    tape.round_as(own);
    tape.each(normed, Each::Rounded)
}

fn group_norm(call: &Program<'_>, tape: &mut Tape) -> Id {
    let shape = tape.shape(call.x(0)).to_vec();
    let groups = call.whole(0);
    let size = shape.iter().product::<usize>() / (shape[0] * groups);
    let grouped = tape.reshaped(call.x(0), &[shape[0], groups, size]);
    let normed = normed(tape, grouped, true, call.params[1], |_, _| vec![2]);
    let normed = tape.reshaped(normed, &shape);
    channels_affine(tape, normed, call.x(1), call.x(2))
}

fn batch_norm_eval(call: &Program<'_>, tape: &mut Tape) -> Id {
    let x = call.x(0);
    let (mean, variance) = (
        over_channels(tape, call.x(1), x),
        over_channels(tape, call.x(2), x),
    );
    let difference = tape.pair(Sub, x, mean);
    let variance = affine(tape, variance, 1.0, call.params[0]);
    let deviation = unary(tape, variance, Unary::Sqrt);
    let normed = tape.pair(Div, difference, deviation);
    channels_affine(tape, normed, call.x(3), call.x(4))
}

/// x cos + rotated x sin, where the second half comes negated before the first, and the angles stand twice.
fn rope(call: &Program<'_>, tape: &mut Tape) -> Id {
    let x = call.x(0);
    let half = tape.shape(x)[3] / 2;
    let (first, second) = (tape.narrowed(x, 3, 0, half), tape.narrowed(x, 3, half, half));
    let rotated_first = unary(tape, second, Unary::Neg);
    let mut side = |x: Id, rotated: Id| {
        let (straight, turned) = (tape.pair(Mul, x, call.x(1)), tape.pair(Mul, rotated, call.x(2)));
        tape.pair(Add, straight, turned)
    };
    let (left, right) = (side(first, rotated_first), side(second, first));
    let halves = Program {
        params: &[3.0],
        args: &[
            crate::program::Argument::Data(left),
            crate::program::Argument::Data(right),
        ],
        output: call.output,
    };
    halves.cat(tape)
}

/// x cos - y sin and x sin + y cos for each pair x, y of neighbours.
fn rope_of_pairs(call: &Program<'_>, tape: &mut Tape) -> Id {
    let x = call.x(0);
    let own = tape.shape(x).to_vec();
    let half = [&own[..3], &[own[3] / 2]].concat();
    let count: usize = half.iter().product();
    let mut every_other = |first: usize| {
        let places = (0..count).map(|i| Some(2 * i + first)).collect();
        tape.taken(x, &half, places, crate::ball::Sums::Accumulated)
    };
    let (even, odd) = (every_other(0), every_other(1));
    let mut side = |op: Binary, by_cos: Id, by_sin: Id| {
        let (straight, turned) = (
            tape.pair(Mul, by_cos, call.x(1)),
            tape.pair(Mul, by_sin, call.x(2)),
        );
        tape.pair(op, straight, turned)
    };
    let (even, odd) = (side(Sub, even, odd), side(Add, odd, even));
    let mut spread = |x: Id, first: usize| {
        let places = (0..2 * count)
            .map(|i| (i % 2 == first).then_some(i / 2))
            .collect();
        tape.taken(x, &own, places, crate::ball::Sums::Accumulated)
    };
    let (even, odd) = (spread(even, 0), spread(odd, 1));
    tape.pair(Add, even, odd)
}

/// x [b, t, g, d] as [b, heads, t, d], each of its heads serving as many.
fn by_heads(tape: &mut Tape, x: Id, heads: usize) -> Id {
    let own = tape.shape(x).to_vec();
    let shape = [own[0], heads, own[1], own[3]];
    let shared = heads / own[2];
    let place = |index: Vec<usize>| {
        Some(crate::numbers::ravel(
            &[index[0], index[2], index[1] / shared, index[3]],
            &own,
        ))
    };
    let places = crate::numbers::indices(&shape).map(place).collect();
    tape.taken(x, &shape, places, crate::ball::Sums::Accumulated)
}

/// An activation that candle-nn makes of parts.
pub(crate) fn activation(call: &Program<'_>, tape: &mut Tape, op: Nn) -> Id {
    let x = call.x(0);
    let param = |i: usize| call.params[i];
    match op {
        Nn::HardSigmoid => {
            let shifted = affine(tape, x, 1.0, 3.0);
            let share = affine(tape, shifted, 1.0 / 6.0, 0.0);
            tape.each(share, Each::Unary(Unary::Clamp, vec![0.0, 1.0]))
        }
        Nn::LeakyRelu => rectified(tape, x, |tape, below| affine(tape, below, param(0), 0.0)),
        Nn::Mish => {
            let exp = unary(tape, x, Unary::Exp);
            let sum = affine(tape, exp, 1.0, 1.0);
            let log = unary(tape, sum, Unary::Log);
            let tanh = unary(tape, log, Unary::Tanh);
            tape.pair(Mul, x, tanh)
        }
        Nn::Selu => {
            let exp = unary(tape, x, Unary::Exp);
            let below = affine(tape, exp, param(0), -param(0));
            let above: Vec<bool> = tape.values(x).iter().map(|x| x.mid.hi > 0.0).collect();
            let chosen = choose(tape, &above, x, below);
            affine(tape, chosen, param(1), 0.0)
        }
        Nn::Swiglu => {
            let last = tape.shape(x).len() - 1;
            let half = tape.shape(x)[last] / 2;
            let (gate, value) = (
                tape.narrowed(x, last, 0, half),
                tape.narrowed(x, last, half, half),
            );
            let gate = unary(tape, gate, Unary::Silu);
            tape.pair(Mul, gate, value)
        }
        _ => panic!("`{op}` is no activation made of parts"),
    }
}

fn attention(tape: &mut Tape, [q, k, v]: [Id; 3], causal: bool) -> Id {
    let width = tape.shape(q)[3];
    let keys = tape.transposed(k);
    let scores = tape.matmul(q, keys);
    let scores = affine(tape, scores, 1.0 / (width as f64).sqrt(), 0.0);
    let scores = if causal {
        let steps = tape.shape(q)[2];
        let mask: Vec<f64> = (0..steps * steps)
            .map(|at| {
                if at % steps > at / steps {
                    f64::NEG_INFINITY
                } else {
                    0.0
                }
            })
            .collect();
        let mask = tape.argument(&[steps, steps], &mask);
        tape.pair(Add, scores, mask)
    } else {
        scores
    };
    let weights = softmax(tape, scores, 3);
    tape.matmul(weights, v)
}

fn nll(call: &Program<'_>, tape: &mut Tape, scores: Id) -> Id {
    let classes = tape.shape(scores)[1];
    let targets = call.ids(1);
    let places = targets
        .iter()
        .enumerate()
        .map(|(row, class)| Some(row * classes + class));
    let places = places.collect();
    let count = targets.len();
    let picked = tape.taken(scores, &[count], places, crate::ball::Sums::InDtype);
    let sum = tape.summed(picked, &[0]);
    let loss = affine(tape, sum, -1.0 / count as f64, 0.0);
    tape.reshaped(loss, &[])
}

fn huber(call: &Program<'_>, tape: &mut Tape) -> Id {
    let delta = call.params[0];
    let difference = tape.pair(Sub, call.x(0), call.x(1));
    let distance = unary(tape, difference, Unary::Abs);
    let near: Vec<bool> = tape.values(distance).iter().map(|d| d.mid.hi <= delta).collect();
    let square = tape.pair(Mul, difference, difference);
    let squared = affine(tape, square, 0.5, 0.0);
    let scaled = affine(tape, distance, delta, 0.0);
    let linear = affine(tape, scaled, 1.0, -0.5 * delta * delta);
    let loss = choose(tape, &near, squared, linear);
    mean_all(tape, loss)
}

fn bce(call: &Program<'_>, tape: &mut Tape) -> Id {
    let (input, target) = (sigmoid(tape, call.x(0)), call.x(1));
    let log = unary(tape, input, Unary::Log);
    let left = tape.pair(Mul, target, log);
    let (other_target, other) = (affine(tape, target, -1.0, 1.0), affine(tape, input, -1.0, 1.0));
    let log = unary(tape, other, Unary::Log);
    let right = tape.pair(Mul, other_target, log);
    let sum = tape.pair(Add, left, right);
    let loss = unary(tape, sum, Unary::Neg);
    mean_all(tape, loss)
}

/// x above zero plus what `below` makes of x below.
fn rectified(tape: &mut Tape, x: Id, below: impl FnOnce(&mut Tape, Id) -> Id) -> Id {
    let zero = tape.constant(0.0);
    let (positive, negative) = (tape.pair(Maximum, x, zero), tape.pair(Minimum, x, zero));
    let negative = below(tape, negative);
    tape.pair(Add, positive, negative)
}

/// A product with the transpose of a weight, and its bias.
fn gates(tape: &mut Tape, x: Id, weight: Id, bias: Id) -> Id {
    let output = [tape.shape(x)[0], tape.shape(weight)[0]];
    let product = linear(tape, x, weight, &output);
    tape.pair(Add, product, bias)
}

fn lstm(call: &Program<'_>, tape: &mut Tape) -> Id {
    let hidden = tape.shape(call.x(1))[1];
    let of_input = gates(tape, call.x(0), call.x(3), call.x(5));
    let of_state = gates(tape, call.x(1), call.x(4), call.x(6));
    let all = tape.pair(Add, of_input, of_state);
    let mut gate = |i: usize| tape.narrowed(all, 1, i * hidden, hidden);
    let [input, forget, cell, out] = [gate(0), gate(1), gate(2), gate(3)];
    let (input, forget) = (sigmoid(tape, input), sigmoid(tape, forget));
    let (cell, out) = (unary(tape, cell, Unary::Tanh), sigmoid(tape, out));
    let (kept, new) = (tape.pair(Mul, forget, call.x(2)), tape.pair(Mul, input, cell));
    let state = tape.pair(Add, kept, new);
    let state = unary(tape, state, Unary::Tanh);
    tape.pair(Mul, out, state)
}

fn gru(call: &Program<'_>, tape: &mut Tape) -> Id {
    let hidden = tape.shape(call.x(1))[1];
    let of_input = gates(tape, call.x(0), call.x(2), call.x(4));
    let of_state = gates(tape, call.x(1), call.x(3), call.x(5));
    let mut gate = |of: Id, i: usize| tape.narrowed(of, 1, i * hidden, hidden);
    let inputs = [gate(of_input, 0), gate(of_input, 1), gate(of_input, 2)];
    let states = [gate(of_state, 0), gate(of_state, 1), gate(of_state, 2)];
    let mut opened = |i: usize| {
        let sum = tape.pair(Add, inputs[i], states[i]);
        sigmoid(tape, sum)
    };
    let (reset, update) = (opened(0), opened(1));
    let remembered = tape.pair(Mul, reset, states[2]);
    let new = tape.pair(Add, inputs[2], remembered);
    let new = unary(tape, new, Unary::Tanh);
    let kept = tape.pair(Mul, update, call.x(1));
    let rest = affine(tape, update, 1.0, -1.0);
    let fresh = tape.pair(Mul, rest, new);
    tape.pair(Sub, kept, fresh)
}
