//! Wrong outputs, by where the fault lies.

pub(crate) mod arguments;
pub(crate) mod arithmetic;
pub(crate) mod order;
pub(crate) mod output;

use parity_model::HostTensor;

/// `tensor` with each element replaced by what `f` makes of its place and its bits.
fn map(tensor: &HostTensor, mut f: impl FnMut(usize, u64) -> u64) -> HostTensor {
    let size = tensor.dtype.size();
    let mut bytes = Vec::with_capacity(tensor.bytes.len());
    for i in 0..tensor.len() {
        bytes.extend_from_slice(&f(i, tensor.bits(i)).to_le_bytes()[..size]);
    }
    HostTensor {
        dtype: tensor.dtype,
        shape: tensor.shape.clone(),
        bytes,
    }
}

/// `tensor` with the elements of each line along `dim` in reverse order.
fn reversed(tensor: &HostTensor, dim: usize) -> HostTensor {
    let extent = tensor.shape[dim];
    let inner: usize = tensor.shape[dim + 1..].iter().product();
    map(tensor, |i, _| {
        let at = i / inner % extent;
        tensor.bits(i + (extent - 1 - at) * inner - at * inner)
    })
}
