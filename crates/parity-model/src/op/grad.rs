//! Gradients: which function a row of the family differentiates, with respect to which argument, and the shape rule.
//!
//! A case has the arguments of the function and, last, a weight for each element of its result: the output is the
//! gradient of sum(weight * f(arguments)). How it is computed is not said here.

use super::shape::{Operands, Shapes, infer};
use super::table::{Gradient, OpRow};
use super::{GradOnly, Op, Role};
use crate::case::shape_text;

/// What a gradient is the gradient of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Differentiable {
    /// An op of the table.
    Op(Op),
    /// A function that is in the table by its gradient alone.
    GradOnly(GradOnly),
}

/// The gradient of a function that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grad(&'static Differentiable);

impl Grad {
    /// That of one of the functions that have a gradient in the table.
    pub(super) const fn listed(function: &'static Differentiable) -> Grad {
        Grad(function)
    }

    /// The function that is differentiated.
    pub const fn of(self) -> Differentiable {
        *self.0
    }

    /// Whether the arguments of the function are broadcast first.
    pub(super) const fn is_broadcast(self) -> bool {
        matches!(self.0, Differentiable::Op(Op::Broadcast(_)))
    }

    /// The row of the function.
    pub(super) const fn row(self) -> &'static OpRow {
        match self.0 {
            Differentiable::Op(op) => op.row().0,
            Differentiable::GradOnly(function) => function.row(),
        }
    }

    /// What the row says about the gradient.
    pub(super) const fn gradient(self) -> &'static Gradient {
        match &self.row().gradient {
            Some(gradient) => gradient,
            None => panic!("gradients are made of rows that have one"),
        }
    }

    /// The parameters of the function, and the argument it is differentiated with respect to: the last parameter of a
    /// row that names it, the first argument of one that does not.
    ///
    /// # Errors
    /// When the last parameter is to name an argument and does not.
    pub fn split(self, params: &[f64]) -> Result<(&[f64], usize), String> {
        let op = Op::Grad(self);
        if op.params().last() != Some(&"wrt") {
            return Ok((params, 0));
        }
        let Some((wrt, params)) = params.split_last() else {
            return Err(format!("`{op}` takes the argument to differentiate by as `wrt`"));
        };
        let arguments = op.roles().iter().take(op.arity() - 1);
        let data: Vec<f64> = (0_u32..)
            .zip(arguments)
            .filter(|(_, role)| **role == Role::Data)
            .map(|(i, _)| f64::from(i))
            .collect();
        if data.contains(wrt) {
            return Ok((params, *wrt as usize));
        }
        Err(format!(
            "`{op}` has derivatives by the arguments {data:?}, not by {wrt}"
        ))
    }
}

/// The shape rule: the weight has the shape of the function's result, and the gradient that of the argument.
pub(super) fn shapes(grad: Grad, call: &Operands<'_>) -> Result<Shapes, String> {
    let (params, wrt) = grad.split(call.params)?;
    let Some((weight, args)) = call.shapes.split_last() else {
        return Err(format!("`{grad}` takes arguments and a weight"));
    };
    let result = result(grad, params, args)?;
    if result.output != *weight {
        let (wanted, found) = (shape_text(&result.output), shape_text(weight));
        return Err(format!(
            "`{grad}`: the weight has the shape of the result, {wanted}, and not {found}"
        ));
    }
    Ok(Shapes {
        output: args[wrt].to_vec(),
        bound: result.bound,
    })
}

/// What the function makes of the shapes of its arguments. The parameters are the function's.
///
/// # Errors
/// A sentence that says which rule of the function is broken.
pub fn result(grad: Grad, params: &[f64], args: &[&[usize]]) -> Result<Shapes, String> {
    match grad.of() {
        Differentiable::Op(op) => infer(op, params, args),
        Differentiable::GradOnly(function) => {
            (function.row().shape)(&Operands::new(grad.into(), params, args))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: &str, params: &[f64], args: &[&[usize]]) -> Result<Vec<usize>, String> {
        infer(op.parse().unwrap(), params, args).map(|shapes| shapes.output)
    }

    #[test]
    fn a_gradient_has_the_shape_of_the_argument_it_is_by() {
        assert_eq!(of("grad_exp", &[], &[&[2, 3], &[2, 3]]), Ok(vec![2, 3]));
        let matmul = |wrt| of("grad_matmul", &[wrt], &[&[2, 3], &[3, 4], &[2, 4]]);
        assert_eq!((matmul(0.0), matmul(1.0)), (Ok(vec![2, 3]), Ok(vec![3, 4])));
        let broadcast = |wrt| of("grad_broadcast_mul", &[wrt], &[&[2, 1, 3], &[4, 1], &[2, 4, 3]]);
        assert_eq!(
            (broadcast(0.0), broadcast(1.0)),
            (Ok(vec![2, 1, 3]), Ok(vec![4, 1]))
        );
        assert_eq!(
            of("grad_narrow", &[1.0, 1.0, 2.0], &[&[2, 5], &[2, 2]]),
            Ok(vec![2, 5])
        );
        assert_eq!(
            of("grad_sum", &[0.0, 2.0], &[&[2, 3, 4], &[3]]),
            Ok(vec![2, 3, 4])
        );
        assert_eq!(of("grad_broadcast_left", &[3.0], &[&[2], &[3, 2]]), Ok(vec![2]));
    }

    #[test]
    fn a_weight_of_another_shape_and_an_argument_without_a_derivative_are_refused() {
        let why = |result: Result<Vec<usize>, String>| result.unwrap_err();
        assert!(why(of("grad_exp", &[], &[&[2, 3], &[3, 2]])).contains("the shape of the result, [2,3]"));
        let select = of("grad_where_cond", &[0.0], &[&[2], &[2], &[2], &[2]]);
        assert!(why(select).contains("not by 0"));
        assert!(why(of("grad_add", &[2.0], &[&[2], &[2], &[2]])).contains("not by 2"));
        assert!(
            why(of("grad_narrow", &[1.0, 4.0, 2.0], &[&[2, 5], &[2, 2]])).contains("the slices lie inside")
        );
        assert!(
            why(of("grad_broadcast_add", &[0.0], &[&[2], &[3], &[3]]))
                .contains("the arguments have a common shape")
        );
    }
}
