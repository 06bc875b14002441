//! The tensors of a call that is timed: values as the case's own, but of a large tensor only the first ones are made on the host, and
//! they repeat.

use std::sync::Arc;

use candle_core::{
    Device, Tensor,
    quantized::{QStorage, QTensor},
};
use parity_model::{Case, Op, op::Role};

use crate::{
    backend::CandleRunner,
    ops::{self, Scalars, quantized::PreparedCall},
    tensors,
};

/// Elements of an argument that are made on the host. Where it has more, they repeat.
const MADE: usize = 1 << 20;

/// Bytes of the tensors under the arguments.
pub(super) fn bytes(case: &Case) -> u64 {
    let each = case.args.iter().enumerate().filter_map(|(i, arg)| {
        let elements: usize = case.plan(i)?.base_shape.iter().product();
        Some((elements * arg.dtype.size()) as u64)
    });
    each.sum()
}

/// The case's call, on inputs of its own.
pub(super) fn call(case: &Case, device: &Device, seed: u64) -> Result<PreparedCall, String> {
    let words = |error: candle_core::Error| CandleRunner::words(&error);
    if matches!(case.op, Op::Grad(_)) {
        return Err("gradients are not timed: name the op".to_owned());
    }
    let role = |i: usize| case.op.roles().get(i).copied();
    let tensors = (0..case.args.len())
        .filter(|i| role(*i) != Some(Role::Blocks))
        .map(|i| argument(case, i, device, seed))
        .collect::<Result<Vec<_>, _>>()?;
    let blocks = (0..case.args.len()).find(|i| role(*i) == Some(Role::Blocks));
    if let (Op::Quantized(op), Some(at)) = (case.op, blocks) {
        let call = ops::quantized::prepared(op, weights(case, at, device, seed), &tensors).map_err(words)?;
        return call.ok_or_else(|| format!("{} does not take the case's arguments", case.op));
    }
    let case = case.clone();
    Ok(Box::new(move || {
        ops::apply(Scalars::of(&case), &tensors)
            .unwrap_or_else(|| candle_core::bail!("{} does not take the case's arguments", case.op))
    }))
}

/// Argument `i` as its layout says.
fn argument(case: &Case, i: usize, device: &Device, seed: u64) -> Result<Tensor, String> {
    let plan = case.plan(i).ok_or_else(|| {
        format!(
            "{} is impossible for {:?}",
            case.args[i].layout, case.args[i].shape
        )
    })?;
    let elements: usize = plan.base_shape.iter().product();
    let base = || {
        if elements <= MADE {
            return tensors::upload(&case.sample(i, &plan.base_shape, seed), device);
        }
        let made = tensors::upload(&case.sample(i, &[MADE], seed), device)?;
        let repeated = made.broadcast_as((elements.div_ceil(MADE), MADE))?.contiguous()?;
        // Whole repeats at most one too many: what is left over lies after the tensor's elements.
        let flat = repeated.flatten_all()?.narrow(0, 0, elements)?;
        flat.reshape(plan.base_shape.as_slice())
    };
    let view = base().and_then(|base| tensors::view(base, &plan));
    view.map_err(|error| CandleRunner::words(&error))
}

/// Argument `i`, which is blocks, as a tensor of weights.
fn weights(case: &Case, i: usize, device: &Device, seed: u64) -> candle_core::Result<Arc<QTensor>> {
    let (Some(format), Some(plan)) = (case.op.block_format(), case.plan(i)) else {
        candle_core::bail!("{} has no blocks", case.op)
    };
    let bytes: usize = plan.base_shape.iter().product();
    let made = (MADE / format.block_bytes() * format.block_bytes()).min(bytes);
    let made = case.sample(i, &[made], seed).bytes;
    let bytes: Vec<u8> = made.iter().copied().cycle().take(bytes).collect();
    let storage = QStorage::from_data(bytes.into(), device, tensors::candle_format(format))?;
    Ok(Arc::new(QTensor::new(storage, case.args[i].shape.as_slice())?))
}
