//! Ops of the running program: what it registered in [`crate::own`].

use parity_model::Op;
use parity_model::float::{Format, encode_int};
use parity_model::op::Own;

use super::Answer;
use crate::Element;
use crate::expected::Call;
use crate::numbers::Numbers;
use crate::own::{self, Plain, Right};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Own) -> Answer {
    let right = own::right(op);
    let (of, limit, source) = match &*right {
        Right::Formula(_) => return super::of_parts(call, Op::Own(op)),
        Right::Numbers { of, limit, source } => (of, *limit, source),
    };
    let plain = Plain {
        params: &call.case.params,
        args: call.args.iter().map(|arg| numbers(&Numbers::of(arg))).collect(),
        shapes: call.args.iter().map(|arg| arg.shape.as_slice()).collect(),
        output: &call.shape,
        dtype: call.case.dtype,
    };
    let values = of(&plain);
    let wanted = call.shape.iter().product::<usize>();
    assert!(
        values.len() == wanted,
        "own op `{}`: its numbers are {}, and its shape rule says {:?}",
        op.name(),
        values.len(),
        call.shape
    );
    let bits = |value: f64| match Format::of(call.dtype) {
        Some(format) => format.encode(value),
        None => encode_int(call.dtype, value as i64),
    };
    let element = |value: f64| Element {
        bits: bits(value),
        limit,
    };
    (
        values.into_iter().map(element).collect(),
        format!("{limit}: {source}"),
    )
}

fn numbers(of: &Numbers) -> Vec<f64> {
    match of {
        Numbers::Reals(reals) => reals.clone(),
        Numbers::Ints(ints) => ints.iter().map(|int| *int as f64).collect(),
    }
}

/// The op on a tape.
pub(crate) fn formula<'t>(program: &Program<'t, '_>, op: Own) -> Tensor<'t> {
    let right = own::right(op);
    let Right::Formula(formula) = &*right else {
        panic!("`{}` has no formula, and so no derivative", op.name())
    };
    let y = formula(&own::OwnCall::new(program, op)).inner();
    assert!(
        y.shape() == program.output,
        "own op `{}`: its formula gives the shape {:?}, and its shape rule says {:?}",
        op.name(),
        y.shape(),
        program.output
    );
    y
}

#[cfg(test)]
mod tests {
    use parity_model::op::own::{Declaration, Shape, register};
    use parity_model::op::{Role, Terms};
    use parity_model::{Case, DType};

    use crate::own::{OwnCall, Plain, Right, Tensor};
    use crate::{Limit, expected};

    fn declared(name: &'static str, right: Right) {
        let declaration = Declaration {
            name,
            definition: "",
            params: vec!["alpha"],
            args: vec![("gate", Role::Data), ("up", Role::Data)],
            dtypes: vec![DType::I64, DType::F16, DType::F32, DType::F64],
            output: None,
            shape: Shape::Pattern("[..] [..] -> [..]"),
            batch: None,
            terms: Terms::One,
            gradient: Some((vec![DType::F64], "")),
        };
        crate::own::register(name, right).unwrap();
        register(&declaration).unwrap();
    }

    /// gate up / (1 + e^(-alpha gate)).
    fn formula<'t>(call: &OwnCall<'t, '_>) -> Tensor<'t> {
        let (gate, up) = (call.x(0), call.x(1));
        call.wide(|| gate / (1.0 + (gate * -call.param(0)).exp()) * up)
    }

    fn reals(id: &str) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let case: Case = id.parse().unwrap();
        let inputs = case.inputs(0);
        let want = expected(&case, &inputs);
        let y = want.elements.iter().map(|e| f64::from_bits(e.bits)).collect();
        (
            crate::numbers::reals(&inputs[0]),
            crate::numbers::reals(&inputs[1]),
            y,
        )
    }

    #[test]
    fn a_formula_gives_the_answer_its_limit_and_the_gradient() {
        declared("oracle_own_gated", Right::Formula(Box::new(formula)));
        let f = |x: f64| x / (1.0 + (-1.5 * x).exp());
        let (gate, up, y) =
            reals("own/oracle_own_gated(1.5):f64:[9],[9]:contiguous,contiguous:uniform(-4,4)");
        for i in 0..9 {
            assert!((y[i] - f(gate[i]) * up[i]).abs() < 1e-14);
        }
        let (gate, up, slopes) = reals(
            "grad/grad_oracle_own_gated(1.5,1):f64:[9],[9],[9]:contiguous,contiguous,contiguous:ints(-3,3)",
        );
        assert!(slopes.iter().any(|slope| *slope != 0.0), "{gate:?} {up:?}");
        let case: Case = "own/oracle_own_gated(1.5):f16:[9],[9]:contiguous,contiguous:uniform(-4,4)"
            .parse()
            .unwrap();
        let want = expected(&case, &case.inputs(0));
        assert!(want.limit.contains("running error"), "{}", want.limit);
        // One rounding to f16 and some of f32: far below two units of the greatest number, 16.
        assert!(
            want.elements.iter().all(|e| e.limit.abs < 0.0157),
            "{:?}",
            want.elements
        );
    }

    #[test]
    fn numbers_are_rounded_once_and_have_the_limit_that_they_came_with() {
        let of = |call: &Plain<'_>| {
            call.args[0]
                .iter()
                .zip(&call.args[1])
                .map(|(a, b)| a + call.params[0] * b)
                .collect()
        };
        let limit = Limit { ulp: 3.0, abs: 0.0 };
        let right = Right::Numbers {
            of: Box::new(of),
            limit,
            source: "a reason".to_owned(),
        };
        declared("oracle_own_numbers", right);
        let case: Case = "own/oracle_own_numbers(2):i64:[5],[5]:contiguous,contiguous:ints(-9,9)"
            .parse()
            .unwrap();
        let inputs = case.inputs(0);
        let want = expected(&case, &inputs);
        let [a, b] = [0, 1].map(|i| crate::numbers::ints(&inputs[i]));
        for i in 0..5 {
            assert_eq!(want.elements[i].bits as i64, a[i] + 2 * b[i]);
        }
        assert_eq!(want.limit, "3 ULP: a reason");
        let again = Right::Formula(Box::new(formula));
        assert!(
            crate::own::register("oracle_own_numbers", again)
                .unwrap_err()
                .contains("once")
        );
    }
}
