//! In front of upstream's `moe.rs`: its products with experts on a ROCm device and on the CPU. candle-overlay appends this to upstream's file,
//! whose functions have `elsewhere_` before their names then.

/// Products with the experts' matrices: on a ROCm device by [`candle::rocm::moe_gemm`], on CUDA upstream's, elsewhere composed of other ops.
#[allow(clippy::too_many_arguments, reason = "upstream's arguments")]
pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    is_prefill: bool,
) -> Result<Tensor> {
    match input.device() {
        candle::Device::Rocm(_) => {
            let factors = topk_weights.as_ref().map(Tensor::contiguous).transpose()?;
            candle::rocm::moe_gemm(
                &input.contiguous()?,
                &weights.contiguous()?,
                &factors,
                &sorted_token_ids.contiguous()?,
                &experts_ids.contiguous()?,
                topk,
                is_prefill,
            )
        }
        candle::Device::Cuda(_) => elsewhere_moe_gemm(
            input,
            weights,
            topk_weights,
            sorted_token_ids,
            experts_ids,
            topk,
            is_prefill,
        ),
        candle::Device::Cpu | candle::Device::Metal(_) => {
            // One rounding to f16 and bf16, after the weight, as in a kernel.
            let wide = match input.dtype() {
                candle::DType::F64 => candle::DType::F64,
                _ => candle::DType::F32,
            };
            let product = |rows: &Tensor, expert: usize| {
                let matrix = weights.get(expert)?.to_dtype(wide)?;
                rows.to_dtype(wide)?.matmul(&matrix.t()?)
            };
            composed(input, product, topk_weights, sorted_token_ids, experts_ids, topk)
        }
    }
}

/// Products with the experts' quantized matrices: on a ROCm device by [`candle::rocm::moe_gemm_gguf`], on CUDA upstream's, elsewhere composed
/// of products with the experts that are named.
#[allow(clippy::too_many_arguments, reason = "upstream's arguments")]
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    is_prefill: bool,
    dtype: candle::DType,
) -> Result<Tensor> {
    let run = match input.device() {
        candle::Device::Rocm(_) => candle::rocm::moe_gemm_gguf,
        candle::Device::Cuda(_) => elsewhere_moe_gemm_gguf,
        candle::Device::Cpu | candle::Device::Metal(_) => {
            let (experts, n, k) = weights.shape().dims3()?;
            let blocks = weights.data()?;
            let size = blocks.len() / experts.max(1);
            let product = |rows: &Tensor, expert: usize| {
                let Some(blocks) = blocks.get(expert * size..(expert + 1) * size) else {
                    candle::bail!("moe_gemm_gguf: expert {expert} of {experts}")
                };
                let storage =
                    quantized::QStorage::from_data(blocks.into(), &weights.device(), weights.dtype())?;
                let matrix = quantized::QMatMul::from_qtensor(QTensor::new(storage, (n, k))?)?;
                candle::Module::forward(&matrix, rows)
            };
            return composed(input, product, topk_weights, sorted_token_ids, experts_ids, topk);
        }
    };
    run(
        input,
        weights,
        topk_weights,
        sorted_token_ids,
        experts_ids,
        topk,
        is_prefill,
        dtype,
    )
}

/// Rows of the input times the matrices of their experts, expert by expert: `product` takes rows and an expert. What a row is times, and where its
/// result goes, is said at [`candle::rocm::moe_gemm`].
fn composed(
    input: &Tensor,
    product: impl Fn(&Tensor, usize) -> Result<Tensor>,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
) -> Result<Tensor> {
    let tokens = sorted_token_ids.flatten_all()?.to_vec1::<u32>()?;
    let experts = experts_ids.flatten_all()?.to_vec1::<u32>()?;
    if tokens.len() != experts.len() || tokens.is_empty() || topk == 0 {
        candle::bail!(
            "moe_gemm: {} token ids and {} expert ids, with a topk of {topk}",
            tokens.len(),
            experts.len()
        )
    }
    let mut sorted = tokens.clone();
    sorted.sort_unstable();
    if let Some(wrong) = (0..tokens.len()).find(|at| sorted[*at] as usize != *at) {
        candle::bail!(
            "moe_gemm: the token ids are to be the numbers from 0 to {}, each once; {wrong} is not among them",
            tokens.len() - 1
        )
    }
    let mut chosen = experts.clone();
    chosen.sort_unstable();
    chosen.dedup();
    let divisor = if topk_weights.is_some() { 1 } else { topk as u32 };
    // The results in the order of their experts, and the place that each has there.
    let (mut results, mut places) = (vec![], vec![0u32; tokens.len()]);
    let mut done = 0;
    for expert in chosen {
        let pairs = tokens.iter().zip(&experts).filter(|(_, of)| **of == expert);
        let of_expert: Vec<u32> = pairs.map(|(token, _)| *token).collect();
        let from: Vec<u32> = of_expert.iter().map(|token| token / divisor).collect();
        let rows = input.contiguous()?.index_select(&Tensor::new(from, input.device())?, 0)?;
        let mut result = product(&rows, expert as usize)?;
        if let Some(weights) = topk_weights {
            let ids = Tensor::new(of_expert.clone(), input.device())?;
            let factors = weights.flatten_all()?.contiguous()?.index_select(&ids, 0)?;
            result = result.broadcast_mul(&factors.to_dtype(result.dtype())?.unsqueeze(1)?)?;
        }
        results.push(result.to_dtype(input.dtype())?);
        for token in of_expert {
            places[token as usize] = done;
            done += 1;
        }
    }
    Tensor::cat(&results, 0)?.index_select(&Tensor::new(places, input.device())?, 0)
}
