//! Launches of products by experts.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::{Args, Grid, common_context};
use crate::ggml;
use crate::view::Region;
use crate::{DynBuffer, Error, Result, module};

/// The module, a file of `kernels/`; the kernels' name; the threads of a workgroup, and the rows that it computes
/// together, as that has them.
const MODULE: &str = "moe";
const OP: &str = "moe_gemm";
const LANES: usize = 64;
const TOGETHER: usize = 8;

/// The experts' matrices.
pub(crate) enum ExpertWeights<'a> {
    /// Contiguous, of the input's dtype.
    Floats(Region<'a>),
    /// A row of all matrices after the other, in a block format.
    Blocks(ggml::Weights<'a>),
}

impl ExpertWeights<'_> {
    fn buffer(&self) -> &DynBuffer {
        match self {
            ExpertWeights::Floats(region) => region.buffer(),
            ExpertWeights::Blocks(weights) => weights.blocks(),
        }
    }

    fn offset(&self) -> usize {
        match self {
            ExpertWeights::Floats(region) => region.offset(),
            ExpertWeights::Blocks(_) => 0,
        }
    }
}

/// Rows of the result, their length, and the length of a row of the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MoeSizes {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// Rows of the result that share one of the input.
    pub(crate) divisor: usize,
}

/// The operands, contiguous. Of the two lists of ids each has `m`, and all were found to be positions.
pub(crate) struct Operands<'a> {
    pub(crate) input: Region<'a>,
    pub(crate) weights: ExpertWeights<'a>,
    pub(crate) token_ids: Region<'a>,
    pub(crate) expert_ids: Region<'a>,
    pub(crate) topk_weights: Option<Region<'a>>,
}

/// Computes the products.
///
/// The caller has checked the ids on the host: below `m` and below the number of experts.
pub(crate) fn moe_gemm(operands: &Operands<'_>, sizes: MoeSizes, out: &mut DynBuffer) -> Result<()> {
    let Operands {
        input,
        weights,
        token_ids,
        expert_ids,
        topk_weights,
    } = operands;
    let MoeSizes { m, n, k, divisor } = sizes;
    let dtype = out.dtype();
    let rows = if divisor == 0 { 0 } else { m.div_ceil(divisor) };
    let fits = rows.checked_mul(k).is_some_and(|count| count <= input.numel())
        && m.checked_mul(n).is_some_and(|count| count <= out.len())
        && (1..=u32::MAX as usize).contains(&divisor)
        && token_ids.numel() >= m
        && expert_ids.numel() >= m
        && topk_weights.as_ref().is_none_or(|weights| weights.numel() >= m);
    if !fits {
        return Err(Error::shape(OP, "the sizes reach outside a buffer"));
    }
    let regions = [input, token_ids, expert_ids].into_iter().chain(topk_weights);
    let buffers = regions.map(Region::buffer);
    let context = common_context(OP, buffers.chain([weights.buffer(), &*out]))?;
    let symbol = match weights {
        ExpertWeights::Floats(_) => format!("{OP}_{}", dtype.suffix()),
        ExpertWeights::Blocks(weights) => format!("{OP}_gguf_{}", weights.ty().name()),
    };
    let function = module::named(&context, MODULE, &symbol, OP, dtype)?;
    let mut args = Args::default();
    args.size(m).size(n).size(k).size(divisor);
    args.element(input.buffer(), input.offset())
        .element(weights.buffer(), weights.offset());
    for ids in [token_ids, expert_ids] {
        args.element(ids.buffer(), ids.offset());
    }
    match topk_weights {
        Some(weights) => args.element(weights.buffer(), weights.offset()),
        None => args.size(0),
    };
    args.element(out, 0);
    let grid = Grid::in_space([n, m.div_ceil(TOGETHER), 1], LANES);
    // SAFETY: the arguments are the kernel's, of `out`'s dtype, and so are the input's and the weights', unless they are
    // blocks of the kernel's format (the caller checked it). Ids are below `m` and the number of experts, so that rows of input, weights and output lie inside their buffers.
    unsafe { args.submit(OP, &context, &function, grid) }
}
