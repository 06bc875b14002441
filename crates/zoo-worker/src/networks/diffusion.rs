//! Networks that make images of noise.

use candle_core::Result;
use candle_transformers::models::stable_diffusion::{
    ddim::DDIMSchedulerConfig,
    schedulers::SchedulerConfig as _,
    unet_2d::{BlockConfig, UNet2DConditionModel, UNet2DConditionModelConfig},
    vae::{AutoEncoderKL, AutoEncoderKLConfig},
};

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[("stable_diffusion", stable_diffusion)];

/// The width of a text's vectors, and how many there are.
const TEXT: [usize; 2] = [7, 16];

/// Stable Diffusion, small: its UNet with attention to a text, as many steps of DDIM as the spec says, then the decoder of images. What
/// a step leaves is the next one's input, so that errors grow as they do in a picture.
fn stable_diffusion(context: &Context) -> Result<Outputs> {
    let [latent_channels, norm_num_groups] = [4, 32];
    let block = |out_channels, use_cross_attn| BlockConfig {
        out_channels,
        use_cross_attn,
        attention_head_dim: 2,
    };
    let config = UNet2DConditionModelConfig {
        blocks: vec![block(32, Some(1)), block(64, None)],
        layers_per_block: 1,
        norm_num_groups,
        cross_attention_dim: TEXT[1],
        ..UNet2DConditionModelConfig::default()
    };
    let unet = UNet2DConditionModel::new(
        context.vb().pp("unet"),
        latent_channels,
        latent_channels,
        false,
        config,
    )?;
    let config = AutoEncoderKLConfig {
        block_out_channels: vec![32, 32],
        layers_per_block: 1,
        latent_channels,
        norm_num_groups,
        use_quant_conv: true,
        use_post_quant_conv: true,
    };
    let images = AutoEncoderKL::new(context.vb().pp("vae"), 3, 3, config)?;
    let text = context.floats_of("text", &[1, TEXT[0], TEXT[1]])?;
    let mut latents = context.floats()?;
    let mut scheduler = DDIMSchedulerConfig::default().build(context.steps())?;
    let mut outputs = vec![];
    for (number, timestep) in scheduler.timesteps().to_vec().into_iter().enumerate() {
        let input = scheduler.scale_model_input(latents.clone(), timestep)?;
        let noise = unet.forward(&input, timestep as f64, &text)?;
        latents = scheduler.step(&noise, timestep, &latents)?;
        outputs.push((format!("step {}", number + 1), latents.clone()));
    }
    // The scale that Stable Diffusion's latents have.
    outputs.push(("image".to_owned(), images.decode(&(latents / 0.18215)?)?));
    Ok(outputs)
}
