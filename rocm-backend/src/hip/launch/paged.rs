//! Launches over caches of keys and values in pages.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::attention::{Operand, QUERIES_OF_WAVE, too_wide};
use super::{Args, Grid, common_context};
use crate::view::{Region, RegionMut};
use crate::{DynBuffer, Error, Result, module};

/// The module, a file of `kernels/`, and its kernels' names.
const MODULE: &str = "paged";
pub(crate) const ATTENTION: &str = "paged_attn";
pub(crate) const APPEND: &str = "rope_append";

/// Of each kernel of attention: the widest head, and the waves of a workgroup, as `kernels/attention.h` has them.
const KERNELS: [(usize, usize); 2] = [(128, 2), (256, 1)];

/// Attention over pages, all of it checked: every place that the sizes name lies in its operand.
pub(crate) struct PagedLaunch<'a> {
    /// By batch, position and head.
    pub(crate) query: Operand<'a>,
    /// By page, position and head.
    pub(crate) key: Operand<'a>,
    pub(crate) value: Operand<'a>,
    /// u32, (batches, columns), contiguous.
    pub(crate) table: Region<'a>,
    /// u32, one of each batch.
    pub(crate) lengths: Region<'a>,
    /// f32, one of each head.
    pub(crate) slopes: Option<Region<'a>>,
    /// Where the batches start among the queries, u32, and where the last one ends; none of them longer than `queries`.
    pub(crate) query_starts: Option<Region<'a>>,
    pub(crate) batches: usize,
    pub(crate) heads: usize,
    /// Heads of queries that share one of keys and values.
    pub(crate) shared: usize,
    pub(crate) width: usize,
    pub(crate) queries: usize,
    pub(crate) pages: usize,
    /// Positions of a page, a power of two.
    pub(crate) page: usize,
    pub(crate) columns: usize,
    pub(crate) scale: f32,
    /// 0 for none.
    pub(crate) softcap: f32,
    /// Keys before and after a query's own place that it sees.
    pub(crate) window: [usize; 2],
}

/// Computes rows of `heads * width` elements, one for each query of each batch. Page numbers and lengths that there are not are reported.
pub(crate) fn attention(op: &PagedLaunch<'_>, out: &mut DynBuffer) -> Result<()> {
    let dtype = out.dtype();
    let Some((widest, waves)) = KERNELS.into_iter().find(|(widest, _)| op.width <= *widest) else {
        return Err(too_wide(ATTENTION, op.width));
    };
    let operands = [&op.query, &op.key, &op.value];
    let regions = operands.into_iter().map(|operand| &operand.region);
    let lists = op.slopes.iter().chain(&op.query_starts);
    let regions = regions.chain([&op.table, &op.lengths]).chain(lists);
    let context = common_context(ATTENTION, regions.map(Region::buffer).chain([&*out]))?;
    let symbol = format!("{ATTENTION}_{widest}_{}", dtype.suffix());
    let function = module::named(&context, MODULE, &symbol, ATTENTION, dtype)?;
    let groups = op.queries.div_ceil(waves * QUERIES_OF_WAVE);
    let all = groups
        .checked_mul(op.heads)
        .and_then(|n| n.checked_mul(op.batches));
    // Places among the keys have 31 bits.
    let most = op.columns.checked_mul(op.page).filter(|most| *most < 1 << 31);
    let sizes = [op.batches, op.heads, op.shared, op.width, op.pages, op.columns];
    let small: Vec<u32> = sizes.into_iter().filter_map(|n| u32::try_from(n).ok()).collect();
    let (&[batches, heads, shared, width, pages, columns], Some(all), Some(most)) = (
        small.as_slice(),
        all.filter(|all| u32::try_from(*all).is_ok()),
        most,
    ) else {
        return Err(Error::too_large(
            ATTENTION,
            "more tiles, pages or keys than the kernel counts",
        ));
    };
    let wrong_page = context.report_of("paged_attn: pages", op.pages, 0)?;
    let wrong_length = context.report_of("paged_attn: lengths", most + 1, 0)?;
    let mut args = Args::default();
    args.int(batches)
        .int(heads)
        .int(shared)
        .int(width)
        .size(op.queries);
    args.int(op.page.ilog2()).int(pages).int(columns);
    for stride in operands.into_iter().flat_map(|operand| operand.strides) {
        args.size(stride);
    }
    args.f32(op.scale).f32(op.softcap);
    for reach in op.window {
        args.size(reach.min(isize::MAX as usize / 2));
    }
    for operand in operands {
        args.element(operand.region.buffer(), operand.region.offset());
    }
    for list in [&op.slopes, &op.query_starts] {
        match list {
            Some(list) => args.element(list.buffer(), list.offset()),
            None => args.size(0),
        };
    }
    for list in [&op.table, &op.lengths] {
        args.element(list.buffer(), list.offset());
    }
    args.element(out, 0)
        .size(wrong_page.address())
        .size(wrong_length.address());
    let threads = waves * context.info().warp_size() as usize;
    let grid = Grid::of(all, threads).striding();
    // SAFETY: the arguments are the kernel's, of `out`'s dtype, and a workgroup has its threads. The caller found every place that sizes
    // and strides name to lie in its operand, and `out` to have a row for each query. The kernel takes no page number at its word, nor
    // a length: of one that there is not nothing is read, and it is reported in words that the context keeps.
    unsafe { args.submit(ATTENTION, &context, &function, grid) }?;
    wrong_page.end()?;
    wrong_length.end()
}

/// New tokens, all of it checked as for [`PagedLaunch`].
pub(crate) struct Append<'a> {
    /// By token and head: the strides after the first.
    pub(crate) query: Operand<'a>,
    pub(crate) key: Operand<'a>,
    pub(crate) value: Operand<'a>,
    /// (positions, width / 2), contiguous.
    pub(crate) cos: Region<'a>,
    pub(crate) sin: Region<'a>,
    /// u32, one of each token.
    pub(crate) positions: Region<'a>,
    pub(crate) slots: Region<'a>,
    pub(crate) tokens: usize,
    pub(crate) heads: usize,
    pub(crate) key_heads: usize,
    pub(crate) width: usize,
    pub(crate) neighbours: bool,
    /// Positions of a page, a power of two, and pages.
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

/// Turns queries and keys, gives the queries, and puts keys and values into the caches. Positions and slots that there are not are reported.
pub(crate) fn append(op: &Append<'_>, keys: RegionMut<'_>, values: RegionMut<'_>) -> Result<DynBuffer> {
    let (device, dtype) = (
        op.query.region.buffer().device(),
        op.query.region.buffer().dtype(),
    );
    let operands = [&op.query, &op.key, &op.value];
    let regions = operands.into_iter().map(|operand| &operand.region);
    let regions = regions.chain([&op.cos, &op.sin, &op.positions, &op.slots]);
    let buffers = regions
        .map(Region::buffer)
        .chain([&*keys.buffer, &*values.buffer]);
    let context = common_context(APPEND, buffers)?;
    let function = module::named(
        &context,
        MODULE,
        &format!("{APPEND}_{}", dtype.suffix()),
        APPEND,
        dtype,
    )?;
    let out = DynBuffer::uninit(device, dtype, op.query.region.numel())?;
    let known = op.cos.dims()[0];
    let each = op.heads + 2 * op.key_heads;
    let pairs = op
        .tokens
        .checked_mul(each)
        .and_then(|n| n.checked_mul(op.width / 2))
        .filter(|pairs| u32::try_from(*pairs).is_ok());
    let small: Vec<u32> = [op.heads, op.key_heads, op.width]
        .into_iter()
        .filter_map(|n| u32::try_from(n).ok())
        .collect();
    let (&[heads, key_heads, width], Some(pairs)) = (small.as_slice(), pairs) else {
        return Err(Error::too_large(
            APPEND,
            "more heads or elements than 32 bits count",
        ));
    };
    if pairs == 0 {
        return Ok(out);
    }
    let slots = op.pages * op.page;
    let wrong_position = context.report_of("rope_append: positions", known, 0)?;
    let wrong_slot = context.report_of("rope_append: slots", slots, 0)?;
    let mut args = Args::default();
    args.size(op.tokens).int(heads).int(key_heads).int(width);
    args.int(u32::from(op.neighbours)).size(known);
    args.int(op.page.ilog2()).size(slots);
    for operand in operands {
        args.size(operand.strides[1]).size(operand.strides[2]);
    }
    for cache in [&keys, &values] {
        for stride in &cache.strides.as_slice()[..3] {
            args.size(*stride);
        }
    }
    for operand in operands {
        args.element(operand.region.buffer(), operand.region.offset());
    }
    for list in [&op.cos, &op.sin, &op.positions, &op.slots] {
        args.element(list.buffer(), list.offset());
    }
    args.element(&out, 0)
        .element(keys.buffer, keys.offset)
        .element(values.buffer, values.offset);
    args.size(wrong_position.address()).size(wrong_slot.address());
    // SAFETY: the arguments are the kernel's, of the operands' dtype, which the caller found to be one. Every place that sizes and strides
    // name lies in its operand; a position that has no angles is that of the last ones, a token whose slot there is not is left out,
    // and both are reported in words that the context keeps.
    unsafe { args.submit(APPEND, &context, &function, Grid::over(pairs)) }?;
    wrong_position.end()?;
    wrong_slot.end()?;
    Ok(out)
}
