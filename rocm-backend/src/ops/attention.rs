//! Attention without the matrix of scores, which a tile of keys after the other replaces: `softmax(q kᵀ · scale) v` of each
//! head in f32, the weights and the result rounded to the dtype.

use crate::hip::launch::attention::{self as launch, OP, Operand, WIDEST, too_wide};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, View};

/// Elements of the widest heads that [`flash_attn`] and [`paged_attention`](super::paged_attention) take.
pub const WIDEST_HEAD: usize = WIDEST;

/// The operands of [`flash_attn`], all bf16, f16 or f32, with elements of a head one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// (batch, position, head, element), or (position, head, element) with [`Attention::lengths`].
    pub query: View<'a>,
    /// As the queries, with as many heads or a divisor of them.
    pub key: View<'a>,
    /// As the keys.
    pub value: View<'a>,
    /// What scores are multiplied by.
    pub scale: f32,
    /// How many keys before its own place a query sees; `None`: all. The last query's place is that of the last key.
    pub left: Option<usize>,
    /// How many after it. `Some(0)` is causal.
    pub right: Option<usize>,
    /// Scaled scores become `c · tanh(score / c)`.
    pub softcap: Option<f32>,
    /// ALiBi: f32, one of each head. Times the distance of query and key it is taken from the score.
    pub slopes: Option<View<'a>>,
    /// With it, batches of several lengths lie in one dimension of positions.
    pub lengths: Option<Lengths<'a>>,
}

/// Where batches start, u32: one place each, in ascending order from 0 on, and one more, where the last one ends. The places
/// come to the host to be checked.
#[derive(Debug, Clone, Copy)]
pub struct Lengths<'a> {
    /// Among the queries.
    pub query_starts: View<'a>,
    /// Among keys and values.
    pub key_starts: View<'a>,
}

/// The values, weighed: contiguous, of the queries' dims. A query that sees no key has zeros.
///
/// ```
/// use rocm_backend::{Device, Result, View, ops};
///
/// fn main() -> Result<()> {
///     let device = Device::new(0)?;
///     let (q, k) = (device.upload(&[1.0_f32, 0.0])?, device.upload(&[0.0_f32, 1.0, 0.0, 1.0])?);
///     let v = device.upload(&[1.0_f32, 2.0, 3.0, 4.0])?;
///     // One query of one head of two elements, and two keys that it likes as much.
///     let (dims, key_dims) = ([1, 1, 1, 2], [1, 2, 1, 2]);
///     let out = ops::flash_attn(&ops::Attention {
///         query: View::contiguous(&q, &dims),
///         key: View::contiguous(&k, &key_dims),
///         value: View::contiguous(&v, &key_dims),
///         scale: 1.0,
///         left: None,
///         right: None,
///         softcap: None,
///         slopes: None,
///         lengths: None,
///     })?;
///     assert_eq!(out.download::<f32>()?, [2.0, 3.0]);
///     Ok(())
/// }
/// ```
///
/// # Errors
/// `Error::Shape` for operands that do not fit together and starts that are not as [`Lengths`] says, `Error::Parameter` for heads
/// of more than 256 elements, `Error::NotContiguous` for elements of a head that do not follow one another, `Error::DTypes`,
/// `Error::Unsupported` for another dtype; else as [`unary`](super::unary()).
pub fn flash_attn(op: &Attention<'_>) -> Result<DynBuffer> {
    let dtype = op.query.buffer().dtype();
    if !matches!(dtype, DType::BF16 | DType::F16 | DType::F32) {
        return Err(Error::Unsupported {
            op: OP.to_owned(),
            dtype,
        });
    }
    let rank = if op.lengths.is_some() { 3 } else { 4 };
    let query = operand(OP, "queries", op.query, dtype, rank)?;
    let key = operand(OP, "keys", op.key, dtype, rank)?;
    let value = operand(OP, "values", op.value, dtype, rank)?;
    let (of_query, of_key) = (sizes(op.query.dims()), sizes(op.key.dims()));
    let [batches, queries, heads, width] = of_query;
    let fits = op.key.dims() == op.value.dims()
        && of_key[0] == batches
        && of_key[3] == width
        && (heads == 0 || of_key[2] > 0 && heads % of_key[2] == 0);
    if !fits {
        return Err(Error::shape(
            OP,
            format!(
                "queries of {:?}, keys of {:?} and values of {:?}: batches and elements are as many, and heads of keys a \
                 divisor of those of queries",
                op.query.dims(),
                op.key.dims(),
                op.value.dims()
            ),
        ));
    }
    if width > WIDEST {
        return Err(too_wide(OP, width));
    }
    let slopes = op
        .slopes
        .map(|slopes| list(OP, "slopes", slopes, DType::F32, &[heads]));
    let slopes = slopes.transpose()?;
    let starts = op.lengths.map(|lengths| starts(&lengths, queries, of_key[1]));
    let (starts, batches, queries, keys) = match starts.transpose()? {
        Some((regions, batches, longest)) => (Some(regions), batches, longest, 0),
        None => (None, batches, queries, of_key[1]),
    };
    let mut out = DynBuffer::uninit(query.region.buffer().device(), dtype, query.region.numel())?;
    if out.is_empty() {
        return Ok(out);
    }
    let attention = launch::AttentionLaunch {
        shared: heads / of_key[2],
        query,
        key,
        value,
        slopes,
        starts,
        batches,
        heads,
        width,
        queries,
        keys,
        scale: op.scale,
        softcap: op.softcap.unwrap_or(0.0),
        window: [op.left, op.right].map(|reach| reach.unwrap_or(usize::MAX)),
    };
    launch::flash_attn(&attention, &mut out)?;
    Ok(out)
}

/// Batch, positions, heads and elements; of three dimensions, one batch.
fn sizes(dims: &[usize]) -> [usize; 4] {
    let mut all = [1; 4];
    all[4 - dims.len()..].copy_from_slice(dims);
    all
}

/// An operand of `rank` dimensions, the last of which is contiguous.
pub(super) fn operand<'a>(
    op: &str,
    what: &str,
    view: View<'a>,
    dtype: DType,
    rank: usize,
) -> Result<Operand<'a>> {
    Error::unless_same_dtype(op, dtype, view.buffer().dtype())?;
    let region = view.check(op)?;
    if region.dims().len() != rank {
        let reason = format!("{what} of {:?}, expected {rank} dimensions", region.dims());
        return Err(Error::shape(op, reason));
    }
    let all = region.strides();
    if region.numel() > 0 && region.dims()[rank - 1] > 1 && all[rank - 1] != 1 {
        return Err(Error::not_contiguous(op, &format!("heads of the {what}")));
    }
    let mut strides = [0; 3];
    strides[4 - rank..].copy_from_slice(&all[..rank - 1]);
    Ok(Operand { region, strides })
}

/// Contiguous elements of these dims.
pub(super) fn list<'a>(
    op: &str,
    what: &str,
    view: View<'a>,
    dtype: DType,
    dims: &[usize],
) -> Result<Region<'a>> {
    Error::unless_same_dtype(op, dtype, view.buffer().dtype())?;
    let region = view.check(op)?;
    if region.dims() != dims {
        let reason = format!("{what} of {:?}, expected {dims:?}", region.dims());
        return Err(Error::shape(op, reason));
    }
    if region.numel() > 0 && !region.is_contiguous() {
        return Err(Error::not_contiguous(op, what));
    }
    Ok(region)
}

/// The lists of starts, the number of batches, and the queries of the longest one.
fn starts<'a>(lengths: &Lengths<'a>, queries: usize, keys: usize) -> Result<([Region<'a>; 2], usize, usize)> {
    let (of_query, of_key) = (lengths.query_starts, lengths.key_starts);
    let count = of_query.dims().first().copied().unwrap_or_default();
    let (query_starts, places) = places(OP, "starts of queries", of_query, count, queries)?;
    let longest = longest(OP, &places, queries)?;
    let (key_starts, _) = self::places(OP, "starts of keys", of_key, count, keys)?;
    Ok(([query_starts, key_starts], count - 1, longest))
}

/// A list of `count` places, which come to the host: they ascend from 0 to `end` at most.
pub(super) fn places<'a>(
    op: &str,
    what: &str,
    view: View<'a>,
    count: usize,
    end: usize,
) -> Result<(Region<'a>, Vec<usize>)> {
    let region = list(op, what, view, DType::U32, &[count])?;
    let all: Vec<u32> = region.buffer().download()?;
    let places: Vec<usize> = all.into_iter().map(|place| place as usize).collect();
    let places = places
        .get(region.offset()..region.offset() + count)
        .unwrap_or(&[]);
    let ordered = places.windows(2).all(|pair| pair[0] <= pair[1]);
    if !ordered || places.first() != Some(&0) || places.last().is_none_or(|last| *last > end) {
        let reason = format!("{what} {places:?}: they ascend from 0 to {end} at most");
        return Err(Error::shape(op, reason));
    }
    Ok((region, places.to_vec()))
}

/// The longest of the batches that start at these places, of which the last one ends with the queries.
pub(super) fn longest(op: &str, places: &[usize], queries: usize) -> Result<usize> {
    let last = places.last().copied();
    if last != Some(queries) {
        let reason =
            format!("the last batch ends at query {last:?} of {queries}: every query belongs to one");
        return Err(Error::shape(op, reason));
    }
    let each = places.windows(2).map(|pair| pair[1] - pair[0]);
    Ok(each.max().unwrap_or_default())
}
