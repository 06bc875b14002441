//! In front of upstream's attention, which reads the CPU's memory: on a ROCm device the kernel of flash attention, without a matrix of scores. A
//! mask and ALiBi, which that kernel does not take in upstream's form, are composed of other ops.

use candle::rocm_backend::ops::{self as kernels, Attention, WIDEST_HEAD};

/// Upstream's attention, of the same arguments, on a ROCm device too. There a batch of any size may have a mask or a soft cap.
pub fn flash_attn<T>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    attn_mask: AttnMask,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor>
where
    T: WithDType + num_traits::Float,
{
    if !q.device().is_rocm() {
        return elsewhere_flash_attn::<T>(q, k, v, softmax_scale, attn_mask, max_bias, softcap);
    }
    if q.dtype() != T::DTYPE {
        candle::bail!(
            "flash_attn: queries of {} and a function of {}",
            q.dtype().as_str(),
            T::DTYPE.as_str()
        )
    }
    let (own, keys, values) = (q.dims(), k.dims4()?, v.dims4()?);
    let fits = own.len() == 4
        && (own[0], own[3]) == (keys.0, keys.3)
        && (keys.0, keys.1, keys.2) == (values.0, values.1, values.2)
        && keys.2 > 0
        && own[2].is_multiple_of(keys.2);
    if !fits {
        candle::bail!(
            "flash_attn: queries are {own:?}, keys {:?} and values {:?}",
            k.dims(),
            v.dims()
        )
    }
    let rocm = OnRocm {
        scale: softmax_scale,
        softcap: softcap.map(f32::abs).filter(|cap| *cap > 0.0),
        max_bias: max_bias.filter(|bias| *bias > 0.0),
    };
    // Values have as many elements as keys there.
    let of_kernel = matches!(q.dtype(), DType::F32 | DType::F16 | DType::BF16)
        && q.dim(3)? <= WIDEST_HEAD
        && k.dims() == v.dims();
    let out = match (&attn_mask, rocm.max_bias) {
        (AttnMask::None, _) if of_kernel => rocm.kernel(q, k, v, None)?,
        (AttnMask::Causal { kv_offset }, None) if of_kernel => {
            // The kernel has the last query at the last key's place. Keys after all queries' reach are left out.
            let (queries, keys) = (q.dim(1)?, k.dim(1)?);
            let seen = keys.min(queries + kv_offset);
            let further = queries + kv_offset - seen;
            rocm.kernel(q, &k.narrow(1, 0, seen)?, &v.narrow(1, 0, seen)?, Some(further))?
        }
        (mask, _) => return rocm.composed(q, k, v, mask),
    };
    out.transpose(1, 2)?.contiguous()
}

/// What is asked for beside queries, keys and values.
struct OnRocm {
    scale: f32,
    softcap: Option<f32>,
    max_bias: Option<f32>,
}

impl OnRocm {
    /// Of each query the keys up to `further` places after its own, or all of them: a result of the queries' shape.
    fn kernel(&self, q: &Tensor, k: &Tensor, v: &Tensor, further: Option<usize>) -> Result<Tensor> {
        let (scale, softcap, mask) = (self.scale, self.softcap, further);
        let composed = |_: &Tensor, _: &Tensor, _: &Tensor| -> Result<Tensor> {
            candle::bail!("flash_attn has no gradient, as on the CPU")
        };
        let kernel = move |query: candle::rocm_backend::View<'_>,
                           key: candle::rocm_backend::View<'_>,
                           value: candle::rocm_backend::View<'_>| {
            let out = kernels::flash_attn(&Attention {
                query,
                key,
                value,
                scale,
                left: None,
                right: mask,
                softcap,
                slopes: None,
                lengths: None,
            })?;
            Ok((out, query.dims().into()))
        };
        let operands = [q.contiguous()?, k.contiguous()?, v.contiguous()?];
        candle::rocm::fused3("flash-attn", operands.each_ref(), composed, kernel)
    }

    /// With a matrix of scores for each head, in f32 (f64 for f64): a result of `[batch, heads, queries, width]`.
    fn composed(&self, q: &Tensor, k: &Tensor, v: &Tensor, mask: &AttnMask) -> Result<Tensor> {
        let wide = if q.dtype() == DType::F64 {
            DType::F64
        } else {
            DType::F32
        };
        let by_heads = |x: &Tensor| x.to_dtype(wide)?.transpose(1, 2)?.contiguous();
        let queries = by_heads(q)?;
        let (batch, heads, rows, _) = queries.dims4()?;
        // A head of keys serves several of queries.
        let repeated = |x: &Tensor| {
            let x = by_heads(x)?;
            let (_, of, keys, width) = x.dims4()?;
            let each = heads / of;
            x.unsqueeze(2)?
                .expand((batch, of, each, keys, width))?
                .reshape((batch, heads, keys, width))
        };
        let (keys, values) = (repeated(k)?, repeated(v)?);
        let columns = keys.dim(2)?;
        let mut scores = (queries.matmul(&keys.t()?)? * f64::from(self.scale))?;
        if let Some(cap) = self.softcap {
            scores = ((scores / f64::from(cap))?.tanh()? * f64::from(cap))?;
        }
        let device = q.device();
        let slopes = match self.max_bias {
            Some(bias) => {
                let steps = heads.next_power_of_two() as f32;
                let slopes: Vec<f32> = (1..=heads)
                    .map(|head| 2f32.powf(-bias * head as f32 / steps))
                    .collect();
                Some(Tensor::from_vec(slopes, (heads, 1, 1), device)?.to_dtype(wide)?)
            }
            None => None,
        };
        let scaled = |bias: Tensor| match &slopes {
            Some(slopes) => slopes.broadcast_mul(&bias),
            None => Ok(bias),
        };
        match mask {
            AttnMask::None => {}
            AttnMask::Mask(mask) => {
                let mask = mask.to_dtype(wide)?.reshape((rows, columns))?;
                scores = scores.broadcast_add(&scaled(mask)?)?;
            }
            AttnMask::Causal { kv_offset } => {
                if slopes.is_some() {
                    let places: Vec<f32> = (0..columns)
                        .map(|key| key as f32 - (columns - 1) as f32)
                        .collect();
                    let places = Tensor::from_vec(places, (1, columns), device)?.to_dtype(wide)?;
                    scores = scores.broadcast_add(&scaled(places)?)?;
                }
                let hidden = |row: usize| {
                    (0..columns).map(move |key| {
                        if key > row + kv_offset {
                            f32::NEG_INFINITY
                        } else {
                            0.0
                        }
                    })
                };
                let hidden: Vec<f32> = (0..rows).flat_map(hidden).collect();
                scores = scores
                    .broadcast_add(&Tensor::from_vec(hidden, (rows, columns), device)?.to_dtype(wide)?)?;
            }
        }
        let weights = crate::ops::softmax(&scores, candle::D::Minus1)?;
        weights.matmul(&values)?.to_dtype(q.dtype())
    }
}
