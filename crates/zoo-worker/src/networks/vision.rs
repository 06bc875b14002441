//! Networks that see an image.

use candle_core::{Module as _, Result};
use candle_transformers::models::{
    beit, clip, convnext, dinov2, efficientnet, mobileone, repvgg, resnet, segformer, siglip, vit,
};

use super::Network;
use crate::context::{Context, Outputs};

/// A network of published size whose configurations have names.
macro_rules! sized {
    ($name:literal, $build:path, $config:expr) => {
        ($name, |context| {
            let model = $build(&$config, classes(context), context.vb())?;
            Ok(context.once(model.forward(&context.floats()?)?))
        })
    };
}

pub(super) const NETWORKS: &[Network] = &[
    ("vit", vit),
    ("clip", clip),
    ("siglip", siglip),
    ("beit", beit),
    ("dinov2", dinov2),
    ("segformer", segformer),
    sized!("convnext_atto", convnext::convnext, convnext::Config::atto()),
    sized!("repvgg_a0", repvgg::repvgg, repvgg::Config::a0()),
    sized!("mobileone_s0", mobileone::mobileone, mobileone::Config::s0()),
    ("resnet18", |context| {
        let model = resnet::resnet18(classes(context), context.vb())?;
        Ok(context.once(model.forward(&context.floats()?)?))
    }),
    ("resnet50", |context| {
        let model = resnet::resnet50(classes(context), context.vb())?;
        Ok(context.once(model.forward(&context.floats()?)?))
    }),
    ("efficientnet_b0", |context| {
        let blocks = efficientnet::MBConvConfig::b0();
        let model = efficientnet::EfficientNet::new(context.vb(), blocks, classes(context))?;
        Ok(context.once(model.forward(&context.floats()?)?))
    }),
];

/// How many classes a classifier tells apart.
fn classes(context: &Context) -> usize {
    context.number("classes").unwrap_or(10)
}

fn vit(context: &Context) -> Result<Outputs> {
    let model = vit::Model::new(&context.config()?, classes(context), context.vb())?;
    Ok(context.once(model.forward(&context.floats()?)?))
}

fn clip(context: &Context) -> Result<Outputs> {
    let width = context.number("embed_dim")?;
    let (layers, heads) = (
        context.number("num_hidden_layers")?,
        context.number("num_attention_heads")?,
    );
    let (inner, vocabulary) = (
        context.number("intermediate_size")?,
        context.number("vocab_size")?,
    );
    let text_config = clip::text_model::ClipTextConfig {
        vocab_size: vocabulary,
        embed_dim: width,
        activation: clip::text_model::Activation::QuickGelu,
        intermediate_size: inner,
        max_position_embeddings: context.number("max_position_embeddings")?,
        pad_with: None,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        projection_dim: width,
    };
    let vision_config = clip::vision_model::ClipVisionConfig {
        embed_dim: width,
        activation: clip::text_model::Activation::QuickGelu,
        intermediate_size: inner,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        projection_dim: width,
        num_channels: 3,
        image_size: context.number("image_size")?,
        patch_size: context.number("patch_size")?,
    };
    let config = clip::ClipConfig {
        text_config,
        vision_config,
        logit_scale_init_value: 2.6592,
        image_size: context.number("image_size")?,
    };
    let model = clip::ClipModel::new(context.vb(), &config)?;
    let ids = context.ids("tokens", 7, vocabulary)?;
    let (text, image) = model.forward(&context.floats()?, &ids)?;
    Ok(vec![("text".to_owned(), text), ("image".to_owned(), image)])
}

fn siglip(context: &Context) -> Result<Outputs> {
    let config: siglip::Config = context.config()?;
    let model = siglip::Model::new(&config, context.vb())?;
    let ids = context.ids(
        "tokens",
        config.text_config.max_position_embeddings,
        config.text_config.vocab_size,
    )?;
    let (text, image) = model.forward(&context.floats()?, &ids)?;
    Ok(vec![("text".to_owned(), text), ("image".to_owned(), image)])
}

fn beit(context: &Context) -> Result<Outputs> {
    let (depth, width) = (context.number("depth")?, context.number("embed_dim")?);
    let model = beit::BeitVisionTransformer::new(context.vb(), depth, width, context.number("num_heads")?)?;
    Ok(context.once(model.forward(&context.floats()?)?))
}

fn dinov2(context: &Context) -> Result<Outputs> {
    let (depth, width) = (context.number("depth")?, context.number("embed_dim")?);
    let model = dinov2::DinoVisionTransformer::new(context.vb(), depth, width, context.number("num_heads")?)?;
    Ok(context.once(model.forward(&context.floats()?)?))
}

fn segformer(context: &Context) -> Result<Outputs> {
    let config: segformer::Config = context.config()?;
    let model = segformer::SemanticSegmentationModel::new(&config, classes(context), context.vb())?;
    Ok(context.once(model.forward(&context.floats()?)?))
}
