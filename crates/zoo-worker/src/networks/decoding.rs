//! Decode steps of language models as graphs: captured once on a ROCm device and replayed, run as ever on the others.

use candle_core::{D, DType, Device, IndexOp, Result, Tensor, bail, rocm::RocmDevice, rocm_backend::trace};
use candle_nn::{ops, rotary_emb};
use candle_transformers::models::llama;

use super::{
    Network,
    llama_layers::{Layer, Share, Sizes, linear},
};
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[("llama_captured", llama_captured), ("decode_loop", decode_loop)];

/// Runs `f`, in which the host has to wait for the device as often as `waits` says.
fn waiting<T>(device: &RocmDevice, waits: u64, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = trace::waits(device.backend());
    let result = f()?;
    match trace::waits(device.backend()) - before {
        found if found == waits => Ok(result),
        found => bail!("the host waited {found} times for the device, {waits} are expected"),
    }
}

/// Whether all elements have the same bits.
fn same(a: &Tensor, b: &Tensor) -> Result<bool> {
    // Exact in f64, and what is not a number does not equal itself.
    let bits = |x: &Tensor| -> Result<Vec<u64>> {
        let x = x.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
        Ok(x.into_iter().map(f64::to_bits).collect())
    };
    Ok(bits(a)? == bits(b)?)
}

/// candle-transformers' llama. Each step after the prefill is run as ever, with one wait of the host, for its logits; and captured
/// with another token in the input, replayed with the step's own, and held against that.
fn llama_captured(context: &Context) -> Result<Outputs> {
    let config = context.config::<llama::LlamaConfig>()?.into_config(false);
    let mut cache = llama::Cache::new(true, context.dtype(), &config, context.device())?;
    let model = llama::Llama::load(context.vb(), &config)?;
    context.generate(|ids, at| {
        let Device::Rocm(device) = context.device() else {
            return model.forward(ids, at, &mut cache);
        };
        if ids.dim(1)? > 1 {
            return model.forward(ids, at, &mut cache);
        }
        let mut other = cache.clone();
        let eager = waiting(device, 1, || {
            let logits = model.forward(ids, at, &mut other)?;
            logits.to_device(&Device::Cpu)
        })?;
        let input = ids.zeros_like()?;
        let (graph, logits) = device.capture(|| model.forward(&input, at, &mut cache))?;
        graph.replay()?;
        input.slice_set(&ids.contiguous()?, 1, 0)?;
        graph.replay()?;
        if !same(&eager, &logits)? {
            bail!("step {at}: the replay has other bits than the step itself");
        }
        Ok(logits)
    })
}

/// A decoder of llama's layers that keeps all its state on the device: the caches have room for every position, the position is an
/// element of a tensor, and each step adds 1 to it. So all steps are one graph, and the host waits for none of them.
fn decode_loop(context: &Context) -> Result<Outputs> {
    let steps = context.steps() + 1;
    let decoder = Decoder::new(context, steps)?;
    match context.device() {
        Device::Rocm(device) => {
            let (graph, ()) = device.capture(|| decoder.step())?;
            waiting(device, 0, || (0..steps).try_for_each(|_| Ok(graph.replay()?)))?;
        }
        _ => (0..steps).try_for_each(|_| decoder.step())?,
    }
    Ok(vec![("logits".to_owned(), decoder.logits)])
}

struct Decoder {
    embeddings: Tensor,
    layers: Vec<(Layer, Cache)>,
    norm: Tensor,
    head: Tensor,
    /// Of each position.
    cos: Tensor,
    sin: Tensor,
    /// The tokens of all positions.
    tokens: Tensor,
    /// Numbers of the positions.
    places: Tensor,
    position: Tensor,
    one: Tensor,
    /// What the step at each position gives.
    logits: Tensor,
}

/// Keys and values of all positions: (heads of them, positions, width).
struct Cache {
    keys: Tensor,
    values: Tensor,
}

/// The norm as candle composes it: the fused one has no f64 on the CPU, which the reference is computed in.
fn norm(x: &Tensor, weights: &Tensor) -> Result<Tensor> {
    ops::rms_norm_slow(x, weights, 1e-5)
}

impl Decoder {
    fn new(context: &Context, steps: usize) -> Result<Decoder> {
        let (device, dtype, vb) = (context.device(), context.dtype(), context.vb());
        let sizes = Sizes::of(context)?;
        let vector = |name: &str| vb.get(sizes.hidden, name);
        let matrix = |name: &str, shape: (usize, usize), _: Share| vb.get(shape, name);
        let layer = |number: usize| -> Result<(Layer, Cache)> {
            let cache = || Tensor::zeros((sizes.of_keys, steps, sizes.width), dtype, device);
            let (keys, values) = (cache()?, cache()?);
            Ok((
                Layer::load(number, &sizes, vector, matrix)?,
                Cache { keys, values },
            ))
        };
        let turns = sizes.turns(steps, 10_000.0)?;
        let table = |x: Tensor| x.to_dtype(dtype)?.to_device(device);
        Ok(Decoder {
            embeddings: vb.get((sizes.vocabulary, sizes.hidden), "model.embed_tokens.weight")?,
            layers: (0..sizes.layers).map(layer).collect::<Result<_>>()?,
            norm: vector("model.norm.weight")?,
            head: vb.get((sizes.vocabulary, sizes.hidden), "lm_head.weight")?,
            cos: table(turns.cos()?)?,
            sin: table(turns.sin()?)?,
            tokens: context.ids("tokens", steps, sizes.vocabulary)?.squeeze(0)?,
            places: Tensor::arange(0_u32, steps as u32, device)?,
            position: Tensor::zeros(1, DType::U32, device)?,
            one: Tensor::ones(1, DType::U32, device)?,
            logits: Tensor::zeros((steps, sizes.vocabulary), dtype, device)?,
        })
    }

    /// The step at the position, which becomes the next one. Reads and writes nothing of the host.
    fn step(&self) -> Result<()> {
        let here = &self.position;
        let row = |table: &Tensor| table.index_select(here, 0);
        let (cos, sin) = (row(&self.cos)?, row(&self.sin)?);
        let later = self.places.broadcast_gt(here)?;
        let mut x = self.embeddings.index_select(&row(&self.tokens)?, 0)?;
        for (layer, cache) in &self.layers {
            x = (&x + attend(layer, cache, &norm(&x, &layer.norm)?, here, (&cos, &sin), &later)?)?;
            x = (&x + layer.feed(&x, norm)?)?;
        }
        put(
            &self.logits,
            here,
            &linear(&norm(&x, &self.norm)?, &self.head)?,
            0,
        )?;
        here.slice_set(&(here + &self.one)?, 0, 0)
    }
}

/// What a layer's attention adds, of a token of normed `x` at the position `here`.
fn attend(
    layer: &Layer,
    cache: &Cache,
    x: &Tensor,
    here: &Tensor,
    (cos, sin): (&Tensor, &Tensor),
    later: &Tensor,
) -> Result<Tensor> {
    let (of_keys, positions, width) = cache.keys.dims3()?;
    let heads = |weight: &Tensor| linear(x, weight)?.reshape((1, (), 1, width));
    let turned = |x: Tensor| rotary_emb::rope_slow(&x, cos, sin);
    let query = turned(heads(&layer.query)?)?.reshape((of_keys, (), width))?;
    let key = turned(heads(&layer.key)?)?.i(0)?;
    put(&cache.keys, here, &key.contiguous()?, 1)?;
    put(&cache.values, here, &heads(&layer.value)?.i(0)?.contiguous()?, 1)?;
    let scores = (query.matmul(&cache.keys.t()?)? / (width as f64).sqrt())?;
    let never = Tensor::full(f32::NEG_INFINITY, scores.dims(), scores.device())?.to_dtype(scores.dtype())?;
    let later = later.reshape((1, 1, positions))?.broadcast_as(scores.shape())?;
    let shares = ops::softmax(&later.where_cond(&never, &scores)?, D::Minus1)?;
    linear(&shares.matmul(&cache.values)?.reshape((1, ()))?, &layer.out)
}

/// Writes `x`, of one element along `dim`, to the place in `to` that `position` holds.
fn put(to: &Tensor, position: &Tensor, x: &Tensor, dim: usize) -> Result<()> {
    let shape: Vec<usize> = vec![1; x.rank()];
    let ids = position.reshape(shape)?.broadcast_as(x.shape())?.contiguous()?;
    to.scatter_set(&ids, x, dim)
}
