//! Casts: Rust's `as` to integers, one rounding to floats.

use parity_model::float::{Format, decode_int, encode_int};

use super::{Answer, exact};
use crate::expected::Call;
use crate::formula::integer::saturate;

pub(crate) fn answer(call: &Call<'_>) -> Answer {
    let (from, to, x) = (call.case.dtype, call.dtype, &call.args[0]);
    let bits = |i: usize| {
        let bits = x.bits(i);
        match (Format::of(from), Format::of(to)) {
            (None, None) => encode_int(to, decode_int(from, bits)),
            (None, Some(format)) => encode_from_int(&format, decode_int(from, bits)),
            (Some(format), None) => encode_int(to, saturate(to, format.decode(bits))),
            (Some(source), Some(format)) => format.encode(source.decode(bits)),
        }
    };
    let elements = (0..x.len()).map(|i| exact(bits(i))).collect();
    (elements, "exact: the one rounding, or Rust's `as`".to_owned())
}

/// An integer rounded once. Through f64 an integer beyond 2^53 would be rounded twice; there the low bits only decide
/// on which side of a tie it lies, so they are folded into one that f64 still holds.
fn encode_from_int(format: &Format, x: i64) -> u64 {
    if format.mantissa_bits == 52 || x.unsigned_abs() < 1 << 53 {
        return format.encode(x as f64);
    }
    let low = 0x7ff_u64;
    let magnitude = x.unsigned_abs();
    let sticky = magnitude & !low | u64::from(magnitude & low != 0) << 11;
    let value = sticky as f64;
    format.encode(if x < 0 { -value } else { value })
}

#[cfg(test)]
mod tests {
    use parity_model::DType;

    use super::*;

    #[test]
    fn large_integers_are_rounded_once() {
        let single = Format::of(DType::F32).unwrap();
        // Just above the tie between 2^60 and the next f32: through f64 it would round down to even.
        let above_tie = (1_i64 << 60) + (1 << 36) + 1;
        for x in [above_tie, -above_tie, i64::MAX, i64::MIN, (1 << 60) + (1 << 36)] {
            let want = u64::from((x as f32).to_bits());
            assert_eq!(encode_from_int(&single, x), want, "{x}");
        }
    }
}
