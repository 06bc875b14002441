//! The calls of candle-nn's layers and losses.

use candle_core::Tensor;
use parity_model::op::Layers;

use super::candle;

candle! {
    fn row(Layers) {
        Layers::Linear => |x, weight, bias|
            candle_core::Module::forward(&candle_nn::Linear::new(weight.clone(), Some(bias.clone())), &x)?;
        Layers::Conv1dBias => |x, kernel, bias; padding: usize, stride: usize, dilation: usize, groups: usize| {
            let config = candle_nn::Conv1dConfig { padding, stride, dilation, groups, ..Default::default() };
            let layer = candle_nn::Conv1d::new(kernel.clone(), Some(bias.clone()), config);
            candle_core::Module::forward(&layer, &x)?
        };
        Layers::Conv2dBias => |x, kernel, bias; padding: usize, stride: usize, dilation: usize, groups: usize| {
            let config = candle_nn::Conv2dConfig { padding, stride, dilation, groups, ..Default::default() };
            let layer = candle_nn::Conv2d::new(kernel.clone(), Some(bias.clone()), config);
            candle_core::Module::forward(&layer, &x)?
        };
        Layers::ConvTranspose1dBias =>
            |x, kernel, bias; padding: usize, output_padding: usize, stride: usize, dilation: usize, groups: usize| {
            let config = candle_nn::ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups };
            let layer = candle_nn::ConvTranspose1d::new(kernel.clone(), Some(bias.clone()), config);
            candle_core::Module::forward(&layer, &x)?
        };
        Layers::ConvTranspose2dBias =>
            |x, kernel, bias; padding: usize, output_padding: usize, stride: usize, dilation: usize| {
            let config = candle_nn::ConvTranspose2dConfig { padding, output_padding, stride, dilation };
            let layer = candle_nn::ConvTranspose2d::new(kernel.clone(), Some(bias.clone()), config);
            candle_core::Module::forward(&layer, &x)?
        };
        Layers::Embedding => |table, ids| {
            let layer = candle_nn::Embedding::new(table.clone(), table.dim(1)?);
            candle_core::Module::forward(&layer, &ids)?
        };
        Layers::RmsNormLayer => |x, alpha; eps: f64|
            candle_core::Module::forward(&candle_nn::RmsNorm::new(alpha.clone(), eps), &x)?;
        Layers::LayerNormLayer => |x, alpha, beta; eps: f64|
            candle_core::Module::forward(&candle_nn::LayerNorm::new(alpha.clone(), beta.clone(), eps), &x)?;
        Layers::RmsNormSlow => |x, alpha; eps: f32| candle_nn::ops::rms_norm_slow(&x, &alpha, eps)?;
        Layers::LayerNormSlow => |x, alpha, beta; eps: f32|
            candle_nn::ops::layer_norm_slow(&x, &alpha, &beta, eps)?;
        Layers::GroupNorm => |x, weight, bias; groups: usize, eps: f64| {
            let channels = weight.dim(0)?;
            let norm = candle_nn::GroupNorm::new(weight.clone(), bias.clone(), channels, groups, eps)?;
            candle_core::Module::forward(&norm, &x)?
        };
        Layers::BatchNormEval => |x, mean, variance, weight, bias; eps: f64| {
            let (mean, variance, weight, bias) = (mean.clone(), variance.clone(), weight.clone(), bias.clone());
            let norm = candle_nn::BatchNorm::new(mean.dim(0)?, mean, variance, weight, bias, eps)?;
            candle_core::ModuleT::forward_t(&norm, &x, false)?
        };
        // What the running statistics begin with does not show in the output.
        Layers::BatchNormTrain => |x, weight, bias; eps: f64| {
            let (mean, variance) = (weight.clone(), weight.clone());
            let norm =
                candle_nn::BatchNorm::new(weight.dim(0)?, mean, variance, weight.clone(), bias.clone(), eps)?;
            norm.forward_train(&x)?
        };
        Layers::RopeSlow => |x, cos, sin| candle_nn::rotary_emb::rope_slow(&x, &cos, &sin)?;
        Layers::RopeISlow => |x, cos, sin| candle_nn::rotary_emb::rope_i_slow(&x, &cos, &sin)?;
        // As models built on candle write it.
        Layers::Attention => |q, k, v; causal: bool| {
            let scale = 1.0 / (q.dim(3)? as f64).sqrt();
            let scores = (q.matmul(&k.transpose(2, 3)?)? * scale)?;
            let scores = if causal { scores.broadcast_add(&causal_mask(&q)?)? } else { scores };
            candle_nn::ops::softmax(&scores, 3)?.matmul(&v)?
        };
        Layers::FlashAttention => <T: wide> |q, k, v; causal: bool| {
            use candle_nn::attention::AttnMask;
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            let mask = if causal { AttnMask::causal() } else { AttnMask::None };
            candle_nn::attention::flash_attn::<T>(&q, &k, &v, scale, mask, None, None)?
        };
        Layers::Sdpa => |q, k, v; causal: bool| {
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            candle_nn::ops::sdpa(&q, &k, &v, None, causal, scale, 1.0)?
        };
        Layers::FlashWindowed => |q, k, v; left: f64, right: f64| {
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            candle_flash_attn::flash_attn_windowed(&q, &k, &v, scale, reach(left), reach(right))?
        };
        Layers::FlashAlibi => |q, k, v, slopes; left: f64, right: f64, softcap: f32| {
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            let slopes = slopes.to_dtype(candle_core::DType::F32)?;
            let (before, after) = (reach(left), reach(right));
            candle_flash_attn::flash_attn_alibi_windowed_softcap(&q, &k, &v, Some(&slopes), scale, before, after, softcap)?
        };
        Layers::PagedAttention => |q, k, v, table; left: f64, right: f64| {
            let scale = 1.0 / (q.dim(3)? as f32).sqrt();
            let keys = (table.dim(1)? * k.dim(1)?) as u32;
            let lengths = Tensor::full(keys, table.dim(0)?, q.device())?;
            let (before, after) = (reach(left), reach(right));
            candle_flash_attn::paged_attention(&q, &k, &v, &table, &lengths, None, scale, before, after, 0.0)?
        };
        Layers::RopeAppend => |q, k, v, cos, sin; neighbours: bool| rope_append([&q, &k, &v, &cos, &sin], neighbours)?;
        Layers::MatmulF8 => |a, b, rows, columns| {
            use candle_core::DType;
            let (a, b) = (a.to_dtype(DType::F8E4M3)?, b.to_dtype(DType::F8E4M3)?);
            let (scale_a, scale_b) = (rows.to_dtype(DType::F32)?, columns.to_dtype(DType::F32)?);
            candle_core::rocm::matmul_f8(&a, &b, &scale_a, &scale_b, rows.dtype())?
        };
        Layers::MoeGemm => |x, weights, experts; prefill: bool| {
            let each = experts.dim(1)?;
            by_expert([&x, &weights, &experts], None, each, prefill)?
        };
        Layers::MoeGemmWeighted => |x, weights, experts, factors; prefill: bool|
            by_expert([&x, &weights, &experts], Some(factors.to_dtype(candle_core::DType::F32)?), 1, prefill)?;
        Layers::Nll => |input, target| candle_nn::loss::nll(&input, &target)?;
        Layers::CrossEntropy => |input, target| candle_nn::loss::cross_entropy(&input, &target)?;
        Layers::Mse => |input, target| candle_nn::loss::mse(&input, &target)?;
        Layers::Huber => |input, target; delta: f64| candle_nn::loss::huber(&input, &target, delta)?;
        Layers::BceWithLogit => |input, target|
            candle_nn::loss::binary_cross_entropy_with_logit(&input, &target)?;
        Layers::PRelu => |x, slopes|
            candle_core::Module::forward(&candle_nn::PReLU::new(slopes.clone(), false), &x)?;
        Layers::LstmStep => |x, h, c, w_ih, w_hh, b_ih, b_hh| {
            let weights = recurrent([&w_ih, &w_hh, &b_ih, &b_hh]);
            let cell = candle_nn::LSTM::new(x.dim(1)?, h.dim(1)?, Default::default(), weights)?;
            candle_nn::RNN::step(&cell, &x, &candle_nn::rnn::LSTMState::new(h.clone(), c.clone()))?.h
        };
        Layers::GruStep => |x, h, w_ih, w_hh, b_ih, b_hh| {
            let weights = recurrent([&w_ih, &w_hh, &b_ih, &b_hh]);
            let cell = candle_nn::GRU::new(x.dim(1)?, h.dim(1)?, Default::default(), weights)?;
            candle_nn::RNN::step(&cell, &x, &candle_nn::rnn::GRUState { h: h.clone() })?.h
        };
    }

    /// What is added to the scores, so that no query sees a later key.
    fn causal_mask(q: &Tensor) -> candle_core::Result<Tensor> {
        let steps = q.dim(2)?;
        let hidden = |at: usize| if at % steps > at / steps { f32::NEG_INFINITY } else { 0.0 };
        let mask: Vec<f32> = (0..steps * steps).map(hidden).collect();
        Tensor::from_vec(mask, (steps, steps), q.device())?.to_dtype(q.dtype())
    }

    /// The products of rows with their experts' matrices, for ids in the order of the experts, as `FusedMoe` has them.
    fn by_expert(
        [x, weights, experts]: [&Tensor; 3],
        factors: Option<Tensor>,
        topk: usize,
        prefill: bool,
    ) -> candle_core::Result<Tensor> {
        if !experts.dtype().is_int() {
            candle_core::bail!("experts of {}, expected whole numbers", experts.dtype().as_str())
        }
        let experts = experts.flatten_all()?.to_device(&candle_core::Device::Cpu)?;
        let experts = experts.to_dtype(candle_core::DType::U32)?.to_vec1::<u32>()?;
        let mut tokens: Vec<u32> = (0..experts.len() as u32).collect();
        tokens.sort_by_key(|token| experts[*token as usize]);
        let sorted: Vec<u32> = tokens.iter().map(|token| experts[*token as usize]).collect();
        let (tokens, sorted) = (Tensor::new(tokens, x.device())?, Tensor::new(sorted, x.device())?);
        candle_nn::moe::moe_gemm(x, weights, &factors, &tokens, &sorted, topk, prefill)
    }

    /// Turned queries, turned keys and values, head after head: on ROCm out of caches of pages of four, which the last token begins.
    fn rope_append(
        [q, k, v, cos, sin]: [&Tensor; 5],
        neighbours: bool,
    ) -> candle_core::Result<Tensor> {
        let (tokens, key_heads, width) = k.dims3()?;
        let rows = cos.dim(0)?;
        let positions: Vec<u32> = (0..tokens).map(|at| (at % rows) as u32).collect();
        let positions = Tensor::new(positions, q.device())?;
        if !q.device().is_rocm() {
            let rows = |angles: &Tensor| angles.contiguous()?.index_select(&positions, 0);
            let (cos, sin) = (rows(cos)?, rows(sin)?);
            let turn = |x: &Tensor| {
                // Of no token candle's rope panics on the CPU.
                if tokens == 0 {
                    return Ok(x.clone());
                }
                let x = x.unsqueeze(0)?.transpose(1, 2)?.contiguous()?;
                let turned = if neighbours {
                    candle_nn::rotary_emb::rope_i(&x, &cos, &sin)?
                } else {
                    candle_nn::rotary_emb::rope(&x, &cos, &sin)?
                };
                turned.transpose(1, 2)?.squeeze(0)
            };
            return Tensor::cat(&[&turn(q)?, &turn(k)?, v], 1);
        }
        let slots: Vec<u32> = (0..tokens as u32).rev().collect();
        let slots = Tensor::new(slots, q.device())?;
        let cache = || Tensor::zeros((tokens.div_ceil(4), 4, key_heads, width), q.dtype(), q.device());
        let (keys, values) = (cache()?, cache()?);
        let new = candle_core::rocm::NewTokens {
            query: q,
            key: k,
            value: v,
            cos,
            sin,
            positions: &positions,
            slots: &slots,
            neighbours,
        };
        let turned = candle_core::rocm::rope_append(&new, &keys, &values)?;
        let all = tokens.div_ceil(4) * 4;
        let row = |cache: &Tensor| cache.reshape((all, key_heads, width))?.index_select(&slots, 0);
        Tensor::cat(&[&turned, &row(&keys)?, &row(&values)?], 1)
    }

    /// How many keys a query sees on one side; -1 is all of them.
    fn reach(keys: f64) -> Option<usize> {
        (keys >= 0.0).then_some(keys as usize)
    }

    /// The weights of a recurrent cell under the names that candle-nn looks for.
    fn recurrent(tensors: [&Tensor; 4]) -> candle_nn::VarBuilder<'static> {
        let names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"];
        let named = names.iter().zip(tensors).map(|(name, tensor)| (name.to_string(), tensor.clone()));
        candle_nn::VarBuilder::from_tensors(named.collect(), tensors[0].dtype(), tensors[0].device())
    }
}
