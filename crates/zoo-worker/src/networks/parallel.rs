//! A language model whose layers several devices compute together: each has some heads of attention and some columns of the
//! feed-forward layer ("tensor parallel", as in Megatron-LM: Shoeybi et al., 2019).

use candle_core::{
    D, Device, Result, Tensor,
    rocm::comm::{Comm, Reduction},
};
use candle_nn::{ops, rotary_emb};
use candle_transformers::models::llama;

use super::{
    Network,
    llama_layers::{Layer, Share, Sizes, linear},
};
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
    layers: usize,
    width: usize,
    eps: f32,
}

/// What one device has.
struct Rank {
    device: Device,
    embeddings: Tensor,
    layers: Vec<(Layer, KvCache)>,
    norm: Tensor,
    /// Of its share of the vocabulary.
    head: Tensor,
    /// Of each position.
    cos: Tensor,
    sin: Tensor,
}

/// Keys and values of the positions so far.
type KvCache = Option<(Tensor, Tensor)>;

impl Parallel {
    fn new(context: &Context) -> Result<Parallel> {
        let devices = context.devices()?;
        let sizes = Sizes::of(context)?;
        let ranks = devices.iter().enumerate();
        let ranks = ranks.map(|(number, device)| Rank::new(context, &sizes, device, (number, devices.len())));
        Ok(Parallel {
            ranks: ranks.collect::<Result<_>>()?,
            comm: Comm::new(&devices)?,
            layers: sizes.layers,
            width: sizes.width,
            eps: context.float("rms_norm_eps")? as f32,
        })
    }

    /// The logits of the last of the tokens at positions from `at` on.
    fn forward(&mut self, ids: &Tensor, at: usize) -> Result<Tensor> {
        let (eps, width) = (self.eps, self.width);
        let norm = |x: &Tensor, weights: &Tensor| ops::rms_norm(x, weights, eps);
        let ids = ids.squeeze(0)?;
        let embed = |rank: &Rank| {
            rank.embeddings
                .embedding(&ids.to_device(&rank.device)?)?
                .unsqueeze(0)
        };
        let mut x: Vec<Tensor> = self.ranks.iter().map(embed).collect::<Result<_>>()?;
        for layer in 0..self.layers {
            let parts = self.each(&x, |rank, x| {
                rank.attend(layer, &norm(x, &rank.layers[layer].0.norm)?, at, width)
            })?;
            x = self.add(x, &parts)?;
            let parts = self.each(&x, |rank, x| rank.layers[layer].0.feed(x, norm))?;
            x = self.add(x, &parts)?;
        }
        let logits = self.each(&x, |rank, x| {
            let last = x.narrow(1, x.dim(1)? - 1, 1)?.squeeze(1)?;
            // Shares of the vocabulary are gathered by rows.
            linear(&norm(&last.contiguous()?, &rank.norm)?, &rank.head)?
                .t()?
                .contiguous()
        })?;
        self.comm.all_gather(&logits)?[0].t()?.contiguous()
    }

    fn each(
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
        sizes: &Sizes,
        device: &Device,
        (number, ranks): (usize, usize),
    ) -> Result<Rank> {
        let (dtype, vb) = (context.dtype(), context.vb());
        let vector = |name: &str| vb.get(sizes.hidden, name)?.to_device(device);
        let matrix = |name: &str, (rows, columns): (usize, usize), share: Share| -> Result<Tensor> {
            let (dim, len) = match share {
                Share::Rows => (0, rows / ranks),
                Share::Columns => (1, columns / ranks),
            };
            let whole = vb.get((rows, columns), name)?;
            whole
                .narrow(dim, number * len, len)?
                .contiguous()?
                .to_device(device)
        };
        let layer = |number: usize| -> Result<(Layer, KvCache)> {
            Ok((Layer::load(number, sizes, vector, matrix)?, None))
        };
        let words = (sizes.vocabulary, sizes.hidden);
        let turns = sizes.turns(
            context.number("max_position_embeddings")?,
            context.float("rope_theta")?,
        )?;
        let table = |x: Tensor| x.to_dtype(dtype)?.to_device(device);
        Ok(Rank {
            device: device.clone(),
            embeddings: vb.get(words, "model.embed_tokens.weight")?.to_device(device)?,
            layers: (0..sizes.layers).map(layer).collect::<Result<_>>()?,
            norm: vector("model.norm.weight")?,
            head: matrix("lm_head.weight", words, Share::Rows)?,
            cos: table(turns.cos()?)?,
            sin: table(turns.sin()?)?,
        })
    }

    /// What this rank's heads add, of normed `x`, (1, tokens, hidden).
    fn attend(&mut self, layer: usize, x: &Tensor, at: usize, width: usize) -> Result<Tensor> {
        let tokens = x.dim(1)?;
        let (cos, sin) = (self.cos.narrow(0, at, tokens)?, self.sin.narrow(0, at, tokens)?);
        let (layer, cache) = &mut self.layers[layer];
        let heads = |weight: &Tensor| {
            let rows = linear(x, weight)?.reshape((1, tokens, (), width))?;
            rows.transpose(1, 2)?.contiguous()
        };
        let query = rotary_emb::rope(&heads(&layer.query)?, &cos, &sin)?;
        let mut key = rotary_emb::rope(&heads(&layer.key)?, &cos, &sin)?;
        let mut value = heads(&layer.value)?;
        if let Some((keys, values)) = cache {
            key = Tensor::cat(&[keys, &key], 2)?;
            value = Tensor::cat(&[values, &value], 2)?;
        }
        *cache = Some((key.clone(), value.clone()));
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
