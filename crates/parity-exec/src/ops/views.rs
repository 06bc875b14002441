//! Views of a tensor, a tensor written into another one, and candle-nn's caches.

use candle_core::{IndexOp as _, Result, Tensor};
use candle_nn::kv_cache::{KvCache, RotatingKvCache};
use parity_model::op::Copies;

use super::Call;

pub(super) fn views(op: Copies, call: &Call<'_>) -> Option<Result<Tensor>> {
    let dims = call.counts();
    match op {
        Copies::Narrow => {
            let [dim, start, len] = call.whole()?;
            Some(call.one()?.narrow(dim, start, len))
        }
        Copies::Index => {
            let ([dim, start, end], x) = (call.whole()?, call.one()?);
            match dim {
                0 => Some(x.i(start..end)),
                1 => Some(x.i((.., start..end))),
                2 => Some(x.i((.., .., start..end))),
                _ => None,
            }
        }
        Copies::GetOnDim => {
            let [dim, index] = call.whole()?;
            Some(call.one()?.get_on_dim(dim, index))
        }
        Copies::Transpose => {
            let [a, b] = call.whole()?;
            Some(call.one()?.transpose(a, b))
        }
        Copies::Permute => Some(call.one()?.permute(dims)),
        Copies::Squeeze => {
            let [dim] = call.whole()?;
            Some(call.one()?.squeeze(dim))
        }
        Copies::Unsqueeze => {
            let [dim] = call.whole()?;
            Some(call.one()?.unsqueeze(dim))
        }
        Copies::Flatten => {
            let [first, last] = call.whole()?;
            Some(call.one()?.flatten(first, last))
        }
        Copies::Reshape => Some(call.one()?.reshape(dims)),
        Copies::BroadcastAs => Some(call.one()?.broadcast_as(dims)),
        Copies::SliceAssign => match call.args {
            [x, source] if dims.len() == source.rank() => {
                let ends = dims.iter().zip(source.dims());
                let ranges: Vec<_> = ends.map(|(start, len)| *start..start + len).collect();
                Some(x.slice_assign(&ranges, source))
            }
            _ => None,
        },
        Copies::KvCache => call.two(|x, new, [dim, size]| {
            let mut cache = KvCache::new(dim, size);
            cache.append(x, x)?;
            Ok(cache.append(new, new)?.0)
        }),
        Copies::RotatingKvCache => call.two(|x, new, [dim, size]| {
            let mut cache = RotatingKvCache::new(dim, size);
            cache.append(x, x)?;
            Ok(cache.append(new, new)?.0)
        }),
        _ => None,
    }
}
