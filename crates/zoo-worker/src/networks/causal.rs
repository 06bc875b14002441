//! Language models that generate with a cache.

use candle_core::{Result, Tensor};
use candle_transformers::models::{
    bigcode, deepseek2, falcon, gemma, gemma2, gemma3, glm4_new, granite, helium, llama, mamba, mamba2,
    mistral, mixtral, olmo, olmo2, phi, phi3, qwen2, qwen2_moe, qwen3, qwen3_moe, recurrent_gemma, rwkv_v5,
    rwkv_v6, stable_lm, starcoder2,
};

use super::Network;
use crate::context::{Context, Outputs};

/// A network whose type is built from a configuration and weights and is called with tokens and their place.
macro_rules! placed {
    ($name:literal, $model:ty) => {
        ($name, |context| {
            let mut model = <$model>::new(&context.config()?, context.vb())?;
            context.generate(|ids, at| model.forward(ids, at))
        })
    };
}

/// The same for gemma's, which ask for flash attention first.
macro_rules! gemma {
    ($name:literal, $model:ty) => {
        ($name, |context| {
            let mut model = <$model>::new(false, &context.config()?, context.vb())?;
            context.generate(|ids, at| model.forward(ids, at))
        })
    };
}

pub(super) const NETWORKS: &[Network] = &[
    ("llama", llama),
    placed!("mistral", mistral::Model),
    placed!("mixtral", mixtral::Model),
    placed!("qwen2", qwen2::ModelForCausalLM),
    placed!("qwen3", qwen3::ModelForCausalLM),
    placed!("qwen2_moe", qwen2_moe::Model),
    placed!("qwen3_moe", qwen3_moe::ModelForCausalLM),
    placed!("deepseek2", deepseek2::DeepSeekV2),
    gemma!("gemma", gemma::Model),
    gemma!("gemma2", gemma2::Model),
    gemma!("gemma3", gemma3::Model),
    placed!("recurrent_gemma", recurrent_gemma::Model),
    ("phi", phi),
    placed!("phi3", phi3::Model),
    ("falcon", falcon),
    ("bigcode", bigcode),
    placed!("starcoder2", starcoder2::Model),
    placed!("stable_lm", stable_lm::Model),
    placed!("olmo", olmo::Model),
    placed!("olmo2", olmo2::Model),
    ("granite", granite),
    placed!("helium", helium::Model),
    placed!("glm4", glm4_new::ModelForCausalLM),
    ("mamba", mamba),
    ("mamba2", mamba2),
    ("rwkv5", rwkv5),
    ("rwkv6", rwkv6),
];

fn llama(context: &Context) -> Result<Outputs> {
    let config = context.config::<llama::LlamaConfig>()?.into_config(false);
    let mut cache = llama::Cache::new(true, context.dtype(), &config, context.device())?;
    let model = llama::Llama::load(context.vb(), &config)?;
    context.generate(|ids, at| model.forward(ids, at, &mut cache))
}

fn granite(context: &Context) -> Result<Outputs> {
    let config = context.config::<granite::GraniteConfig>()?.into_config(false);
    let mut cache = granite::Cache::new(true, context.dtype(), &config, context.device())?;
    let model = granite::Granite::load(context.vb(), &config)?;
    context.generate(|ids, at| model.forward(ids, at, &mut cache))
}

fn phi(context: &Context) -> Result<Outputs> {
    let mut model = phi::Model::new(&context.config()?, context.vb())?;
    context.generate(|ids, _| model.forward(ids))
}

fn falcon(context: &Context) -> Result<Outputs> {
    let mut model = falcon::Falcon::load(context.vb(), context.config()?)?;
    context.generate(|ids, _| model.forward(ids))
}

/// bigcode's configuration has no form of its own in files.
fn bigcode(context: &Context) -> Result<Outputs> {
    let config = bigcode::Config {
        vocab_size: context.number("vocab_size")?,
        max_position_embeddings: context.number("max_position_embeddings")?,
        num_hidden_layers: context.number("num_hidden_layers")?,
        hidden_size: context.number("hidden_size")?,
        layer_norm_epsilon: context.float("layer_norm_epsilon")?,
        n_inner: Some(context.number("n_inner")?),
        num_attention_heads: context.number("num_attention_heads")?,
        multi_query: true,
        use_cache: true,
    };
    let mut model = bigcode::GPTBigCode::load(context.vb(), config)?;
    context.generate(|ids, at| model.forward(ids, at))
}

/// One token at a time: these networks have a state and no prefill.
fn stepwise(context: &Context, mut step: impl FnMut(&Tensor) -> Result<Tensor>) -> Result<Outputs> {
    context.generate(|ids, _| {
        let mut last = None;
        for at in 0..ids.dim(1)? {
            last = Some(step(&ids.narrow(1, at, 1)?.contiguous()?)?);
        }
        last.ok_or_else(|| candle_core::Error::msg("there are no tokens"))
    })
}

fn mamba(context: &Context) -> Result<Outputs> {
    let config = context.config()?;
    let model = mamba::Model::new(&config, context.vb())?;
    let mut state = mamba::State::new(1, &config, context.dtype(), context.device())?;
    stepwise(context, |id| model.forward(&id.squeeze(1)?, &mut state))
}

fn mamba2(context: &Context) -> Result<Outputs> {
    let config = context.config()?;
    let model = mamba2::Model::new(&config, context.vb())?;
    let mut state = mamba2::State::new(1, &config, context.dtype(), context.device())?;
    stepwise(context, |id| model.forward(&id.squeeze(1)?, &mut state))
}

fn rwkv5(context: &Context) -> Result<Outputs> {
    let config = context.config()?;
    let model = rwkv_v5::Model::new(&config, context.vb())?;
    let mut state = rwkv_v5::State::new(1, &config, context.device())?;
    stepwise(context, |id| model.forward(id, &mut state))
}

fn rwkv6(context: &Context) -> Result<Outputs> {
    let config = context.config()?;
    let model = rwkv_v6::Model::new(&config, context.vb())?;
    let mut state = rwkv_v5::State::new(1, &config, context.device())?;
    stepwise(context, |id| model.forward(id, &mut state))
}
