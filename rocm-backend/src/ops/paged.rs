//! Caches of keys and values in pages, as servers of language models keep them: a sequence's keys lie in pages that are anywhere in
//! the cache, and a table says which. [`rope_append`] puts new tokens there, [`paged_attention`] attends to them; neither waits for
//! the device.

use crate::hip::launch::attention::{WIDEST, too_wide};
use crate::hip::launch::paged::{self as launch, APPEND, ATTENTION};
use crate::ops::attention::{list, longest, operand, places};
use crate::{DType, DynBuffer, Error, Result, View, ViewMut};

/// The operands of [`paged_attention`], all bf16, f16 or f32 but for the lists, with elements of a head one after the other.
#[derive(Debug, Clone, Copy)]
pub struct PagedAttention<'a> {
    /// (batch, position, head, element), or (position, head, element) with [`PagedAttention::query_starts`].
    pub query: View<'a>,
    /// (page, position, head, element), with as many heads as the queries or a divisor of them. A page has a power of two of positions.
    pub key: View<'a>,
    /// As the keys.
    pub value: View<'a>,
    /// u32, (batch, column): the pages of a batch's keys in their order. What lies beyond a batch's length is not read.
    pub table: View<'a>,
    /// u32, one of each batch: how many keys it has. The last query is at the last key's place.
    pub lengths: View<'a>,
    /// With it, the queries of the batches lie one after the other: where each starts, u32, ascending from 0 on, and where the last one ends.
    /// The places come to the host to be checked, for which it waits.
    pub query_starts: Option<View<'a>>,
    /// What scores are multiplied by.
    pub scale: f32,
    /// How many keys before its own place a query sees; `None`: all.
    pub left: Option<usize>,
    /// How many after it. `Some(0)` is causal.
    pub right: Option<usize>,
    /// Scaled scores become `c · tanh(score / c)`.
    pub softcap: Option<f32>,
    /// ALiBi: f32, one of each head. Times the distance of query and key it is taken from the score.
    pub slopes: Option<View<'a>>,
}

/// The values, weighed: contiguous, of the queries' dims, as [`flash_attn`](super::flash_attn()) has them for keys that are not in pages.
///
/// # Errors
/// As [`flash_attn`](super::flash_attn()); `Error::Shape` for pages whose positions are not a power of two. A page number and a length that there
/// are not are `Error::Index` of the call that waits for the device next.
pub fn paged_attention(op: &PagedAttention<'_>) -> Result<DynBuffer> {
    let dtype = dtype_of(ATTENTION, op.query)?;
    let rank = if op.query_starts.is_some() { 3 } else { 4 };
    let query = operand(ATTENTION, "queries", op.query, dtype, rank)?;
    let key = operand(ATTENTION, "keys", op.key, dtype, 4)?;
    let value = operand(ATTENTION, "values", op.value, dtype, 4)?;
    let &[pages, page, key_heads, key_width] = op.key.dims() else {
        return Err(Error::shape(ATTENTION, "keys of four dimensions"));
    };
    let [of_table, columns] = match *op.table.dims() {
        [batches, columns] => [batches, columns],
        _ => [0, 0],
    };
    let (sizes, query_starts) = match (op.query.dims(), op.query_starts) {
        (&[all, heads, width], Some(starts)) => {
            let (region, places) = places(ATTENTION, "starts of queries", starts, of_table + 1, all)?;
            let most = longest(ATTENTION, &places, all)?;
            ([of_table, most, heads, width], Some(region))
        }
        (&[batches, queries, heads, width], _) => ([batches, queries, heads, width], None),
        (dims, _) => return Err(Error::shape(ATTENTION, format!("queries of {dims:?}"))),
    };
    let [batches, queries, heads, width] = sizes;
    let fits = op.key.dims() == op.value.dims()
        && key_width == width
        && op.table.dims() == [batches, columns]
        && page.is_power_of_two()
        && (heads == 0 || key_heads > 0 && heads.is_multiple_of(key_heads));
    if !fits {
        return Err(Error::shape(
            ATTENTION,
            format!(
                "queries of {:?}, keys of {:?}, values of {:?} and a table of {:?}: elements and batches are as many, heads of keys a \
                 divisor of those of queries, and positions of a page a power of two",
                op.query.dims(),
                op.key.dims(),
                op.value.dims(),
                op.table.dims()
            ),
        ));
    }
    if width > WIDEST {
        return Err(too_wide(ATTENTION, width));
    }
    let table = list(ATTENTION, "the table", op.table, DType::U32, &[batches, columns])?;
    let lengths = list(ATTENTION, "lengths", op.lengths, DType::U32, &[batches])?;
    let slopes = op.slopes;
    let slopes = slopes.map(|slopes| list(ATTENTION, "slopes", slopes, DType::F32, &[heads]));
    let slopes = slopes.transpose()?;
    let (device, numel) = (query.region.buffer().device(), query.region.numel());
    if numel == 0 || pages == 0 || columns == 0 {
        // A query that sees no key has zeros.
        return DynBuffer::zeros(device, dtype, numel);
    }
    let mut out = DynBuffer::uninit(device, dtype, numel)?;
    let attention = launch::PagedLaunch {
        query,
        key,
        value,
        table,
        lengths,
        slopes,
        query_starts,
        batches,
        heads,
        shared: heads / key_heads,
        width,
        queries,
        pages,
        page,
        columns,
        scale: op.scale,
        softcap: op.softcap.unwrap_or(0.0),
        window: [op.left, op.right].map(|reach| reach.unwrap_or(usize::MAX)),
    };
    launch::attention(&attention, &mut out)?;
    Ok(out)
}

/// Tokens for [`rope_append`], all bf16, f16 or f32 but for the lists, with elements of a head one after the other.
#[derive(Debug, Clone, Copy)]
pub struct NewTokens<'a> {
    /// (token, head, element).
    pub query: View<'a>,
    /// (token, head of keys, element).
    pub key: View<'a>,
    /// As the keys.
    pub value: View<'a>,
    /// Of the angles, (position, half an element), contiguous.
    pub cos: View<'a>,
    /// As the cosines.
    pub sin: View<'a>,
    /// u32, one of each token: its place in its sequence, the row of its angles.
    pub positions: View<'a>,
    /// u32, one of each token: where it goes in the caches, page times positions of a page plus the position there.
    pub slots: View<'a>,
    /// Whether neighbours are turned, as [`rope_i`](super::rope_i()) does, or elements half a head apart, as [`rope`](super::rope()).
    pub neighbours: bool,
}

/// Turns queries and keys by their positions and puts keys and values into the caches, (page, position, head of keys, element), a page of
/// a power of two of positions. Gives the queries, contiguous. One launch does what takes two of rope and two copies.
///
/// # Errors
/// `Error::Shape` for operands that do not fit together, `Error::NotContiguous`, `Error::DTypes`, `Error::Unsupported`,
/// `Error::Devices`; else as [`unary`](super::unary()). A position or a slot that there is not is `Error::Index` of the call that
/// waits for the device next; its token is left out.
pub fn rope_append(new: &NewTokens<'_>, keys: ViewMut<'_>, values: ViewMut<'_>) -> Result<DynBuffer> {
    let dtype = dtype_of(APPEND, new.query)?;
    let query = operand(APPEND, "queries", new.query, dtype, 3)?;
    let key = operand(APPEND, "keys", new.key, dtype, 3)?;
    let value = operand(APPEND, "values", new.value, dtype, 3)?;
    let (keys, values) = (keys.check(APPEND)?, values.check(APPEND)?);
    for cache in [&keys, &values] {
        Error::unless_same_dtype(APPEND, dtype, cache.buffer.dtype())?;
        let is_adjacent = cache.numel == 0 || cache.strides.as_slice().last() == Some(&1);
        if !is_adjacent {
            return Err(Error::not_contiguous(APPEND, "heads of a cache"));
        }
    }
    let (&[tokens, heads, width], &[key_tokens, key_heads, key_width]) = (new.query.dims(), new.key.dims())
    else {
        return Err(Error::shape(APPEND, "three dimensions"));
    };
    let &[pages, page, cache_heads, cache_width] = keys.dims.as_slice() else {
        return Err(Error::shape(
            APPEND,
            format!("a cache of {:?}, expected 4 dimensions", keys.dims.as_slice()),
        ));
    };
    let known = new.cos.dims().first().copied().unwrap_or_default();
    let fits = new.key.dims() == new.value.dims()
        && (tokens, width) == (key_tokens, key_width)
        && width.is_multiple_of(2)
        && known > 0
        && values.dims.as_slice() == keys.dims.as_slice()
        && (cache_heads, cache_width) == (key_heads, width)
        && page.is_power_of_two();
    if !fits {
        return Err(Error::shape(
            APPEND,
            format!(
                "queries of {:?}, keys of {:?}, values of {:?} and caches of {:?} and {:?}: tokens are as many, a head has an even number of \
                 elements, and a page a power of two of positions",
                new.query.dims(),
                new.key.dims(),
                new.value.dims(),
                keys.dims.as_slice(),
                values.dims.as_slice()
            ),
        ));
    }
    let angles = [known, width / 2];
    let append = launch::Append {
        query,
        key,
        value,
        cos: list(APPEND, "cos", new.cos, dtype, &angles)?,
        sin: list(APPEND, "sin", new.sin, dtype, &angles)?,
        positions: list(APPEND, "positions", new.positions, DType::U32, &[tokens])?,
        slots: list(APPEND, "slots", new.slots, DType::U32, &[tokens])?,
        tokens,
        heads,
        key_heads,
        width,
        neighbours: new.neighbours,
        page,
        pages,
    };
    launch::append(&append, keys, values)
}

/// The dtype of an operand, one of those that attention has kernels for.
fn dtype_of(op: &str, view: View<'_>) -> Result<DType> {
    let dtype = view.buffer().dtype();
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        _ => Err(Error::Unsupported {
            op: op.to_owned(),
            dtype,
        }),
    }
}
