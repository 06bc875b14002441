//! New tokens for caches of keys and values in pages. Attention over such caches is `paged_attention` of crate candle-flash-attn.

use std::ops::Deref;

use rocm_backend::ops;

use super::storage::on_rocm;
use crate::{Result, Storage, Tensor, bail, op::BackpropOp};

const OP: &str = "rope_append";

/// Tokens that are new to some sequences, on a ROCm device: bf16, f16 or f32.
#[derive(Clone, Copy, Debug)]
pub struct NewTokens<'a> {
    /// (token, head, element).
    pub query: &'a Tensor,
    /// (token, head of keys, element).
    pub key: &'a Tensor,
    /// As the keys.
    pub value: &'a Tensor,
    /// Of the angles, (position, half as many as a head has elements).
    pub cos: &'a Tensor,
    /// As the cosines.
    pub sin: &'a Tensor,
    /// u32: the place of each token in its sequence, which is the row of its angles.
    pub positions: &'a Tensor,
    /// u32: where each token goes in the caches, its page times the positions of a page plus the position there.
    pub slots: &'a Tensor,
    /// Whether neighbours are turned, as candle-nn's `rope_i` does, or elements half a head apart, as `rope`.
    pub neighbours: bool,
}

/// Turns queries and keys by their positions, and writes keys and values into the caches, in place and in one launch. Gives the queries,
/// (token, head, element). Caches are (page, position, head of keys, element), with a power of two of positions a page. It has no
/// gradient, and refuses tensors that want one.
///
/// ```ignore
/// // A decode step of two sequences, whose next tokens are numbers 5 and 9 and go to pages 3 and 0 of 16 positions.
/// let query = rocm::rope_append(&NewTokens { query: &q, key: &k, value: &v, cos: &cos, sin: &sin,
///     positions: &Tensor::new(&[5u32, 9], &gpu)?, slots: &Tensor::new(&[3 * 16 + 5u32, 9], &gpu)?, neighbours: false },
///     &key_cache, &value_cache)?;
/// ```
///
/// # Errors
/// For tensors that are not on one ROCm device, caches that are one tensor, and what [`ops::rope_append`] refuses. A position or a slot
/// that there is not is an error of the call that waits for the device next; its token is left out.
pub fn rope_append(new: &NewTokens<'_>, key_cache: &Tensor, value_cache: &Tensor) -> Result<Tensor> {
    let given = [
        new.query,
        new.key,
        new.value,
        new.cos,
        new.sin,
        key_cache,
        value_cache,
    ];
    if given.iter().any(|tensor| tensor.track_op()) {
        bail!("rope_append has no gradient: detach the tensors that have one")
    }
    let lists = [new.cos, new.sin, new.positions, new.slots];
    let [cos, sin, positions, slots] = lists.map(Tensor::contiguous);
    let operands = [
        &adjacent(new.query)?,
        &adjacent(new.key)?,
        &adjacent(new.value)?,
        &cos?,
        &sin?,
        &positions?,
        &slots?,
    ];
    let caches = [key_cache, value_cache];
    let shares = |cache: &Tensor| operands.iter().any(|operand| operand.same_storage(cache));
    if key_cache.same_storage(value_cache) || caches.into_iter().any(shares) {
        bail!("rope_append: a cache shares its memory with another tensor of the call")
    }
    let held = operands.map(Tensor::storage_and_layout);
    let mut views = Vec::with_capacity(held.len());
    for (storage, layout) in &held {
        views.push(on_rocm(OP, storage.deref(), layout)?.1);
    }
    let (beside, _) = on_rocm(OP, held[0].0.deref(), held[0].1)?;
    let (mut keys, mut values) = (key_cache.storage_mut(), value_cache.storage_mut());
    let (Storage::Rocm(keys), Storage::Rocm(values)) = (&mut *keys, &mut *values) else {
        bail!("rope_append: a cache is not on a ROCm device")
    };
    let tokens = ops::NewTokens {
        query: views[0],
        key: views[1],
        value: views[2],
        cos: views[3],
        sin: views[4],
        positions: views[5],
        slots: views[6],
        neighbours: new.neighbours,
    };
    let out = ops::rope_append(
        &tokens,
        keys.view_mut(key_cache.layout()),
        values.view_mut(value_cache.layout()),
    )?;
    let storage = Storage::Rocm(beside.beside(out));
    Ok(Tensor::from_storage(
        storage,
        new.query.shape().clone(),
        BackpropOp::none(),
        false,
    ))
}

/// The tensor with the elements of a head one after the other.
fn adjacent(x: &Tensor) -> Result<Tensor> {
    let is_adjacent = x.dims().last() == Some(&1) || x.stride().last() == Some(&1);
    if is_adjacent {
        Ok(x.clone())
    } else {
        x.contiguous()
    }
}
