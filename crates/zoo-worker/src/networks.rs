//! The networks by name. A network is a function that builds it from a context, runs it and gives its results.

mod audio;
mod causal;
mod decoding;
mod diffusion;
mod encoders;
mod gguf;
mod llama_layers;
#[cfg(feature = "onnx")]
mod onnx;
mod parallel;
mod training;
mod vision;

use candle_core::{Result, bail};
use zoo_protocol::ModelSpec;

use crate::context::{Context, Outputs};

/// A network: its name in specs and how it is built and run.
pub(crate) type Network = (&'static str, fn(&Context) -> Result<Outputs>);

/// What this program was built without and the model needs, in words.
pub(crate) fn lacks(spec: &ModelSpec) -> Option<String> {
    let lacks = spec.is_onnx() && !cfg!(feature = "onnx");
    lacks.then(|| {
        "this worker was built without the feature `onnx`; `ci/models` builds one with it".to_owned()
    })
}

/// Builds and runs the context's network.
pub(crate) fn run(context: &Context) -> Result<Outputs> {
    let all = [
        causal::NETWORKS,
        decoding::NETWORKS,
        diffusion::NETWORKS,
        parallel::NETWORKS,
        encoders::NETWORKS,
        vision::NETWORKS,
        audio::NETWORKS,
        gguf::NETWORKS,
        #[cfg(feature = "onnx")]
        onnx::NETWORKS,
        training::NETWORKS,
    ];
    let name = context.architecture();
    match all
        .iter()
        .flat_map(|list| list.iter())
        .find(|(known, _)| *known == name)
    {
        Some((_, network)) => network(context),
        None => {
            let known: Vec<_> = all
                .iter()
                .flat_map(|list| list.iter())
                .map(|(name, _)| *name)
                .collect();
            bail!(
                "unknown architecture `{name}`: expected one of {}",
                known.join(", ")
            )
        }
    }
}
