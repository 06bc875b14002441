//! Tensors as numbers, and places in row-major order.

use parity_model::HostTensor;
use parity_model::float::{Format, decode_int};

/// The elements of a tensor, row-major.
pub(crate) enum Numbers {
    /// Of a float dtype.
    Reals(Vec<f64>),
    /// Of an integer dtype.
    Ints(Vec<i64>),
}

impl Numbers {
    pub(crate) fn of(tensor: &HostTensor) -> Numbers {
        match Format::of(tensor.dtype) {
            Some(_) => Numbers::Reals(reals(tensor)),
            None => Numbers::Ints(ints(tensor)),
        }
    }
}

/// The elements of a float tensor.
pub(crate) fn reals(tensor: &HostTensor) -> Vec<f64> {
    let decode = |i| Format::of(tensor.dtype).map_or(f64::NAN, |format| format.decode(tensor.bits(i)));
    (0..tensor.len()).map(decode).collect()
}

/// The elements of an integer tensor.
pub(crate) fn ints(tensor: &HostTensor) -> Vec<i64> {
    (0..tensor.len())
        .map(|i| decode_int(tensor.dtype, tensor.bits(i)))
        .collect()
}

/// The place of an element in row-major order.
pub(crate) fn ravel(index: &[usize], shape: &[usize]) -> usize {
    index
        .iter()
        .zip(shape)
        .fold(0, |flat, (i, extent)| flat * extent + i)
}

/// Every index of a shape, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product::<usize>()).map(|flat| unravel(flat, shape))
}

/// The index of an element, from its place in row-major order.
pub(crate) fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        index[d] = flat % shape[d];
        flat /= shape[d];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_indices_are_inverse() {
        let shape = [2, 3, 4];
        for (flat, index) in indices(&shape).enumerate() {
            assert_eq!(ravel(&index, &shape), flat);
        }
        assert_eq!(unravel(23, &shape), [1, 2, 3]);
        assert_eq!(indices(&[]).count(), 1);
        assert_eq!(indices(&[2, 0]).count(), 0);
    }
}
