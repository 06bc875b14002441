//! Products of matrices, and of lists.

use parity_model::Op;
use parity_model::op::Matmul;

use super::{Answer, binary};
use crate::dot::{SOURCE, dot};
use crate::expected::Call;
use crate::numbers::{Numbers, indices};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Matmul) -> Answer {
    let (l, r) = (Numbers::of(&call.args[0]), Numbers::of(&call.args[1]));
    let (left, right) = (&call.args[0].shape, &call.args[1].shape);
    let (rank, k) = (call.shape.len(), left.last().copied().unwrap_or(0));
    let elements = match op {
        Matmul::Matmul | Matmul::BroadcastMatmul => {
            let (m, n) = (call.shape[rank - 2], call.shape[rank - 1]);
            let element = |index: Vec<usize>| {
                let (batch, [row, column]) = (&index[..rank - 2], [index[rank - 2], index[rank - 1]]);
                let of = |shape: &[usize]| binary::place(batch, &shape[..shape.len() - 2]);
                let (batch_l, batch_r) = (of(left), of(right));
                let term = |i| ((batch_l * m + row) * k + i, (batch_r * k + i) * n + column);
                dot(call.sums, call.dtype, &l, &r, (0..k).map(term))
            };
            indices(&call.shape).map(element).collect()
        }
        Matmul::Mv => (0..call.shape[0])
            .map(|row| dot(call.sums, call.dtype, &l, &r, (0..k).map(|i| (row * k + i, i))))
            .collect(),
        Matmul::Dot if call.dtype.is_float() => return super::of_parts(call, Op::Matmul(op)),
        Matmul::Dot => vec![dot(call.sums, call.dtype, &l, &r, (0..k).map(|i| (i, i)))],
    };
    (elements, SOURCE.to_owned())
}

/// The product on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Matmul) -> Tensor<'t> {
    let (l, r) = (call.x(0), call.x(1));
    match op {
        Matmul::Matmul => l.matmul(r),
        Matmul::Mv => l.matmul(r.reshaped(&[r.count(), 1])).reshaped(call.output),
        Matmul::Dot => (l * r).sum(&[0]).reshaped(&[]),
        Matmul::BroadcastMatmul => {
            let batch = &call.output[..call.output.len() - 2];
            let whole = |x: Tensor<'t>| {
                let own = x.shape();
                x.broadcast(&[batch, &own[own.len() - 2..]].concat())
            };
            whole(l).matmul(whole(r))
        }
    }
}
