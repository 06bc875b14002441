//! A llama of candle-transformers, with and without `use_flash_attn`, on a ROCm device: a prompt of 256 tokens, or as many as the
//! first argument says, then four tokens with the cache. Both must agree; without the patch of candle-flash-attn the first one does not run.

use std::collections::HashMap;
use std::time::Instant;

use candle_core::{DType, Device, IndexOp, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config, Llama, LlamaConfig};

const STEPS: usize = 4;

fn config(prompt: usize, use_flash_attn: bool) -> Config {
    let config = LlamaConfig {
        hidden_size: 128,
        intermediate_size: 192,
        vocab_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: Some(2),
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: prompt + STEPS,
        tie_word_embeddings: Some(false),
    };
    config.into_config(use_flash_attn)
}

/// Weights of names and sizes alone, the same every time.
fn weights(device: &Device) -> Result<HashMap<String, Tensor>> {
    let of = |dims: &[usize], seed: u32| {
        let count: usize = dims.iter().product();
        let mut state = seed.wrapping_mul(2_654_435_769) | 1;
        let values: Vec<f32> = (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 8) as f32 / (1 << 24) as f32 - 0.5) / 4.0
            })
            .collect();
        Tensor::from_vec(values, dims, &Device::Cpu)?.to_dtype(DType::F16)?.to_device(device)
    };
    let ones = |n: usize| Tensor::ones(n, DType::F16, device);
    let mut all = HashMap::new();
    all.insert("model.embed_tokens.weight".to_owned(), of(&[64, 128], 1)?);
    all.insert("lm_head.weight".to_owned(), of(&[64, 128], 2)?);
    all.insert("model.norm.weight".to_owned(), ones(128)?);
    for layer in 0..2 {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        let parts: [(&str, [usize; 2]); 7] = [
            ("self_attn.q_proj", [128, 128]),
            ("self_attn.k_proj", [64, 128]),
            ("self_attn.v_proj", [64, 128]),
            ("self_attn.o_proj", [128, 128]),
            ("mlp.gate_proj", [192, 128]),
            ("mlp.up_proj", [192, 128]),
            ("mlp.down_proj", [128, 192]),
        ];
        for (seed, (part, dims)) in parts.iter().enumerate() {
            all.insert(name(part), of(dims, 10 * (layer + 1) + seed as u32)?);
        }
        all.insert(name("input_layernorm"), ones(128)?);
        all.insert(name("post_attention_layernorm"), ones(128)?);
    }
    Ok(all)
}

/// The logits after the prompt and after each of the tokens.
fn logits(device: &Device, prompt: usize, use_flash_attn: bool) -> Result<Vec<Vec<f32>>> {
    let config = config(prompt, use_flash_attn);
    let model = Llama::load(VarBuilder::from_tensors(weights(device)?, DType::F16, device), &config)?;
    let mut cache = Cache::new(true, DType::F16, &config, device)?;
    let ids: Vec<u32> = (0..(prompt + STEPS) as u32).map(|i| i * 7919 % 64).collect();
    let ids = Tensor::new(ids, device)?.unsqueeze(0)?;
    let mut all = Vec::new();
    let mut at = 0;
    while at < prompt + STEPS {
        let count = if at == 0 { prompt } else { 1 };
        let out = model.forward(&ids.narrow(1, at, count)?.contiguous()?, at, &mut cache)?;
        all.push(out.i(0)?.to_dtype(DType::F32)?.to_device(&Device::Cpu)?.to_vec1()?);
        at += count;
    }
    Ok(all)
}

fn main() -> Result<()> {
    let prompt = match std::env::args().nth(1).map(|count| count.parse()) {
        None => 256,
        Some(Ok(count)) => count,
        Some(Err(_)) => candle_core::bail!("usage: flash-attn [TOKENS]"),
    };
    let device = Device::new_rocm(0)?;
    // The first run compiles what the second one finds.
    logits(&device, prompt, false)?;
    let timed = |use_flash_attn| -> Result<(Vec<Vec<f32>>, f64)> {
        let start = Instant::now();
        Ok((logits(&device, prompt, use_flash_attn)?, start.elapsed().as_secs_f64()))
    };
    let (plain, plain_seconds) = timed(false)?;
    let (flash, flash_seconds) = timed(true)?;
    let pairs = plain.iter().flatten().zip(flash.iter().flatten());
    let far = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let size = plain.iter().flatten().fold(0.0_f32, |size, x| size.max(x.abs()));
    println!("{} steps, {prompt} tokens first: scores {plain_seconds:.2} s, flash attention {flash_seconds:.2} s", plain.len());
    println!("logits up to {size:.3}, which differ by {far:.5} at most; on the CPU ran {:?}", candle_core::rocm::fallbacks());
    if far > size / 100.0 || !candle_core::rocm::fallbacks().is_empty() {
        candle_core::bail!("flash attention is not what the scores give");
    }
    Ok(())
}
