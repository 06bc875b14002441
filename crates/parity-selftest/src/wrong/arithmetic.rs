//! Faults of arithmetic: sums, overflow and rounding done another way.

use parity_model::float::{Format, decode_int, encode_int, int_range};
use parity_model::op::{Binary, Op, Unary};
use parity_model::{DType, HostTensor};
use parity_oracle::Sums;

use super::map;
use crate::subject::Subject;

/// Float sums one term after the other, each partial sum rounded to a format that is too narrow: that of the dtype for 16
/// and 8 bits, f16 for f32, f32 for f64. Sums that the op table wants in the dtype are then rounded but once.
struct Narrow;

impl Sums for Narrow {
    fn accumulator(&self, dtype: DType) -> Option<Format> {
        Format::of(match dtype {
            DType::F64 => DType::F32,
            DType::F32 => DType::F16,
            DType::F8E4M3
            | DType::BF16
            | DType::F16
            | DType::U8
            | DType::U32
            | DType::I16
            | DType::I32
            | DType::I64 => dtype,
        })
    }
}

/// Integer sums that stop at the ends of the dtype instead of wrapping.
struct Saturating;

impl Sums for Saturating {
    fn add(&self, dtype: DType, a: i64, b: i64) -> i64 {
        let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
        a.saturating_add(b).clamp(min, max)
    }
}

/// Ops that have sums of an argument's elements.
fn sums(op: Op) -> bool {
    matches!(
        op,
        Op::Reduce(..)
            | Op::Matmul(_)
            | Op::Conv(_)
            | Op::Pool(_)
            | Op::Indexing(_)
            | Op::Nn(_)
            | Op::Layers(_)
            | Op::Grad(_)
    )
}

pub(crate) fn narrow_sums(subject: &Subject<'_>) -> Vec<HostTensor> {
    match sums(subject.case.op) && subject.case.dtype.is_float() {
        true => vec![subject.with_sums(&Narrow)],
        false => vec![],
    }
}

pub(crate) fn tf32(subject: &Subject<'_>) -> Vec<HostTensor> {
    if !matches!(subject.case.op, Op::Matmul(_) | Op::Conv(_)) || subject.case.dtype != DType::F32 {
        return vec![];
    }
    // 13 of 23 stored bits go; half of the last that stays is added first.
    let round = |arg: &HostTensor| {
        map(arg, |_, bits| match f32::from_bits(bits as u32).is_finite() {
            true => (bits + (1 << 12)) & !0x1fff,
            false => bits,
        })
    };
    let args: Vec<HostTensor> = subject.args.iter().map(round).collect();
    vec![subject.of_args(&args)]
}

/// The output as integers in the width of its dtype, each the clamped value of `f` at its place.
fn clamped(subject: &Subject<'_>, f: impl Fn(usize) -> i128) -> HostTensor {
    let dtype = subject.right.dtype;
    let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
    map(&subject.right, |i, _| {
        let x = f(i).clamp(i128::from(min), i128::from(max));
        encode_int(dtype, x as i64)
    })
}

pub(crate) fn saturates(subject: &Subject<'_>) -> Vec<HostTensor> {
    let (from, to) = (subject.case.dtype, subject.right.dtype);
    if from.is_float() || to.is_float() {
        return vec![];
    }
    let value = |arg: usize, i: usize| i128::from(decode_int(from, subject.args[arg].bits(i)));
    let (min, max) = int_range(from).unwrap_or((i64::MIN, i64::MAX));
    let param = |i: usize| i128::from((subject.case.params[i] as i64).clamp(min, max));
    let wrong = match subject.case.op {
        Op::Binary(Binary::Add) => clamped(subject, |i| value(0, i) + value(1, i)),
        Op::Binary(Binary::Sub) => clamped(subject, |i| value(0, i) - value(1, i)),
        Op::Binary(Binary::Mul) => clamped(subject, |i| value(0, i) * value(1, i)),
        Op::Unary(Unary::Abs) => clamped(subject, |i| value(0, i).abs()),
        Op::Unary(Unary::Affine) => clamped(subject, |i| value(0, i) * param(0) + param(1)),
        Op::Cast(_) => clamped(subject, |i| value(0, i)),
        op if sums(op) => subject.with_sums(&Saturating),
        _ => return vec![],
    };
    vec![wrong]
}

/// What a conversion that keeps the low bits makes of a float.
fn wrapped(dtype: DType, x: f64) -> u64 {
    encode_int(dtype, x as i128 as i64)
}

pub(crate) fn wraps(subject: &Subject<'_>) -> Vec<HostTensor> {
    let to = subject.right.dtype;
    let integers = !to.is_float() && int_range(to).is_some();
    match (subject.case.op, Format::of(subject.case.dtype)) {
        (Op::Cast(_), Some(format)) if integers => {
            vec![map(&subject.right, |i, _| {
                wrapped(to, format.decode(subject.args[0].bits(i)))
            })]
        }
        (Op::Unary(Unary::Affine) | Op::Copies(_), None) => {
            let params = subject.case.params.iter().enumerate();
            let names = subject.case.op.params();
            let value = params.filter(|(i, _)| matches!(names.get(*i), Some(&("mul" | "add" | "value"))));
            let wrong =
                |(i, param): (usize, &f64)| subject.with_param(i, decode_int(to, wrapped(to, *param)) as f64);
            value.filter_map(wrong).collect()
        }
        _ => vec![],
    }
}

pub(crate) fn truncated(subject: &Subject<'_>) -> Vec<HostTensor> {
    let (Op::Cast(_), Some(to)) = (subject.case.op, Format::of(subject.right.dtype)) else {
        return vec![];
    };
    let from = subject.case.dtype;
    // Whether the rounded number lies farther from zero than the one it was made from.
    let away = |rounded: f64, source: u64| match Format::of(from) {
        Some(format) => rounded.abs() > format.decode(source).abs(),
        None => rounded.abs() as u128 > u128::from(decode_int(from, source).unsigned_abs()),
    };
    vec![map(&subject.right, |i, bits| {
        // The next number towards zero has the next lower bits.
        bits - u64::from(away(to.decode(bits), subject.args[0].bits(i)))
    })]
}

pub(crate) fn rounded(subject: &Subject<'_>) -> Vec<HostTensor> {
    let to = subject.right.dtype;
    match (subject.case.op, Format::of(subject.case.dtype)) {
        (Op::Cast(_), Some(format)) if !to.is_float() => {
            let x = |i: usize| format.decode(subject.args[0].bits(i)).round_ties_even();
            vec![clamped(subject, |i| x(i) as i128)]
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Case;
    use parity_oracle::{expected, output_with};

    use super::*;

    /// The first element of the output, as bits.
    fn first(id: &str, sums: &dyn Sums) -> u64 {
        let case: Case = id.parse().unwrap();
        output_with(&case, &case.inputs(0), sums).bits(0)
    }

    /// The first element of the right output.
    fn right(id: &str) -> u64 {
        let case: Case = id.parse().unwrap();
        expected(&case, &case.inputs(0)).elements[0].bits
    }

    #[test]
    fn wrong_arithmetic_gives_other_sums() {
        for id in [
            "reduce/sum(1):bf16:[1,1025]:contiguous:ints(1,2)",
            "reduce/mean(1):f64:[1,1025]:contiguous:uniform(1,2)",
            "matmul/matmul:f32:[1,65],[65,1]:contiguous,contiguous:uniform(-1,1)",
            "pool/avg_pool2d(64,64,1,1):bf16:[1,1,64,64]:contiguous:ints(0,2)",
            "nn/softmax_last_dim:f16:[1,4096]:contiguous:uniform(0,0.1)",
            "nn/rms_norm(0):f32:[1,64],[64]:contiguous,contiguous:uniform(1,2)",
            "indexing/index_add(0):f32,u32,f32:[1,1],[99],[99,1]:contiguous,contiguous,contiguous:uniform(1,2)",
        ] {
            assert_ne!(first(id, &Narrow), right(id), "{id}");
        }
        for id in [
            "reduce/sum(1):u8:[1,99]:contiguous:any",
            "reduce/sum(1):i64:[1,99]:contiguous:any",
            "conv/conv_transpose1d(0,0,1,1,1):i16:[1,9,1],[9,1,1]:contiguous,contiguous:any",
        ] {
            assert_ne!(first(id, &Saturating), right(id), "{id}");
        }
    }

    #[test]
    fn whole_numbers_that_fit_are_summed_alike() {
        let id = "reduce/sum(1):f16:[1,33]:contiguous:ints(-4,4)";
        assert_eq!(first(id, &Narrow), right(id));
        assert_eq!(first(id, &Saturating), right(id));
    }
}
