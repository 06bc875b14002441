//! Files of weights that somebody trained, as tensors by the names that candle-transformers' networks ask for.

use std::{collections::HashMap, fs::File, io::BufReader, path::Path};

use candle_core::{Device, Result, Tensor, bail, quantized::gguf_file::Content};

/// The tensors of a file of safetensors, or of a GGUF file as the numbers that its blocks stand for.
pub(crate) fn load(path: &Path) -> Result<HashMap<String, Tensor>> {
    if path.extension().is_none_or(|extension| extension != "gguf") {
        return candle_core::safetensors::load(path, &Device::Cpu);
    }
    let mut file = BufReader::new(File::open(path)?);
    let content = Content::read(&mut file)?;
    let network = match content.metadata.get("general.architecture") {
        Some(word) => word.to_string()?,
        None => bail!("{}: a GGUF file without general.architecture", path.display()),
    };
    if network != "gemma3" {
        bail!(
            "{}: the names of gemma3 are known, those of {network} are not",
            path.display()
        );
    }
    let mut tensors = HashMap::new();
    let mut names: Vec<&String> = content.tensor_infos.keys().collect();
    names.sort();
    for name in names {
        let tensor = content
            .tensor(&mut file, name, &Device::Cpu)?
            .dequantize(&Device::Cpu)?;
        // llama.cpp keeps what a norm multiplies with; the network adds 1 to what it is given.
        let tensor = if name.ends_with("norm.weight") {
            (tensor - 1.0)?
        } else {
            tensor
        };
        tensors.insert(published(name)?, tensor);
    }
    Ok(tensors)
}

/// Parts of tensors' names in GGUF files of gemma3, and as the network was published with.
const NAMES: [(&str, &str); 17] = [
    ("token_embd", "model.embed_tokens"),
    ("output_norm", "model.norm"),
    ("blk", "model.layers"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("attn_norm", "input_layernorm"),
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
    ("weight", "weight"),
];

/// `blk.3.attn_q.weight` as `model.layers.3.self_attn.q_proj.weight`.
fn published(name: &str) -> Result<String> {
    let part = |part: &str| {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(part.to_owned());
        }
        match NAMES.iter().find(|(own, _)| *own == part) {
            Some((_, published)) => Ok((*published).to_owned()),
            None => bail!("gemma3 has no tensor `{name}`"),
        }
    };
    let parts: Vec<String> = name.split('.').map(part).collect::<Result<_>>()?;
    Ok(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_of_a_gguf_file_has_the_name_that_it_was_published_with() {
        let name = published("blk.3.attn_q.weight").unwrap();
        assert_eq!(name, "model.layers.3.self_attn.q_proj.weight");
        assert_eq!(published("output_norm.weight").unwrap(), "model.norm.weight");
        assert!(published("blk.3.ssm.weight").is_err());
    }
}
