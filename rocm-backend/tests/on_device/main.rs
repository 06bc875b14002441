//! Everything that needs a device: the software GPU, or a real one where `ROCM_DRIVER` finds it.

mod cast;
mod conv;
mod copies;
#[cfg(feature = "compile")]
mod custom;
mod device;
mod elementwise;
mod images;
mod floats;
mod indexing;
mod ggml_blocks;
mod matmul;
mod norm;
mod quantized;
mod random;
mod reduce;
mod pool;
mod refusals;
mod rope;
mod sort;
mod support;
mod targets;
mod upsample;
mod ternary;
