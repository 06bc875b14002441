//! Integer ops: exact, wrapped to the dtype's width.

use parity_model::DType;
use parity_model::float::int_range;
use parity_model::op::{Binary, Unary};

/// What Rust's `as` makes of a float: truncated, saturated, NaN to 0.
pub(crate) fn saturate(dtype: DType, x: f64) -> i64 {
    let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
    (x as i64).clamp(min, max)
}

/// The op on integer `x` of `dtype`, not yet wrapped. `None` where the op has no meaning for integers.
pub(crate) fn unary(op: Unary, dtype: DType, params: &[f64], x: i64) -> Option<i64> {
    Some(match op {
        Unary::Abs => x.wrapping_abs(),
        Unary::Relu => x.max(0),
        Unary::Floor | Unary::Ceil | Unary::Round => x,
        Unary::Sign => x.signum(),
        Unary::Affine => x
            .wrapping_mul(saturate(dtype, params[0]))
            .wrapping_add(saturate(dtype, params[1])),
        Unary::Clamp => x.max(saturate(dtype, params[0])).min(saturate(dtype, params[1])),
        Unary::Exp
        | Unary::Log
        | Unary::Sin
        | Unary::Cos
        | Unary::Neg
        | Unary::Recip
        | Unary::Sqr
        | Unary::Sqrt
        | Unary::Gelu
        | Unary::GeluErf
        | Unary::Erf
        | Unary::Silu
        | Unary::Tanh
        | Unary::Powf
        | Unary::RoundTo
        | Unary::Elu => return None,
    })
}

/// The op on integers `a` and `b`, not yet wrapped; truth is 1.
pub(crate) fn binary(op: Binary, a: i64, b: i64) -> i64 {
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if b == 0 => -1,
        Binary::Div => a.wrapping_div(b),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::Eq => i64::from(a == b),
        Binary::Ne => i64::from(a != b),
        Binary::Lt => i64::from(a < b),
        Binary::Le => i64::from(a <= b),
        Binary::Gt => i64::from(a > b),
        Binary::Ge => i64::from(a >= b),
        Binary::Pow => panic!("pow has no meaning for integers"),
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Op;

    use super::*;

    #[test]
    fn every_op_that_accepts_integers_has_an_integer_oracle() {
        for &op in Op::ALL {
            let Op::Unary(unary_op) = op else { continue };
            let params = vec![1.0; op.params().len()];
            let has = unary(unary_op, DType::I32, &params, 1).is_some();
            assert_eq!(has, op.accepts(DType::I32), "{op}");
        }
    }

    #[test]
    fn parameters_convert_as_rust_does() {
        assert_eq!(unary(Unary::Affine, DType::U32, &[-1.0, 5.0], 7), Some(5));
        assert_eq!(unary(Unary::Affine, DType::I64, &[0.5, 3.0], 7), Some(3));
        assert_eq!(
            unary(Unary::Affine, DType::U8, &[300.0, 0.0], 2),
            Some(510),
            "wrapped to u8 by the caller"
        );
    }

    #[test]
    fn division_by_zero_sets_every_bit_and_the_minimum_wraps() {
        assert_eq!(binary(Binary::Div, 7, 0), -1);
        assert_eq!(binary(Binary::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(binary(Binary::Div, -7, 2), -3);
    }
}
