//! Speech recognition and audio codecs.

use candle_core::{DType, IndexOp as _, Result};
use candle_transformers::models::{encodec, snac, whisper};

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[("whisper", whisper), ("encodec", encodec), ("snac", snac)];

/// The encoder's states, then the decoder's logits for the first tokens.
fn whisper(context: &Context) -> Result<Outputs> {
    let config: whisper::Config = context.config()?;
    let vocabulary = config.vocab_size;
    let mut model = whisper::model::Whisper::load(&context.vb(), config)?;
    let states = model.encoder.forward(&context.floats()?, true)?;
    let ids = context.ids("tokens", 4, vocabulary)?;
    let decoded = model.decoder.forward(&ids, &states, true)?;
    let logits = model.decoder.final_linear(&decoded)?;
    Ok(vec![
        ("encoder".to_owned(), states),
        ("logits".to_owned(), logits),
    ])
}

/// The codes of a sound, and the sound of codes that do not depend on them.
fn encodec(context: &Context) -> Result<Outputs> {
    let config: encodec::Config = context.config()?;
    let model = encodec::Model::new(&config, context.vb())?;
    let codes = model.encode(&context.floats()?)?;
    let (books, frames) = (codes.dim(1)?, codes.dim(2)?);
    let chosen = context
        .ids("codes", books * frames, config.codebook_size)?
        .reshape((1, books, frames))?;
    let sound = model.decode(&chosen)?;
    Ok(vec![
        ("codes".to_owned(), codes.to_dtype(DType::U32)?),
        ("sound".to_owned(), sound),
    ])
}

fn snac(context: &Context) -> Result<Outputs> {
    let config: snac::Config = context.config()?;
    let model = snac::Model::new(&config, context.vb())?;
    let codes = model.encode(&context.floats()?)?;
    let mut outputs = vec![];
    let mut chosen = vec![];
    for (book, codes) in codes.iter().enumerate() {
        let frames = codes.dim(1)?;
        chosen.push(context.ids(&format!("codes {book}"), frames, config.codebook_size)?);
        outputs.push((format!("codes {book}"), codes.to_dtype(DType::U32)?));
    }
    let chosen: Vec<_> = chosen.iter().collect();
    outputs.push(("sound".to_owned(), model.decode(&chosen)?.i(0)?));
    Ok(outputs)
}
