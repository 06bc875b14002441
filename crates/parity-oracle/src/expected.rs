//! The right answer to a case, element by element.

use parity_model::{Case, DType, HostTensor, LimitSpec, Op};

use crate::forms;
use crate::limit::Limit;
use crate::ops;
use crate::sums::{Sums, TableSums};

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
    /// Whether each element depends on the arguments' elements at its own place alone.
    pub elementwise: bool,
    /// Where the limits come from, for reports: `2 ULP: worst of ocml 1, CUDA 2, glibc 1`.
    pub limit: String,
}

impl Expected {
    /// The right answer, rounded, as a tensor.
    pub fn tensor(&self) -> HostTensor {
        let size = self.dtype.size();
        let mut bytes = Vec::with_capacity(self.elements.len() * size);
        for element in &self.elements {
            bytes.extend_from_slice(&element.bits.to_le_bytes()[..size]);
        }
        HostTensor {
            dtype: self.dtype,
            shape: self.shape.clone(),
            bytes,
        }
    }
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
    answered(case, inputs, &TableSums)
}

/// The output that `case` would have if its partial sums were kept as `sums` says, for tests of the judge. The right
/// answer is [`expected`].
///
/// # Panics
/// As [`expected`].
pub fn output_with(case: &Case, inputs: &[HostTensor], sums: &dyn Sums) -> HostTensor {
    answered(case, inputs, sums).tensor()
}

fn answered(case: &Case, inputs: &[HostTensor], sums: &dyn Sums) -> Expected {
    if case.must_refuse() {
        return refusal(case);
    }
    let args = logical(case, inputs);
    let call = Call {
        case,
        args: &args,
        shape: case.plain().result_shape(),
        dtype: case.op.result_dtype(case.dtype),
        sums,
    };
    let (mut elements, derived) = match case.op {
        Op::Unary(op) => ops::unary::answer(&call, op),
        Op::Binary(op) => ops::binary::answer(&call, op),
        Op::Broadcast(op) => ops::binary::broadcast(&call, op),
        Op::Cast(_) => ops::cast::answer(&call),
        Op::Where(op) => ops::select::answer(&call, op),
        Op::Reduce(op, keep) => ops::reduce::answer(&call, op, keep),
        Op::Indexing(op) => ops::indexing::answer(&call, op),
        Op::Matmul(op) => ops::matmul::answer(&call, op),
        Op::Conv(op) => ops::conv::answer(&call, op),
        Op::Pool(op) => ops::pool::answer(&call, op),
        Op::Upsample(op) => ops::upsample::answer(&call, op),
        Op::Copies(op) => ops::copies::answer(&call, op),
        Op::Sort(op) => ops::sort::answer(&call, op),
        Op::Nn(op) => ops::nn::answer(&call, op),
        Op::Layers(op) => ops::layers::answer(&call, op),
        Op::Random(op) => ops::random::answer(&call, op),
        Op::Grad(op) => ops::grad::answer(&call, op),
        Op::Quantized(op) => ops::quantized::answer(&call, op),
        Op::Own(op) => ops::own::answer(&call, op),
    };
    let limit = match &case.limit {
        LimitSpec::Derived => derived,
        LimitSpec::Fixed { ulp, abs, source } => {
            let limit = Limit { ulp: *ulp, abs: *abs };
            elements.iter_mut().for_each(|element| element.limit = limit);
            format!("{limit}: {source}")
        }
        LimitSpec::Bits { source } => {
            elements
                .iter_mut()
                .for_each(|element| element.limit = Limit::EXACT);
            format!("same bits: {source}")
        }
    };
    assert_eq!(
        elements.len(),
        call.shape.iter().product::<usize>(),
        "{}: an element for each place",
        case.id()
    );
    let expected = Expected {
        dtype: call.dtype,
        shape: call.shape,
        elements,
        bitwise: matches!(case.limit, LimitSpec::Bits { .. }),
        elementwise: matches!(case.op, Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Where(_)),
        limit,
    };
    match case.check.compares_forms() {
        true => forms::both(case, expected),
        false => expected,
    }
}

/// There is no right value; the judge asks for a refusal.
fn refusal(case: &Case) -> Expected {
    let shape = case.result_shape();
    let source = match case.check.refusal() {
        Some(_) => format!("to be refused: {}", case.check),
        None => "to be refused: an id is out of range".to_owned(),
    };
    Expected {
        dtype: case.op.result_dtype(case.dtype),
        elements: vec![ops::exact(0); shape.iter().product()],
        shape,
        bitwise: false,
        elementwise: false,
        limit: source,
    }
}

/// A case with its arguments as the op sees them, and the form of its output.
pub(crate) struct Call<'a> {
    pub(crate) case: &'a Case,
    /// The logical arguments.
    pub(crate) args: &'a [HostTensor],
    /// The output's shape.
    pub(crate) shape: Vec<usize>,
    /// The output's dtype.
    pub(crate) dtype: DType,
    /// How partial sums are kept.
    pub(crate) sums: &'a dyn Sums,
}

impl Call<'_> {
    /// Parameter `i`, which the shape rules have found to be a whole number.
    pub(crate) fn whole(&self, i: usize) -> usize {
        self.case.params[i] as usize
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
    let gather = |(i, input): (usize, &HostTensor)| {
        let plan = case.plan(i);
        plan.unwrap_or_else(|| panic!("{}: impossible layout", case.id()))
            .gather(input)
    };
    inputs.iter().enumerate().map(gather).collect()
}

#[cfg(test)]
mod tests {
    use parity_model::DType;
    use parity_model::float::{Format, decode_int};

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
    fn every_elementwise_op_and_dtype_gives_an_output() {
        for &op in parity_model::Op::ALL {
            if !matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Cast(_)) {
                continue;
            }
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

    /// The output as numbers.
    fn numbers(id: &str) -> Vec<f64> {
        let (_, expected) = outputs(id);
        let decode = |bits| match Format::of(expected.dtype) {
            Some(format) => format.decode(bits),
            None => decode_int(expected.dtype, bits) as f64,
        };
        expected.elements.iter().map(|e| decode(e.bits)).collect()
    }

    #[test]
    fn a_spec_overrides_the_derived_limit() {
        let mut case: Case = "unary/exp:f32:[2]:contiguous:uniform(0,1)".parse().unwrap();
        let of = |case: &Case| expected(case, &case.inputs(0));
        assert_eq!(of(&case).limit, "2 ULP: worst of ocml 1, CUDA 2, glibc 1");
        case.limit = LimitSpec::Fixed {
            ulp: 4.0,
            abs: 1e-6,
            source: "a reason".into(),
        };
        assert_eq!(of(&case).limit, "4 ULP + 1.000e-6 absolute: a reason");
        assert_eq!(of(&case).elements[0].limit, Limit { ulp: 4.0, abs: 1e-6 });
        case.limit = LimitSpec::Bits {
            source: "a reason".into(),
        };
        assert_eq!(of(&case).limit, "same bits: a reason");
        assert!(of(&case).bitwise);
    }

    #[test]
    fn a_convolution_and_its_transpose_are_adjoint() {
        // <conv(x), y> = <x, conv_transpose(y)> for the same kernel, whatever stride, padding and dilation.
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let case = |id: &str| id.parse::<Case>().unwrap();
        let forward = case("conv/conv2d(1,2,2,1):f64:[1,2,7,7],[3,2,2,2]:contiguous,contiguous:ints(-4,4)");
        let mut inputs = forward.inputs(0);
        let out = expected(&forward, &inputs);
        assert_eq!(out.shape, [1, 3, 4, 4]);
        let back =
            case("conv/conv_transpose2d(1,0,2,2):f64:[1,3,4,4],[3,2,2,2]:contiguous,contiguous:ints(-4,4)");
        let y = back.inputs(1).remove(0);
        let x = std::mem::replace(&mut inputs[0], y);
        let returned = expected(&back, &inputs);
        let decode = |expected: &Expected| -> Vec<f64> {
            expected.elements.iter().map(|e| f64::from_bits(e.bits)).collect()
        };
        assert_eq!(returned.shape, [1, 2, 7, 7]);
        assert_eq!(
            inner(&decode(&out), &crate::numbers::reals(&inputs[0])),
            inner(&crate::numbers::reals(&x), &decode(&returned))
        );
    }

    #[test]
    fn sorting_by_indices_is_sorting() {
        let sorted = numbers("sort/sort_desc:f32:[4,9]:contiguous:nan");
        let (args, order) = outputs("sort/argsort_desc:f32:[4,9]:contiguous:nan");
        assert_eq!(sorted.len(), order.elements.len());
        assert!(
            sorted[0].is_nan() && !sorted[8].is_nan(),
            "NaN is above every number"
        );
        for row in 0..4 {
            let mut seen: Vec<u64> = order.elements[row * 9..][..9].iter().map(|e| e.bits).collect();
            let values: Vec<f32> = seen
                .iter()
                .map(|i| f32::from_bits(args[0].bits(row * 9 + *i as usize) as u32))
                .collect();
            assert!(
                values
                    .windows(2)
                    .all(|pair| pair[0] >= pair[1] || pair[0].is_nan())
            );
            seen.sort_unstable();
            assert!(seen.iter().enumerate().all(|(i, seen)| *seen == i as u64));
        }
    }

    #[test]
    fn what_is_gathered_can_be_scattered_back() {
        let (args, gathered) = outputs("indexing/gather(1):i32,u32:[2,5],[2,8]:contiguous,contiguous:any");
        let ids = crate::numbers::ints(&args[1]);
        for (i, id) in ids.iter().enumerate() {
            let source = args[0].bits(i / 8 * 5 + *id as usize);
            assert_eq!(gathered.elements[i].bits, source);
        }
        let (args, added) = outputs(
            "indexing/index_add(0):i64,u32,i64:[3,2],[4],[4,2]:contiguous,contiguous,contiguous:ints(-9,9)",
        );
        let total = |bits: &dyn Fn(usize) -> u64, n: usize| (0..n).map(|i| bits(i) as i64).sum::<i64>();
        let before = total(&|i| args[0].bits(i), 6) + total(&|i| args[2].bits(i), 8);
        assert_eq!(total(&|i| added.elements[i].bits, 6), before);
    }

    #[test]
    fn the_first_nan_is_the_extreme() {
        let (args, at) = outputs("reduce/argmax(1):f16:[3,9]:contiguous:nan");
        let (_, max) = outputs("reduce/max(1):f16:[3,9]:contiguous:ints(-4,4)");
        assert_eq!(at.dtype, DType::U32);
        let half = Format::of(DType::F16).unwrap();
        assert!(half.decode(args[0].bits(0)).is_nan());
        assert_eq!(at.elements[0].bits, 0);
        assert!(max.elements.iter().all(|e| half.decode(e.bits) > 0.0));
    }

    #[test]
    fn prelu_is_its_argument_above_zero_whatever_the_slope() {
        let (args, out) = outputs("layers/prelu:f32:[3,9],[9]:contiguous,contiguous:nan");
        let single = Format::of(DType::F32).unwrap();
        let (x, slope) = (single.decode(args[0].bits(4)), single.decode(args[1].bits(4)));
        assert!(x > 0.0 && slope.is_nan(), "{x} {slope}");
        assert_eq!(out.elements[4].bits, args[0].bits(4));
        assert!(single.decode(args[0].bits(0)).is_nan() && single.decode(out.elements[0].bits).is_nan());
    }

    #[test]
    fn at_zero_the_slope_of_leaky_relu_is_the_mean_of_both_sides() {
        let (args, out) =
            outputs("grad/grad_leaky_relu(0.25):f64:[64],[64]:contiguous,contiguous:ints(-1,1)");
        let double = Format::of(DType::F64).unwrap();
        let mut zeros = 0;
        for (i, element) in out.elements.iter().enumerate() {
            let (x, weight) = (double.decode(args[0].bits(i)), double.decode(args[1].bits(i)));
            let slope = [0.25, 0.625, 1.0][(x + 1.0) as usize];
            zeros += usize::from(x == 0.0 && weight != 0.0);
            assert_eq!(
                double.decode(element.bits),
                slope * weight,
                "x {x}, weight {weight}"
            );
        }
        assert!(zeros > 0);
    }

    #[test]
    fn upsampling_to_the_same_size_changes_nothing() {
        for op in [
            "upsample_nearest2d(5,6)",
            "upsample_bilinear2d(5,6,0)",
            "upsample_bilinear2d(5,6,1)",
        ] {
            let (args, expected) = outputs(&format!("upsample/{op}:f32:[1,2,5,6]:contiguous:uniform(-1,1)"));
            for i in 0..60 {
                assert_eq!(expected.elements[i].bits, args[0].bits(i), "{op}");
            }
        }
        let doubled = numbers("upsample/upsample_nearest1d(8):u8:[1,1,4]:contiguous:any");
        assert!((0..4).all(|i| doubled[2 * i] == doubled[2 * i + 1]));
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
