//! A language model whose layers several devices compute together: each has some heads of attention and some columns of the
//! feed-forward layer ("tensor parallel", as in Megatron-LM: Shoeybi et al., 2019).

use candle_core::{
    D, Device, Result, Tensor,
    rocm::comm::{Comm, Reduction},
};
use candle_nn::{ops, rotary_emb};
use candle_transformers::models::llama;

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[("llama_parallel", llama_parallel)];

/// On the CPU candle-transformers' llama; elsewhere its layers in parts, with the same weights by name.
fn llama_parallel(context: &Context) -> Result<Outputs> {
    if let Device::Cpu = context.device() {
        let config = context.config::<llama::LlamaConfig>()?.into_config(false);
        let mut cache = llama::Cache::new(true, context.dtype(), &config, context.device())?;
        let model = llama::Llama::load(context.vb(), &config)?;
        return context.generate(|ids, at| model.forward(ids, at, &mut cache));
    }
    let mut model = Parallel::new(context)?;
    context.generate(|ids, at| model.forward(ids, at))
}

struct Parallel {
    comm: Comm,
    ranks: Vec<Rank>,
    width: usize,
    eps: f32,
}

/// What one device has.
struct Rank {
    device: Device,
    embeddings: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// Of its share of the vocabulary.
    head: Tensor,
    /// Of each position.
    cos: Tensor,
    sin: Tensor,
}

struct Layer {
    norm: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    norm_after: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
    /// Keys and values of the positions so far.
    cache: Option<(Tensor, Tensor)>,
}

fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.broadcast_matmul(&weight.t()?)
}

impl Parallel {
    fn new(context: &Context) -> Result<Parallel> {
        let devices = context.devices()?;
        let [heads, layers, positions] = [
            "num_attention_heads",
            "num_hidden_layers",
            "max_position_embeddings",
        ]
        .map(|name| context.number(name));
        let hidden = context.number("hidden_size")?;
        let width = hidden / heads?;
        let (layers, positions) = (layers?, positions?);
        let of = |(number, device): (usize, &Device)| {
            Rank::new(
                context,
                device,
                (number, devices.len()),
                (layers, positions, width),
            )
        };
        Ok(Parallel {
            ranks: devices.iter().enumerate().map(of).collect::<Result<_>>()?,
            comm: Comm::new(&devices)?,
            width,
            eps: context.float("rms_norm_eps")? as f32,
        })
    }

    /// The logits of the last of the tokens at positions from `at` on.
    fn forward(&mut self, ids: &Tensor, at: usize) -> Result<Tensor> {
        let (eps, width) = (self.eps, self.width);
        let mut x = self.each(|rank| {
            rank.embeddings
                .embedding(&ids.squeeze(0)?.to_device(&rank.device)?)?
                .unsqueeze(0)
        })?;
        for layer in 0..self.ranks[0].layers.len() {
            let parts = self.with(&x, |rank, x| rank.attend(layer, x, at, eps, width))?;
            x = self.add(x, &parts)?;
            let parts = self.with(&x, |rank, x| rank.layers[layer].feed(x, eps))?;
            x = self.add(x, &parts)?;
        }
        let logits = self.with(&x, |rank, x| {
            let last = x.narrow(1, x.dim(1)? - 1, 1)?.squeeze(1)?;
            let normed = ops::rms_norm(&last.contiguous()?, &rank.norm, eps)?;
            // Shares of the vocabulary are gathered by rows.
            linear(&normed, &rank.head)?.t()?.contiguous()
        })?;
        self.comm.all_gather(&logits)?[0].t()?.contiguous()
    }

    fn each(&mut self, f: impl Fn(&mut Rank) -> Result<Tensor>) -> Result<Vec<Tensor>> {
        self.ranks.iter_mut().map(f).collect()
    }

    fn with(
        &mut self,
        x: &[Tensor],
        f: impl Fn(&mut Rank, &Tensor) -> Result<Tensor>,
    ) -> Result<Vec<Tensor>> {
        self.ranks.iter_mut().zip(x).map(|(rank, x)| f(rank, x)).collect()
    }

    /// `x` and the sum of all ranks' parts, for each rank.
    fn add(&self, x: Vec<Tensor>, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let sums = self.comm.all_reduce(Reduction::Sum, parts)?;
        x.iter().zip(&sums).map(|(x, sum)| x + sum).collect()
    }
}

impl Rank {
    fn new(
        context: &Context,
        device: &Device,
        (number, ranks): (usize, usize),
        (layers, positions, width): (usize, usize, usize),
    ) -> Result<Rank> {
        let (dtype, vb) = (context.dtype(), context.vb());
        let [vocabulary, hidden, inner, of_keys] = [
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_key_value_heads",
        ]
        .map(|name| context.number(name));
        let (vocabulary, hidden, inner, of_keys) = (vocabulary?, hidden?, inner?, of_keys? * width);
        // A share of the rows or columns of a matrix of this name.
        let share = |name: &str, (rows, columns), dim| -> Result<Tensor> {
            let whole = vb.get((rows, columns), &format!("{name}.weight"))?;
            let len = [rows, columns][dim] / ranks;
            whole
                .narrow(dim, number * len, len)?
                .contiguous()?
                .to_device(device)
        };
        let whole = |name: &str| vb.get(hidden, &format!("{name}.weight"))?.to_device(device);
        let layer = |number: usize| -> Result<Layer> {
            let name = |part: &str| format!("model.layers.{number}.{part}");
            Ok(Layer {
                norm: whole(&name("input_layernorm"))?,
                query: share(&name("self_attn.q_proj"), (hidden, hidden), 0)?,
                key: share(&name("self_attn.k_proj"), (of_keys, hidden), 0)?,
                value: share(&name("self_attn.v_proj"), (of_keys, hidden), 0)?,
                out: share(&name("self_attn.o_proj"), (hidden, hidden), 1)?,
                norm_after: whole(&name("post_attention_layernorm"))?,
                gate: share(&name("mlp.gate_proj"), (inner, hidden), 0)?,
                up: share(&name("mlp.up_proj"), (inner, hidden), 0)?,
                down: share(&name("mlp.down_proj"), (hidden, inner), 1)?,
                cache: None,
            })
        };
        let theta = context.float("rope_theta")?;
        let turns: Vec<f32> = (0..positions)
            .flat_map(|at| {
                (0..width / 2).map(move |i| (at as f64 / theta.powf(2.0 * i as f64 / width as f64)) as f32)
            })
            .collect();
        let turns = Tensor::from_vec(turns, (positions, width / 2), &Device::Cpu)?;
        let embeddings = vb.get((vocabulary, hidden), "model.embed_tokens.weight")?;
        Ok(Rank {
            device: device.clone(),
            embeddings: embeddings.to_device(device)?,
            layers: (0..layers).map(layer).collect::<Result<_>>()?,
            norm: whole("model.norm")?,
            head: share("lm_head", (vocabulary, hidden), 0)?,
            cos: turns.cos()?.to_dtype(dtype)?.to_device(device)?,
            sin: turns.sin()?.to_dtype(dtype)?.to_device(device)?,
        })
    }

    /// What this rank's heads add to `x`, of (1, tokens, width).
    fn attend(&mut self, layer: usize, x: &Tensor, at: usize, eps: f32, width: usize) -> Result<Tensor> {
        let tokens = x.dim(1)?;
        let (cos, sin) = (self.cos.narrow(0, at, tokens)?, self.sin.narrow(0, at, tokens)?);
        let layer = &mut self.layers[layer];
        let normed = ops::rms_norm(x, &layer.norm, eps)?;
        let heads = |weight: &Tensor| {
            linear(&normed, weight)?
                .reshape((1, tokens, (), width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = rotary_emb::rope(&heads(&layer.query)?, &cos, &sin)?;
        let mut key = rotary_emb::rope(&heads(&layer.key)?, &cos, &sin)?;
        let mut value = heads(&layer.value)?;
        if let Some((keys, values)) = &layer.cache {
            key = Tensor::cat(&[keys, &key], 2)?;
            value = Tensor::cat(&[values, &value], 2)?;
        }
        layer.cache = Some((key.clone(), value.clone()));
        // As many queries as belong to a key's head, one after the other.
        let (of_keys, positions) = (key.dim(1)?, key.dim(2)?);
        let query = query.reshape((of_keys, (), width))?;
        let scores = (query.matmul(&key.squeeze(0)?.t()?)? / (width as f64).sqrt())?;
        let later =
            (0..tokens).flat_map(|token| (0..positions).map(move |place| u8::from(place > at + token)));
        let later = Tensor::from_vec(later.collect::<Vec<_>>(), (1, 1, tokens, positions), x.device())?;
        let scores = scores.reshape((of_keys, (), tokens, positions))?;
        let never = Tensor::full(f32::NEG_INFINITY, scores.dims(), x.device())?.to_dtype(x.dtype())?;
        let scores = later.broadcast_as(scores.shape())?.where_cond(&never, &scores)?;
        let shares = ops::softmax(&scores, D::Minus1)?.reshape((of_keys, (), positions))?;
        let mixed = shares
            .matmul(&value.squeeze(0)?)?
            .reshape((1, (), tokens, width))?;
        linear(&mixed.transpose(1, 2)?.reshape((1, tokens, ()))?, &layer.out)
    }
}

impl Layer {
    /// What this rank's columns of the feed-forward layer add to `x`.
    fn feed(&self, x: &Tensor, eps: f32) -> Result<Tensor> {
        let normed = ops::rms_norm(x, &self.norm_after, eps)?;
        let gated = (ops::silu(&linear(&normed, &self.gate)?)? * linear(&normed, &self.up)?)?;
        linear(&gated, &self.down)
    }
}
