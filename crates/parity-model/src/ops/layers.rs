//! candle-nn's layers and losses. How they are computed is not said here.

use super::conv::{conv, conv_transpose};
use super::ops;
use crate::op::batch::never;
use crate::op::shape::{Operands, ShapeRule, Shapes};

ops! {
    /// candle-nn's layers and losses, made of parts.
    pub enum Layers;

    /// x [.., m, k] times the transpose of the weight [n, k], plus the bias [n].
    Linear "linear" (x: Data, weight: Data, bias: Data) on WIDE,
        shape: |call| call.fit("[.., m, k] [n, k] [n] -> [.., m, n]"), batch: never, terms: Unordered,
        grad on F32_F64: "Of x times the transpose of the weight, plus the bias.";
    /// `conv1d` plus a bias for each of the output's channels.
    Conv1dBias "conv1d_bias" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased::<1>, batch: never, terms: Unordered,
        grad on F32_F64: "As `grad_conv1d`; by the bias, the sum of w of its channel.";
    /// `conv2d` plus a bias for each of the output's channels.
    Conv2dBias "conv2d_bias" ["padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased::<2>, batch: never, terms: Unordered,
        grad on F32_F64: "As `grad_conv2d`; by the bias, the sum of w of its channel.";
    /// The rows of a table [rows, width] that ids of any shape name.
    Embedding "embedding" (table: Data, ids: Index) on WIDE,
        shape: |call| call.fit("[rows+, width] [..] -> [.., width], ids < rows"), batch: never, terms: Unordered,
        grad on F32_F64: "The sum of w of the rows that the id named.";
    /// `rms_norm` made of parts, in f32 at least up to the product with the weight.
    RmsNormSlow "rms_norm_slow" ["eps"] (x: Data, alpha: Data) on WIDE,
        shape: |call| call.fit("[.., n+] [n] -> [.., n]"), batch: never, terms: Unordered,
        grad on F32_F64: "Of x alpha / sqrt(mean(x^2) + eps).";
    /// `layer_norm` made of parts, in f32 at least up to the product with the weight.
    LayerNormSlow "layer_norm_slow" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE,
        shape: |call| call.fit("[.., n+] [n] [n] -> [.., n]"), batch: never, terms: Unordered,
        grad on F32_F64: "Of (x - mean) alpha / sqrt(variance + eps) + beta.";
    /// x [b, c, ..] less its mean over its standard deviation in each group of channels, times a weight plus a bias for
    /// each channel.
    GroupNorm "group_norm" ["groups", "eps"] (x: Data, weight: Data, bias: Data) on WIDE, shape: group_norm,
        batch: never, terms: Unordered, grad on F32_F64: "Of the normed groups times a weight plus a bias.";
    /// (x - mean) weight / sqrt(variance + eps) + bias, one of each for each channel of x [b, c, ..].
    BatchNormEval "batch_norm_eval" ["eps"] (x: Data, mean: Data, variance: Data, weight: Data, bias: Data) on WIDE,
        shape: batch_norm, batch: never, terms: Unordered,
        grad on F32_F64: "Of (x - mean) weight / sqrt(variance + eps) + bias, by any of the five.";
    /// As `batch_norm_eval` with the mean and the variance of the batch.
    BatchNormTrain "batch_norm_train" ["eps"] (x: Data, weight: Data, bias: Data) on F32_F64, shape: batch_norm,
        batch: never, terms: Unordered, grad on F32_F64: "As `grad_group_norm`, over the batch.";
    /// `rope` made of parts.
    RopeSlow "rope_slow" (x: Data, cos: Data, sin: Data) on WIDE,
        shape: |call| call.fit("[b, h, t, 2d] [t, d] [t, d] -> [b, h, t, 2d]"), batch: never, terms: Unordered,
        grad on F32_F64: "By x, w rotated back; by the angles, w x summed.";
    /// softmax(q k^T / sqrt(d)) v for q [b, h, t, d], k [b, h, s, d], v [b, h, s, e]; with `causal` 1, a query sees the
    /// keys up to its own place.
    Attention "attention" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: attention, batch: never, terms: Unordered,
        grad on F32_F64: "Of softmax(q k^T / sqrt(d)) v by q, k or v.";
    /// -mean of x[i, target[i]].
    Nll "nll" (x: Data, target: Index) on WIDE, shape: |call| call.fit("[n+, c+] [n] -> [], ids < c"),
        batch: never, terms: Unordered,
        grad on F32_F64: "-w / n at the target, 0 elsewhere.";
    /// `nll` of `log_softmax` along the last of two dimensions.
    CrossEntropy "cross_entropy" (x: Data, target: Index) on WIDE,
        shape: |call| call.fit("[n+, c+] [n] -> [], ids < c"), batch: never, terms: Unordered,
        grad on F32_F64: "w (softmax(x) - one-hot(target)) / n.";
    /// The mean of (input - target)^2.
    Mse "mse" (input: Data, target: Data) on WIDE, shape: |call| call.fit("[..+] [..+] -> []"), batch: never, terms: Unordered,
        grad on F32_F64: "2 w (input - target) / n, negated by the target.";
    /// The mean of d^2 / 2 where |d| <= delta, and of delta (|d| - delta / 2) elsewhere, d = input - target.
    Huber "huber" ["delta"] (input: Data, target: Data) on WIDE, shape: |call| call.fit("[..+] [..+] -> []"),
        batch: never, terms: Unordered,
        grad on F32_F64: "w d / n where |d| <= delta, w delta sign(d) / n elsewhere, negated by the target.";
    /// -mean of target log s + (1 - target) log (1 - s), s = sigmoid(input).
    BceWithLogit "bce_with_logit" (input: Data, target: Data) on WIDE, shape: |call| call.fit("[..+] [..+] -> []"),
        batch: never, terms: Unordered, grad on F32_F64: "w (sigmoid(input) - target) / n by the input, of the parts by the target.";
    /// x above zero, slope x below, one slope for each channel of x [b, c, ..].
    PRelu "prelu" (x: Data, slope: Data) on WIDE, shape: prelu, batch: never, terms: Unordered,
        grad on F32_F64: "By x, w above zero and w slope below; by a slope, the sum of w x below zero.";
    /// The next hidden state of an LSTM cell for x, h, c, the weights of x and h, and their biases; gates in the order
    /// input, forget, cell, output.
    LstmStep "lstm_step" (x: Data, h: Data, c: Data, weight_x: Data, weight_h: Data, bias_x: Data, bias_h: Data) on WIDE,
        shape: |call| call.fit("[b, i] [b, h] [b, h] [4h, i] [4h, h] [4h] [4h] -> [b, h]"), batch: never, terms: Unordered,
        grad on F32_F64: "Of the next hidden state, by any argument.";
    /// The next hidden state of a GRU cell for x, h, the weights of x and h, and their biases; gates in the order
    /// reset, update, new.
    GruStep "gru_step" (x: Data, h: Data, weight_x: Data, weight_h: Data, bias_x: Data, bias_h: Data) on WIDE,
        shape: |call| call.fit("[b, i] [b, h] [3h, i] [3h, h] [3h] [3h] -> [b, h]"), batch: never, terms: Unordered,
        grad on F32_F64: "Of the next hidden state, by any argument.";
    /// `conv_transpose1d` plus a bias for each of the output's channels.
    ConvTranspose1dBias "conv_transpose1d_bias" ["padding", "output_padding", "stride", "dilation", "groups"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased_transpose::<1>, batch: never, terms: Unordered;
    /// `conv_transpose2d` plus a bias for each of the output's channels.
    ConvTranspose2dBias "conv_transpose2d_bias" ["padding", "output_padding", "stride", "dilation"] (x: Data, kernel: Data, bias: Data) on WIDE,
        shape: biased_transpose::<2>, batch: never, terms: Unordered;
    /// `rms_norm` as the layer: fused on what is contiguous, made of parts on views.
    RmsNormLayer "rms_norm_layer" ["eps"] (x: Data, alpha: Data) on WIDE,
        shape: |call| call.fit("[.., n+] [n] -> [.., n]"), batch: never, terms: Unordered;
    /// `layer_norm` as the layer: fused on what is contiguous, made of parts on views.
    LayerNormLayer "layer_norm_layer" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE,
        shape: |call| call.fit("[.., n+] [n] [n] -> [.., n]"), batch: never, terms: Unordered;
    /// `rope_i` made of parts.
    RopeISlow "rope_i_slow" (x: Data, cos: Data, sin: Data) on WIDE,
        shape: |call| call.fit("[b, h, t, 2d] [t, d] [t, d] -> [b, h, t, 2d]"), batch: never, terms: Unordered,
        grad on F32_F64: "By x, w rotated back; by the angles, w x summed.";
    /// `attention` of q [b, t, h, d], k [b, s, g, d], v [b, s, g, e], where each of g heads serves h / g; [b, h, t, e]. The first query is at
    /// the first key's place. candle-nn has it for the CPU alone, crates/candle-nn for ROCm.
    FlashAttention "flash_attn" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: flash, batch: never, terms: Unordered;
    /// `attention` as a fused op, which candle-nn has for Metal alone.
    Sdpa "sdpa" ["causal"] (q: Data, k: Data, v: Data) on WIDE, shape: attention, batch: never, terms: Unordered;
    /// softmax(q k^T / sqrt(d)) v of q [b, t, h, d], k and v [b, s, g, d], where each of g heads serves h / g. The last query is at
    /// the last key's place. A query sees `left` keys before its place and `right` after it, all of them for -1. The result is 0
    /// where a query sees no key. crates/candle-flash-attn has a kernel for ROCm and composes it elsewhere.
    FlashWindowed "flash_attn_windowed" ["left", "right"] (q: Data, k: Data, v: Data) on F32_AND_HALVES,
        shape: |call| windowed(call, "[b, t, h, d+] [b, s, g+, d] [b, s, g, d] -> [b, t, h, d]"), batch: never, terms: Unordered;
    /// As `flash_attn_windowed`; a score becomes softcap tanh(score / softcap) if `softcap` is not 0, less the slope of its head times
    /// the distance of query and key.
    FlashAlibi "flash_attn_alibi_windowed_softcap" ["left", "right", "softcap"] (q: Data, k: Data, v: Data, slopes: Data) on F32_AND_HALVES,
        shape: |call| windowed(call, "[b, t, h, d+] [b, s, g+, d] [b, s, g, d] [h] -> [b, t, h, d]"), batch: never, terms: Unordered;
    /// As `flash_attn_windowed` where keys and values lie in pages [p, l, g, d], l a power of two, and a row of the table [b, n] has the pages
    /// of a batch: n l keys. crates/candle-flash-attn has a kernel for ROCm and composes it elsewhere.
    PagedAttention "paged_attention" ["left", "right"] (q: Data, k: Data, v: Data, table: Index) on F32_AND_HALVES,
        shape: paged, batch: never, terms: Unordered;
    /// `rope` of token t's heads of q [t, h, 2d] and k [t, g, 2d] by row t modulo p of the angles [p, d], or `rope_i` if `neighbours` is 1, and
    /// v [t, g, 2d] as it is: the result has the heads one after the other, [t, h + 2g, 2d]. candle_core::rocm has a kernel for it that puts
    /// keys and values into caches; elsewhere it is composed.
    RopeAppend "rope_append" ["neighbours"] (q: Data, k: Data, v: Data, cos: Data, sin: Data) on F32_AND_HALVES,
        shape: appended, batch: never, terms: Unordered;
    /// The sums of products of a [m, k] and b [k, n], both rounded to f8e4m3 first, times the scales of rows [m] and of columns [n], in f32 and
    /// rounded once. candle_core::rocm has a kernel for it; elsewhere it is composed.
    MatmulF8 "matmul_f8" (a: Data, b: Data, rows: Data, columns: Data) on F32_AND_HALVES,
        shape: |call| call.fit("[m, k] [k, n] [m] [n] -> [m, n]"), batch: never, terms: Unordered;
    /// Rows of x [t, k] times the transposed matrices of their experts, of weights [e, n, k]: row i of the result [t s, n] is row i / s of x times
    /// expert i of the ids [t, s], in f32 and rounded once. `prefill` chooses one of two kernels on CUDA. crates.io's candle-nn has it for
    /// CUDA alone; crates/candle-nn has a kernel for ROCm and composes it on the CPU.
    MoeGemm "moe_gemm" ["prefill"] (x: Data, weights: Data, experts: Index) on F32_AND_HALVES,
        shape: experts, batch: never, terms: Unordered;
    /// `moe_gemm` of a row of x [m, k] for each expert [m], times a weight [m] of its own before it is rounded.
    MoeGemmWeighted "moe_gemm_weighted" ["prefill"] (x: Data, weights: Data, experts: Index, factors: Data) on F32_AND_HALVES,
        shape: |call| {
            call.flag(0)?;
            call.fit("[m+, k+] [e+, n+, k] [m] [m] -> [m, n], ids < e")
        },
        batch: never, terms: Unordered;
}

/// Whether the arguments from `first` on are lists of `len`.
fn lists(call: &Operands<'_>, first: usize, len: usize) -> bool {
    call.shapes[first..].iter().all(|shape| **shape == [len])
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

fn attention(call: &Operands<'_>) -> Result<Shapes, String> {
    let shapes = call.fit("[b, h, t, d+] [b, h, s+, d] [b, h, s, e] -> [b, h, t, e]")?;
    // A causal mask leaves each query a key.
    let square = call.shapes[0][2] == call.shapes[1][2];
    call.require(
        !call.flag(0)? || square,
        "a causal mask needs as many queries as keys",
    )?;
    Ok(shapes)
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
    let causal = fits && (call.params[0] == 0.0 || call.params[0] == 1.0);
    call.require(
        causal,
        "q is [b, t, h, d], k [b, s, g, d], v [b, s, g, e], g divides h, causal 0 or 1",
    )?;
    Shapes::of(vec![q[0], q[2], q[1], v[3]])
}

/// Attention of windows: the heads of keys divide those of queries, and a reach is a count or -1.
fn windowed(call: &Operands<'_>, pattern: &'static str) -> Result<Shapes, String> {
    let shapes = call.fit(pattern)?;
    for i in [0, 1] {
        if call.params[i] != -1.0 {
            call.whole(i)?;
        }
    }
    let softcap = call.params.get(2).copied().unwrap_or(0.0);
    call.require(softcap >= 0.0, "`softcap` is not below 0")?;
    let heads = [call.shapes[0], call.shapes[1]].map(|shape| shape.get(2).copied().unwrap_or(1));
    let fits = heads[0].is_multiple_of(heads[1].max(1)) && call.shapes[0].last() <= Some(&256);
    call.require(
        fits,
        "the heads of keys divide those of queries, and a head has 256 elements at most",
    )?;
    Ok(shapes)
}

/// Attention over pages: of a power of two of positions.
fn paged(call: &Operands<'_>) -> Result<Shapes, String> {
    let shapes = windowed(
        call,
        "[b, t, h, d+] [p+, l+, g+, d] [p, l, g, d] [b, n] -> [b, t, h, d], ids < p",
    )?;
    let page = call.shapes[1].get(1).copied().unwrap_or(1);
    call.require(page.is_power_of_two(), "a page has a power of two of positions")?;
    Ok(shapes)
}

/// Rows of several experts each.
fn experts(call: &Operands<'_>) -> Result<Shapes, String> {
    call.flag(0)?;
    let mut shapes = call.fit("[t+, k+] [e+, n+, k] [t, s+] -> [t, n], ids < e")?;
    shapes.output[0] *= call.shapes[2][1];
    Ok(shapes)
}

/// Heads of queries, of keys and of values, one after the other.
fn appended(call: &Operands<'_>) -> Result<Shapes, String> {
    call.flag(0)?;
    call.fit("[t, h, 2d] [t, g, 2d] [t, g, 2d] [p+, d] [p, d] -> [t]")?;
    let (q, k) = (call.shapes[0], call.shapes[1]);
    Shapes::of(vec![q[0], q[1] + 2 * k[1], q[2]])
}

fn prelu(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    let channels = x.get(1).copied().unwrap_or(1);
    call.require(lists(call, 1, channels), "the slopes are [channels]")?;
    Shapes::of(x.to_vec())
}
