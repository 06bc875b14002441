//! Gradients: by the rules of calculus over the op's formula, with the running error of every step.

use parity_model::Op;
use parity_model::float::Format;
use parity_model::op::{Differentiable, Grad};

use super::{Answer, unary};
use crate::expected::Call;
use crate::formula::ball::{Accumulation, Ball, Balls};
use crate::numbers::reals;
use crate::program::{Program, arguments};
use crate::tape::Tape;

const SOURCE: &str =
    "running error of the derivative's formula, one rounding a step, sums in f32 (f64 for f64) in any order";

pub(crate) fn answer(call: &Call<'_>, op: Grad) -> Answer {
    let case = call.case;
    let (params, wrt) = op
        .split(&case.params)
        .unwrap_or_else(|why| panic!("{}: {why}", case.id()));
    let format = Format::of(call.dtype).unwrap_or_else(|| panic!("{}: integers have no gradient", case.id()));
    // What the op sees is what its gradient sees: clamp ends where the dtype has its end, and a factor may be infinite.
    let held = match op.of() {
        Differentiable::Op(Op::Unary(_)) => unary::parameters(params, format),
        Differentiable::Op(_) | Differentiable::GradOnly(_) => params.to_vec(),
    };
    let balls = Balls::of(call.dtype, call.sums);
    let tape = Tape::new(balls);
    let (weight, args) = call
        .args
        .split_last()
        .unwrap_or_else(|| panic!("{}: no weight", case.id()));
    let args = arguments(&tape, case.op.roles(), args);
    let program = Program {
        params: &held,
        args: &args,
        output: &weight.shape,
    };
    let y = program.run(op.of());
    let gradient = tape.gradient(y, &reals(weight), program.x(wrt));
    let gradient = through_view(call, wrt, balls, &gradient);
    (
        gradient.into_iter().map(|ball| balls.element(ball)).collect(),
        SOURCE.to_owned(),
    )
}

/// The gradient by the tensor that lies under the argument, seen through the argument's view: elements of the view that
/// are one in memory share the sum of their gradients.
fn through_view(call: &Call<'_>, wrt: usize, balls: Balls, gradient: &[Ball]) -> Vec<Ball> {
    let Some(plan) = call.case.plan(wrt) else {
        return gradient.to_vec();
    };
    let view = plan.strided();
    let place = |index: Vec<usize>| -> usize {
        view.offset
            + index
                .iter()
                .zip(&view.strides)
                .map(|(i, stride)| i * stride)
                .sum::<usize>()
    };
    let places: Vec<usize> = crate::numbers::indices(&view.dims).map(place).collect();
    let end = places.iter().max().map_or(0, |last| last + 1);
    let mut shares = vec![Vec::new(); end];
    places
        .iter()
        .zip(gradient)
        .for_each(|(at, ball)| shares[*at].push(*ball));
    let sums: Vec<Ball> = shares
        .into_iter()
        .map(|shares| balls.sum(shares.into_iter(), Accumulation::Wide))
        .collect();
    places.iter().map(|at| sums[*at]).collect()
}

#[cfg(test)]
mod tests {
    use parity_model::{Case, HostTensor};

    use super::*;
    use crate::expected;

    /// Half of the distance between the points of a difference quotient: its square is the quotient's error.
    const STEP: f64 = 1.0 / (1 << 17) as f64;

    fn numbers(expected: &crate::Expected) -> Vec<f64> {
        expected.elements.iter().map(|e| f64::from_bits(e.bits)).collect()
    }

    /// The weighted sum that a case of f64 differentiates, by the oracle's answer to the function itself.
    fn weighted(case: &Case, inputs: &[HostTensor]) -> f64 {
        let Op::Grad(op) = case.op else {
            panic!("{}: no gradient", case.id())
        };
        let Differentiable::Op(function) = op.of() else {
            panic!("{}: no op of the table", case.id())
        };
        let (weight, inputs) = inputs.split_last().unwrap();
        let of = Case {
            op: function,
            params: op.split(&case.params).unwrap().0.to_vec(),
            args: case.args[..inputs.len()].to_vec(),
            ..case.clone()
        };
        let y = numbers(&expected(&of, inputs));
        y.iter().zip(reals(weight)).map(|(y, w)| y * w).sum()
    }

    /// `tensor` of f64 with element `at` moved by `by`.
    fn moved(tensor: &HostTensor, at: usize, by: f64) -> HostTensor {
        let mut moved = tensor.clone();
        let x = f64::from_bits(tensor.bits(at)) + by;
        moved.bytes[8 * at..8 * (at + 1)].copy_from_slice(&x.to_le_bytes());
        moved
    }

    #[track_caller]
    fn check(id: &str) {
        let case: Case = id.parse().unwrap();
        let Op::Grad(op) = case.op else {
            panic!("{id}: no gradient")
        };
        let (inputs, wrt) = (case.inputs(3), op.split(&case.params).unwrap().1);
        let gradient = numbers(&expected(&case, &inputs));
        for (at, got) in gradient.iter().enumerate() {
            let beside = |by: f64| {
                let mut inputs = inputs.clone();
                inputs[wrt] = moved(&inputs[wrt], at, by);
                weighted(&case, &inputs)
            };
            let slope = (beside(STEP) - beside(-STEP)) / (2.0 * STEP);
            let error = (got - slope).abs();
            assert!(
                error < 1e-7 * (1.0 + slope.abs()),
                "{id} at {at}: {got} and {slope}"
            );
        }
    }

    /// `name(params..,wrt)` for each of `wrt`, on contiguous arguments of these shapes.
    #[track_caller]
    fn check_each(name: &str, dtypes: &str, params: &[&str], shapes: &str, values: &str) {
        let layouts = vec!["contiguous"; shapes.split("],[").count()].join(",");
        for params in params {
            check(&format!(
                "grad/grad_{name}{params}:{dtypes}:{shapes}:{layouts}:{values}"
            ));
        }
    }

    const UNIT: &str = "uniform(-1,1)";
    const ABOVE: &str = "uniform(0.5,3)";

    #[test]
    fn elementwise_gradients_are_the_slopes_of_the_ops() {
        for op in [
            "gelu", "gelu_erf", "silu", "tanh", "erf", "sin", "sigmoid", "sqrt", "recip",
        ] {
            check_each(op, "f64", &[""], "[9],[9]", ABOVE);
        }
        for op in ["div", "pow", "maximum", "minimum", "mul", "sub"] {
            check_each(op, "f64", &["(0)", "(1)"], "[9],[9],[9]", ABOVE);
        }
        check_each(
            "where_cond",
            "u8,f64,f64,f64",
            &["(1)", "(2)"],
            "[9],[9],[9],[9]",
            UNIT,
        );
    }

    #[test]
    fn gradients_of_sums_and_extremes_are_their_slopes() {
        for op in [
            "sum",
            "mean",
            "min",
            "max",
            "var",
            "log_sum_exp",
            "softmax",
            "log_softmax",
        ] {
            let shapes = if op.contains("softmax") {
                "[3,4],[3,4]"
            } else {
                "[3,4],[3]"
            };
            check_each(op, "f64", &["(1)"], shapes, UNIT);
        }
        check_each("avg_pool2d", "f64", &["(2,2,1,1)"], "[1,1,4,5],[1,1,3,4]", UNIT);
        check_each("max_pool2d", "f64", &["(2,2,1,1)"], "[1,1,4,5],[1,1,3,4]", UNIT);
        check_each("max_pool2d", "f64", &["(2,2,2,2)"], "[1,1,5,5],[1,1,2,2]", UNIT);
    }

    #[test]
    fn gradients_of_products_are_their_slopes() {
        check_each("matmul", "f64", &["(0)", "(1)"], "[2,2,3],[2,3,4],[2,2,4]", UNIT);
        let groups = ["(1,2,1,2,0)", "(1,2,1,2,1)"];
        check_each("conv1d", "f64", &groups, "[2,4,6],[2,2,3],[2,2,3]", UNIT);
        let dilated = ["(1,1,2,1,0)", "(1,1,2,1,1)"];
        check_each("conv2d", "f64", &dilated, "[1,2,5,5],[2,2,2,2],[1,2,5,5]", UNIT);
        let stretched = ["(1,1,2,1,1,0)", "(1,1,2,1,1,1)"];
        check_each(
            "conv_transpose1d",
            "f64",
            &stretched,
            "[2,2,4],[2,3,3],[2,3,8]",
            UNIT,
        );
        let stretched = ["(1,0,2,1,0)", "(1,0,2,1,1)"];
        check_each(
            "conv_transpose2d",
            "f64",
            &stretched,
            "[1,2,3,3],[2,1,3,3],[1,1,5,5]",
            UNIT,
        );
    }

    #[test]
    fn gradients_of_moved_elements_are_their_slopes() {
        check_each("index_select", "f64,u32,f64", &["(0)"], "[3,4],[5],[5,4]", UNIT);
        check_each("gather", "f64,u32,f64", &["(0)"], "[3,4],[5,4],[5,4]", UNIT);
        for op in ["scatter", "scatter_add"] {
            let by = ["(0,0)", "(0,2)"];
            check_each(op, "f64,u32,f64,f64", &by, "[5,4],[3,4],[3,4],[5,4]", UNIT);
        }
        check_each(
            "index_add",
            "f64,u32,f64,f64",
            &["(0,0)", "(0,2)"],
            "[3,4],[5],[5,4],[3,4]",
            UNIT,
        );
        check_each("cat", "f64", &["(1,0)", "(1,1)"], "[2,3],[2,4],[2,7]", UNIT);
        check_each("pad_with_zeros", "f64", &["(1,2,1)"], "[2,3],[2,6]", UNIT);
        check_each("upsample_nearest1d", "f64", &["(10)"], "[1,2,4],[1,2,10]", UNIT);
        check_each(
            "upsample_nearest2d",
            "f64",
            &["(6,5)"],
            "[1,1,3,4],[1,1,6,5]",
            UNIT,
        );
        for by in ["(6,5,0)", "(6,5,1)"] {
            check_each("upsample_bilinear2d", "f64", &[by], "[1,1,3,4],[1,1,6,5]", UNIT);
        }
    }

    #[test]
    fn gradients_of_layers_and_losses_are_their_slopes() {
        check_each(
            "rms_norm",
            "f64",
            &["(0.01,0)", "(0.01,1)"],
            "[2,5],[5],[2,5]",
            UNIT,
        );
        let by = ["(0.01,0)", "(0.01,1)", "(0.01,2)"];
        check_each("layer_norm", "f64", &by, "[2,5],[5],[5],[2,5]", UNIT);
        let by = ["(0)", "(1)", "(2)"];
        check_each("rope", "f64", &by, "[1,2,3,4],[3,2],[3,2],[1,2,3,4]", UNIT);
        check_each("linear", "f64", &by, "[2,3,4],[5,4],[5],[2,3,5]", UNIT);
        let by = ["(1,0)", "(1,1)", "(0,2)"];
        check_each(
            "attention",
            "f64",
            &by,
            "[1,1,3,4],[1,1,3,4],[1,1,3,2],[1,1,3,2]",
            UNIT,
        );
        check_each("cross_entropy", "f64,u32,f64", &[""], "[3,4],[3],[]", UNIT);
        check_each("mse", "f64", &["(0)", "(1)"], "[3,4],[3,4],[]", UNIT);
        check_each("huber", "f64", &["(0.5,0)", "(0.5,1)"], "[3,4],[3,4],[]", UNIT);
    }

    /// The oracle's gradient of `function` in f16 or bf16 at `x`, for a weight `w`.
    fn at(function: &str, dtype: &str, x: f64, w: f64) -> f64 {
        let case: Case = format!("grad/grad_{function}:{dtype}:[],[]:contiguous,contiguous:ints(0,1)")
            .parse()
            .unwrap();
        let format = Format::of(case.dtype).unwrap();
        let mut inputs = case.inputs(0);
        for (input, number) in inputs.iter_mut().zip([x, w]) {
            input.bytes = format.encode(number).to_le_bytes()[..2].to_vec();
        }
        format.decode(expected(&case, &inputs).elements[0].bits)
    }

    #[test]
    fn parameters_of_a_gradient_are_numbers_of_the_dtype() {
        // bf16 does not hold 0.3. At the one that candle clamps to, half of the weight goes on, and beyond it all or nothing.
        let end = Format::of(parity_model::DType::BF16).unwrap().round(0.3);
        assert_ne!(end, 0.3);
        assert_eq!(at("clamp(0.3,1)", "bf16", end, 2.0), 1.0);
        assert_eq!(at("clamp(0.3,1)", "bf16", end + 0.01, 2.0), 2.0);
        assert_eq!(at("clamp(0.3,1)", "bf16", end - 0.01, 2.0), 0.0);
        // A factor that f16 has as infinity.
        assert!(at("affine(250000,0)", "f16", 1.0, 0.0).is_nan());
        assert_eq!(at("affine(250000,0)", "f16", 1.0, 1.0), f64::INFINITY);
        assert_eq!(at("affine(25000,0)", "f16", 1.0, 0.0), 0.0, "the control");
    }

    #[test]
    fn elements_that_are_one_in_memory_share_the_sum_of_their_gradients() {
        let repeated = |layout: &str| {
            let case: Case = format!("grad/grad_copy:f64:[3,4],[3,4]:{layout},contiguous:ints(-9,9)")
                .parse()
                .unwrap();
            let inputs = case.inputs(0);
            (numbers(&expected(&case, &inputs)), reals(&inputs[1]))
        };
        let (gradient, weight) = repeated("broadcast");
        for (at, got) in gradient.iter().enumerate() {
            assert_eq!(*got, (0..3).map(|row| weight[4 * row + at % 4]).sum::<f64>());
        }
        let (gradient, weight) = repeated("transposed");
        assert_eq!(gradient, weight, "the control");
    }

    #[test]
    fn an_argument_that_is_used_twice_has_the_gradient_of_both_uses() {
        let of = |id: &str| {
            let case: Case = id.parse().unwrap();
            let inputs = case.inputs(3);
            (numbers(&expected(&case, &inputs)), reals(&inputs[1]))
        };
        let layouts = "contiguous,contiguous:ints(-9,9)";
        let (gradient, w) = of(&format!(
            "grad/grad_cat_upsample_nearest1d:f64:[1,1,3],[1,1,9]:{layouts}"
        ));
        let own = |i: usize| w[6 + i] + w[2 * i] + w[2 * i + 1];
        assert_eq!(gradient, [0, 1, 2].map(own));
        let (gradient, w) = of(&format!(
            "grad/grad_cat_upsample_nearest2d:f64:[1,1,2,3],[1,1,30]:{layouts}"
        ));
        let copies = |row: usize, column: usize| w[6 * row + 2 * column..][..2].iter().sum::<f64>();
        let both = |row: usize, column: usize| copies(2 * row, column) + copies(2 * row + 1, column);
        let own = |i: usize| w[24 + i] + both(i / 3, i % 3);
        assert_eq!(gradient, [0, 1, 2, 3, 4, 5].map(own));
    }
}
