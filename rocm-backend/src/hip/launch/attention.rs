//! Launches of attention.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::{Args, Grid, common_context};
use crate::view::Region;
use crate::{DynBuffer, Error, Result, module};

/// The module, a file of `kernels/`, and the kernels' name.
const MODULE: &str = "attention";
pub(crate) const OP: &str = "flash_attn";

/// Of each kernel: the widest head, and the waves of a workgroup, as `kernels/attention.h` has them. A wave has 16 queries.
const KERNELS: [(usize, usize); 4] = [(32, 4), (64, 4), (128, 2), (256, 1)];
pub(super) const QUERIES_OF_WAVE: usize = 16;

/// Elements of the widest head that has a kernel.
pub(crate) const WIDEST: usize = KERNELS[KERNELS.len() - 1].0;

/// For heads of more elements than a kernel has.
pub(crate) fn too_wide(op: &str, width: usize) -> Error {
    Error::parameter(op, format!("heads of {width} elements, at most {WIDEST}"))
}

/// Queries, keys or values: the view, and its strides by batch, position and head. The stride of the last dimension is 1.
pub(crate) struct Operand<'a> {
    pub(crate) region: Region<'a>,
    pub(crate) strides: [usize; 3],
}

/// What is computed, all of it checked: every place that the sizes name lies in its operand.
pub(crate) struct AttentionLaunch<'a> {
    pub(crate) query: Operand<'a>,
    pub(crate) key: Operand<'a>,
    pub(crate) value: Operand<'a>,
    /// f32, one of each head.
    pub(crate) slopes: Option<Region<'a>>,
    /// Where the batches start among the queries and among the keys, u32, and where the last one ends.
    pub(crate) starts: Option<[Region<'a>; 2]>,
    pub(crate) batches: usize,
    pub(crate) heads: usize,
    /// Heads of queries that share one of keys and values.
    pub(crate) shared: usize,
    pub(crate) width: usize,
    /// Of the longest batch.
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) scale: f32,
    /// 0 for none.
    pub(crate) softcap: f32,
    /// Keys before and after a query's own place that it sees.
    pub(crate) window: [usize; 2],
}

/// Computes rows of `heads * width` elements, one for each query.
pub(crate) fn flash_attn(op: &AttentionLaunch<'_>, out: &mut DynBuffer) -> Result<()> {
    let dtype = out.dtype();
    let Some((widest, waves)) = KERNELS.into_iter().find(|(widest, _)| op.width <= *widest) else {
        return Err(too_wide(OP, op.width));
    };
    let operands = [&op.query, &op.key, &op.value];
    let lists = op.starts.iter().flatten().chain(&op.slopes);
    let regions = operands.into_iter().map(|operand| &operand.region).chain(lists);
    let context = common_context(OP, regions.map(Region::buffer).chain([&*out]))?;
    let function = module::named(
        &context,
        MODULE,
        &format!("{OP}_{widest}_{}", dtype.suffix()),
        OP,
        dtype,
    )?;
    let groups = op.queries.div_ceil(waves * QUERIES_OF_WAVE);
    let all = groups
        .checked_mul(op.heads)
        .and_then(|n| n.checked_mul(op.batches));
    let small = |n: usize| u32::try_from(n).ok();
    let (Some(batches), Some(heads), Some(shared), Some(width), Some(all)) = (
        small(op.batches),
        small(op.heads),
        small(op.shared),
        small(op.width),
        all.and_then(small),
    ) else {
        return Err(Error::too_large(OP, "more tiles than 32 bits count"));
    };
    let mut args = Args::default();
    args.int(batches).int(heads).int(shared).int(width);
    args.size(op.queries).size(op.keys);
    for operand in operands {
        operand.strides.into_iter().for_each(|stride| {
            args.size(stride);
        });
    }
    args.f32(op.scale).f32(op.softcap);
    // Windows are signed there; no sequence is longer than half of what a `usize` counts.
    for reach in op.window {
        args.size(reach.min(isize::MAX as usize / 2));
    }
    for operand in operands {
        args.element(operand.region.buffer(), operand.region.offset());
    }
    let [query_starts, key_starts] = match &op.starts {
        Some([query, key]) => [Some(query), Some(key)],
        None => [None, None],
    };
    for list in [op.slopes.as_ref(), query_starts, key_starts] {
        match list {
            Some(list) => args.element(list.buffer(), list.offset()),
            None => args.size(0),
        };
    }
    args.element(out, 0);
    let threads = waves * context.info().warp_size() as usize;
    let grid = Grid::of(all as usize, threads).striding();
    // SAFETY: the arguments are the kernel's, of `out`'s dtype, and a workgroup has its threads. The caller found every place
    // that sizes, strides and starts name to lie in its operand, and `out` to have a row for each query.
    unsafe { args.submit(OP, &context, &function, grid) }
}
