//! Mixtures of experts on a ROCm device. `candle_nn::moe` of crates/candle-nn calls these, which have its names, arguments and meaning.

use std::ops::Deref;

use rocm_backend::{
    DynBuffer, View,
    ops::{self, Routes},
};

use super::storage::on_rocm;
use crate::{Layout, Result, Storage, Tensor, bail, op::BackpropOp, quantized::QTensor};

const OP: &str = "moe_gemm";

/// candle-nn's `moe_gemm` for tensors on a ROCm device: row `t = sorted_token_ids[i]` of the result, (`m`, `n`), is a row of
/// `input` times the transposed matrix of expert `experts_ids[i]` of `weights`, (experts, `n`, `k`). With `topk_weights` it is
/// row `t`, and is multiplied by weight `t`; without, row `t / topk`. bf16, f16 and f32; `is_prefill` makes no difference.
///
/// # Errors
/// For tensors elsewhere, and those of `rocm_backend::ops::moe_gemm`.
pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
) -> Result<Tensor> {
    let operands = operands(input, topk_weights, sorted_token_ids, experts_ids);
    let (weights, layout) = weights.storage_and_layout();
    let (_, weights_view) = on_rocm(OP, &weights, layout)?;
    let n = layout.dims().get(1).copied().unwrap_or_default();
    operands.run(n, topk, |input, routes| {
        ops::moe_gemm(input, weights_view, routes)
    })
}

/// candle-nn's `moe_gemm_gguf`: as [`moe_gemm`] with `input` of f32 and weights in a block format, which become f32 as they
/// are loaded, those of the named experts only. `dtype` and `is_prefill` make no difference.
///
/// # Errors
/// As [`moe_gemm`]; for an input of another dtype.
#[allow(clippy::too_many_arguments, reason = "candle-nn's arguments")]
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
    _dtype: crate::DType,
) -> Result<Tensor> {
    if input.dtype() != crate::DType::F32 {
        bail!("moe_gemm_gguf only accepts f32 inputs")
    }
    let shape = weights.shape().dims3()?;
    let Some((format, blocks)) = weights.rocm_blocks() else {
        bail!("moe_gemm_gguf: the weights are not on a ROCm device")
    };
    let operands = operands(input, topk_weights, sorted_token_ids, experts_ids);
    operands.run(shape.1, topk, |input, routes| {
        ops::moe_gemm_gguf(input, format, blocks, shape, routes)
    })
}

/// What both have beside their weights, borrowed while they run.
///
/// `S` is a lock's guard: releases of candle differ in whose lock that is.
struct Operands<'a, S> {
    tensors: [(S, &'a Layout); 3],
    topk_weights: Option<(S, &'a Layout)>,
    rows: usize,
}

fn operands<'a>(
    input: &'a Tensor,
    topk_weights: &'a Option<Tensor>,
    token_ids: &'a Tensor,
    expert_ids: &'a Tensor,
) -> Operands<'a, impl Deref<Target = Storage> + 'a> {
    Operands {
        tensors: [input, token_ids, expert_ids].map(Tensor::storage_and_layout),
        topk_weights: topk_weights.as_ref().map(Tensor::storage_and_layout),
        rows: input.dims().first().copied().unwrap_or_default(),
    }
}

impl<S: Deref<Target = Storage>> Operands<'_, S> {
    /// The result, of rows of `n`, that `product` computes.
    fn run(
        &self,
        n: usize,
        topk: usize,
        product: impl FnOnce(View<'_>, Routes<'_>) -> rocm_backend::Result<DynBuffer>,
    ) -> Result<Tensor> {
        let [input, token_ids, expert_ids] = &self.tensors;
        let (beside, input) = on_rocm(OP, &input.0, input.1)?;
        let topk_weights = match &self.topk_weights {
            Some((storage, layout)) => Some(on_rocm(OP, storage, layout)?.1),
            None => None,
        };
        let m = self.rows * if topk_weights.is_some() { 1 } else { topk };
        let routes = Routes {
            topk_weights,
            token_ids: on_rocm(OP, &token_ids.0, token_ids.1)?.1,
            expert_ids: on_rocm(OP, &expert_ids.0, expert_ids.1)?.1,
            topk,
        };
        let out = product(input, routes)?;
        let storage = Storage::Rocm(beside.beside(out));
        Ok(Tensor::from_storage(storage, (m, n), BackpropOp::none(), false))
    }
}
