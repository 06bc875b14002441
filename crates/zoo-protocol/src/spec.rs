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
    /// GPUs that compute it together. On the CPU it is one network.
    #[serde(default = "one")]
    pub devices: usize,
    /// Parts of names of tensors that the model shall not find, where it asks whether there are any.
    #[serde(default)]
    pub absent: Vec<String>,
    /// What the network itself is told: the fields of its `config.json`.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The file of weights that somebody trained, in the place of weights that are made of names.
    pub weights: Option<WeightsFile>,
    /// The calls of the network that another program made.
    pub calls: Option<Calls>,
    /// The tokens that it is fed, in the place of those of the seed.
    pub text: Option<Text>,
    /// Results that are known to be wrong on a backend.
    #[serde(default)]
    pub known: Vec<Known>,
}

impl ModelSpec {
    /// Whether the network is one for quantized weights, which reads a GGUF file itself and computes in f32 whatever it is told.
    pub fn is_gguf(&self) -> bool {
        self.architecture.starts_with("gguf_")
    }

    /// Whether the network itself is in the file of weights.
    pub fn is_onnx(&self) -> bool {
        self.architecture == "onnx"
    }
}

/// Results that a backend is known to get wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The backend, whichever of its devices: `cuda`.
    pub backend: String,
    /// In which of the model's dtypes; none for all.
    #[serde(default)]
    pub dtypes: Vec<Dtype>,
    /// The results, by name: `text`. Each of them has to be wrong.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// That the backend refuses the model, in the place of wrong results.
    #[serde(default)]
    pub refused: bool,
    /// The finding that says why, by the name of its folder in `findings/`.
    pub finding: String,
}

/// A file of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsFile {
    /// Its name below the folder of weights. `.gguf` is GGUF, `.onnx` is ONNX, anything else safetensors; networks for quantized weights
    /// take GGUF alone.
    pub file: String,
    /// Its SHA-256, in hex.
    pub sha256: String,
}

/// Calls of the same network that another program made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// The program and its version: `onnxruntime 1.22.0`.
    pub program: String,
    /// The file below the folder of weights that has its inputs and its results: safetensors, of call 0 `0/input/NAME` and `0/output/NAME`.
    /// A step is fed what the other program had, so that it depends on no rounding of the device.
    pub file: String,
}

/// Tokens of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The text of the prompt, for whoever reads the spec.
    pub words: String,
    /// The tokens of the first call.
    pub prompt: Vec<u32>,
    /// The tokens that another program continues the prompt with, each the one that it finds likeliest. Step n is fed token n, so that
    /// a step depends on no choice, and the network should find token n + 1 likeliest.
    #[serde(default)]
    pub continuation: Vec<u32>,
    /// Why candle's network is known to go on otherwise, on every device.
    pub otherwise: Option<String>,
}

fn one() -> usize {
    1
}

fn f32_alone() -> Vec<Dtype> {
    vec![Dtype::F32]
}
