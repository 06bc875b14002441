//! The calls of the reductions.

use parity_model::op::{Keep, Reduce};

use super::candle;

candle! {
    fn row((Reduce, Keep)) {
        (Reduce::Sum, Keep::Nothing) => |x; dims: Vec<usize>| x.sum(dims)?;
        (Reduce::Sum, Keep::One) => |x; dims: Vec<usize>| x.sum_keepdim(dims)?;
        (Reduce::Sum, Keep::Scalar) => |x| x.sum_all()?;
        (Reduce::Mean, Keep::Nothing) => |x; dims: Vec<usize>| x.mean(dims)?;
        (Reduce::Mean, Keep::One) => |x; dims: Vec<usize>| x.mean_keepdim(dims)?;
        (Reduce::Mean, Keep::Scalar) => |x| x.mean_all()?;
        (Reduce::Min, Keep::Nothing) => |x; dim: usize| x.min(dim)?;
        (Reduce::Min, Keep::One) => |x; dim: usize| x.min_keepdim(dim)?;
        (Reduce::Min, Keep::Scalar) => |x| x.min_all()?;
        (Reduce::Max, Keep::Nothing) => |x; dim: usize| x.max(dim)?;
        (Reduce::Max, Keep::One) => |x; dim: usize| x.max_keepdim(dim)?;
        (Reduce::Max, Keep::Scalar) => |x| x.max_all()?;
        (Reduce::ArgMin, Keep::Nothing) => |x; dim: usize| x.argmin(dim)?;
        (Reduce::ArgMin, Keep::One) => |x; dim: usize| x.argmin_keepdim(dim)?;
        (Reduce::ArgMax, Keep::Nothing) => |x; dim: usize| x.argmax(dim)?;
        (Reduce::ArgMax, Keep::One) => |x; dim: usize| x.argmax_keepdim(dim)?;
        (Reduce::Var, Keep::Nothing) => |x; dim: usize| x.var(dim)?;
        (Reduce::Var, Keep::One) => |x; dim: usize| x.var_keepdim(dim)?;
        (Reduce::LogSumExp, Keep::Nothing) => |x; dims: Vec<usize>| x.log_sum_exp(dims)?;
        (Reduce::CumSum, Keep::Nothing) => |x; dim: usize| x.cumsum(dim)?;
        (Reduce::Norm, Keep::Scalar) => |x| x.norm()?;
    } without {
        // candle has no such forms, and neither has the table of ops.
        (Reduce::ArgMin | Reduce::ArgMax | Reduce::Var, Keep::Scalar)
        | (Reduce::LogSumExp | Reduce::CumSum, Keep::One | Keep::Scalar)
        | (Reduce::Norm, Keep::Nothing | Keep::One)
    }
}
