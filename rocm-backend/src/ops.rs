//! Operations on views of buffers: element by element, reductions, products of matrices, convolutions and poolings, elements
//! chosen by ids, sorting, norms and rotary embeddings, quantized weights, mixtures of experts, random numbers.
//!
//! Kernels are chosen by enums ([`Unary`], [`Binary`], [`Compare`], [`Reduce`], ..); the dtype is the views'. Results are new,
//! contiguous buffers. A view that leaves its buffer is refused before anything is launched; a view of no elements launches
//! nothing. A dtype without a kernel is [`Error::Unsupported`](crate::Error::Unsupported).

mod affine;
mod attention;
mod binary;
mod cast;
mod columns;
mod conv;
mod copy;
mod fill;
pub(crate) mod indexing;
mod matmul;
mod moe;
mod norm;
mod paged;
mod pool;
mod quantized;
mod random;
mod reduce;
mod rope;
mod sort;
mod ternary;
mod unary;
mod upsample;
pub(crate) mod window;

pub use affine::affine;
pub use attention::{Attention, Lengths, WIDEST_HEAD, flash_attn};
pub use binary::{binary, compare};
pub use cast::cast;
pub use columns::{col2im1d, im2col, im2col1d};
pub use conv::{conv_transpose1d, conv_transpose2d, conv1d, conv2d};
pub use copy::{copy, copy2d};
pub use fill::fill;
pub use indexing::{gather, index_add, index_select, scatter_add_set, scatter_set};
pub use matmul::{matmul, matmul_f8};
pub use moe::{Routes, moe_gemm, moe_gemm_gguf};
pub use norm::{layer_norm, rms_norm, softmax_last_dim};
pub use paged::{NewTokens, PagedAttention, paged_attention, rope_append};
pub use pool::{avg_pool2d, max_pool2d};
pub use quantized::{dequantize, dequantize_mat_vec, get_rows, indexed_moe, qmatmul};
pub use random::{philox, rand_normal, rand_uniform};
pub use reduce::{add_sums, reduce};
pub use rope::{rope, rope_i, rope_thd};
pub use sort::argsort;
pub use ternary::where_cond;
pub use unary::{unary, unary_param};
pub use upsample::{Bilinear, upsample_bilinear2d, upsample_nearest1d, upsample_nearest2d};
pub use window::Window;

pub use crate::kernel::{Binary, Compare, Reduce, Unary, UnaryParam};
