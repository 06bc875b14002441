//! candle-flash-attn's functions on AMD GPUs: `softmax(q kᵀ · scale) v` without the matrix of scores.
//!
//! Queries are (batch, position, head, element); keys and values as well, with as many heads or a divisor of them. The
//! functions with `varlen` take (position, head, element) and where each batch starts. The dtype is bf16, f16 or f32. A head has
//! 256 elements at most; where they do not follow one another, the operand is copied first.
//!
//! On `Device::Rocm` a kernel of `rocm-backend` runs. On another device the result is composed of candle's own ops, and so
//! are gradients everywhere.
//!
//! ```
//! use candle_core::{Device, Tensor};
//!
//! # fn main() -> candle_core::Result<()> {
//! let device = Device::new_rocm(0)?;
//! let q = Tensor::randn(0f32, 1., (1, 5, 4, 32), &device)?;
//! let kv = Tensor::randn(0f32, 1., (1, 5, 2, 32), &device)?;
//! let out = candle_flash_attn::flash_attn(&q, &kv, &kv, 0.125, true)?;
//! assert_eq!(out.dims(), q.dims());
//! # Ok(())
//! # }
//! ```

mod composed;

use candle_core::rocm_backend::ops::{self, Attention, Lengths, PagedAttention, WIDEST_HEAD};
use candle_core::rocm_backend::{DynBuffer, View};
use candle_core::{DType, Result, Shape, Storage, Tensor, bail};

/// What all functions have beside queries, keys and values.
#[derive(Clone)]
struct AttentionOptions {
    scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
    softcap: Option<f32>,
    alibi_slopes: Option<Tensor>,
    /// Starts of queries and of keys.
    lengths: Option<[Tensor; 2]>,
    /// The table of pages, and the lengths of keys.
    pages: Option<[Tensor; 2]>,
}

impl AttentionOptions {
    fn new(
        scale: f32,
        window_size_left: Option<usize>,
        window_size_right: Option<usize>,
    ) -> AttentionOptions {
        AttentionOptions {
            scale,
            window_size_left,
            window_size_right,
            softcap: None,
            alibi_slopes: None,
            lengths: None,
            pages: None,
        }
    }

    fn causal(scale: f32, causal: bool) -> AttentionOptions {
        AttentionOptions::new(scale, None, causal.then_some(0))
    }

    fn alibi(self, slopes: Option<&Tensor>) -> AttentionOptions {
        AttentionOptions {
            alibi_slopes: slopes.cloned(),
            ..self
        }
    }

    fn softcap(self, softcap: f32) -> AttentionOptions {
        AttentionOptions {
            softcap: Some(softcap).filter(|cap| *cap > 0.0),
            ..self
        }
    }

    /// `longest` are the lengths that the caller takes for the longest of queries and of keys.
    fn lengths(self, query: &Tensor, key: &Tensor, longest: [usize; 2]) -> Result<AttentionOptions> {
        for (what, starts, longest) in [("queries", query, longest[0]), ("keys", key, longest[1])] {
            if starts.dtype() != DType::U32 {
                bail!("flash-attn: starts of {what} are u32, not {:?}", starts.dtype());
            }
            let places = starts.to_vec1::<u32>()?;
            let found = places
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0]) as usize);
            let found = found.max().unwrap_or_default();
            if found > longest {
                bail!("flash-attn: {found} {what} in a batch, and {longest} at most were announced");
            }
        }
        Ok(AttentionOptions {
            lengths: Some([query.clone(), key.clone()]),
            ..self
        })
    }

    /// With keys and values in pages.
    fn pages(self, cache: &Tensor, table: &Tensor, lengths: &Tensor) -> Result<AttentionOptions> {
        let (pages, page, heads, width) = cache.dims4()?;
        if !page.is_power_of_two() {
            bail!("flash-attn: pages of {page} positions, expected a power of two");
        }
        if pages == 0 || heads == 0 || width == 0 {
            bail!("flash-attn: {pages} pages, and {heads} heads of {width} elements");
        }
        let numbers = |what: &str, list: &Tensor| match list.dtype() {
            DType::U32 => Ok(list.clone()),
            other if other.is_int() => list.to_dtype(DType::U32),
            other => bail!("flash-attn: {what} of {}, expected u32", other.as_str()),
        };
        Ok(AttentionOptions {
            pages: Some([numbers("a table", table)?, numbers("lengths", lengths)?]),
            ..self
        })
    }

    fn run(mut self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        // The kernel reads lists as they lie.
        let lists = self.lengths.iter_mut().chain(&mut self.pages).flatten();
        for list in self.alibi_slopes.iter_mut().chain(lists) {
            *list = list.contiguous()?;
        }
        let operands = [adjacent(q)?, adjacent(k)?, adjacent(v)?];
        if k.dims() != v.dims() {
            bail!("flash-attn: keys are {:?}, and values {:?}", k.dims(), v.dims());
        }
        let on_device = self.clone();
        candle_core::rocm::fused3(
            "flash-attn",
            operands.each_ref(),
            move |q, k, v| composed::attention(&self, q, k, v),
            move |q, k, v| on_device.launch(q, k, v),
        )
    }

    fn launch(&self, query: View<'_>, key: View<'_>, value: View<'_>) -> Result<(DynBuffer, Shape)> {
        let slopes = self.alibi_slopes.as_ref().map(Tensor::storage_and_layout);
        let starts = self.lengths.as_ref();
        let starts = starts.map(|starts| starts.each_ref().map(Tensor::storage_and_layout));
        let slopes = slopes.as_ref().map(|(storage, layout)| view(storage, layout));
        if let Some(pages) = &self.pages {
            let [table, lengths] = pages.each_ref().map(Tensor::storage_and_layout);
            let of_query = starts.as_ref().map(|[query, _]| view(&query.0, query.1));
            let out = ops::paged_attention(&PagedAttention {
                query,
                key,
                value,
                table: view(&table.0, table.1)?,
                lengths: view(&lengths.0, lengths.1)?,
                query_starts: of_query.transpose()?,
                scale: self.scale,
                left: self.window_size_left,
                right: self.window_size_right,
                softcap: self.softcap,
                slopes: slopes.transpose()?,
            })?;
            return Ok((out, query.dims().into()));
        }
        let lengths = match &starts {
            Some([query, key]) => Some(Lengths {
                query_starts: view(&query.0, query.1)?,
                key_starts: view(&key.0, key.1)?,
            }),
            None => None,
        };
        let out = ops::flash_attn(&Attention {
            query,
            key,
            value,
            scale: self.scale,
            left: self.window_size_left,
            right: self.window_size_right,
            softcap: self.softcap,
            slopes: slopes.transpose()?,
            lengths,
        })?;
        Ok((out, query.dims().into()))
    }
}

/// The operand with the elements of a head one after the other.
fn adjacent(x: &Tensor) -> Result<Tensor> {
    let width = x.dim(candle_core::D::Minus1)?;
    if width > WIDEST_HEAD {
        bail!("flash-attn: heads of {width} elements, at most {WIDEST_HEAD}");
    }
    match width > 1 && x.stride().last() != Some(&1) {
        true => x.contiguous(),
        false => Ok(x.clone()),
    }
}

fn view<'a>(storage: &'a Storage, layout: &'a candle_core::Layout) -> Result<View<'a>> {
    match storage {
        Storage::Rocm(storage) => Ok(storage.view(layout)),
        _ => bail!("flash-attn: slopes or starts are on another device than the queries"),
    }
}

/// Attention; a query of a `causal` one sees the keys up to its own place. The last query is at the last key's place.
///
/// # Errors
/// For operands that do not fit together, as `rocm_backend::ops::flash_attn` says.
pub fn flash_attn(q: &Tensor, k: &Tensor, v: &Tensor, softmax_scale: f32, causal: bool) -> Result<Tensor> {
    AttentionOptions::causal(softmax_scale, causal).run(q, k, v)
}

/// As [`flash_attn`]; a query sees so many keys before its place, and so many after it. `None`: all.
///
/// # Errors
/// As [`flash_attn`].
pub fn flash_attn_windowed(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
) -> Result<Tensor> {
    AttentionOptions::new(softmax_scale, window_size_left, window_size_right).run(q, k, v)
}

/// As [`flash_attn`]; from each score the distance of query and key is taken, times the slope of the head, f32.
///
/// # Errors
/// As [`flash_attn`].
pub fn flash_attn_alibi(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: &Tensor,
    softmax_scale: f32,
    causal: bool,
) -> Result<Tensor> {
    AttentionOptions::causal(softmax_scale, causal)
        .alibi(Some(alibi_slopes))
        .run(q, k, v)
}

/// As [`flash_attn_alibi`] and [`flash_attn_windowed`] together.
///
/// # Errors
/// As [`flash_attn`].
pub fn flash_attn_alibi_windowed(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: &Tensor,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
) -> Result<Tensor> {
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right);
    call.alibi(Some(alibi_slopes)).run(q, k, v)
}

/// As [`flash_attn_alibi_windowed`]; scaled scores become `softcap · tanh(score / softcap)` first, unless it is 0.
///
/// # Errors
/// As [`flash_attn`].
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_alibi_windowed_softcap(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: Option<&Tensor>,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
    softcap: f32,
) -> Result<Tensor> {
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right);
    call.alibi(alibi_slopes).softcap(softcap).run(q, k, v)
}

/// As [`flash_attn_alibi_windowed_softcap`] over caches of keys and values in pages: (page, position, head, element), with a power of two of
/// positions a page. Batch `b` has `seqlens_k[b]` keys, which lie in the pages of row `b` of `block_table`, both u32 or other whole numbers. What a
/// row has beyond them is not read. candle-flash-attn has the same for batches of several lengths alone
/// ([`flash_attn_varlen_paged_windowed`]). `candle_core::rocm::rope_append` puts new tokens into the caches.
///
/// # Errors
/// As [`flash_attn`]. On a ROCm device a page or a length that there is not is an error of the call that waits for the device next.
#[expect(clippy::too_many_arguments, reason = "those of its neighbours, and the pages")]
pub fn paged_attention(
    q: &Tensor,
    key_cache: &Tensor,
    value_cache: &Tensor,
    block_table: &Tensor,
    seqlens_k: &Tensor,
    alibi_slopes: Option<&Tensor>,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
    softcap: f32,
) -> Result<Tensor> {
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right);
    call.alibi(alibi_slopes)
        .softcap(softcap)
        .pages(key_cache, block_table, seqlens_k)?
        .run(q, key_cache, value_cache)
}

/// As [`flash_attn_varlen_windowed`] over caches of keys and values in pages, as [`paged_attention`] has them: keys `seqlens_k[b]` to
/// `seqlens_k[b + 1]` of batch `b` lie in the pages of row `b` of `block_table`.
///
/// # Errors
/// As [`flash_attn_varlen`] and [`paged_attention`]; for pages of another length than `page_block_size`. `mm_prefix_ranges` are not known
/// here, and refused.
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen_paged_windowed(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    block_table: &Tensor,
    mm_prefix_ranges: Option<&Tensor>,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
    page_block_size: usize,
    softcap: Option<f32>,
) -> Result<Tensor> {
    if mm_prefix_ranges.is_some() {
        bail!("flash-attn: mm_prefix_ranges are not known here");
    }
    if k.dim(1)? != page_block_size {
        bail!(
            "flash-attn: keys of {:?} have no pages of {page_block_size} positions",
            k.dims()
        );
    }
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right)
        .softcap(softcap.unwrap_or(0.0));
    let call = call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?;
    let places = seqlens_k.to_vec1::<u32>()?;
    let lengths: Vec<u32> = places
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    let lengths = Tensor::new(lengths, q.device())?;
    call.pages(k, block_table, &lengths)?.run(q, k, v)
}

/// As [`flash_attn`] for batches of several lengths, one after the other: queries are (position, head, element). `seqlens_q` and
/// `seqlens_k`, u32, hold where each batch starts, and where the last one ends. `max_seqlen_q` and `max_seqlen_k` are the
/// lengths of the longest ones, or more.
///
/// # Errors
/// As [`flash_attn`]; for starts that do not ascend, and batches longer than the longest.
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
) -> Result<Tensor> {
    let call = AttentionOptions::causal(softmax_scale, causal);
    call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?
        .run(q, k, v)
}

/// As [`flash_attn_varlen`] and [`flash_attn_windowed`] together.
///
/// # Errors
/// As [`flash_attn_varlen`].
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen_windowed(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
) -> Result<Tensor> {
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right);
    call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?
        .run(q, k, v)
}

/// As [`flash_attn_varlen`] and [`flash_attn_alibi`] together.
///
/// # Errors
/// As [`flash_attn_varlen`].
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen_alibi(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
) -> Result<Tensor> {
    let call = AttentionOptions::causal(softmax_scale, causal).alibi(Some(alibi_slopes));
    call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?
        .run(q, k, v)
}

/// As [`flash_attn_varlen`] and [`flash_attn_alibi_windowed`] together.
///
/// # Errors
/// As [`flash_attn_varlen`].
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen_alibi_windowed(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: &Tensor,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
) -> Result<Tensor> {
    let call =
        AttentionOptions::new(softmax_scale, window_size_left, window_size_right).alibi(Some(alibi_slopes));
    call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?
        .run(q, k, v)
}

/// As [`flash_attn_varlen`] and [`flash_attn_alibi_windowed_softcap`] together.
///
/// # Errors
/// As [`flash_attn_varlen`].
#[expect(clippy::too_many_arguments, reason = "candle-flash-attn's arguments")]
pub fn flash_attn_varlen_alibi_windowed_softcap(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: Option<&Tensor>,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
    softcap: f32,
) -> Result<Tensor> {
    let call = AttentionOptions::new(softmax_scale, window_size_left, window_size_right);
    let call = call.alibi(alibi_slopes).softcap(softcap);
    call.lengths(seqlens_q, seqlens_k, [max_seqlen_q, max_seqlen_k])?
        .run(q, k, v)
}
