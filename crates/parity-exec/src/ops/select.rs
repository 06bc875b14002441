//! The call of the choice between two tensors.

use parity_model::op::Where;

use super::candle;

candle! {
    fn row(Where) {
        Where::WhereCond => |condition, yes, no| condition.where_cond(&yes, &no)?;
    }
}
