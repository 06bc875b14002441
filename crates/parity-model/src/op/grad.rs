//! Gradients: which function a row of the family differentiates, with respect to which argument, and the shape rule.
//!
//! A case has the arguments of the function and, last, a weight for each element of its result: the output is the
//! gradient of sum(weight * f(arguments)). How it is computed is not said here.

use super::shape::{Shapes, infer};
use super::{
    Binary, Broadcast, Conv, Copies, Grad, Indexing, Layers, Matmul, Nn, Op, Pool, Reduce, Role, Unary,
    Upsample, Where,
};

/// What a gradient is the gradient of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// An op of the table.
    Op(Op),
    /// The slices from `start` on along `dim`.
    Narrow,
    /// All dimensions in reverse order.
    Permute,
    /// The elements, row-major, as one dimension.
    Flatten,
    /// The argument repeated `times` along a new first dimension.
    Expand,
}

impl Grad {
    /// The function that is differentiated.
    #[rustfmt::skip] // One row a line.
    pub const fn of(self) -> Function {
        let op = match self {
            Grad::Exp            => Op::Unary(Unary::Exp),
            Grad::Log            => Op::Unary(Unary::Log),
            Grad::Sin            => Op::Unary(Unary::Sin),
            Grad::Cos            => Op::Unary(Unary::Cos),
            Grad::Abs            => Op::Unary(Unary::Abs),
            Grad::Neg            => Op::Unary(Unary::Neg),
            Grad::Recip          => Op::Unary(Unary::Recip),
            Grad::Sqr            => Op::Unary(Unary::Sqr),
            Grad::Sqrt           => Op::Unary(Unary::Sqrt),
            Grad::Gelu           => Op::Unary(Unary::Gelu),
            Grad::GeluErf        => Op::Unary(Unary::GeluErf),
            Grad::Erf            => Op::Unary(Unary::Erf),
            Grad::Relu           => Op::Unary(Unary::Relu),
            Grad::Silu           => Op::Unary(Unary::Silu),
            Grad::Tanh           => Op::Unary(Unary::Tanh),
            Grad::Affine         => Op::Unary(Unary::Affine),
            Grad::Powf           => Op::Unary(Unary::Powf),
            Grad::Elu            => Op::Unary(Unary::Elu),
            Grad::Add            => Op::Binary(Binary::Add),
            Grad::Sub            => Op::Binary(Binary::Sub),
            Grad::Mul            => Op::Binary(Binary::Mul),
            Grad::Div            => Op::Binary(Binary::Div),
            Grad::Maximum        => Op::Binary(Binary::Maximum),
            Grad::Minimum        => Op::Binary(Binary::Minimum),
            Grad::Pow            => Op::Binary(Binary::Pow),
            Grad::BroadcastAdd   => Op::Broadcast(Broadcast::Add),
            Grad::BroadcastSub   => Op::Broadcast(Broadcast::Sub),
            Grad::BroadcastMul   => Op::Broadcast(Broadcast::Mul),
            Grad::BroadcastDiv   => Op::Broadcast(Broadcast::Div),
            Grad::WhereCond      => Op::Where(Where::WhereCond),
            Grad::Sum            => Op::Reduce(Reduce::Sum),
            Grad::Mean           => Op::Reduce(Reduce::Mean),
            Grad::Min            => Op::Reduce(Reduce::Min),
            Grad::Max            => Op::Reduce(Reduce::Max),
            Grad::Var            => Op::Reduce(Reduce::Var),
            Grad::LogSumExp      => Op::Reduce(Reduce::LogSumExp),
            Grad::IndexSelect    => Op::Indexing(Indexing::IndexSelect),
            Grad::Gather         => Op::Indexing(Indexing::Gather),
            Grad::Scatter        => Op::Indexing(Indexing::Scatter),
            Grad::ScatterAdd     => Op::Indexing(Indexing::ScatterAdd),
            Grad::IndexAdd       => Op::Indexing(Indexing::IndexAdd),
            Grad::Matmul         => Op::Matmul(Matmul::Matmul),
            Grad::Conv1d         => Op::Conv(Conv::Conv1d),
            Grad::ConvTranspose1d => Op::Conv(Conv::ConvTranspose1d),
            Grad::Conv2d         => Op::Conv(Conv::Conv2d),
            Grad::ConvTranspose2d => Op::Conv(Conv::ConvTranspose2d),
            Grad::AvgPool2d      => Op::Pool(Pool::AvgPool2d),
            Grad::MaxPool2d      => Op::Pool(Pool::MaxPool2d),
            Grad::Nearest1d      => Op::Upsample(Upsample::Nearest1d),
            Grad::Nearest2d      => Op::Upsample(Upsample::Nearest2d),
            Grad::Bilinear2d     => Op::Upsample(Upsample::Bilinear2d),
            Grad::Copy           => Op::Copies(Copies::Copy),
            Grad::Cat            => Op::Copies(Copies::Cat),
            Grad::PadZeros       => Op::Copies(Copies::PadZeros),
            Grad::Narrow         => return Function::Narrow,
            Grad::Permute        => return Function::Permute,
            Grad::Flatten        => return Function::Flatten,
            Grad::Expand         => return Function::Expand,
            Grad::Sigmoid        => Op::Nn(Nn::Sigmoid),
            Grad::Softmax        => Op::Nn(Nn::Softmax),
            Grad::LogSoftmax     => Op::Nn(Nn::LogSoftmax),
            Grad::SoftmaxLastDim => Op::Nn(Nn::SoftmaxLastDim),
            Grad::RmsNorm        => Op::Nn(Nn::RmsNorm),
            Grad::LayerNorm      => Op::Nn(Nn::LayerNorm),
            Grad::Rope           => Op::Nn(Nn::Rope),
            Grad::RmsNormSlow    => Op::Layers(Layers::RmsNormSlow),
            Grad::LayerNormSlow  => Op::Layers(Layers::LayerNormSlow),
            Grad::RopeSlow       => Op::Layers(Layers::RopeSlow),
            Grad::Linear         => Op::Layers(Layers::Linear),
            Grad::Attention      => Op::Layers(Layers::Attention),
            Grad::CrossEntropy   => Op::Layers(Layers::CrossEntropy),
            Grad::Mse            => Op::Layers(Layers::Mse),
            Grad::Huber          => Op::Layers(Layers::Huber),
            Grad::Clamp          => Op::Unary(Unary::Clamp),
            Grad::BroadcastMaximum => Op::Broadcast(Broadcast::Maximum),
            Grad::BroadcastMinimum => Op::Broadcast(Broadcast::Minimum),
            Grad::BroadcastPow   => Op::Broadcast(Broadcast::Pow),
            Grad::Norm           => Op::Reduce(Reduce::Norm),
            Grad::CumSum         => Op::Reduce(Reduce::CumSum),
            Grad::Dot            => Op::Matmul(Matmul::Dot),
            Grad::Mv             => Op::Matmul(Matmul::Mv),
            Grad::BroadcastMatmul => Op::Matmul(Matmul::BroadcastMatmul),
            Grad::PadSame        => Op::Copies(Copies::PadSame),
            Grad::Stack          => Op::Copies(Copies::Stack),
            Grad::SliceScatter   => Op::Copies(Copies::SliceScatter),
            Grad::SliceAssign    => Op::Copies(Copies::SliceAssign),
            Grad::Repeat         => Op::Copies(Copies::Repeat),
            Grad::Flip           => Op::Copies(Copies::Flip),
            Grad::Roll           => Op::Copies(Copies::Roll),
            Grad::Unfold         => Op::Copies(Copies::Unfold),
            Grad::Chunk          => Op::Copies(Copies::Chunk),
            Grad::PixelShuffle   => Op::Copies(Copies::PixelShuffle),
            Grad::PixelUnshuffle => Op::Copies(Copies::PixelUnshuffle),
            Grad::ReplicationPad2d => Op::Copies(Copies::ReplicationPad2d),
            Grad::Transpose      => Op::Copies(Copies::Transpose),
            Grad::Reshape        => Op::Copies(Copies::Reshape),
            Grad::BroadcastAs    => Op::Copies(Copies::BroadcastAs),
            Grad::GetOnDim       => Op::Copies(Copies::GetOnDim),
            Grad::HardSigmoid    => Op::Nn(Nn::HardSigmoid),
            Grad::LeakyRelu      => Op::Nn(Nn::LeakyRelu),
            Grad::Mish           => Op::Nn(Nn::Mish),
            Grad::Selu           => Op::Nn(Nn::Selu),
            Grad::Swiglu         => Op::Nn(Nn::Swiglu),
            Grad::RopeISlow      => Op::Layers(Layers::RopeISlow),
            Grad::GroupNorm      => Op::Layers(Layers::GroupNorm),
            Grad::BatchNormEval  => Op::Layers(Layers::BatchNormEval),
            Grad::BatchNormTrain => Op::Layers(Layers::BatchNormTrain),
            Grad::PRelu          => Op::Layers(Layers::PRelu),
            Grad::Embedding      => Op::Layers(Layers::Embedding),
            Grad::Conv1dBias     => Op::Layers(Layers::Conv1dBias),
            Grad::Conv2dBias     => Op::Layers(Layers::Conv2dBias),
            Grad::Nll            => Op::Layers(Layers::Nll),
            Grad::BceWithLogit   => Op::Layers(Layers::BceWithLogit),
            Grad::LstmStep       => Op::Layers(Layers::LstmStep),
            Grad::GruStep        => Op::Layers(Layers::GruStep),
        };
        Function::Op(op)
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
pub(super) fn shapes(op: Grad, params: &[f64], shapes: &[&[usize]]) -> Result<Shapes, String> {
    let (params, wrt) = op.split(params)?;
    let Some((weight, args)) = shapes.split_last() else {
        return Err(format!("`{op}` takes arguments and a weight"));
    };
    let result = result(op, params, args)?;
    if result.output != *weight {
        let (wanted, found) = (
            crate::case::shape_text(&result.output),
            crate::case::shape_text(weight),
        );
        return Err(format!(
            "`{op}`: the weight has the shape of the result, {wanted}, and not {found}"
        ));
    }
    Ok(Shapes {
        output: args[wrt].to_vec(),
        bound: result.bound,
    })
}

/// What the function makes of the shapes of its arguments.
fn result(op: Grad, params: &[f64], args: &[&[usize]]) -> Result<Shapes, String> {
    let x = args[0];
    let whole = |i: usize| -> Result<usize, String> {
        match params[i] {
            value if value >= 0.0 && value.fract() == 0.0 && value <= 1e9 => Ok(value as usize),
            value => Err(format!("`{op}` takes whole numbers, not {value}")),
        }
    };
    let output = match op.of() {
        Function::Op(function) => return infer(function, params, args),
        Function::Narrow => {
            let (dim, start, len) = (whole(0)?, whole(1)?, whole(2)?);
            let mut output = x.to_vec();
            match output.get_mut(dim) {
                Some(extent) if start + len <= *extent => *extent = len,
                _ => {
                    return Err(format!(
                        "`{op}`: {x:?} has no slices {start} to {} along {dim}",
                        start + len
                    ));
                }
            }
            output
        }
        Function::Permute => x.iter().rev().copied().collect(),
        Function::Flatten => vec![x.iter().product()],
        Function::Expand => match whole(0)? {
            0 => return Err(format!("`{op}`: an argument repeated 0 times has no gradient")),
            times => [&[times], x].concat(),
        },
    };
    Ok(Shapes { output, bound: None })
}

/// The shape that two shapes are broadcast to, dimensions counted from the last.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[usize], d: usize| match (d + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => 1,
    };
    let common = |d| match (extent(a, d), extent(b, d)) {
        (m, n) if m == n || n == 1 => Some(m),
        (1, n) => Some(n),
        _ => None,
    };
    (0..rank).map(common).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: Grad, params: &[f64], args: &[&[usize]]) -> Result<Vec<usize>, String> {
        shapes(op, params, args).map(|shapes| shapes.output)
    }

    #[test]
    fn a_gradient_has_the_shape_of_the_argument_it_is_by() {
        assert_eq!(of(Grad::Exp, &[], &[&[2, 3], &[2, 3]]), Ok(vec![2, 3]));
        let matmul = |wrt| of(Grad::Matmul, &[wrt], &[&[2, 3], &[3, 4], &[2, 4]]);
        assert_eq!((matmul(0.0), matmul(1.0)), (Ok(vec![2, 3]), Ok(vec![3, 4])));
        let broadcast = |wrt| of(Grad::BroadcastMul, &[wrt], &[&[2, 1, 3], &[4, 1], &[2, 4, 3]]);
        assert_eq!(
            (broadcast(0.0), broadcast(1.0)),
            (Ok(vec![2, 1, 3]), Ok(vec![4, 1]))
        );
        assert_eq!(
            of(Grad::Narrow, &[1.0, 1.0, 2.0], &[&[2, 5], &[2, 2]]),
            Ok(vec![2, 5])
        );
        assert_eq!(of(Grad::Sum, &[0.0, 2.0], &[&[2, 3, 4], &[3]]), Ok(vec![2, 3, 4]));
        assert_eq!(of(Grad::Expand, &[3.0], &[&[2], &[3, 2]]), Ok(vec![2]));
    }

    #[test]
    fn a_weight_of_another_shape_and_an_argument_without_a_derivative_are_refused() {
        let why = |result: Result<Vec<usize>, String>| result.unwrap_err();
        assert!(why(of(Grad::Exp, &[], &[&[2, 3], &[3, 2]])).contains("the shape of the result, [2,3]"));
        let select = of(Grad::WhereCond, &[0.0], &[&[2], &[2], &[2], &[2]]);
        assert!(why(select).contains("not by 0"));
        assert!(why(of(Grad::Add, &[2.0], &[&[2], &[2], &[2]])).contains("not by 2"));
        assert!(why(of(Grad::Narrow, &[1.0, 4.0, 2.0], &[&[2, 5], &[2, 2]])).contains("no slices"));
        assert!(
            why(of(Grad::BroadcastAdd, &[0.0], &[&[2], &[3], &[3]]))
                .contains("the arguments have a common shape")
        );
    }

    #[test]
    fn every_row_has_the_arguments_of_its_function_and_a_weight() {
        for &op in Op::ALL {
            let Op::Grad(grad) = op else { continue };
            assert_eq!(op.roles().last(), Some(&Role::Data), "{op}");
            if let Function::Op(function) = grad.of() {
                assert_eq!(&op.roles()[..op.arity() - 1], function.roles(), "{op}");
                let own = op.params().len() - usize::from(op.params().last() == Some(&"wrt"));
                assert_eq!(&op.params()[..own], function.params(), "{op}");
            }
        }
    }
}
