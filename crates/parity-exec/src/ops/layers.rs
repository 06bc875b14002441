//! candle-nn's layers and losses, built of the arguments of a case.

use std::collections::HashMap;

use candle_core::{DType, Module as _, ModuleT as _, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::rnn::{GRUState, LSTMState};
use candle_nn::{
    BatchNorm, Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose1d, ConvTranspose1dConfig,
    ConvTranspose2d, ConvTranspose2dConfig, Embedding, GRU, GRUConfig, GroupNorm, LSTM, LSTMConfig,
    LayerNorm, Linear, PReLU, RNN as _, RmsNorm, VarBuilder, loss, ops, rotary_emb,
};
use parity_model::op::Layers;

use super::Call;

pub(super) fn layers(op: Layers, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Layers::Linear => {
            call.three(|x, weight, bias, []| Linear::new(weight.clone(), Some(bias.clone())).forward(x))
        }
        Layers::Conv1dBias => call.three(|x, kernel, bias, [padding, stride, dilation, groups]| {
            let config = Conv1dConfig {
                padding,
                stride,
                dilation,
                groups,
                cudnn_fwd_algo: None,
            };
            Conv1d::new(kernel.clone(), Some(bias.clone()), config).forward(x)
        }),
        Layers::Conv2dBias => call.three(|x, kernel, bias, [padding, stride, dilation, groups]| {
            let config = Conv2dConfig {
                padding,
                stride,
                dilation,
                groups,
                cudnn_fwd_algo: None,
            };
            Conv2d::new(kernel.clone(), Some(bias.clone()), config).forward(x)
        }),
        Layers::ConvTranspose1dBias => call.three(
            |x, kernel, bias, [padding, output_padding, stride, dilation, groups]| {
                let config = ConvTranspose1dConfig {
                    padding,
                    output_padding,
                    stride,
                    dilation,
                    groups,
                };
                ConvTranspose1d::new(kernel.clone(), Some(bias.clone()), config).forward(x)
            },
        ),
        Layers::ConvTranspose2dBias => {
            call.three(|x, kernel, bias, [padding, output_padding, stride, dilation]| {
                let config = ConvTranspose2dConfig {
                    padding,
                    output_padding,
                    stride,
                    dilation,
                };
                ConvTranspose2d::new(kernel.clone(), Some(bias.clone()), config).forward(x)
            })
        }
        Layers::RmsNormLayer => match (call.args, call.params) {
            ([x, alpha], [eps]) => Some(RmsNorm::new(alpha.clone(), *eps).forward(x)),
            _ => None,
        },
        Layers::LayerNormLayer => match (call.args, call.params) {
            ([x, alpha, beta], [eps]) => Some(LayerNorm::new(alpha.clone(), beta.clone(), *eps).forward(x)),
            _ => None,
        },
        Layers::RopeISlow => call.three(|x, cos, sin, []| rotary_emb::rope_i_slow(x, cos, sin)),
        Layers::FlashAttention => call.three(|q, k, v, [causal]| flash([q, k, v], causal == 1)),
        Layers::Sdpa => call.three(|q, k, v, [causal]| {
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            ops::sdpa(q, k, v, None, causal == 1, scale, 1.0)
        }),
        Layers::Embedding => call.two(|table, ids, []| {
            let width = table.dim(1)?;
            Embedding::new(table.clone(), width).forward(ids)
        }),
        Layers::RmsNormSlow => match (call.args, call.params) {
            ([x, alpha], [eps]) => Some(ops::rms_norm_slow(x, alpha, *eps as f32)),
            _ => None,
        },
        Layers::LayerNormSlow => match (call.args, call.params) {
            ([x, alpha, beta], [eps]) => Some(ops::layer_norm_slow(x, alpha, beta, *eps as f32)),
            _ => None,
        },
        Layers::GroupNorm => match (call.args, call.params) {
            ([x, weight, bias], [groups, eps]) => Some(group_norm(x, weight, bias, *groups as usize, *eps)),
            _ => None,
        },
        Layers::BatchNormEval => match (call.args, call.params) {
            ([x, mean, variance, weight, bias], [eps]) => Some(
                batch_norm([mean, variance, weight, bias], *eps).and_then(|norm| norm.forward_t(x, false)),
            ),
            _ => None,
        },
        Layers::BatchNormTrain => match (call.args, call.params) {
            ([x, weight, bias], [eps]) => {
                // What the running statistics begin with does not show in the output.
                Some(batch_norm([weight, weight, weight, bias], *eps).and_then(|norm| norm.forward_train(x)))
            }
            _ => None,
        },
        Layers::RopeSlow => call.three(|x, cos, sin, []| rotary_emb::rope_slow(x, cos, sin)),
        Layers::Attention => call.three(|q, k, v, [causal]| attention([q, k, v], causal == 1)),
        Layers::Nll => call.binary(loss::nll),
        Layers::CrossEntropy => call.binary(loss::cross_entropy),
        Layers::Mse => call.binary(loss::mse),
        Layers::Huber => match (call.args, call.params) {
            ([input, target], [delta]) => Some(loss::huber(input, target, *delta)),
            _ => None,
        },
        Layers::BceWithLogit => call.binary(loss::binary_cross_entropy_with_logit),
        Layers::PRelu => call.binary(|x, slopes| PReLU::new(slopes.clone(), false).forward(x)),
        Layers::LstmStep => lstm_step(call.args),
        Layers::GruStep => gru_step(call.args),
    }
}

fn group_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, groups: usize, eps: f64) -> Result<Tensor> {
    let channels = weight.dim(0)?;
    GroupNorm::new(weight.clone(), bias.clone(), channels, groups, eps)?.forward(x)
}

fn batch_norm([mean, variance, weight, bias]: [&Tensor; 4], eps: f64) -> Result<BatchNorm> {
    let channels = mean.dim(0)?;
    BatchNorm::new(
        channels,
        mean.clone(),
        variance.clone(),
        weight.clone(),
        bias.clone(),
        eps,
    )
}

/// Scaled dot-product attention as models built on candle write it.
fn attention([q, k, v]: [&Tensor; 3], causal: bool) -> Result<Tensor> {
    let (.., steps, width) = q.dims4()?;
    let scores = (q.matmul(&k.transpose(2, 3)?)? * (1.0 / (width as f64).sqrt()))?;
    let scores = if causal {
        let hidden = |at: usize| {
            if at % steps > at / steps {
                f32::NEG_INFINITY
            } else {
                0.0
            }
        };
        let mask: Vec<f32> = (0..steps * steps).map(hidden).collect();
        let mask = Tensor::from_vec(mask, (steps, steps), q.device())?.to_dtype(q.dtype())?;
        scores.broadcast_add(&mask)?
    } else {
        scores
    };
    ops::softmax(&scores, 3)?.matmul(v)
}

/// Attention by candle-nn's kernels for the CPU, in the type of the tensors.
fn flash([q, k, v]: [&Tensor; 3], causal: bool) -> Result<Tensor> {
    let scale = 1.0 / (q.dim(3)? as f32).sqrt();
    let mask = if causal {
        AttnMask::causal()
    } else {
        AttnMask::None
    };
    match q.dtype() {
        DType::BF16 => flash_attn::<half::bf16>(q, k, v, scale, mask, None, None),
        DType::F16 => flash_attn::<half::f16>(q, k, v, scale, mask, None, None),
        DType::F64 => flash_attn::<f64>(q, k, v, scale, mask, None, None),
        _ => flash_attn::<f32>(q, k, v, scale, mask, None, None),
    }
}

/// The weights of a recurrent cell under the names that candle-nn looks for.
fn weights(tensors: [&Tensor; 4]) -> VarBuilder<'static> {
    let names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"];
    let named = names.iter().zip(tensors);
    let named: HashMap<String, Tensor> = named
        .map(|(name, tensor)| ((*name).to_owned(), tensor.clone()))
        .collect();
    VarBuilder::from_tensors(named, tensors[0].dtype(), tensors[0].device())
}

fn lstm_step(args: &[Tensor]) -> Option<Result<Tensor>> {
    let [x, h, c, w_ih, w_hh, b_ih, b_hh] = args else {
        return None;
    };
    let step = || {
        let weights = weights([w_ih, w_hh, b_ih, b_hh]);
        let cell = LSTM::new(x.dim(1)?, h.dim(1)?, LSTMConfig::default(), weights)?;
        Ok(cell.step(x, &LSTMState::new(h.clone(), c.clone()))?.h)
    };
    Some(step())
}

fn gru_step(args: &[Tensor]) -> Option<Result<Tensor>> {
    let [x, h, w_ih, w_hh, b_ih, b_hh] = args else {
        return None;
    };
    let step = || {
        let weights = weights([w_ih, w_hh, b_ih, b_hh]);
        let cell = GRU::new(x.dim(1)?, h.dim(1)?, GRUConfig::default(), weights)?;
        Ok(cell.step(x, &GRUState { h: h.clone() })?.h)
    };
    Some(step())
}
