//! Gradients by candle's `backward`, and the functions they are of that are no ops of the table.

use candle_core::{Error, Result, Tensor};
use parity_model::op::{Differentiable, Grad, GradOnly};
use parity_model::{Case, Op};

use super::{Call, apply};

/// The argument by which the case differentiates: its base tensor has to be a variable.
pub(crate) fn variable(case: &Case) -> Option<usize> {
    match case.op {
        Op::Grad(op) => Some(op.split(&case.params).ok()?.1),
        _ => None,
    }
}

/// The gradient of the sum of the last argument times the function of the others, by the variable under the argument
/// that the parameters name. It has the variable's shape, which is not the view's.
pub(super) fn grad(op: Grad, call: &Call<'_>) -> Option<Result<Tensor>> {
    let (params, wrt) = op.split(call.params).ok()?;
    let (weight, args) = call.args.split_last()?;
    let result = function(op.of(), &Call { params, args })?;
    Some(result.and_then(|y| backward(op, &y, weight, args.get(wrt))))
}

fn backward(op: Grad, y: &Tensor, weight: &Tensor, by: Option<&Tensor>) -> Result<Tensor> {
    let leaf = by.and_then(|x| x.sorted_nodes().into_iter().find(|node| node.is_variable()));
    let grads = y.mul(weight)?.sum_all()?.backward()?;
    let found = leaf.and_then(|leaf| grads.get(leaf));
    // Without a word, candle leaves out the variables that its graph does not reach.
    found.cloned().ok_or(Error::BackwardNotSupported {
        op: Op::Grad(op).name(),
    })
}

fn function(function: Differentiable, call: &Call<'_>) -> Option<Result<Tensor>> {
    match function {
        Differentiable::Op(op) => apply(op, call.params, call.args),
        Differentiable::GradOnly(GradOnly::Permute) => call.with_params(|x, []| {
            let reversed: Vec<usize> = (0..x.rank()).rev().collect();
            x.permute(reversed)
        }),
        Differentiable::GradOnly(GradOnly::Flatten) => call.unary(Tensor::flatten_all),
        Differentiable::GradOnly(GradOnly::Expand) => {
            let [times] = call.whole()?;
            Some(call.one()?.broadcast_left(times))
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};
    use parity_model::op::{Binary, Unary};

    use super::*;

    fn numbers(values: &[f64]) -> Tensor {
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    fn of(op: impl Into<Op>) -> Grad {
        op.into().gradient().unwrap()
    }

    #[test]
    fn the_gradient_is_by_the_argument_that_is_asked_for() {
        let weight = numbers(&[1.0, 10.0]);
        for (wrt, want) in [(0.0, [5.0, 70.0]), (1.0, [2.0, 30.0])] {
            let args = [numbers(&[2.0, 3.0]), numbers(&[5.0, 7.0])];
            let mut args: Vec<Tensor> = args.into_iter().chain([weight.clone()]).collect();
            let by = wrt as usize;
            args[by] = Var::from_tensor(&args[by]).unwrap().as_tensor().clone();
            let params = [wrt];
            let gradient = grad(
                of(Binary::Mul),
                &Call {
                    params: &params,
                    args: &args,
                },
            )
            .unwrap()
            .unwrap();
            assert_eq!(gradient.to_vec1::<f64>().unwrap(), want);
        }
    }

    #[test]
    fn a_view_of_the_variable_is_differentiated_down_to_the_variable() {
        let var = Var::from_tensor(&numbers(&[2.0, 3.0, 4.0])).unwrap();
        let args = [var.as_tensor().narrow(0, 1, 2).unwrap(), numbers(&[1.0, 10.0])];
        let gradient = grad(
            of(Unary::Sqr),
            &Call {
                params: &[],
                args: &args,
            },
        )
        .unwrap()
        .unwrap();
        assert_eq!(gradient.to_vec1::<f64>().unwrap(), [0.0, 6.0, 80.0]);
    }

    #[test]
    fn a_graph_that_does_not_reach_the_variable_is_no_gradient_of_zero() {
        let args = [numbers(&[2.0]), numbers(&[1.0])];
        let error = grad(
            of(Unary::Exp),
            &Call {
                params: &[],
                args: &args,
            },
        )
        .unwrap()
        .unwrap_err();
        assert!(
            matches!(error, Error::BackwardNotSupported { op: "grad_exp" }),
            "{error}"
        );
    }
}
