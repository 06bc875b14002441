//! A model of the zoo, as a file of `model-specs/` declares it.

use serde::{Deserialize, Serialize};

use crate::Dtype;

/// A model: which network, how large, in which dtypes, and what it is fed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Its name, unique among all specs.
    pub name: String,
    /// The network, by the name that the worker has for it.
    pub architecture: String,
    /// The dtypes that it runs in.
    #[serde(default = "f32_alone")]
    pub dtypes: Vec<Dtype>,
    /// The shape of the first input: `[7]` for 7 tokens, `[3, 32, 32]` for an image.
    pub input: Vec<usize>,
    /// Further calls after the first one: tokens with a KV cache, or steps of training.
    #[serde(default)]
    pub steps: usize,
    /// Parts of names of tensors that the model shall not find, where it asks whether there are any.
    #[serde(default)]
    pub absent: Vec<String>,
    /// What the network itself is told: the fields of its `config.json`.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
}

fn f32_alone() -> Vec<Dtype> {
    vec![Dtype::F32]
}
