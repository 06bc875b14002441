//! Everything that needs a device: the software GPU, or a real one where `ROCM_DRIVER` finds it.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod attention;
mod cast;
mod conv;
mod copies;
#[cfg(feature = "compile")]
mod custom;
mod device;
mod elementwise;
mod extremes;
mod floats;
mod ggml_blocks;
mod graph;
mod images;
mod indexing;
mod matmul;
mod moe;
mod norm;
mod packs;
mod paged;
mod paths;
mod pool;
mod quantized;
mod random;
mod reduce;
mod refusals;
mod rope;
mod scaled;
mod sort;
mod support;
mod targets;
mod ternary;
mod trace;
mod turned;
mod upsample;
