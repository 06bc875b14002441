//! The calls of candle-nn's fused ops.

use parity_model::op::Nn;

use super::candle;

candle! {
    fn row(Nn) {
        Nn::Sigmoid => |x| candle_nn::ops::sigmoid(&x)?;
        Nn::HardSigmoid => |x| candle_nn::ops::hard_sigmoid(&x)?;
        Nn::LeakyRelu => |x; slope: f64| candle_nn::ops::leaky_relu(&x, slope)?;
        Nn::Mish => |x| candle_nn::ops::mish(&x)?;
        Nn::Selu => |x; alpha: f32, gamma: f32| candle_nn::ops::selu(&x, alpha, gamma)?;
        Nn::Swiglu => |x| candle_nn::ops::swiglu(&x)?;
        Nn::SoftmaxLastDim => |x| candle_nn::ops::softmax_last_dim(&x)?;
        Nn::Softmax => |x; dim: usize| candle_nn::ops::softmax(&x, dim)?;
        Nn::LogSoftmax => |x; dim: usize| candle_nn::ops::log_softmax(&x, dim)?;
        Nn::RmsNorm => |x, alpha; eps: f32| candle_nn::ops::rms_norm(&x, &alpha, eps)?;
        Nn::LayerNorm => |x, alpha, beta; eps: f32| candle_nn::ops::layer_norm(&x, &alpha, &beta, eps)?;
        Nn::Rope => |x, cos, sin| candle_nn::rotary_emb::rope(&x, &cos, &sin)?;
        Nn::RopeI => |x, cos, sin| candle_nn::rotary_emb::rope_i(&x, &cos, &sin)?;
        Nn::RopeThd => |x, cos, sin| candle_nn::rotary_emb::rope_thd(&x, &cos, &sin)?;
    }
}
