//! The right answer to a case, element by element.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::{Case, DType, HostTensor};

use crate::limit::{Limit, Rule, rule};
use crate::{bound, integer, real};

/// What a case should give.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Dtype of the output.
    pub dtype: DType,
    /// Shape of the output.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub elements: Vec<Element>,
    /// Whether the bits are compared, the sign of zero included, instead of the numbers.
    pub bitwise: bool,
    /// Where the limits come from, for reports: `2 ULP: worst of ocml 1, CUDA 2, glibc 1`.
    pub limit: String,
}

/// One expected element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// The right answer, rounded to the output's dtype, as bits.
    pub bits: u64,
    /// How far from it an output may lie.
    pub limit: Limit,
}

/// The right answer to `case` on `inputs`, the base tensors from [`Case::inputs`].
///
/// # Panics
/// When `inputs` are not the case's: another number of tensors, or other base shapes.
pub fn expected(case: &Case, inputs: &[HostTensor]) -> Expected {
    let args = logical(case, inputs);
    let dtype = case.op.result_dtype(case.dtype);
    let (rule, limit) = rule(case);
    let element = match Format::of(case.dtype) {
        None => integer_element(case, &args, dtype),
        Some(format) => real_element(case, &args, format, &rule),
    };
    let elements = (0..args[0].len()).map(element).collect();
    Expected {
        dtype,
        shape: args[0].shape.clone(),
        elements,
        bitwise: rule == Rule::Bits,
        limit,
    }
}

/// The arguments as the op sees them: the views, gathered.
pub(crate) fn logical(case: &Case, inputs: &[HostTensor]) -> Vec<HostTensor> {
    assert_eq!(
        inputs.len(),
        case.args.len(),
        "{}: one input an argument",
        case.id()
    );
    let gather = |(arg, input): (&parity_model::Arg, &HostTensor)| {
        let plan = arg.layout.plan(&arg.shape);
        plan.unwrap_or_else(|| panic!("{}: impossible layout", case.id()))
            .gather(input)
    };
    case.args.iter().zip(inputs).map(gather).collect()
}

type ElementFn<'a> = Box<dyn Fn(usize) -> Element + 'a>;

fn integer_element<'a>(case: &'a Case, args: &'a [HostTensor], out: DType) -> ElementFn<'a> {
    Box::new(move |i| {
        let x = |arg: usize| decode_int(case.dtype, args[arg].bits(i));
        let value = match args.len() {
            1 => integer::unary(case.op, case.dtype, &case.params, x(0)),
            _ => integer::binary(case.op, x(0), x(1)),
        };
        let value = value.unwrap_or_else(|| panic!("{} has no meaning for integers", case.op));
        Element {
            bits: encode_int(out, value),
            limit: Limit::EXACT,
        }
    })
}

fn real_element<'a>(case: &'a Case, args: &'a [HostTensor], format: Format, rule: &'a Rule) -> ElementFn<'a> {
    // Parameters become numbers of the dtype before the op sees them.
    let params: Vec<f64> = case.params.iter().map(|p| format.round(*p)).collect();
    let truth = case.op.result_dtype(case.dtype) != case.dtype;
    Box::new(move |i| {
        let x = |arg: usize| format.decode(args[arg].bits(i));
        let value = match args.len() {
            1 => real::unary(case.op, &params, x(0)),
            _ => real::binary(case.op, x(0), x(1)),
        };
        let value = value.unwrap_or_else(|| panic!("{} takes another number of arguments", case.op));
        if truth {
            return Element {
                bits: value as u64,
                limit: Limit::EXACT,
            };
        }
        let bits = format.encode(value);
        let limit = match rule {
            Rule::Fixed(limit) => *limit,
            Rule::Bits => Limit::EXACT,
            Rule::Composite => {
                let abs = bound::composite(case.op, &params, case.dtype, x(0), format.decode(bits));
                Limit {
                    ulp: 0.0,
                    abs: abs.filter(|abs| abs.is_finite()).unwrap_or(0.0),
                }
            }
        };
        Element { bits, limit }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(id: &str) -> (Vec<HostTensor>, Expected) {
        let case: Case = id.parse().unwrap();
        let inputs = case.inputs(0);
        let expected = expected(&case, &inputs);
        (logical(&case, &inputs), expected)
    }

    #[test]
    fn exact_f32_arithmetic_is_the_machines_own() {
        for (op, f) in [
            ("add", (|a, b| a + b) as fn(f32, f32) -> f32),
            ("sub", |a, b| a - b),
            ("mul", |a, b| a * b),
            ("div", |a, b| a / b),
        ] {
            let (args, expected) = outputs(&format!(
                "binary/{op}:f32:[4096],[4096]:contiguous,contiguous:any"
            ));
            for i in 0..4096 {
                let x = |arg: usize| f32::from_bits(args[arg].bits(i) as u32);
                let (want, got) = (f(x(0), x(1)), f32::from_bits(expected.elements[i].bits as u32));
                assert!(
                    want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(),
                    "{op}({}, {})",
                    x(0),
                    x(1)
                );
                assert_eq!(expected.elements[i].limit, Limit::EXACT);
            }
        }
    }

    #[test]
    fn every_op_and_dtype_of_the_table_gives_an_output() {
        for &op in parity_model::Op::ALL {
            for &dtype in op.dtypes() {
                let params: Vec<&str> = op.params().iter().map(|_| "2").collect();
                let params = if params.is_empty() {
                    String::new()
                } else {
                    format!("({})", params.join(","))
                };
                let (shapes, layouts) = if op.arity() == 1 {
                    ("[3,4]", "contiguous")
                } else {
                    ("[3,4],[3,4]", "sliced,transposed")
                };
                let id = format!(
                    "{}/{op}{params}:{dtype}:{shapes}:{layouts}:nonzero(-9,9)",
                    op.family()
                );
                let (_, expected) = outputs(&id);
                assert_eq!(
                    (expected.elements.len(), expected.dtype),
                    (12, op.result_dtype(dtype)),
                    "{id}"
                );
                assert!(expected.elements.iter().all(|e| e.limit.abs.is_finite()), "{id}");
            }
        }
    }

    #[test]
    fn integers_wrap_to_their_width() {
        let (args, expected) = outputs("binary/mul:u8:[65536],[65536]:contiguous,contiguous:exhaustive");
        for i in 0..65536 {
            assert_eq!(
                expected.elements[i].bits,
                u64::from((args[0].bits(i) as u8).wrapping_mul(args[1].bits(i) as u8))
            );
        }
    }

    #[test]
    fn f8_results_above_the_largest_number_saturate() {
        let (args, expected) = outputs("unary/exp:f8e4m3:[256]:contiguous:exhaustive");
        let top = Format::of(DType::F8E4M3).unwrap();
        for i in 0..256 {
            if top.decode(args[0].bits(i)) > 7.0 {
                assert_eq!(expected.elements[i].bits, 0x7E);
            }
        }
    }

    #[test]
    fn a_broadcast_argument_repeats_and_a_layout_changes_no_value() {
        let (args, expected) = outputs("binary/add:i32:[3,4],[3,4]:transposed,broadcast:ints(-9,9)");
        for i in 0..12 {
            let sum = decode_int(DType::I32, args[0].bits(i)) + decode_int(DType::I32, args[1].bits(i));
            assert_eq!(decode_int(DType::I32, expected.elements[i].bits), sum);
            assert_eq!(args[1].bits(i), args[1].bits(i % 4));
        }
    }
}
