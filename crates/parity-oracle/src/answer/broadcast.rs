//! Binary ops on arguments that are broadcast to a common shape first.

use parity_model::HostTensor;
use parity_model::op::Binary;

use super::{Answer, elementwise};
use crate::expected::Call;
use crate::numbers::{indices, ravel};

pub(crate) fn answer(call: &Call<'_>, op: Binary) -> Answer {
    let args: Vec<HostTensor> = call.args.iter().map(|arg| repeated(arg, &call.shape)).collect();
    let call = Call {
        args: &args,
        shape: call.shape.clone(),
        ..*call
    };
    elementwise::binary(&call, op)
}

/// The place, in a tensor of shape `own`, of the element that a broadcast to a larger shape has at `index`.
pub(crate) fn place(index: &[usize], own: &[usize]) -> usize {
    let index = &index[index.len() - own.len()..];
    let index: Vec<usize> = index
        .iter()
        .zip(own)
        .map(|(i, extent)| if *extent == 1 { 0 } else { *i })
        .collect();
    ravel(&index, own)
}

fn repeated(x: &HostTensor, shape: &[usize]) -> HostTensor {
    let size = x.dtype.size();
    let element = |index: Vec<usize>| {
        let at = place(&index, &x.shape) * size;
        x.bytes[at..at + size].to_vec()
    };
    HostTensor {
        dtype: x.dtype,
        shape: shape.to_vec(),
        bytes: indices(shape).flat_map(element).collect(),
    }
}
