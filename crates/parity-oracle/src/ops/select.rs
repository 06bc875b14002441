//! The choice between two tensors.

use parity_model::op::Where;

use super::{Answer, moved};
use crate::expected::Call;

pub(crate) fn answer(call: &Call<'_>, op: Where) -> Answer {
    let Where::WhereCond = op;
    let (condition, yes, no) = (&call.args[0], &call.args[1], &call.args[2]);
    moved((0..yes.len()).map(|i| {
        let chosen = if condition.bits(i) != 0 { yes } else { no };
        chosen.bits(i)
    }))
}
