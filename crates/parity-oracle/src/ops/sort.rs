//! Stable sorting of rows.

use std::cmp::Ordering;

use parity_model::float::{Format, decode_int};
use parity_model::op::Sort;

use super::{Answer, exact};
use crate::expected::Call;

pub(crate) fn answer(call: &Call<'_>, op: Sort) -> Answer {
    let (x, width) = (&call.args[0], call.shape.last().copied().unwrap_or(1));
    let (descending, indices) = match op {
        Sort::ArgSortAsc => (false, true),
        Sort::ArgSortDesc => (true, true),
        Sort::SortAsc => (false, false),
        Sort::SortDesc => (true, false),
    };
    let rows = x.len().checked_div(width).unwrap_or(0);
    let row = |row: usize| {
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|a, b| {
            let (a, b) = (x.bits(row * width + a), x.bits(row * width + b));
            compare(call, a, b, descending)
        });
        let element = move |i: usize| {
            if indices {
                i as u64
            } else {
                x.bits(row * width + i)
            }
        };
        order.into_iter().map(element)
    };
    let elements = (0..rows).flat_map(row).map(exact).collect();
    (
        elements,
        "exact: the order is stable, NaN above every number".to_owned(),
    )
}

fn compare(call: &Call<'_>, a: u64, b: u64, descending: bool) -> Ordering {
    let dtype = call.case.dtype;
    let turn = |order: Ordering| if descending { order.reverse() } else { order };
    let Some(format) = Format::of(dtype) else {
        return turn(decode_int(dtype, a).cmp(&decode_int(dtype, b)));
    };
    let (a, b) = (format.decode(a), format.decode(b));
    // NaN is above every number, and no NaN is above another.
    turn(a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())))
}
