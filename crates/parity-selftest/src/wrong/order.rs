//! Faults of order: which of equals, which of several writes, made by asking for the answer to the reversed question;
//! and ids that should have been refused.

use parity_model::HostTensor;
use parity_model::op::{Indexing, Keep, Op, Reduce, Sort};

use super::{map, reversed};
use crate::subject::Subject;

pub(crate) fn reversed_writes(subject: &Subject<'_>) -> Vec<HostTensor> {
    let dim = subject.case.params.first().map_or(0, |dim| *dim as usize);
    let (ids_dim, args) = match subject.case.op {
        Op::Indexing(Indexing::Scatter | Indexing::ScatterAdd) => (dim, &subject.args),
        // Its ids are a list.
        Op::Indexing(Indexing::IndexAdd) => (0, &subject.args),
        _ => return vec![],
    };
    let args = [
        args[0].clone(),
        reversed(&args[1], ids_dim),
        reversed(&args[2], dim),
    ];
    vec![subject.of_args(&args)]
}

/// The output for the argument reversed along `dim`, its indices counted from the other end.
fn from_the_end(subject: &Subject<'_>, dim: usize) -> HostTensor {
    let extent = subject.args[0].shape[dim] as u64;
    let found = subject.with_arg(0, reversed(&subject.args[0], dim));
    map(&found, |_, index| (extent - 1).wrapping_sub(index))
}

pub(crate) fn last_tie(subject: &Subject<'_>) -> Vec<HostTensor> {
    match (subject.case.op, subject.case.params.first()) {
        (Op::Reduce(Reduce::ArgMin | Reduce::ArgMax, Keep::Nothing), Some(dim)) => {
            vec![from_the_end(subject, *dim as usize)]
        }
        _ => vec![],
    }
}

pub(crate) fn unstable(subject: &Subject<'_>) -> Vec<HostTensor> {
    let Some(last) = subject.args[0].shape.len().checked_sub(1) else {
        return vec![];
    };
    match subject.case.op {
        Op::Sort(Sort::ArgSortAsc | Sort::ArgSortDesc) => vec![from_the_end(subject, last)],
        Op::Sort(Sort::SortAsc | Sort::SortDesc) => {
            vec![subject.with_arg(0, reversed(&subject.args[0], last))]
        }
        _ => vec![],
    }
}

/// For a case that has no right output, any.
pub(crate) fn accepted(subject: &Subject<'_>) -> Vec<HostTensor> {
    match subject.case.must_refuse() {
        true => vec![subject.right.clone()],
        false => vec![],
    }
}
