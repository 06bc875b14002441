//! The calls of the ops that read and write where a tensor of ids says.

use parity_model::op::Indexing;

use super::candle;

candle! {
    fn row(Indexing) {
        Indexing::IndexSelect => |x, ids; dim: usize| x.index_select(&ids, dim)?;
        Indexing::Gather => |x, ids; dim: usize| x.gather(&ids, dim)?;
        Indexing::Scatter => |x, ids, source; dim: usize| x.scatter(&ids, &source, dim)?;
        Indexing::ScatterAdd => |x, ids, source; dim: usize| x.scatter_add(&ids, &source, dim)?;
        Indexing::IndexAdd => |x, ids, source; dim: usize| x.index_add(&ids, &source, dim)?;
        // What writes in place gets a copy, so that the case's own tensor stays as it is.
        Indexing::ScatterSet => |x, ids, source; dim: usize| {
            let out = x.force_contiguous()?;
            out.scatter_set(&ids, &source, dim)?;
            out
        };
        Indexing::ScatterAddSet => |x, ids, source; dim: usize| {
            let out = x.force_contiguous()?;
            out.scatter_add_set(&ids, &source, dim)?;
            out
        };
    }
}
