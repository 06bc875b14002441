//! The calls of a program's own ops: see [`crate::own`].

use parity_model::Op;

use super::Row;
use crate::own;

/// The row of every op of the family.
pub(super) const ROW: Row = Row {
    run: |args, scalars| {
        let Op::Own(op) = scalars.op else { return None };
        let fits = args.len() == scalars.op.arity() && scalars.op.takes_params(scalars.params.len());
        let registered = own::find(op).filter(|_| fits)?;
        Some((registered.call)(args, scalars.params))
    },
    text: |scalars| {
        let Op::Own(op) = scalars.op else { return None };
        Some(own::find(op)?.text(scalars.op.params(), scalars.params))
    },
};
