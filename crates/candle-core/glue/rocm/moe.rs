//! Mixtures of experts. candle-nn's own `moe::moe_gemm` is compiled for CUDA only and cannot be given another device, so that
//! these stand here, with its names, arguments and meaning.

use rocm_backend::{View, ops};

use super::RocmStorage;
use crate::{Layout, Result, Storage, Tensor, bail, op::BackpropOp, quantized::QTensor};

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
    let parts = [
        Some(input),
        Some(weights),
        topk_weights.as_ref(),
        Some(sorted_token_ids),
        Some(experts_ids),
    ];
    let guards = parts.map(|part| part.map(Tensor::storage_and_layout));
    let view = |at: usize| match &guards[at] {
        Some((storage, layout)) => on_rocm(storage, layout).map(Some),
        None => Ok(None),
    };
    let must = |at: usize| match view(at)? {
        Some(found) => Ok(found),
        None => bail!("moe_gemm lacks an operand"),
    };
    let (first, input_view) = must(0)?;
    let topk_view = view(2)?.map(|(_, view)| view);
    let out = ops::moe_gemm(input_view, must(1)?.1, topk_view, must(3)?.1, must(4)?.1, topk)?;
    let n = weights.dim(1)?;
    let m = input.dim(0)? * if topk_weights.is_some() { 1 } else { topk };
    let storage = Storage::Rocm(first.beside(out));
    Ok(Tensor::from_storage(storage, (m, n), BackpropOp::none(), false))
}

/// candle-nn's `moe_gemm_gguf`: as [`moe_gemm`] with `input` of f32 and weights in a block format, of which f32 are made
/// first. `dtype` and `is_prefill` make no difference.
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
    is_prefill: bool,
    _dtype: crate::DType,
) -> Result<Tensor> {
    if input.dtype() != crate::DType::F32 {
        bail!("moe_gemm_gguf only accepts f32 inputs")
    }
    let weights = weights.dequantize(input.device())?;
    moe_gemm(
        input,
        &weights,
        topk_weights,
        sorted_token_ids,
        experts_ids,
        topk,
        is_prefill,
    )
}

fn on_rocm<'a>(storage: &'a Storage, layout: &'a Layout) -> Result<(&'a RocmStorage, View<'a>)> {
    match storage {
        Storage::Rocm(storage) => Ok((storage, storage.view(layout))),
        _ => bail!("moe_gemm: a tensor is not on a ROCm device"),
    }
}
