//! candle-nn's layers and losses: candle's composition of each, with the running error of every step.

use parity_model::float::Format;
use parity_model::op::{Conv, Layers, Nn};
use parity_model::{DType, Op};

use super::nn::{log_softmax, sigmoid, softmax};
use super::{Answer, conv};
use crate::expected::Call;
use crate::formula::Arithmetic;
use crate::formula::ball::Accumulation;
use crate::numbers::{indices, ravel};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Layers) -> Answer {
    // On contiguous arguments these are the fused ops, which round the root as well.
    let fused = [
        (Layers::RmsNormLayer, Nn::RmsNorm),
        (Layers::LayerNormLayer, Nn::LayerNorm),
    ];
    match fused.into_iter().find(|(layer, _)| *layer == op) {
        Some((_, fused)) => super::nn::answer(call, fused),
        None => super::of_parts(call, Op::Layers(op)),
    }
}

/// The layer on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Layers) -> Tensor<'t> {
    let x = call.x(0);
    match op {
        Layers::Linear => linear(x, call.x(1), call.output) + call.x(2),
        Layers::Conv1dBias => conv_bias(call, Conv::Conv1d),
        Layers::Conv2dBias => conv_bias(call, Conv::Conv2d),
        Layers::ConvTranspose1dBias => conv_bias(call, Conv::ConvTranspose1d),
        Layers::ConvTranspose2dBias => conv_bias(call, Conv::ConvTranspose2d),
        Layers::Embedding => embedding(call),
        Layers::RmsNormSlow | Layers::RmsNormLayer => rms_norm(call),
        Layers::LayerNormSlow | Layers::LayerNormLayer => layer_norm(call),
        Layers::GroupNorm => group_norm(call),
        Layers::BatchNormTrain => {
            let dims: Vec<usize> = (0..=x.last()).filter(|d| *d != 1).collect();
            channels_affine(normed(x, &dims, true, call.params[0]), call.x(1), call.x(2))
        }
        Layers::BatchNormEval => {
            let (mean, variance) = (over_channels(call.x(1), x), over_channels(call.x(2), x));
            let normed = (x - mean) / (variance + call.params[0]).sqrt();
            channels_affine(normed, call.x(3), call.x(4))
        }
        Layers::RopeSlow => rope(call),
        Layers::RopeISlow => rope_of_pairs(call),
        Layers::Attention | Layers::Sdpa => {
            attention([0, 1, 2].map(|i| call.x(i)), call.whole(0) == 1, |x| x)
        }
        Layers::FlashAttention => {
            let heads = x.shape()[2];
            let parts = [0, 1, 2].map(|i| by_heads(call.x(i), heads));
            attention(parts, call.whole(0) == 1, by_base_two)
        }
        Layers::FlashWindowed | Layers::FlashAlibi => windowed(call, [0, 1, 2].map(|i| call.x(i))),
        Layers::PagedAttention => windowed(call, [x, in_a_row(call, 1), in_a_row(call, 2)]),
        Layers::RopeAppend => rope_append(call),
        Layers::MatmulF8 => matmul_f8(call),
        Layers::MoeGemm | Layers::MoeGemmWeighted => by_expert(call),
        Layers::Nll => nll(call, x),
        Layers::CrossEntropy => nll(call, log_softmax(x, 1)),
        Layers::Mse => (x - call.x(1)).sqr().mean_all(),
        Layers::Huber => {
            let (difference, delta) = (x - call.x(1), call.params[0]);
            let distance = difference.abs();
            let squared = difference * difference * 0.5;
            let linear = distance * delta - 0.5 * delta * delta;
            distance.mask(|d| d <= delta).choose(squared, linear).mean_all()
        }
        Layers::BceWithLogit => {
            let (input, target) = (sigmoid(x), call.x(1));
            let (other, other_target) = (input * -1.0 + 1.0, target * -1.0 + 1.0);
            (-(target * input.ln() + other_target * other.ln())).mean_all()
        }
        Layers::PRelu => {
            let slopes = over_channels(call.x(1), x);
            x.rectified(|below| below * slopes)
        }
        Layers::LstmStep => lstm(call),
        Layers::GruStep => gru(call),
    }
}

/// x [.., k] times the transpose of a weight [n, k], in the shape of the result.
fn linear<'t>(x: Tensor<'t>, weight: Tensor<'t>, output: &[usize]) -> Tensor<'t> {
    let (width, own) = (weight.shape()[1], x.shape());
    let rows = own[..own.len() - 1].iter().product();
    let flat = x.reshaped(&[rows, width]);
    flat.matmul(weight.transposed()).reshaped(output)
}

/// A list with one element a channel, in a shape that is broadcast over `x` [b, c, ..].
fn over_channels<'t>(list: Tensor<'t>, x: Tensor<'t>) -> Tensor<'t> {
    let mut shape = vec![1; x.shape().len()];
    if let Some(extent) = shape.get_mut(1) {
        *extent = list.count();
    }
    list.reshaped(&shape)
}

fn channels_affine<'t>(x: Tensor<'t>, weight: Tensor<'t>, bias: Tensor<'t>) -> Tensor<'t> {
    x * over_channels(weight, x) + over_channels(bias, x)
}

fn conv_bias<'t>(call: &Program<'t, '_>, op: Conv) -> Tensor<'t> {
    let product = conv::formula(call, op);
    product + over_channels(call.x(2), product)
}

fn embedding<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let width = call.x(0).shape()[1];
    let rows = call.ids(1);
    let places = rows
        .iter()
        .flat_map(|row| (0..width).map(move |at| Some(row * width + at)));
    call.x(0)
        .taken(call.output, places.collect(), Accumulation::InDtype)
}

/// x, less its mean over some dimensions if asked, over the root of the mean of its squares and `eps`: in f32 at least,
/// rounded to the dtype at the end.
fn normed<'t>(x: Tensor<'t>, dims: &[usize], centred: bool, eps: f64) -> Tensor<'t> {
    x.wide(|x| {
        let x = if centred { x - x.mean(dims) } else { x };
        x / (x.sqr().mean(dims) + eps).sqrt()
    })
}

/// candle-nn takes `eps` as an f32.
fn eps(call: &Program<'_, '_>) -> f64 {
    f64::from(call.params[0] as f32)
}

/// x alpha / sqrt(mean(x^2) + eps) along the last dimension.
pub(super) fn rms_norm<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let x = call.x(0);
    normed(x, &[x.last()], false, eps(call)) * call.x(1)
}

/// (x - mean) alpha / sqrt(variance + eps) + beta along the last dimension.
pub(super) fn layer_norm<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let x = call.x(0);
    normed(x, &[x.last()], true, eps(call)) * call.x(1) + call.x(2)
}

fn group_norm<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let (x, groups) = (call.x(0), call.whole(0));
    let shape = x.shape();
    let grouped = x.reshaped(&[shape[0], groups, x.count() / (shape[0] * groups)]);
    let normed = normed(grouped, &[2], true, call.params[1]).reshaped(&shape);
    channels_affine(normed, call.x(1), call.x(2))
}

/// x cos + rotated x sin. Rotated x is the negated second half of x, then its first half. Both halves of x have the
/// same angles.
pub(super) fn rope<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let x = call.x(0);
    let half = x.shape()[3] / 2;
    let (first, second) = (x.narrowed(3, 0, half), x.narrowed(3, half, half));
    // Angles of each batch are for all of its heads. Of more angles than positions the first are taken.
    let t = x.shape()[2];
    let angles = |i: usize| match *call.x(i).shape() {
        [b, _, d] => call.x(i).narrowed(1, 0, t).reshaped(&[b, 1, t, d]),
        _ => call.x(i).narrowed(0, 0, t),
    };
    let (cos, sin) = (angles(1), angles(2));
    let side = |x: Tensor<'t>, rotated: Tensor<'t>| x * cos + rotated * sin;
    let (left, right) = (side(first, -second), side(second, first));
    super::copies::cat([left, right], 3, call.output)
}

/// x cos - y sin and x sin + y cos for each pair x, y of neighbours.
fn rope_of_pairs<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let (x, cos, sin) = (call.x(0), call.x(1), call.x(2));
    let own = x.shape();
    let half = [&own[..3], &[own[3] / 2]].concat();
    let count: usize = half.iter().product();
    let every_other = |first: usize| {
        let places = (0..count).map(|i| Some(2 * i + first)).collect();
        x.taken(&half, places, Accumulation::Wide)
    };
    let (even, odd) = (every_other(0), every_other(1));
    let spread = |x: Tensor<'t>, first: usize| {
        let places = (0..2 * count)
            .map(|i| (i % 2 == first).then_some(i / 2))
            .collect();
        x.taken(&own, places, Accumulation::Wide)
    };
    spread(even * cos - odd * sin, 0) + spread(odd * cos + even * sin, 1)
}

/// x [b, t, g, d] as [b, heads, t, d], each of its heads serving as many.
fn by_heads(x: Tensor<'_>, heads: usize) -> Tensor<'_> {
    let own = x.shape();
    let shape = [own[0], heads, own[1], own[3]];
    let shared = heads / own[2];
    let place = |index: Vec<usize>| Some(ravel(&[index[0], index[2], index[1] / shared, index[3]], &own));
    x.taken(&shape, indices(&shape).map(place).collect(), Accumulation::Wide)
}

/// softmax(q k^T / sqrt d) v; a causal one adds -inf where a key is later than the query. `scored` is what becomes of scores before that.
fn attention<'t>(
    [q, k, v]: [Tensor<'t>; 3],
    causal: bool,
    scored: impl Fn(Tensor<'t>) -> Tensor<'t>,
) -> Tensor<'t> {
    let (width, rows, columns) = (q.shape()[3], q.shape()[2], k.shape()[2]);
    let scores = scored(q.matmul(k.transposed()) * (1.0 / (width as f64).sqrt()));
    let scores = if causal {
        let later = |at: usize| at % columns > at / columns;
        let mask: Vec<f64> = (0..rows * columns)
            .map(|at| if later(at) { f64::NEG_INFINITY } else { 0.0 })
            .collect();
        scores + scores.arithmetic.argument(&[rows, columns], &mask)
    } else {
        scores
    };
    softmax(scores, 3).matmul(v)
}

/// Scores as flash attention has them: exponentials are to base 2, for which cards have an instruction, so that scores are multiplied by
/// log2 e first, which rounds them.
fn by_base_two(scores: Tensor<'_>) -> Tensor<'_> {
    scores * std::f64::consts::LOG2_E * std::f64::consts::LN_2
}

/// Attention of heads that share keys, in windows, with the parameters `left`, `right` and perhaps `softcap`, and perhaps
/// slopes as the fourth argument: [b, t, h, d]. Weights are computed in f32 and rounded to the dtype, as is the result.
fn windowed<'t>(call: &Program<'t, '_>, [q, k, v]: [Tensor<'t>; 3]) -> Tensor<'t> {
    let (own, keys) = (q.shape(), k.shape()[1]);
    let [batches, queries, heads, width] = [0, 1, 2, 3].map(|dim| own[dim]);
    if keys == 0 || own.contains(&0) {
        return q * 0.0;
    }
    let tape = q.arithmetic;
    // How far each key is before the query's place, or after it as a number below 0.
    let places: Vec<f64> = indices(&[queries, keys])
        .map(|at| (at[0] + keys) as f64 - (at[1] + queries) as f64)
        .collect();
    let sees = |ahead: f64| {
        let within = |reach: f64, by: f64| reach < 0.0 || by <= reach;
        within(call.params[0], ahead) && within(call.params[1], -ahead)
    };
    // A row that is hidden as a whole has weights all the same, which `seen` turns to 0.
    let hidden = |row: &[f64]| -> Vec<f64> {
        let sees_one = row.iter().any(|ahead| sees(*ahead));
        let hides = |ahead: &f64| {
            if sees_one && !sees(*ahead) {
                f64::NEG_INFINITY
            } else {
                0.0
            }
        };
        row.iter().map(hides).collect()
    };
    let hidden: Vec<f64> = places.chunks(keys).flat_map(hidden).collect();
    let seen: Vec<f64> = places
        .iter()
        .map(|ahead| f64::from(u8::from(sees(*ahead))))
        .collect();
    let distances: Vec<f64> = places.iter().map(|ahead| ahead.abs()).collect();
    let of_places = |numbers: &[f64]| tape.argument(&[queries, keys], numbers);
    let [q, k, v] = [q, k, v].map(|x| by_heads(x, heads));
    let weights = || {
        let scores = q.matmul(k.transposed()) * (1.0 / (width as f64).sqrt());
        let scores = match call.params.get(2) {
            Some(&cap) if cap > 0.0 => (scores * (1.0 / cap)).tanh() * cap,
            Some(_) | None => scores,
        };
        let scores = match call.params.len() {
            3 => scores - call.x(3).reshaped(&[1, heads, 1, 1]) * of_places(&distances),
            _ => scores,
        };
        softmax(by_base_two(scores) + of_places(&hidden), 3) * of_places(&seen)
    };
    let weights = Tensor::new(tape, tape.wide(q.number, &|_| weights().number));
    let out = weights.matmul(v);
    let shape = [batches, queries, heads, width];
    let place = |at: Vec<usize>| {
        Some(ravel(
            &[at[0], at[2], at[1], at[3]],
            &[batches, heads, queries, width],
        ))
    };
    out.taken(&shape, indices(&shape).map(place).collect(), Accumulation::Wide)
}

/// Argument `i`, pages [p, l, g, d], as the table [b, n] has them for each batch: [b, n l, g, d].
fn in_a_row<'t>(call: &Program<'t, '_>, i: usize) -> Tensor<'t> {
    let (pages, table, columns) = (call.x(i), call.ids(3), call.shape(3)[1]);
    let own = pages.shape();
    let shape = [call.shape(3)[0], columns * own[1], own[2], own[3]];
    let place = |at: Vec<usize>| {
        let page = table[at[0] * columns + at[1] / own[1]];
        Some(ravel(&[page, at[1] % own[1], at[2], at[3]], &own))
    };
    let places = indices(&shape).map(place).collect();
    pages.taken(&shape, places, Accumulation::Wide)
}

/// Heads of queries and keys, turned by the row of angles of their token, and those of values.
fn rope_append<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let [q, k, v, cos, sin] = [0, 1, 2, 3, 4].map(|i| call.x(i));
    let (half, rows, neighbours) = (cos.shape()[1], cos.shape()[0], call.whole(0) == 1);
    let turned = |x: Tensor<'t>| {
        let own = x.shape();
        let sides = [own[0], own[1], half];
        // The first or the second element of each pair, and the angles beside it.
        let side = |second: usize| {
            let place = |at: Vec<usize>| {
                let element = if neighbours {
                    2 * at[2] + second
                } else {
                    at[2] + second * half
                };
                Some(ravel(&[at[0], at[1], element], &own))
            };
            x.taken(&sides, indices(&sides).map(place).collect(), Accumulation::Wide)
        };
        let of_pairs = |angles: Tensor<'t>| {
            let place = |at: Vec<usize>| Some(at[0] % rows * half + at[2]);
            angles.taken(&sides, indices(&sides).map(place).collect(), Accumulation::Wide)
        };
        let (first, second, cos, sin) = (side(0), side(1), of_pairs(cos), of_pairs(sin));
        let (left, right) = (first * cos - second * sin, first * sin + second * cos);
        let spread = |x: Tensor<'t>, which: usize| {
            let place = |at: Vec<usize>| {
                let (pair, own) = if neighbours {
                    (at[2] / 2, at[2] % 2)
                } else {
                    (at[2] % half, at[2] / half)
                };
                (own == which).then(|| ravel(&[at[0], at[1], pair], &sides))
            };
            x.taken(&own, indices(&own).map(place).collect(), Accumulation::Wide)
        };
        spread(left, 0) + spread(right, 1)
    };
    let turned_keys = super::copies::cat([turned(k), v], 1, &[k.shape()[0], 2 * k.shape()[1], 2 * half]);
    super::copies::cat([turned(q), turned_keys], 1, call.output)
}

/// Each row times the transposed matrix of its expert, and times its weight where there are such, in f32 and rounded once.
fn by_expert<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let (x, weights, experts) = (call.x(0), call.x(1), call.ids(2));
    let [rows, n] = [call.output[0], call.output[1]];
    let (k, own) = (x.shape()[1], weights.shape());
    let each = rows / x.shape()[0];
    let tape = x.arithmetic;
    let products = || {
        let of_row = |at: Vec<usize>| Some(at[0] / each * k + at[2]);
        let left = [rows, 1, k];
        let left = x.taken(&left, indices(&left).map(of_row).collect(), Accumulation::Wide);
        let of_expert = |at: Vec<usize>| Some(ravel(&[experts[at[0]], at[2], at[1]], &own));
        let right = [rows, k, n];
        let right = weights.taken(
            &right,
            indices(&right).map(of_expert).collect(),
            Accumulation::Wide,
        );
        let product = left.matmul(right).reshaped(call.output);
        match call.args.len() {
            4 => product * call.x(3).reshaped(&[rows, 1]),
            _ => product,
        }
    };
    Tensor::new(tape, tape.wide(x.number, &|_| products().number))
}

/// The sums of products of numbers rounded to f8e4m3, scaled in f32 and rounded once.
fn matmul_f8<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let f8 = Format::of(DType::F8E4M3).unwrap_or_else(|| panic!("f8e4m3 is a format"));
    let rounded = |i: usize| {
        let x = call.x(i);
        let numbers = x
            .values()
            .into_iter()
            .map(|ball| f8.decode(f8.encode(ball.mid.hi)));
        let numbers: Vec<f64> = numbers.collect();
        x.arithmetic.argument(&x.shape(), &numbers)
    };
    let [rows, columns] = [call.output[0], call.output[1]];
    let tape = call.x(0).arithmetic;
    let scaled = || {
        let product = rounded(0).matmul(rounded(1));
        product * call.x(2).reshaped(&[rows, 1]) * call.x(3).reshaped(&[1, columns])
    };
    Tensor::new(tape, tape.wide(call.x(0).number, &|_| scaled().number))
}

fn nll<'t>(call: &Program<'t, '_>, scores: Tensor<'t>) -> Tensor<'t> {
    let (classes, targets) = (scores.shape()[1], call.ids(1));
    let count = targets.len();
    let places = targets.iter().enumerate();
    let places = places.map(|(row, class)| Some(row * classes + class));
    let picked = scores.taken(&[count], places.collect(), Accumulation::InDtype);
    (picked.sum(&[0]) * (-1.0 / count as f64)).reshaped(&[])
}

/// A product with the transpose of a weight, and its bias.
fn gates<'t>(x: Tensor<'t>, weight: Tensor<'t>, bias: Tensor<'t>) -> Tensor<'t> {
    linear(x, weight, &[x.shape()[0], weight.shape()[0]]) + bias
}

fn lstm<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let hidden = call.x(1).shape()[1];
    let of_input = gates(call.x(0), call.x(3), call.x(5));
    let all = of_input + gates(call.x(1), call.x(4), call.x(6));
    let [input, forget, cell, out] = [0, 1, 2, 3].map(|i| all.narrowed(1, i * hidden, hidden));
    let state = sigmoid(forget) * call.x(2) + sigmoid(input) * cell.tanh();
    sigmoid(out) * state.tanh()
}

fn gru<'t>(call: &Program<'t, '_>) -> Tensor<'t> {
    let hidden = call.x(1).shape()[1];
    let of_input = gates(call.x(0), call.x(2), call.x(4));
    let of_state = gates(call.x(1), call.x(3), call.x(5));
    let gate = |of: Tensor<'t>| [0, 1, 2].map(|i| of.narrowed(1, i * hidden, hidden));
    let (inputs, states) = (gate(of_input), gate(of_state));
    let [reset, update] = [0, 1].map(|i| sigmoid(inputs[i] + states[i]));
    let new = (inputs[2] + reset * states[2]).tanh();
    update * call.x(1) - (update - 1.0) * new
}
