//! Faults that show in the output alone: made from the right output without asking what the op is.

use parity_model::float::{Format, decode_int, encode_int, int_range};
use parity_model::{DType, HostTensor};

use super::map;
use crate::subject::Subject;

/// Lanes of a wavefront on gfx1100.
const WAVEFRONT: usize = 32;
/// Threads of a workgroup of most kernels.
const WORKGROUP: usize = 256;

pub(crate) fn zeros(subject: &Subject<'_>) -> Vec<HostTensor> {
    vec![map(&subject.right, |_, _| 0)]
}

pub(crate) fn stale(subject: &Subject<'_>) -> Vec<HostTensor> {
    vec![subject.stale().clone()]
}

/// The right output up to the last multiple of `unit`, and `with` from there on.
fn tail(subject: &Subject<'_>, unit: usize, with: impl Fn(usize) -> u64) -> Vec<HostTensor> {
    let written = subject.right.len() / unit * unit;
    vec![map(
        &subject.right,
        |i, bits| if i < written { bits } else { with(i) },
    )]
}

pub(crate) fn wave_tail_zero(subject: &Subject<'_>) -> Vec<HostTensor> {
    tail(subject, WAVEFRONT, |_| 0)
}

pub(crate) fn wave_tail_stale(subject: &Subject<'_>) -> Vec<HostTensor> {
    tail(subject, WAVEFRONT, |i| subject.stale().bits(i))
}

pub(crate) fn group_tail_zero(subject: &Subject<'_>) -> Vec<HostTensor> {
    tail(subject, WORKGROUP, |_| 0)
}

pub(crate) fn group_tail_stale(subject: &Subject<'_>) -> Vec<HostTensor> {
    tail(subject, WORKGROUP, |i| subject.stale().bits(i))
}

pub(crate) fn first_lost(subject: &Subject<'_>) -> Vec<HostTensor> {
    vec![map(&subject.right, |i, bits| if i == 0 { 0 } else { bits })]
}

pub(crate) fn last_lost(subject: &Subject<'_>) -> Vec<HostTensor> {
    let last = subject.right.len().saturating_sub(1);
    vec![map(&subject.right, |i, bits| if i == last { 0 } else { bits })]
}

pub(crate) fn neighbour(subject: &Subject<'_>) -> Vec<HostTensor> {
    let right = &subject.right;
    vec![map(right, |i, _| right.bits((i + 1) % right.len()))]
}

pub(crate) fn row_repeated(subject: &Subject<'_>) -> Vec<HostTensor> {
    let right = &subject.right;
    match right.shape.split_last() {
        Some((width, [_, ..])) => vec![map(right, |i, _| right.bits(i % width))],
        Some((_, [])) | None => vec![],
    }
}

pub(crate) fn transposed(subject: &Subject<'_>) -> Vec<HostTensor> {
    let right = &subject.right;
    let [.., rows, columns] = right.shape[..] else {
        return vec![];
    };
    let matrix = rows * columns;
    let from = |i: usize| {
        let within = i % matrix;
        i - within + within % rows * columns + within / rows
    };
    vec![map(right, |i, _| right.bits(from(i)))]
}

pub(crate) fn wrong_sign(subject: &Subject<'_>) -> Vec<HostTensor> {
    let dtype = subject.right.dtype;
    vec![map(&subject.right, |_, bits| match Format::of(dtype) {
        Some(format) => bits ^ 1 << (format.bits - 1),
        None => encode_int(dtype, decode_int(dtype, bits).wrapping_neg()),
    })]
}

/// The output with each number replaced by what `f` makes of its value and its bits; none for integers.
fn floats(subject: &Subject<'_>, f: impl Fn(&Format, f64, u64) -> u64) -> Vec<HostTensor> {
    let format = Format::of(subject.right.dtype);
    let wrong = |format: Format| map(&subject.right, |_, bits| f(&format, format.decode(bits), bits));
    format.map(wrong).into_iter().collect()
}

pub(crate) fn nan_dropped(subject: &Subject<'_>) -> Vec<HostTensor> {
    floats(subject, |_, x, bits| if x.is_nan() { 0 } else { bits })
}

pub(crate) fn nan_made(subject: &Subject<'_>) -> Vec<HostTensor> {
    let right = &subject.right;
    let number = |format: &Format| {
        (0..right.len())
            .rev()
            .find(|&i| !format.decode(right.bits(i)).is_nan())
    };
    let Some((format, at)) =
        Format::of(right.dtype).and_then(|format| number(&format).map(|at| (format, at)))
    else {
        return vec![];
    };
    vec![map(
        right,
        |i, bits| if i == at { format.encode(f64::NAN) } else { bits },
    )]
}

pub(crate) fn subnormals_flushed(subject: &Subject<'_>) -> Vec<HostTensor> {
    floats(
        subject,
        |format, x, bits| {
            if x.abs() < format.min_normal() { 0 } else { bits }
        },
    )
    .into_iter()
    // A change of the sign of zeros alone does not count: zeros are not subnormals.
    .filter(|wrong| {
        (0..wrong.len()).any(|i| wrong.bits(i) != subject.right.bits(i) && is_not_zero(&subject.right, i))
    })
    .collect()
}

fn is_not_zero(tensor: &HostTensor, i: usize) -> bool {
    Format::of(tensor.dtype).is_none_or(|format| format.decode(tensor.bits(i)) != 0.0)
}

pub(crate) fn narrow_result(subject: &Subject<'_>) -> Vec<HostTensor> {
    let narrower = match subject.right.dtype {
        DType::F64 => Format::of(DType::F32),
        DType::F32 => Format::of(DType::BF16),
        _ => None,
    };
    let Some(narrower) = narrower else { return vec![] };
    floats(subject, |format, x, _| format.encode(narrower.round(x)))
}

pub(crate) fn f8_overflow_nan(subject: &Subject<'_>) -> Vec<HostTensor> {
    if subject.right.dtype != DType::F8E4M3 {
        return vec![];
    }
    floats(subject, |format, x, bits| {
        if x.abs() == format.max {
            format.encode(f64::NAN)
        } else {
            bits
        }
    })
}

/// One element, the first that can, is the first number beyond the oracle's own limit: a spec's override may be wider.
pub(crate) fn beyond_limit(subject: &Subject<'_>) -> Vec<HostTensor> {
    let derived = parity_oracle::expected(&subject.dense, &subject.args);
    let dtype = derived.dtype;
    let mut elements = derived.elements.iter().enumerate();
    let beyond = elements.find_map(|(i, element)| {
        let limit = element.limit;
        let bits = match Format::of(dtype) {
            Some(format) => float_beyond(&format, element.bits, limit.ulp, limit.abs),
            None => int_beyond(dtype, element.bits, limit.ulp + limit.abs),
        };
        bits.map(|bits| (i, bits))
    });
    let wrong = |(at, wrong)| map(&subject.right, |i, bits| if i == at { wrong } else { bits });
    beyond.map(wrong).into_iter().collect()
}

fn float_beyond(format: &Format, want: u64, ulp: f64, abs: f64) -> Option<u64> {
    let x = format.decode(want);
    if !x.is_finite() {
        return None;
    }
    let edge = x.abs() + ulp * format.ulp(x) + abs;
    if edge >= format.max {
        return None;
    }
    // Rounding down to the edge or up beyond it: at most two steps away from zero.
    let mut bits = format.encode(edge);
    while format.decode(bits) <= edge {
        bits += 1;
    }
    let sign = want & 1 << (format.bits - 1);
    Some(sign | bits)
}

fn int_beyond(dtype: DType, want: u64, allowed: f64) -> Option<u64> {
    let (min, max) = int_range(dtype)?;
    let (x, step) = (decode_int(dtype, want), allowed as i64 + 1);
    let other = x
        .checked_add(step)
        .filter(|x| *x <= max)
        .or(x.checked_sub(step).filter(|x| *x >= min));
    other.map(|x| encode_int(dtype, x))
}
