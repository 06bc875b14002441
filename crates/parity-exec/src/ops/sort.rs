//! The calls of the sorts along the last dimension.

use parity_model::op::Sort;

use super::candle;

candle! {
    fn row(Sort) {
        Sort::ArgSortAsc => |x| x.arg_sort_last_dim(true)?;
        Sort::ArgSortDesc => |x| x.arg_sort_last_dim(false)?;
        Sort::SortAsc => |x| x.sort_last_dim(true)?.0;
        Sort::SortDesc => |x| x.sort_last_dim(false)?.0;
    }
}
