//! Products of matrices.

use parity_model::op::Matmul;

use super::Answer;
use crate::dot::{SOURCE, dot};
use crate::expected::Call;
use crate::numbers::{Numbers, indices};

pub(crate) fn answer(call: &Call<'_>, op: Matmul) -> Answer {
    let Matmul::Matmul = op;
    let (l, r) = (Numbers::of(&call.args[0]), Numbers::of(&call.args[1]));
    let rank = call.shape.len();
    let (m, n) = (call.shape[rank - 2], call.shape[rank - 1]);
    let k = call.args[0].shape[rank - 1];
    let element = |index: Vec<usize>| {
        let batch = crate::numbers::ravel(&index[..rank - 2], &call.shape[..rank - 2]);
        let (row, column) = (index[rank - 2], index[rank - 1]);
        let terms = (0..k).map(|i| ((batch * m + row) * k + i, (batch * k + i) * n + column));
        dot(call.arithmetic, call.dtype, &l, &r, terms)
    };
    (indices(&call.shape).map(element).collect(), SOURCE.to_owned())
}
