//! candle-nn's layers and losses. How they are computed is not said here.

use super::conv::{conv, conv_transpose};
use super::nn::rope;
use super::ops;
use crate::op::batch::never;
use crate::op::shape::{Operands, ShapeRule, Shapes, normed};

ops! {
    /// candle-nn's layers and losses, made of parts.
    pub enum Layers;

    /// x [.., m, k] times the transpose of the weight [n, k], plus the bias [n].
    Linear "linear" (x: Data, weight: Data, bias: Data) on WIDE, shape: linear, batch: never,
        grad on F32_F64: "Of x times the transpose of the weight, plus the bias.";
    /// `conv1d` plus a bias for each of the output's channels.
    Conv1dBias "conv1d_bias" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased::<1>, batch: never,
        grad on F32_F64: "As `grad_conv1d`; by the bias, the sum of w of its channel.";
    /// `conv2d` plus a bias for each of the output's channels.
    Conv2dBias "conv2d_bias" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased::<2>, batch: never,
        grad on F32_F64: "As `grad_conv2d`; by the bias, the sum of w of its channel.";
    /// The rows of a table [rows, width] that ids of any shape name.
    Embedding "embedding" (table: Data, ids: Index) on WIDE, shape: embedding, batch: never,
        grad on F32_F64: "The sum of w of the rows that the id named.";
    /// `rms_norm` made of parts, in f32 at least up to the product with the weight.
    RmsNormSlow "rms_norm_slow" ["eps"] (x: Data, alpha: Data) on WIDE, shape: normed, batch: never,
        grad on F32_F64: "Of x alpha / sqrt(mean(x^2) + eps).";
    /// `layer_norm` made of parts, in f32 at least up to the product with the weight.
    LayerNormSlow "layer_norm_slow" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE, shape: normed,
        batch: never, grad on F32_F64: "Of (x - mean) alpha / sqrt(variance + eps) + beta.";
    /// x [b, c, ..] less its mean over its standard deviation in each group of channels, times a weight
    /// plus a bias for each channel.
    GroupNorm "group_norm" ["groups", "eps"] (x: Data, weight: Data, bias: Data) on WIDE, shape: group_norm,
        batch: never, grad on F32_F64: "Of the normed groups times a weight plus a bias.";
    /// (x - mean) weight / sqrt(variance + eps) + bias, one of each for each channel of x [b, c, ..].
    BatchNormEval "batch_norm_eval" ["eps"] (x: Data, mean: Data, variance: Data, weight: Data, bias: Data) on WIDE,
        shape: batch_norm, batch: never,
        grad on F32_F64: "Of (x - mean) weight / sqrt(variance + eps) + bias, by any of the five.";
    /// As `batch_norm_eval` with the mean and the variance of the batch.
    BatchNormTrain "batch_norm_train" ["eps"] (x: Data, weight: Data, bias: Data) on F32_F64,
        shape: batch_norm, batch: never, grad on F32_F64: "As `grad_group_norm`, over the batch.";
    /// `rope` made of parts.
    RopeSlow "rope_slow" (x: Data, cos: Data, sin: Data) on WIDE, shape: rope::<2>, batch: never,
        grad on F32_F64: "By x, w rotated back; by the angles, w x summed.";
    /// softmax(q k^T / sqrt(d)) v for q [b, h, t, d], k [b, h, s, d], v [b, h, s, e]; with `causal` 1, a
    /// query sees the keys up to its own place.
    Attention "attention" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: attention, batch: never,
        grad on F32_F64: "Of softmax(q k^T / sqrt(d)) v by q, k or v.";
    /// -mean of x[i, target[i]].
    Nll "nll" (x: Data, target: Index) on WIDE, shape: classified, batch: never,
        grad on F32_F64: "-w / n at the target, 0 elsewhere.";
    /// `nll` of `log_softmax` along the last of two dimensions.
    CrossEntropy "cross_entropy" (x: Data, target: Index) on WIDE, shape: classified, batch: never,
        grad on F32_F64: "w (softmax(x) - one-hot(target)) / n.";
    /// The mean of (input - target)^2.
    Mse "mse" (input: Data, target: Data) on WIDE, shape: loss, batch: never,
        grad on F32_F64: "2 w (input - target) / n, negated by the target.";
    /// The mean of d^2 / 2 where |d| <= delta, and of delta (|d| - delta / 2) elsewhere, d = input -
    /// target.
    Huber "huber" ["delta"] (input: Data, target: Data) on WIDE, shape: loss, batch: never,
        grad on F32_F64: "w d / n where |d| <= delta, w delta sign(d) / n elsewhere, negated by the target.";
    /// -mean of target log s + (1 - target) log (1 - s), s = sigmoid(input).
    BceWithLogit "bce_with_logit" (input: Data, target: Data) on WIDE, shape: loss, batch: never,
        grad on F32_F64: "w (sigmoid(input) - target) / n by the input, of the parts by the target.";
    /// x above zero, slope x below, one slope for each channel of x [b, c, ..].
    PRelu "prelu" (x: Data, slope: Data) on WIDE, shape: prelu, batch: never,
        grad on F32_F64: "By x, w above zero and w slope below; by a slope, the sum of w x below zero.";
    /// The next hidden state of an LSTM cell for x, h, c, the weights of x and h, and their biases; gates
    /// in the order input, forget, cell, output.
    LstmStep "lstm_step" (x: Data, h: Data, c: Data, weight_x: Data, weight_h: Data, bias_x: Data, bias_h: Data) on WIDE,
        shape: recurrent::<2, 4>, batch: never, grad on F32_F64: "Of the next hidden state, by any argument.";
    /// The next hidden state of a GRU cell for x, h, the weights of x and h, and their biases; gates in the
    /// order reset, update, new.
    GruStep "gru_step" (x: Data, h: Data, weight_x: Data, weight_h: Data, bias_x: Data, bias_h: Data) on WIDE,
        shape: recurrent::<1, 3>, batch: never, grad on F32_F64: "Of the next hidden state, by any argument.";
    /// `conv_transpose1d` plus a bias for each of the output's channels.
    ConvTranspose1dBias "conv_transpose1d_bias" ["padding", "output_padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased_transpose::<1>, batch: never;
    /// `conv_transpose2d` plus a bias for each of the output's channels.
    ConvTranspose2dBias "conv_transpose2d_bias" ["padding", "output_padding", "stride", "dilation"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased_transpose::<2>, batch: never;
    /// `rms_norm` as the layer: fused on what is contiguous, made of parts on views.
    RmsNormLayer "rms_norm_layer" ["eps"] (x: Data, alpha: Data) on WIDE, shape: normed, batch: never;
    /// `layer_norm` as the layer: fused on what is contiguous, made of parts on views.
    LayerNormLayer "layer_norm_layer" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE, shape: normed,
        batch: never;
    /// `rope_i` made of parts.
    RopeISlow "rope_i_slow" (x: Data, cos: Data, sin: Data) on WIDE, shape: rope_i_slow, batch: never,
        grad on F32_F64: "By x, w rotated back; by the angles, w x summed.";
    /// `attention` of q [b, t, h, d], k [b, s, g, d], v [b, s, g, e], where each of g heads serves h / g;
    /// [b, h, t, e]. candle-nn has it for the CPU alone.
    FlashAttention "flash_attn" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: flash, batch: never;
    /// `attention` as a fused op, which candle-nn has for Metal alone.
    Sdpa "sdpa" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: attention, batch: never;
}

/// Whether the arguments from `first` on are lists of `len`.
fn lists(call: &Operands<'_>, first: usize, len: usize) -> bool {
    call.shapes[first..].iter().all(|shape| **shape == [len])
}

fn linear(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, weight, bias) = (call.shapes[0], call.shapes[1], call.shapes[2]);
    let fits = x.len() >= 2 && weight.len() == 2 && x.last() == Some(&weight[1]) && bias == [weight[0]];
    call.require(fits, "x is [.., m, k], the weight [n, k] and the bias [n]")?;
    Shapes::of(call.with_extent(x.len() - 1, weight[0]))
}

fn biased<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    with_bias(call, conv::<DIMS>)
}

fn biased_transpose<const DIMS: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    with_bias(call, conv_transpose::<DIMS>)
}

fn with_bias(call: &Operands<'_>, conv: ShapeRule) -> Result<Shapes, String> {
    let shapes = conv(call)?;
    let fits = call.shapes[2] == [shapes.output[1]];
    call.require(fits, "the bias has the output's channels")?;
    Ok(shapes)
}

fn embedding(call: &Operands<'_>) -> Result<Shapes, String> {
    let (table, ids) = (call.shapes[0], call.shapes[1]);
    let fits = table.len() == 2 && table[0] > 0;
    call.require(fits, "the table is [rows, width] and has rows")?;
    Ok(Shapes {
        output: [ids, &table[1..]].concat(),
        bound: Some(table[0]),
    })
}

fn group_norm(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let channels = x.get(1).copied().unwrap_or(0);
    let divided = channels.is_multiple_of(call.positive(0)?);
    let fits = x.len() >= 3 && divided && lists(call, 1, channels) && !x.contains(&0);
    call.require(
        fits,
        "x is [b, c, ..], the groups divide c and the weights are [c]",
    )?;
    Shapes::of(x.to_vec())
}

fn batch_norm(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let channels = x.get(1).copied().unwrap_or(0);
    let several = x.iter().product::<usize>() > channels;
    let fits = x.len() >= 2 && lists(call, 1, channels) && several && !x.contains(&0);
    call.require(
        fits,
        "x is [b, c, ..], with more than one element a channel, the rest is [c]",
    )?;
    Shapes::of(x.to_vec())
}

fn rope_i_slow(call: &Operands<'_>) -> Result<Shapes, String> {
    call.require(call.shapes[1].len() == 2, "cos and sin are [steps, width / 2]")?;
    rope::<2>(call)
}

fn attention(call: &Operands<'_>) -> Result<Shapes, String> {
    let (q, k, v) = (call.shapes[0], call.shapes[1], call.shapes[2]);
    let ranks = q.len() == 4 && k.len() == 4 && v.len() == 4;
    let fits = ranks && q[..2] == k[..2] && k[..3] == v[..3] && q[3] == k[3] && q[3] > 0;
    // A causal mask leaves each query a key.
    let causal = fits && (call.params[0] == 0.0 || call.params[0] == 1.0 && q[2] == k[2]);
    call.require(
        causal && k[2] > 0,
        "q is [b, h, t, d], k [b, h, s, d], v [b, h, s, e], causal 0, or 1 with s = t",
    )?;
    Shapes::of(call.with_extent(3, v[3]))
}

/// Attention over q [b, t, h, d] and a divisor of its heads in k and v.
fn flash(call: &Operands<'_>) -> Result<Shapes, String> {
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
    Shapes::of(vec![q[0], q[2], q[1], v[3]])
}

/// The loss of a target that names classes.
fn classified(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let fits = x.len() == 2 && x[1] > 0 && x[0] > 0 && call.shapes[1] == [x[0]];
    call.require(fits, "x is [n, classes] and the target [n]")?;
    Ok(Shapes {
        output: vec![],
        bound: Some(x[1]),
    })
}

fn loss(call: &Operands<'_>) -> Result<Shapes, String> {
    let input = call.shapes[0];
    call.require(
        input == call.shapes[1] && !input.contains(&0),
        "input and target have one shape, which is not empty",
    )?;
    Shapes::of(vec![])
}

fn prelu(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let channels = x.get(1).copied().unwrap_or(1);
    call.require(lists(call, 1, channels), "the slopes are [channels]")?;
    Shapes::of(x.to_vec())
}

/// A step of a cell with so many states and gates.
fn recurrent<const STATES: usize, const GATES: usize>(call: &Operands<'_>) -> Result<Shapes, String> {
    let (x, state) = (call.rank(0, 2)?, call.rank(1, 2)?);
    let (input, hidden) = (x[1], state[1]);
    let (states, weights) = call.shapes[1..].split_at(STATES);
    let fits = states.iter().all(|state| **state == [x[0], hidden])
        && weights[0] == [GATES * hidden, input]
        && weights[1] == [GATES * hidden, hidden]
        && weights[2..].iter().all(|bias| **bias == [GATES * hidden]);
    call.require(
        fits,
        "weights are [gates h, i] and [gates h, h], biases [gates h]",
    )?;
    Shapes::of(vec![x[0], hidden])
}
