//! Gradients by candle's `backward`, and the differentiated functions that are not ops of the table.

use candle_core::{Error, Result, Tensor};
use parity_model::op::{Differentiable, GradOnly};
use parity_model::{Case, Op};

use super::{Row, Scalars, candle};

/// The argument by which the case differentiates: its base tensor has to be a variable.
pub(crate) fn variable(case: &Case) -> Option<usize> {
    let Op::Grad(op) = case.op else { return None };
    Some(op.split(&case.params).ok()?.1)
}

/// The row of every gradient.
pub(super) const ROW: Row = Row { run, text };

/// The function that is differentiated, its scalars, and the argument by which.
fn function(scalars: Scalars<'_>) -> Option<(Row, Scalars<'_>, usize)> {
    let Op::Grad(op) = scalars.op else { return None };
    let (params, wrt) = op.split(scalars.params).ok()?;
    let (row, op) = match op.of() {
        Differentiable::Op(op) => (super::row(op), op),
        Differentiable::GradOnly(function) => (plain(function), scalars.op),
    };
    Some((
        row,
        Scalars {
            op,
            params,
            ..scalars
        },
        wrt,
    ))
}

/// The gradient of the sum of the last argument times the function of the others, by the variable under the argument
/// that the parameters name. It has the variable's shape, which is not the view's.
fn run(args: &[Tensor], scalars: Scalars<'_>) -> Option<Result<Tensor>> {
    let (function, inner, wrt) = function(scalars)?;
    let (weight, args) = args.split_last()?;
    let y = (function.run)(args, inner)?;
    Some(y.and_then(|y| backward(scalars.op, &y, weight, args.get(wrt))))
}

fn backward(op: Op, y: &Tensor, weight: &Tensor, by: Option<&Tensor>) -> Result<Tensor> {
    let leaf = by.and_then(|x| x.sorted_nodes().into_iter().find(|node| node.is_variable()));
    let grads = y.mul(weight)?.sum_all()?.backward()?;
    let found = leaf.and_then(|leaf| grads.get(leaf));
    // Without a word, candle leaves out the variables that its graph does not reach.
    found
        .cloned()
        .ok_or(Error::BackwardNotSupported { op: op.name() })
}

/// The source differs from [`run`]: there the argument becomes a variable as it is, and what lies under its view does not.
fn text(scalars: Scalars<'_>) -> Option<String> {
    let (function, inner, by) = function(scalars)?;
    let y = (function.text)(inner)?.replace('\n', "\n    ");
    let (weight, op) = (scalars.op.arity() - 1, scalars.op);
    Some(format!(
        "{{\n    let by = candle_core::Var::from_tensor(&x{by})?;\n    let x{by} = by.as_tensor().clone();\n    \
         let y = {y};\n    let grads = y.mul(&x{weight})?.sum_all()?.backward()?;\n    \
         grads.get(&by).cloned().ok_or(candle_core::Error::BackwardNotSupported {{ op: \"{op}\" }})?\n}}"
    ))
}

candle! {
    fn plain(GradOnly) {
        GradOnly::Permute => |x| x.permute((0..x.rank()).rev().collect::<Vec<_>>())?;
        GradOnly::Flatten => |x| x.flatten_all()?;
        GradOnly::Expand => |x; times: usize| x.broadcast_left(times)?;
        GradOnly::BesideNearest1d => |x| Tensor::cat(&[&x.upsample_nearest1d(2 * x.dim(2)?)?, &x], 2)?;
        GradOnly::BesideNearest2d => |x| {
            let double = x.upsample_nearest2d(2 * x.dim(2)?, 2 * x.dim(3)?)?;
            Tensor::cat(&[&double.flatten_from(2)?, &x.flatten_from(2)?], 2)?
        };
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};
    use parity_model::DType;

    use super::*;

    fn numbers(values: &[f64]) -> Tensor {
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    /// What the op of that name gives.
    fn gradient(op: &str, params: &[f64], args: &[Tensor]) -> Result<Vec<f64>> {
        let (op, dtype) = (op.parse().unwrap(), DType::F64);
        run(args, Scalars { op, dtype, params }).unwrap()?.to_vec1()
    }

    #[test]
    fn the_gradient_is_by_the_argument_that_is_asked_for() {
        for (by, want) in [(0, [5.0, 70.0]), (1, [2.0, 30.0])] {
            let mut args = [&[2.0, 3.0], &[5.0, 7.0], &[1.0, 10.0]].map(|values| numbers(values));
            args[by] = Var::from_tensor(&args[by]).unwrap().into_inner();
            assert_eq!(gradient("grad_mul", &[by as f64], &args).unwrap(), want);
        }
    }

    #[test]
    fn a_view_of_the_variable_is_differentiated_down_to_the_variable() {
        let var = Var::from_tensor(&numbers(&[2.0, 3.0, 4.0])).unwrap();
        let args = [var.as_tensor().narrow(0, 1, 2).unwrap(), numbers(&[1.0, 10.0])];
        assert_eq!(gradient("grad_sqr", &[], &args).unwrap(), [0.0, 6.0, 80.0]);
    }

    #[test]
    fn a_graph_that_does_not_reach_the_variable_is_no_gradient_of_zero() {
        let args = [numbers(&[2.0]), numbers(&[1.0])];
        let error = gradient("grad_exp", &[], &args).unwrap_err();
        assert!(
            matches!(error, Error::BackwardNotSupported { op: "grad_exp" }),
            "{error}"
        );
    }
}
