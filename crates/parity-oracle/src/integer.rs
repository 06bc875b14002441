//! Integer ops: exact, wrapped to the dtype's width.

use parity_model::float::int_range;
use parity_model::{DType, Op};

/// What Rust's `as` makes of a float: truncated, saturated, NaN to 0.
fn saturate(dtype: DType, x: f64) -> i64 {
    let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
    (x as i64).clamp(min, max)
}

/// The op on integer `x` of `dtype`, not yet wrapped. `None` where the op has no meaning for integers.
pub(crate) fn unary(op: Op, dtype: DType, params: &[f64], x: i64) -> Option<i64> {
    Some(match op {
        Op::Abs => x.wrapping_abs(),
        Op::Relu => x.max(0),
        Op::Floor | Op::Ceil | Op::Round => x,
        Op::Sign => x.signum(),
        Op::Affine => x
            .wrapping_mul(saturate(dtype, params[0]))
            .wrapping_add(saturate(dtype, params[1])),
        Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Neg
        | Op::Recip
        | Op::Sqr
        | Op::Sqrt
        | Op::Gelu
        | Op::GeluErf
        | Op::Erf
        | Op::Silu
        | Op::Tanh
        | Op::Powf
        | Op::Elu
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Maximum
        | Op::Minimum
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => return None,
    })
}

/// The op on integers `a` and `b`, not yet wrapped; truth is 1. `None` for ops that are not binary.
pub(crate) fn binary(op: Op, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div if b == 0 => -1,
        Op::Div => a.wrapping_div(b),
        Op::Maximum => a.max(b),
        Op::Minimum => a.min(b),
        Op::Eq => i64::from(a == b),
        Op::Ne => i64::from(a != b),
        Op::Lt => i64::from(a < b),
        Op::Le => i64::from(a <= b),
        Op::Gt => i64::from(a > b),
        Op::Ge => i64::from(a >= b),
        Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Abs
        | Op::Neg
        | Op::Recip
        | Op::Sqr
        | Op::Sqrt
        | Op::Gelu
        | Op::GeluErf
        | Op::Erf
        | Op::Relu
        | Op::Silu
        | Op::Tanh
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::Sign
        | Op::Affine
        | Op::Powf
        | Op::Elu => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_that_accepts_integers_has_an_integer_oracle() {
        for &op in Op::ALL {
            let params = vec![1.0; op.params().len()];
            let has = unary(op, DType::I32, &params, 1).is_some() || binary(op, 1, 2).is_some();
            assert_eq!(has, op.accepts(DType::I32), "{op}");
        }
    }

    #[test]
    fn parameters_convert_as_rust_does() {
        assert_eq!(unary(Op::Affine, DType::U32, &[-1.0, 5.0], 7), Some(5));
        assert_eq!(unary(Op::Affine, DType::I64, &[0.5, 3.0], 7), Some(3));
        assert_eq!(
            unary(Op::Affine, DType::U8, &[300.0, 0.0], 2),
            Some(510),
            "wrapped to u8 by the caller"
        );
    }

    #[test]
    fn division_by_zero_sets_every_bit_and_the_minimum_wraps() {
        assert_eq!(binary(Op::Div, 7, 0), Some(-1));
        assert_eq!(binary(Op::Div, i64::MIN, -1), Some(i64::MIN));
        assert_eq!(binary(Op::Div, -7, 2), Some(-3));
    }
}
