//! The same, composed of candle's ops: for devices without the kernel, and for gradients.

use candle_core::{DType, Device, Result, Tensor, bail};

use super::AttentionOptions;

/// The result of the kernel, with a matrix of scores for each head. Scores and weights are f32, f64 for f64.
pub(crate) fn attention(call: &AttentionOptions, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    if let Some([table, lengths]) = &call.pages {
        return paged(call, [q, k, v], table, lengths);
    }
    let Some(starts) = &call.lengths else {
        return batches(call, q, k, v);
    };
    let [of_query, of_key] = [starts[0].to_vec1::<u32>()?, starts[1].to_vec1::<u32>()?];
    if of_query.len() != of_key.len() || of_query.len() < 2 {
        bail!(
            "flash-attn: {} starts of queries, {} of keys",
            of_query.len(),
            of_key.len()
        );
    }
    let part = |x: &Tensor, starts: &[u32], batch: usize| {
        let [from, to] = [starts[batch] as usize, starts[batch + 1] as usize];
        x.narrow(0, from, to.saturating_sub(from))?.unsqueeze(0)
    };
    let mut parts = Vec::new();
    for batch in 0..of_query.len() - 1 {
        let queries = part(q, &of_query, batch)?;
        let [keys, values] = [part(k, &of_key, batch)?, part(v, &of_key, batch)?];
        parts.push(batches(call, &queries, &keys, &values)?.squeeze(0)?);
    }
    Tensor::cat(&parts, 0)
}

/// Each batch with its pages in a row.
fn paged(
    call: &AttentionOptions,
    [q, k, v]: [&Tensor; 3],
    table: &Tensor,
    lengths: &Tensor,
) -> Result<Tensor> {
    let (pages, page, heads, width) = k.dims4()?;
    let (batches_there, columns) = table.dims2()?;
    let lengths = lengths.to_vec1::<u32>()?;
    let starts = call.lengths.as_ref().map(|[starts, _]| starts.to_vec1::<u32>());
    let starts = starts.transpose()?;
    let sequences = starts
        .as_ref()
        .map_or(q.dim(0)?, |starts| starts.len().saturating_sub(1));
    if sequences != batches_there || lengths.len() != batches_there || page == 0 {
        bail!(
            "paged_attention: queries of {:?}, a table of {:?} and {} lengths",
            q.dims(),
            table.dims(),
            lengths.len()
        );
    }
    let mut parts = Vec::new();
    for (batch, length) in lengths.iter().map(|length| *length as usize).enumerate() {
        let used = length.div_ceil(page);
        if used > columns {
            bail!("paged_attention: {length} keys in {columns} pages of {page}");
        }
        let row = table.get(batch)?.narrow(0, 0, used)?.contiguous()?;
        if let Some(wrong) = row.to_vec1::<u32>()?.into_iter().find(|id| *id as usize >= pages) {
            bail!("paged_attention: page {wrong} of {pages}");
        }
        let in_a_row = |cache: &Tensor| {
            let pages = cache.contiguous()?.index_select(&row, 0)?;
            let pages = pages.reshape((used * page, heads, width))?;
            pages.narrow(0, 0, length)?.unsqueeze(0)
        };
        let part = match &starts {
            None => batches(call, &q.narrow(0, batch, 1)?, &in_a_row(k)?, &in_a_row(v)?)?,
            Some(starts) => {
                let [from, to] = [starts[batch] as usize, starts[batch + 1] as usize];
                let own = q.narrow(0, from, to.saturating_sub(from))?.unsqueeze(0)?;
                batches(call, &own, &in_a_row(k)?, &in_a_row(v)?)?.squeeze(0)?
            }
        };
        parts.push(part);
    }
    if parts.is_empty() {
        return q.zeros_like();
    }
    Tensor::cat(&parts, 0)
}

fn batches(call: &AttentionOptions, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (_, queries, heads, _) = q.dims4()?;
    let (_, keys, key_heads, _) = k.dims4()?;
    if key_heads == 0 || heads % key_heads != 0 {
        bail!("flash-attn: {heads} heads of queries are not a multiple of {key_heads} of keys");
    }
    if q.elem_count() == 0 || keys == 0 {
        return q.zeros_like();
    }
    let wide = if q.dtype() == DType::F64 {
        DType::F64
    } else {
        DType::F32
    };
    // (batch, head, position, element); a head of keys is repeated for those of queries that share it.
    let of_heads = |x: &Tensor| x.transpose(1, 2)?.contiguous();
    let shared = |x: &Tensor| {
        let (b, s, h, d) = x.dims4()?;
        let repeated = x.unsqueeze(3)?.expand((b, s, h, heads / key_heads, d))?;
        of_heads(&repeated.reshape((b, s, heads, d))?)
    };
    let keys_across = shared(k)?.to_dtype(wide)?.transpose(2, 3)?;
    let scores = of_heads(q)?.to_dtype(wide)?.matmul(&keys_across)?;
    let mut scores = (scores * f64::from(call.scale))?;
    if let Some(cap) = call.softcap.map(f64::from) {
        scores = ((scores / cap)?.tanh()? * cap)?;
    }
    let (distances, seen) = places(call, queries, keys, q.device())?;
    if let Some(slopes) = &call.alibi_slopes {
        let slopes = slopes.reshape((1, heads, 1, 1))?.to_dtype(wide)?;
        scores = scores.broadcast_sub(&slopes.broadcast_mul(&distances.to_dtype(wide)?)?)?;
    }
    let seen = seen.broadcast_as(scores.shape())?;
    let scores = seen.where_cond(&scores, &scores.zeros_like()?.affine(1.0, f64::MIN / 2.0)?)?;
    let weights = candle_nn::ops::softmax(&scores, 3)?;
    // A query that sees no key has the result 0.
    let weights = seen.where_cond(&weights, &weights.zeros_like()?)?;
    let values = shared(v)?.to_dtype(wide)?;
    weights
        .matmul(&values)?
        .to_dtype(q.dtype())?
        .transpose(1, 2)?
        .contiguous()
}

/// How far apart query and key are, f32, and whether the query sees the key, u8: (queries, keys).
fn places(call: &AttentionOptions, queries: usize, keys: usize, device: &Device) -> Result<(Tensor, Tensor)> {
    let (mut distances, mut seen) = (Vec::new(), Vec::new());
    for query in 0..queries {
        for key in 0..keys {
            let (own, key) = (query + keys, key + queries);
            let (before, after) = (own.saturating_sub(key), key.saturating_sub(own));
            distances.push((before + after) as f32);
            let reaches = |reach: Option<usize>, apart| reach.is_none_or(|reach| apart <= reach);
            let is_seen = reaches(call.window_size_left, before) && reaches(call.window_size_right, after);
            seen.push(u8::from(is_seen));
        }
    }
    Ok((
        Tensor::from_vec(distances, (queries, keys), device)?,
        Tensor::from_vec(seen, (queries, keys), device)?,
    ))
}
