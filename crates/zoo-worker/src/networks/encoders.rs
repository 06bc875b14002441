//! Networks of text that are called once.

use candle_core::{DType, Result, Tensor};
use candle_transformers::models::{
    bert, debertav2, distilbert, jina_bert, marian, modernbert, nomic_bert, t5, xlm_roberta,
};

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[
    ("bert", bert),
    ("distilbert", distilbert),
    ("xlm_roberta", xlm_roberta),
    ("nomic_bert", nomic_bert),
    ("modernbert", modernbert),
    ("debertav2", debertav2),
    ("jina_bert", jina_bert),
    ("t5", t5),
    ("marian", marian),
];

fn tokens(context: &Context) -> Result<Tensor> {
    context.tokens(0)
}

/// A mask of u32 that keeps every token but the last.
fn mask(context: &Context) -> Result<Tensor> {
    let length = context.length();
    let kept: Vec<u32> = (0..length)
        .map(|at| u32::from(at + 1 < length || length == 1))
        .collect();
    Tensor::from_vec(kept, (1, length), context.device())
}

fn bert(context: &Context) -> Result<Outputs> {
    let model = bert::BertModel::load(context.vb(), &context.config()?)?;
    let ids = tokens(context)?;
    Ok(context.once(model.forward(&ids, &ids.zeros_like()?, Some(&mask(context)?))?))
}

fn distilbert(context: &Context) -> Result<Outputs> {
    let model = distilbert::DistilBertModel::load(context.vb(), &context.config()?)?;
    // Here a mask says which positions are hidden.
    let length = context.length();
    let hidden: Vec<u8> = (0..length * length)
        .map(|at| u8::from(at % length > at / length))
        .collect();
    let hidden = Tensor::from_vec(hidden, (length, length), context.device())?;
    Ok(context.once(model.forward(&tokens(context)?, &hidden)?))
}

fn xlm_roberta(context: &Context) -> Result<Outputs> {
    let model = xlm_roberta::XLMRobertaModel::new(&context.config()?, context.vb())?;
    let ids = tokens(context)?;
    let out = model.forward(&ids, &mask(context)?, &ids.zeros_like()?, None, None, None)?;
    Ok(context.once(out))
}

fn nomic_bert(context: &Context) -> Result<Outputs> {
    let model = nomic_bert::NomicBertModel::load(context.vb(), &context.config()?)?;
    Ok(context.once(model.forward(&tokens(context)?, None, Some(&mask(context)?))?))
}

fn modernbert(context: &Context) -> Result<Outputs> {
    let model = modernbert::ModernBertForMaskedLM::load(context.vb(), &context.config()?)?;
    Ok(context.once(model.forward(&tokens(context)?, &mask(context)?)?))
}

fn debertav2(context: &Context) -> Result<Outputs> {
    let model = debertav2::DebertaV2Model::load(context.vb(), &context.config()?)?;
    let out = model.forward(&tokens(context)?, None, Some(mask(context)?))?;
    Ok(context.once(out))
}

/// jina_bert's configuration cannot be read from files.
fn jina_bert(context: &Context) -> Result<Outputs> {
    let config = jina_bert::Config::new(
        context.number("vocab_size")?,
        context.number("hidden_size")?,
        context.number("num_hidden_layers")?,
        context.number("num_attention_heads")?,
        context.number("intermediate_size")?,
        candle_nn::Activation::Gelu,
        context.number("max_position_embeddings")?,
        2,
        0.02,
        1e-12,
        0,
        jina_bert::PositionEmbeddingType::Alibi,
    );
    let model = jina_bert::BertModel::new(context.vb(), &config)?;
    Ok(context.once(candle_core::Module::forward(&model, &tokens(context)?)?))
}

/// The encoder's states, and the decoder's logits token by token.
fn t5(context: &Context) -> Result<Outputs> {
    let config: t5::Config = context.config()?;
    let mut model = t5::T5ForConditionalGeneration::load(context.vb(), &config)?;
    let states = model.encode(&tokens(context)?)?;
    let mut outputs = vec![("encoder".to_owned(), states.clone())];
    let ids = context.ids("decoded", context.steps().max(1), config.vocab_size)?;
    for at in 0..context.steps() {
        let id = ids.narrow(1, at, 1)?.contiguous()?;
        outputs.push((format!("token {}", at + 1), model.decode(&id, &states)?));
    }
    Ok(outputs)
}

fn marian(context: &Context) -> Result<Outputs> {
    let config: marian::Config = context.config()?;
    let mut model = marian::MTModel::new(&config, context.vb())?;
    let states = model.encoder().forward(&tokens(context)?, 0)?;
    let mut outputs = vec![("encoder".to_owned(), states.clone())];
    let ids = context.ids("decoded", context.steps().max(1), config.vocab_size)?;
    for at in 0..context.steps() {
        let id = ids.narrow(1, at, 1)?.contiguous()?;
        let logits = model.decode(&id, &states, at)?;
        outputs.push((format!("token {}", at + 1), logits.to_dtype(DType::F32)?));
    }
    Ok(outputs)
}
