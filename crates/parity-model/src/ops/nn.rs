//! candle-nn's fused ops. How they are computed is not said here.

use super::ops;

ops! {
    /// candle-nn's fused ops.
    pub enum Nn;

    /// 1 / (1 + e^-x).
    Sigmoid "sigmoid" (x: Data) on FLOATS, grad on WIDE: "w s (1 - s), s = sigmoid(x).";
    /// (x + 3) / 6, at least 0 and at most 1.
    HardSigmoid "hard_sigmoid" (x: Data) on WIDE, grad on F32_F64: "w / 6 between -3 and 3, 0 beyond.";
    /// x above zero, slope x below, the slope converted to the dtype first.
    LeakyRelu "leaky_relu" ["slope"] (x: Data) on WIDE, grad on F32_F64: "w above zero, w slope below.";
    /// x tanh(log(1 + e^x)).
    Mish "mish" (x: Data) on WIDE, grad on F32_F64: "Of x tanh(log(1 + e^x)).";
    /// gamma x above zero, gamma alpha (e^x - 1) below; candle-nn has it in f32 alone.
    Selu "selu" ["alpha", "gamma"] (x: Data) on SINGLE,
        grad on SINGLE: "w gamma above zero, w gamma alpha e^x below.";
    /// The silu of the first half of the last dimension times the second half.
    Swiglu "swiglu" (x: Data) on WIDE,
        grad on F32_F64: "Of the silu of the first half times the second half.";
    /// e^(x - max) over the sum of its row.
    SoftmaxLastDim "softmax_last_dim" (x: Data) on WIDE, grad on F32_F64: "As `grad_softmax`.";
    /// e^(x - max) over its sum along the dimension, made of parts.
    Softmax "softmax" ["dim"] (x: Data) on WIDE,
        grad on F32_F64: "p (w - sum(w p)) along the dimension, p = softmax(x).";
    /// x - max - log sum e^(x - max) along the dimension, made of parts.
    LogSoftmax "log_softmax" ["dim"] (x: Data) on WIDE,
        grad on F32_F64: "w - p sum(w) along the dimension, p = softmax(x).";
    /// x alpha / sqrt(mean(x^2) + eps) along the last dimension.
    RmsNorm "rms_norm" ["eps"] (x: Data, alpha: Data) on WIDE, grad on F32_F64: "As `grad_rms_norm_slow`.";
    /// (x - mean) alpha / sqrt(variance + eps) + beta along the last dimension.
    LayerNorm "layer_norm" ["eps"] (x: Data, alpha: Data, beta: Data) on WIDE,
        grad on F32_F64: "As `grad_layer_norm_slow`.";
    /// Rotates x [b, h, t, d] by cos and sin [t, d / 2] or [b, t, d / 2], pairing i with i + d / 2.
    Rope "rope" (x: Data, cos: Data, sin: Data) on WIDE, grad on F32_F64: "As `grad_rope_slow`.";
    /// As `rope`, pairing 2 i with 2 i + 1.
    RopeI "rope_i" (x: Data, cos: Data, sin: Data) on WIDE;
    /// As `rope` for x [b, t, h, d].
    RopeThd "rope_thd" (x: Data, cos: Data, sin: Data) on WIDE;
}
