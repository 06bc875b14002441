//! candle-nn's fused ops. How they are computed is not said here.

use super::ops;
use crate::op::batch::{Cut, beside, every, leading};
use crate::op::shape::{Operands, Shapes, alike};

ops! {
    /// candle-nn's fused ops.
    pub enum Nn;

    /// 1 / (1 + e^-x).
    Sigmoid "sigmoid" (x: Data) on FLOATS, shape: alike, batch: leading::<1>,
        grad on WIDE: "w s (1 - s), s = sigmoid(x).";
    /// (x + 3) / 6, at least 0 and at most 1.
    HardSigmoid "hard_sigmoid" (x: Data) on WIDE, shape: alike, batch: leading::<1>,
        grad on F32_F64: "w / 6 between -3 and 3, 0 beyond.";
    /// x above zero, slope x below, the slope converted to the dtype first.
    LeakyRelu "leaky_relu" ["slope"] (x: Data) on WIDE, shape: alike, batch: leading::<1>,
        grad on F32_F64: "w above zero, w slope below.";
    /// x tanh(log(1 + e^x)).
    Mish "mish" (x: Data) on WIDE, shape: alike, batch: leading::<1>, grad on F32_F64: "Of x tanh(log(1 + e^x)).";
    /// gamma x above zero, gamma alpha (e^x - 1) below.
    Selu "selu" ["alpha", "gamma"] (x: Data) on WIDE, shape: alike, batch: leading::<1>,
        grad on SINGLE: "w gamma above zero, w gamma alpha e^x below.";
    /// The silu of the first half of the last dimension times the second half.
    Swiglu "swiglu" (x: Data) on WIDE, shape: |call| call.fit("[.., 2n] -> [.., n]"), batch: leading::<2>, terms: Ordered,
        grad on F32_F64: "Of the silu of the first half times the second half.";
    /// e^(x - max) over the sum of its row.
    SoftmaxLastDim "softmax_last_dim" (x: Data) on WIDE, shape: |call| call.fit("[.., n+] -> [.., n]"),
        batch: leading::<2>, terms: Unordered, grad on F32_F64: "As `grad_softmax`.";
    /// e^(x - max) over its sum along the dimension, made of parts.
    Softmax "softmax" ["dim"] (x: Data) on WIDE, shape: softmax, batch: beside::<0>, terms: Unordered,
        grad on F32_F64: "p (w - sum(w p)) along the dimension, p = softmax(x).";
    /// x - max - log sum e^(x - max) along the dimension, made of parts.
    LogSoftmax "log_softmax" ["dim"] (x: Data) on WIDE, shape: softmax, batch: beside::<0>, terms: Unordered,
        grad on F32_F64: "w - p sum(w) along the dimension, p = softmax(x).";
    /// x alpha / sqrt(mean(x^2) + eps) along the last dimension.
    RmsNorm "rms_norm" ["eps"] (x: Data, alpha: Data) on WIDE, shape: |call| call.fit("[.., n+] [n] -> [.., n]"),
        batch: leading::<2>, terms: Unordered, grad on F32_F64: "As `grad_rms_norm_slow`.";
    /// (x - mean) alpha / sqrt(variance + eps) + beta along the last dimension.
    LayerNorm "layer_norm" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE,
        shape: |call| call.fit("[.., n+] [n] [n] -> [.., n]"), batch: leading::<2>, terms: Unordered,
        grad on F32_F64: "As `grad_layer_norm_slow`.";
    /// Rotates x [b, h, t, d] by cos and sin [t, d / 2] or [b, t, d / 2], pairing i with i + d / 2. They may have more than t
    /// positions, of which the first are taken.
    Rope "rope" (x: Data, cos: Data, sin: Data) on WIDE, shape: rope, batch: rotated, terms: Ordered,
        grad on F32_F64: "As `grad_rope_slow`.";
    /// As `rope`, pairing 2 i with 2 i + 1.
    RopeI "rope_i" (x: Data, cos: Data, sin: Data) on WIDE, shape: rope, batch: rotated, terms: Ordered;
    /// As `rope` for x [b, t, h, d].
    RopeThd "rope_thd" (x: Data, cos: Data, sin: Data) on WIDE, shape: rope_thd, batch: rotated, terms: Ordered;
}

fn softmax(call: &Operands<'_>) -> Result<Shapes, String> {
    let x = call.shapes[0];
    call.require(x[call.dim(0)?] > 0, "the dimension is not empty")?;
    Shapes::of(x.to_vec())
}

fn rope(call: &Operands<'_>) -> Result<Shapes, String> {
    let each = "[b, h, t, 2d] [b, t, d] [b, t, d] -> [b, h, t, 2d]";
    turned(call, 2, [each, "[b, h, t, 2d] [t, d] [t, d] -> [b, h, t, 2d]"])
}

fn rope_thd(call: &Operands<'_>) -> Result<Shapes, String> {
    let each = "[b, t, h, 2d] [b, t, d] [b, t, d] -> [b, t, h, 2d]";
    turned(call, 1, [each, "[b, t, h, 2d] [t, d] [t, d] -> [b, t, h, 2d]"])
}

/// One list of angles for each of the batch, or one for all of it, of at least the positions that dimension `steps` of x counts.
fn turned(call: &Operands<'_>, steps: usize, patterns: [&'static str; 2]) -> Result<Shapes, String> {
    let fit = |call: &Operands<'_>| {
        let [each, all] = patterns;
        call.fit(each).or_else(|_| call.fit(all))
    };
    fit(call).or_else(|why| {
        let mut shapes: Vec<Vec<usize>> = call.shapes.iter().map(|shape| shape.to_vec()).collect();
        let positions = call.shapes[0].get(steps).copied().unwrap_or(0);
        for angles in &mut shapes[1..] {
            if let [.., spare, _] = angles.as_mut_slice() {
                *spare = positions.min(*spare);
            }
        }
        let taken: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        fit(&Operands::new(call.op, call.params, &taken)).map_err(|_| why)
    })
}

/// Angles of three dimensions belong to the batch.
fn rotated(call: &Operands<'_>) -> Option<Cut> {
    if call.shapes[1].len() == 3 {
        return every(call);
    }
    leading::<4>(call)
}
