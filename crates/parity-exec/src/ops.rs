//! Which candle method computes which op. A row here is what "through candle's public API" means.

use candle_core::{Result, Tensor};
use parity_model::Op;

/// Applies `op` to its arguments, all on one device; `None` when the op does not take that many arguments or
/// parameters, which is no answer of any backend's.
#[rustfmt::skip] // One op per line.
pub(crate) fn apply(op: Op, params: &[f64], args: &[Tensor]) -> Option<Result<Tensor>> {
    let call = Call { params, args };
    match op {
        Op::Exp     => call.unary(Tensor::exp),
        Op::Log     => call.unary(Tensor::log),
        Op::Sin     => call.unary(Tensor::sin),
        Op::Cos     => call.unary(Tensor::cos),
        Op::Abs     => call.unary(Tensor::abs),
        Op::Neg     => call.unary(Tensor::neg),
        Op::Recip   => call.unary(Tensor::recip),
        Op::Sqr     => call.unary(Tensor::sqr),
        Op::Sqrt    => call.unary(Tensor::sqrt),
        Op::Gelu    => call.unary(Tensor::gelu),
        Op::GeluErf => call.unary(Tensor::gelu_erf),
        Op::Erf     => call.unary(Tensor::erf),
        Op::Relu    => call.unary(Tensor::relu),
        Op::Silu    => call.unary(Tensor::silu),
        Op::Tanh    => call.unary(Tensor::tanh),
        Op::Floor   => call.unary(Tensor::floor),
        Op::Ceil    => call.unary(Tensor::ceil),
        Op::Round   => call.unary(Tensor::round),
        Op::Sign    => call.unary(Tensor::sign),
        Op::Affine  => call.with_params(|x, [mul, add]| x.affine(mul, add)),
        Op::Powf    => call.with_params(|x, [exponent]| x.powf(exponent)),
        Op::Elu     => call.with_params(|x, [alpha]| x.elu(alpha)),
        Op::Add     => call.binary(Tensor::add),
        Op::Sub     => call.binary(Tensor::sub),
        Op::Mul     => call.binary(Tensor::mul),
        Op::Div     => call.binary(Tensor::div),
        Op::Maximum => call.binary(|l, r| l.maximum(r)),
        Op::Minimum => call.binary(|l, r| l.minimum(r)),
        Op::Eq      => call.binary(|l, r| l.eq(r)),
        Op::Ne      => call.binary(|l, r| l.ne(r)),
        Op::Lt      => call.binary(|l, r| l.lt(r)),
        Op::Le      => call.binary(|l, r| l.le(r)),
        Op::Gt      => call.binary(|l, r| l.gt(r)),
        Op::Ge      => call.binary(|l, r| l.ge(r)),
    }
}

struct Call<'a> {
    params: &'a [f64],
    args: &'a [Tensor],
}

impl Call<'_> {
    fn unary(&self, method: fn(&Tensor) -> Result<Tensor>) -> Option<Result<Tensor>> {
        self.with_params(|x, []| method(x))
    }

    fn with_params<const N: usize>(
        &self,
        method: impl Fn(&Tensor, [f64; N]) -> Result<Tensor>,
    ) -> Option<Result<Tensor>> {
        let [x] = self.args else { return None };
        Some(method(x, self.params.try_into().ok()?))
    }

    fn binary(&self, method: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Option<Result<Tensor>> {
        match (self.args, self.params) {
            ([l, r], []) => Some(method(l, r)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    /// The op on scalars 3 and 2 (parameters 5, 7), as candle's CPU backend computes it.
    fn on_numbers(op: Op) -> f64 {
        let tensor = |value: f64| Tensor::new(value, &Device::Cpu).unwrap();
        let args = [tensor(3.0), tensor(2.0)];
        let params = [5.0, 7.0];
        let result = apply(op, &params[..op.params().len()], &args[..op.arity()])
            .unwrap()
            .unwrap();
        result.to_dtype(DType::F64).unwrap().to_scalar().unwrap()
    }

    #[test]
    fn every_op_of_the_table_takes_the_arguments_the_table_says() {
        for op in Op::ALL {
            assert!(on_numbers(*op).is_finite(), "{op}");
        }
    }

    #[test]
    fn look_alikes_are_not_mixed_up() {
        let want = [
            (Op::Affine, 22.0),
            (Op::Powf, 243.0),
            (Op::Sub, 1.0),
            (Op::Div, 1.5),
            (Op::Maximum, 3.0),
            (Op::Minimum, 2.0),
            (Op::Lt, 0.0),
            (Op::Gt, 1.0),
            (Op::Sqr, 9.0),
            (Op::Neg, -3.0),
        ];
        for (op, value) in want {
            assert_eq!(on_numbers(op), value, "{op}");
        }
    }

    #[test]
    fn a_wrong_number_of_arguments_or_parameters_is_not_run() {
        let x = Tensor::new(3_f64, &Device::Cpu).unwrap();
        assert!(apply(Op::Exp, &[1.0], std::slice::from_ref(&x)).is_none());
        assert!(apply(Op::Affine, &[1.0], std::slice::from_ref(&x)).is_none());
        assert!(apply(Op::Add, &[], std::slice::from_ref(&x)).is_none());
    }
}
