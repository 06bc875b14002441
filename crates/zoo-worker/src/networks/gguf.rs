//! Networks with quantized weights, out of a GGUF file that is made in memory or that somebody made before.

use std::{fs, io::Cursor, path::Path};

use candle_core::{
    DType, Device, Result, bail,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Content, Value},
    },
};
use candle_transformers::models::{
    quantized_gemma3, quantized_llama, quantized_phi3, quantized_qwen2, quantized_qwen3, quantized_qwen3_moe,
};
use zoo_protocol::Dtype;

use super::Network;
use crate::{context::Context, weights::single};

pub(super) const NETWORKS: &[Network] = &[
    ("gguf_llama", |context| {
        let (content, mut file) = file(context, "llama")?;
        let mut model = quantized_llama::ModelWeights::from_gguf(content, &mut file, context.device())?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
    ("gguf_qwen2", |context| {
        let (content, mut file) = file(context, "qwen2")?;
        let mut model = quantized_qwen2::ModelWeights::from_gguf(content, &mut file, context.device())?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
    ("gguf_qwen3", |context| {
        let (content, mut file) = file(context, "qwen3")?;
        let mut model = quantized_qwen3::ModelWeights::from_gguf(content, &mut file, context.device())?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
    ("gguf_qwen3_moe", |context| {
        let (content, mut file) = file(context, MOE)?;
        let device = context.device();
        // Its experts on CUDA take halves alone, for several tokens at once.
        let dtype = if device.is_cuda() {
            DType::BF16
        } else {
            context.dtype()
        };
        let mut model = quantized_qwen3_moe::GGUFQWenMoE::from_gguf(content, &mut file, device, dtype)?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
    ("gguf_phi3", |context| {
        let (content, mut file) = file(context, "phi3")?;
        let mut model = quantized_phi3::ModelWeights::from_gguf(false, content, &mut file, context.device())?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
    ("gguf_gemma3", |context| {
        let (content, mut file) = file(context, "gemma3")?;
        let mut model = quantized_gemma3::ModelWeights::from_gguf(content, &mut file, context.device())?;
        context.generate(|ids, at| model.forward(ids, at))
    }),
];

/// The network of experts, as GGUF files name it.
const MOE: &str = "qwen3moe";

/// candle's name for a format of blocks. Weights of a float format are kept as such.
fn format(dtype: Dtype) -> Result<GgmlDType> {
    Ok(match dtype {
        Dtype::F32 => GgmlDType::F32,
        Dtype::F16 => GgmlDType::F16,
        Dtype::Bf16 => GgmlDType::BF16,
        Dtype::Q4_0 => GgmlDType::Q4_0,
        Dtype::Q4_1 => GgmlDType::Q4_1,
        Dtype::Q5_0 => GgmlDType::Q5_0,
        Dtype::Q5_1 => GgmlDType::Q5_1,
        Dtype::Q8_0 => GgmlDType::Q8_0,
        Dtype::Q2K => GgmlDType::Q2K,
        Dtype::Q3K => GgmlDType::Q3K,
        Dtype::Q4K => GgmlDType::Q4K,
        Dtype::Q5K => GgmlDType::Q5K,
        Dtype::Q6K => GgmlDType::Q6K,
        Dtype::F64 => bail!("GGUF has no f64"),
    })
}

/// The tensors of a file.
struct Tensors<'a> {
    context: &'a Context,
    format: GgmlDType,
    all: Vec<(String, QTensor)>,
}

impl Tensors<'_> {
    fn add(&mut self, name: String, dims: &[usize], format: GgmlDType) -> Result<()> {
        let floats = self
            .context
            .weights()
            .tensor(&name, dims, DType::F32, &Device::Cpu)?;
        self.all.push((name, QTensor::quantize(&floats, format)?));
        Ok(())
    }

    fn matrix(&mut self, name: String, outer: usize, inner: usize) -> Result<()> {
        self.add(name, &[outer, inner], self.format)
    }

    fn vector(&mut self, name: String, len: usize) -> Result<()> {
        self.add(name, &[len], GgmlDType::F32)
    }
}

/// The network's file: the one that the spec names, or one that is made.
fn file(context: &Context, name: &str) -> Result<(Content, Cursor<Vec<u8>>)> {
    match context.file() {
        Some(path) => read(context, path),
        None => made(context, name),
    }
}

/// A file that somebody made. Its tensors of f32 are nudged as made weights are; what a block stands for has no unit in the last place.
fn read(context: &Context, path: &Path) -> Result<(Content, Cursor<Vec<u8>>)> {
    let mut bytes = fs::read(path)?;
    let content = Content::read(&mut Cursor::new(&bytes))?;
    let weights = context.weights();
    let mut infos: Vec<_> = content.tensor_infos.iter().collect();
    infos.sort_by_key(|(name, _)| *name);
    for (name, info) in infos {
        let count = info.shape.elem_count();
        weights.count(count);
        if info.ggml_dtype != GgmlDType::F32 {
            if weights.factor(name) != 1.0 {
                bail!(
                    "{name} is of {:?}: a fault needs a tensor of f32",
                    info.ggml_dtype
                );
            }
            continue;
        }
        let from = usize::try_from(content.tensor_data_offset + info.offset).unwrap_or(usize::MAX);
        let place = from
            .checked_add(count * size_of::<f32>())
            .and_then(|end| bytes.get_mut(from..end));
        let Some(place) = place else {
            bail!("{}: {name} is past the file's end", path.display());
        };
        let (elements, _) = place.as_chunks_mut::<{ size_of::<f32>() }>();
        let values = elements
            .iter()
            .map(|element| f64::from(f32::from_le_bytes(*element)))
            .collect();
        for (element, value) in elements.iter_mut().zip(weights.changed(name, values)) {
            *element = single(value).to_le_bytes();
        }
    }
    Ok((content, Cursor::new(bytes)))
}

/// A file of a network's tensors, by the names that llama.cpp gives them.
fn made(context: &Context, name: &str) -> Result<(Content, Cursor<Vec<u8>>)> {
    let number = |field: &str| context.number(field);
    let (width, inner) = (number("hidden_size")?, number("intermediate_size")?);
    let (heads, cached) = (number("num_attention_heads")?, number("num_key_value_heads")?);
    let (layers, vocabulary) = (number("num_hidden_layers")?, number("vocab_size")?);
    let head = width / heads;
    let format = format(context.storage())?;
    let mut tensors = Tensors {
        context,
        format,
        all: vec![],
    };
    tensors.matrix("token_embd.weight".to_owned(), vocabulary, width)?;
    tensors.vector("output_norm.weight".to_owned(), width)?;
    tensors.matrix("output.weight".to_owned(), vocabulary, width)?;
    for layer in 0..layers {
        let of = |part: &str| format!("blk.{layer}.{part}");
        let rows = [("q", heads * head), ("k", cached * head), ("v", cached * head)];
        if name == "phi3" {
            tensors.matrix(
                of("attn_qkv.weight"),
                rows.iter().map(|(_, rows)| rows).sum(),
                width,
            )?;
            tensors.matrix(of("ffn_up.weight"), 2 * inner, width)?;
        } else {
            for (which, rows) in rows {
                tensors.matrix(of(&format!("attn_{which}.weight")), rows, width)?;
                match name {
                    "qwen2" => tensors.vector(of(&format!("attn_{which}.bias")), rows)?,
                    "qwen3" | MOE | "gemma3" if which != "v" => {
                        tensors.vector(of(&format!("attn_{which}_norm.weight")), head)?
                    }
                    _ => {}
                }
            }
            if name != MOE {
                tensors.matrix(of("ffn_gate.weight"), inner, width)?;
                tensors.matrix(of("ffn_up.weight"), inner, width)?;
            }
        }
        tensors.matrix(of("attn_output.weight"), width, heads * head)?;
        if name == MOE {
            let (experts, inner) = (number("num_experts")?, number("moe_intermediate_size")?);
            tensors.add(of("ffn_gate_inp.weight"), &[experts, width], GgmlDType::F32)?;
            tensors.add(of("ffn_gate_exps.weight"), &[experts, inner, width], format)?;
            tensors.add(of("ffn_up_exps.weight"), &[experts, inner, width], format)?;
            tensors.add(of("ffn_down_exps.weight"), &[experts, width, inner], format)?;
        } else {
            tensors.matrix(of("ffn_down.weight"), width, inner)?;
        }
        tensors.vector(of("attn_norm.weight"), width)?;
        tensors.vector(of("ffn_norm.weight"), width)?;
        if name == "gemma3" {
            tensors.vector(of("post_attention_norm.weight"), width)?;
            tensors.vector(of("post_ffw_norm.weight"), width)?;
        }
    }
    let whole = |value: usize| Value::U32(u32::try_from(value).unwrap_or(u32::MAX));
    let metadata = [
        ("attention.head_count", whole(heads)),
        ("attention.head_count_kv", whole(cached)),
        ("attention.key_length", whole(head)),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("attention.sliding_window", whole(4)),
        ("attention.value_length", whole(head)),
        ("block_count", whole(layers)),
        ("context_length", whole(64)),
        ("embedding_length", whole(width)),
        ("feed_forward_length", whole(inner)),
        ("rope.dimension_count", whole(head)),
        ("rope.freq_base", Value::F32(10_000.0)),
    ];
    let mut metadata = metadata.to_vec();
    if name == MOE {
        for (field, of) in [
            ("expert_count", "num_experts"),
            ("expert_used_count", "num_experts_per_tok"),
            ("expert_feed_forward_length", "moe_intermediate_size"),
        ] {
            metadata.push((field, whole(number(of)?)));
        }
    }
    let metadata: Vec<_> = metadata
        .into_iter()
        .map(|(field, value)| (format!("{name}.{field}"), value))
        .collect();
    let kind = Value::String(name.to_owned());
    let mut fields: Vec<(&str, &Value)> = metadata
        .iter()
        .map(|(field, value)| (field.as_str(), value))
        .collect();
    fields.push(("general.architecture", &kind));
    let all: Vec<_> = tensors
        .all
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();
    let mut file = Cursor::new(vec![]);
    gguf_file::write(&mut file, &fields, &all)?;
    file.set_position(0);
    Ok((Content::read(&mut file)?, file))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use zoo_protocol::{Job, WrongWeight};

    use super::*;

    /// A job of a small llama with these weights.
    fn job(nudge: u32, file: Option<PathBuf>, wrong: Option<&str>) -> Job {
        let spec = serde_json::json!({
            "name": "small", "architecture": "gguf_llama", "dtypes": ["q8_0"], "input": [2],
            "config": {
                "vocab_size": 32, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
                "num_attention_heads": 2, "num_key_value_heads": 1,
            },
        });
        Job {
            spec: serde_json::from_value(spec).unwrap(),
            seed: 3,
            weights: Dtype::Q8_0,
            run: Dtype::F32,
            nudge,
            fault: wrong.map(|tensor| WrongWeight {
                tensor: tensor.to_owned(),
                factor: 2.0,
            }),
            watch: false,
            file,
            calls: None,
        }
    }

    fn context(job: Job) -> Context {
        Context::new(job, Device::Cpu).unwrap()
    }

    #[test]
    fn a_file_that_somebody_made_is_read_as_it_is_and_nudged_and_spoilt_in_its_norms() {
        let made = made(&context(job(0, None, None)), "llama")
            .unwrap()
            .1
            .into_inner();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.gguf");
        fs::write(&path, &made).unwrap();
        let bytes = |nudge, wrong| {
            let read = read(&context(job(nudge, Some(path.clone()), wrong)), &path);
            read.map(|(_, file)| file.into_inner())
        };
        assert!(bytes(0, None).unwrap() == made);
        let differ = |other: Vec<u8>| other.iter().zip(&made).filter(|(a, b)| a != b).count();
        // Three norms of 32 numbers, a quarter of them a unit off.
        assert!((8..48).contains(&differ(bytes(1, None).unwrap())));
        assert!(differ(bytes(0, Some("output_norm.weight")).unwrap()) >= 32);
        let blocks = bytes(0, Some("output.weight")).unwrap_err().to_string();
        assert!(blocks.contains("a fault needs a tensor of f32"), "{blocks}");
    }

    #[test]
    fn a_file_that_ends_before_its_tensors_do_is_an_error() {
        let mut made = made(&context(job(0, None, None)), "llama")
            .unwrap()
            .1
            .into_inner();
        made.truncate(made.len() - 200);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.gguf");
        fs::write(&path, made).unwrap();
        let error = read(&context(job(0, Some(path.clone()), None)), &path)
            .unwrap_err()
            .to_string();
        assert!(error.contains("is past the file's end"), "{error}");
    }
}
