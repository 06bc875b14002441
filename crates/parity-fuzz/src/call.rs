//! Parameters and shapes that go together, for each op of the table: which an op takes is said by its shape rule, which of them
//! are worth a try is said here. A new op does not compile until it has its line.

mod copies;
mod images;
mod products;

use parity_model::layout::Strided;
use parity_model::op::shape::infer;
use parity_model::op::{
    Binary, Copies, Differentiable, Grad, GradOnly, Indexing, Keep, Nn, Op, Quantized, Random, Reduce, Role,
    Unary,
};
use parity_model::{Case, DType, Family};

use crate::draw::Draw;

/// Parameters, and a shape for each argument.
pub(crate) type Call = (Vec<f64>, Vec<Vec<usize>>);

/// What [`cost`] may be of one case: some milliseconds of the oracle.
pub(crate) const MOST_WORK: usize = 400_000;

/// Parameters and shapes of a call, most of them within the rules of the op.
pub(crate) fn draw(op: Op, draw: &mut Draw) -> Call {
    match op {
        Op::Unary(op) => unary(op, draw),
        Op::Binary(_) => alike(2, draw),
        Op::Broadcast(_) => broadcast(draw),
        Op::Cast(_) => alike(1, draw),
        Op::Where(_) => alike(3, draw),
        Op::Reduce(op, keep) => reduce(op, keep, draw),
        Op::Indexing(op) => indexing(op, draw),
        Op::Matmul(op) => products::matmul(op, draw),
        Op::Conv(op) => images::conv(op, draw),
        Op::Pool(_) => images::pool(draw),
        Op::Upsample(op) => images::upsample(op, draw),
        Op::Copies(op) => copies::copies(op, draw),
        Op::Sort(_) => (vec![], vec![draw.shape(1)]),
        Op::Nn(op) => nn(op, draw),
        Op::Layers(op) => products::layers(op, draw),
        Op::Random(op) => random(op, draw),
        Op::Grad(grad) => gradient(grad, draw),
        Op::Quantized(op) => quantized(op, draw),
    }
}

/// The dtype of ids or a condition: those that candle takes, and now and then the others.
pub(crate) fn id_dtype(op: Op, draw: &mut Draw) -> DType {
    let experts = matches!(op, Op::Quantized(Quantized::IndexedMoe(_)));
    match draw.below(20) {
        _ if experts => DType::U32,
        0 => *draw.pick(&[DType::I16, DType::I32]),
        1..8 => DType::U8,
        8..15 => DType::U32,
        _ => DType::I64,
    }
}

/// How much an oracle has to do: elements of all arguments and of the output, and products where there are sums of them.
pub(crate) fn cost(case: &Case) -> usize {
    let elements = |shape: &[usize]| shape.iter().fold(1_usize, |n, extent| n.saturating_mul(*extent));
    let shapes: Vec<&[usize]> = case.args.iter().map(|arg| arg.shape.as_slice()).collect();
    let output = infer(case.op, &case.params, &shapes).map_or(0, |shapes| elements(&shapes.output));
    let inputs: usize = shapes.iter().map(|shape| elements(shape)).sum();
    let weight = if case.op.family() == Family::Grad { 8 } else { 2 };
    let longest = shapes.iter().filter_map(|shape| shape.last()).copied().max();
    let longest = longest.unwrap_or(1).min(64);
    let name = case.op.name();
    // Each output of a convolution is a sum over the kernel without the output's channels.
    let taps = || {
        let channels = shapes[1].get(usize::from(name.contains("transpose")));
        4 * elements(shapes[1]) / channels.copied().unwrap_or(1).max(1)
    };
    let inner = match case.op {
        Op::Matmul(_) | Op::Quantized(_) => shapes[0].last().copied().unwrap_or(1),
        Op::Conv(_) | Op::Layers(_) | Op::Grad(_) if name.contains("conv") => taps(),
        Op::Layers(_) => 8 * longest,
        Op::Grad(_) | Op::Conv(_) => 1 + longest,
        Op::Pool(_) => (case.params[0] * case.params[1]) as usize,
        // candle multiplies with a triangle.
        Op::Reduce(Reduce::CumSum, _) => shapes[0].iter().copied().max().unwrap_or(1),
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Broadcast(_)
        | Op::Cast(_)
        | Op::Where(_)
        | Op::Reduce(..)
        | Op::Nn(_)
        | Op::Indexing(_)
        | Op::Upsample(_)
        | Op::Copies(_)
        | Op::Sort(_)
        | Op::Random(_) => 1,
    };
    inputs
        .saturating_mul(weight)
        .saturating_add(output.saturating_mul(weight).saturating_mul(inner.max(1)))
}

fn alike(count: usize, draw: &mut Draw) -> Call {
    let shape = draw.shape(0);
    (vec![], vec![shape; count])
}

/// A shape, and the same with dimensions of extent 1 or without the first ones.
fn broadcast(draw: &mut Draw) -> Call {
    let shape = draw.shape(0);
    let (a, b) = (shorter(&shape, draw), shorter(&shape, draw));
    let pair = match draw.below(3) {
        0 => [shape, b],
        1 => [a, shape],
        _ => [a, b],
    };
    (vec![], pair.to_vec())
}

/// The shape with some dimensions of extent 1, perhaps without its first ones.
pub(crate) fn shorter(shape: &[usize], draw: &mut Draw) -> Vec<usize> {
    let from = match draw.chance(50) {
        true => draw.below(shape.len() + 1),
        false => 0,
    };
    shape[from..]
        .iter()
        .map(|extent| if draw.chance(35) { 1 } else { *extent })
        .collect()
}

const NUMBERS: [f64; 16] = [
    0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.1, -0.3, 1e-3, 10.0, 100.0, -7.25, 255.0, 1e6, -1e-6,
];

fn unary(op: Unary, draw: &mut Draw) -> Call {
    let params = match op {
        Unary::Affine => vec![draw.number(&NUMBERS), draw.number(&NUMBERS)],
        Unary::Powf => vec![draw.number(&[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -0.5, -1.0, -2.0, 10.0, 0.25])],
        Unary::Elu => vec![draw.number(&[1.0, 0.0, 0.5, -1.0, 2.0, 1e-3, 0.7])],
        Unary::Clamp => vec![draw.number(&NUMBERS), draw.number(&NUMBERS)],
        Unary::RoundTo => vec![draw.number(&[0.0, 1.0, 2.0, 3.0, -1.0, -2.0])],
        Unary::Exp
        | Unary::Log
        | Unary::Sin
        | Unary::Cos
        | Unary::Abs
        | Unary::Neg
        | Unary::Recip
        | Unary::Sqr
        | Unary::Sqrt
        | Unary::Gelu
        | Unary::GeluErf
        | Unary::Erf
        | Unary::Relu
        | Unary::Silu
        | Unary::Tanh
        | Unary::Floor
        | Unary::Ceil
        | Unary::Round
        | Unary::Sign => vec![],
    };
    (params, vec![draw.shape(0)])
}

fn reduce(op: Reduce, keep: Keep, draw: &mut Draw) -> Call {
    let names = Op::Reduce(op, keep).params();
    let shape = draw.shape(usize::from(!names.is_empty()));
    let params = match names {
        [] => vec![],
        [name] if name.ends_with("..") => {
            let one = draw.below(shape.len());
            let dims = (0..shape.len()).filter(|dim| *dim == one || draw.chance(30));
            dims.map(|dim| dim as f64).collect()
        }
        _ => vec![draw.below(shape.len()) as f64],
    };
    (params, vec![shape])
}

fn indexing(op: Indexing, draw: &mut Draw) -> Call {
    let shape = draw.shape(1);
    let dim = draw.below(shape.len());
    let room = draw.budget
        / shape
            .iter()
            .enumerate()
            .filter(|(d, _)| *d != dim)
            .map(|(_, n)| n)
            .product::<usize>()
            .max(1);
    let count = draw.extent(room);
    let mut beside = shape.clone();
    beside[dim] = count;
    let shapes = match op {
        Indexing::IndexSelect => vec![shape, vec![count]],
        Indexing::Gather => {
            let fewer = (0..shape.len()).map(|d| match d == dim || draw.chance(70) {
                true => beside[d],
                false => draw.below(beside[d] + 1),
            });
            let ids = fewer.collect();
            vec![shape, ids]
        }
        Indexing::Scatter | Indexing::ScatterAdd | Indexing::ScatterSet | Indexing::ScatterAddSet => {
            vec![shape, beside.clone(), beside]
        }
        Indexing::IndexAdd => vec![shape, vec![count], beside],
    };
    (vec![dim as f64], shapes)
}

/// The small number that norms add, as layers have it.
// All are whole in f32, which candle's fused norms round them to.
const EPS: [f64; 4] = [0.000_015_258_789_062_5, 0.000_976_562_5, 1.0, 0.125];

pub(crate) fn eps(draw: &mut Draw) -> f64 {
    draw.number(&EPS)
}

fn nn(op: Nn, draw: &mut Draw) -> Call {
    match op {
        Nn::Sigmoid | Nn::HardSigmoid | Nn::Mish => alike(1, draw),
        Nn::LeakyRelu => (
            vec![draw.number(&[0.01, 0.0, 0.3, 1.0, 2.0, -0.5])],
            vec![draw.shape(0)],
        ),
        Nn::Selu => (vec![1.673_263_2, 1.050_701], vec![draw.shape(0)]),
        Nn::Swiglu => {
            let mut shape = draw.shape(1);
            let last = shape.len() - 1;
            shape[last] = (shape[last] / 2).max(1) * 2;
            (vec![], vec![shape])
        }
        Nn::SoftmaxLastDim => (vec![], vec![rows(draw)]),
        Nn::Softmax | Nn::LogSoftmax => {
            let shape = draw.full(1);
            (vec![draw.below(shape.len()) as f64], vec![shape])
        }
        Nn::RmsNorm => norm(1, draw),
        Nn::LayerNorm => norm(2, draw),
        Nn::Rope | Nn::RopeI => rope(false, draw),
        Nn::RopeThd => rope(true, draw),
    }
}

/// A shape whose rows hold something.
pub(crate) fn rows(draw: &mut Draw) -> Vec<usize> {
    let mut shape = draw.shape(1);
    let last = shape.len() - 1;
    shape[last] = shape[last].max(1);
    shape
}

/// Rows and `weights` lists of their length.
pub(crate) fn norm(weights: usize, draw: &mut Draw) -> Call {
    let shape = rows(draw);
    let list = vec![shape[shape.len() - 1]];
    let lists = std::iter::repeat_n(list, weights);
    (vec![eps(draw)], [shape].into_iter().chain(lists).collect())
}

/// Four dimensions and the angles of their pairs, for all of the batch or for each of it.
pub(crate) fn rope(heads_last: bool, draw: &mut Draw) -> Call {
    let mut x = draw.within(4, draw.budget);
    x[3] = (x[3] / 2).max(1) * 2;
    let steps = if heads_last { x[1] } else { x[2] };
    let mut angles = vec![steps, x[3] / 2];
    if draw.chance(40) {
        angles.insert(0, x[0]);
    }
    (vec![], vec![x, angles.clone(), angles])
}

/// Draws are held to their distribution, which fewer numbers say nothing of.
fn random(op: Random, draw: &mut Draw) -> Call {
    let shape = vec![*draw.pick(&[1024, 1025, 2047, 4096, 4099])];
    let seed = draw.number(&[0.0, 1.0, 42.0, 255.0, 999_999_999.0]);
    let params = match op {
        Random::Uniform => draw
            .pick(&[[0.0, 1.0], [-3.0, 1.0], [1.0, 3.0], [0.0, 100.0], [-0.5, 0.5]])
            .to_vec(),
        Random::Normal => draw
            .pick(&[[0.0, 1.0], [5.0, 0.25], [-1.0, 3.0], [0.0, 0.01]])
            .to_vec(),
        Random::UniformSeeded => vec![0.0, 1.0, seed],
        Random::NormalSeeded => vec![0.0, 1.0, seed],
    };
    (params, vec![shape])
}

/// A call of the function, the weight of its result, and the argument it is differentiated by.
fn gradient(grad: Grad, draw: &mut Draw) -> Call {
    // A tape keeps every step of every element.
    draw.budget = draw.budget.min(600);
    draw.empties = false;
    let (mut params, mut shapes) = match grad.of() {
        Differentiable::Op(op) => self::draw(op, draw),
        Differentiable::GradOnly(GradOnly::Permute | GradOnly::Flatten) => (vec![], vec![draw.shape(0)]),
        Differentiable::GradOnly(GradOnly::Expand) => (vec![draw.between(1, 4) as f64], vec![draw.shape(0)]),
    };
    let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let result = match grad.of() {
        Differentiable::Op(op) => infer(op, &params, &slices)
            .map(|shapes| shapes.output)
            .unwrap_or_default(),
        Differentiable::GradOnly(GradOnly::Permute) => shapes[0].iter().rev().copied().collect(),
        Differentiable::GradOnly(GradOnly::Flatten) => vec![shapes[0].iter().product()],
        Differentiable::GradOnly(GradOnly::Expand) => [&[params[0] as usize], shapes[0].as_slice()].concat(),
    };
    shapes.push(result);
    let op = Op::Grad(grad);
    if op.params().last() == Some(&"wrt") {
        let roles = op.roles().iter().take(op.arity() - 1).enumerate();
        let data: Vec<f64> = roles
            .filter(|(_, role)| **role == Role::Data)
            .map(|(i, _)| i as f64)
            .collect();
        params.push(draw.number(&data));
    }
    (params, shapes)
}

fn quantized(op: Quantized, draw: &mut Draw) -> Call {
    let block = op.format().block_len();
    let row = block
        * if block == 1 {
            draw.positive(65)
        } else {
            draw.between(1, 3)
        };
    let most = (draw.budget / row).max(2);
    let leading = |draw: &mut Draw| -> Vec<usize> {
        let rank = draw.below(3) + 1;
        draw.within(rank, most)
    };
    let shapes = match op {
        Quantized::Dequantize(_) | Quantized::DequantizeF16(_) | Quantized::Quantize(_) => {
            vec![[leading(draw), vec![row]].concat()]
        }
        Quantized::Qmatmul(_) => vec![
            [leading(draw), vec![row]].concat(),
            vec![draw.positive(most.min(70)), row],
        ],
        Quantized::Embedding(_) => {
            let rank = draw.below(3);
            vec![vec![draw.positive(most), row], draw.within(rank, most)]
        }
        Quantized::IndexedMoe(_) => {
            let (tokens, each, experts) = (draw.positive(9), draw.positive(8), draw.positive(5));
            let lists = if draw.chance(50) { 1 } else { each };
            vec![
                vec![tokens, lists, row],
                vec![experts, draw.positive(34), row],
                vec![tokens, each],
            ]
        }
    };
    (vec![], shapes)
}

/// Whether the case means what it says: the ends of a range are converted to the dtype first.
pub(crate) fn is_plain(case: &Case) -> bool {
    if case.op == Op::Copies(Copies::Fill) {
        // It is set in place: what repeats one element is set everywhere.
        let repeats = |view: Strided| {
            view.dims
                .iter()
                .zip(&view.strides)
                .any(|(dim, stride)| *dim > 1 && *stride == 0)
        };
        return !case.plan(0).is_some_and(|plan| repeats(plan.strided()));
    }
    let [start, end, step] = case.params[..] else {
        return true;
    };
    if case.op != Op::Copies(Copies::Arange) {
        return true;
    }
    let whole = case
        .params
        .iter()
        .all(|param| param.fract() == 0.0 && *param >= 0.0);
    match case.dtype {
        DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 => whole && end + step < 128.0,
        // From there on a step of 1 is rounded away, and candle never ends.
        DType::F8E4M3 => start.abs().max(end.abs()) <= 8.0 && step.abs() >= 1.0,
        DType::BF16 | DType::F16 | DType::F32 | DType::F64 => {
            start.abs().max(end.abs()) <= 128.0 && step.abs() >= 0.5
        }
    }
}

/// Whether an element of the output comes from single elements, so that any numbers may be in them; else from sums.
pub(crate) fn is_elementwise(op: Op) -> bool {
    match op {
        Op::Unary(_)
        | Op::Cast(_)
        | Op::Where(_)
        | Op::Copies(_)
        | Op::Sort(_)
        | Op::Upsample(_)
        | Op::Random(_) => true,
        Op::Binary(_) | Op::Broadcast(_) => true,
        Op::Reduce(op, _) => match op {
            Reduce::Min | Reduce::Max | Reduce::ArgMin | Reduce::ArgMax => true,
            Reduce::Sum | Reduce::Mean | Reduce::Var | Reduce::LogSumExp | Reduce::CumSum | Reduce::Norm => {
                false
            }
        },
        Op::Indexing(op) => match op {
            Indexing::IndexSelect | Indexing::Gather | Indexing::Scatter | Indexing::ScatterSet => true,
            Indexing::ScatterAdd | Indexing::ScatterAddSet | Indexing::IndexAdd => false,
        },
        Op::Pool(op) => op == parity_model::op::Pool::MaxPool2d,
        Op::Nn(op) => matches!(
            op,
            Nn::Sigmoid | Nn::HardSigmoid | Nn::LeakyRelu | Nn::Mish | Nn::Selu
        ),
        Op::Matmul(_) | Op::Conv(_) | Op::Layers(_) | Op::Grad(_) | Op::Quantized(_) => false,
    }
}

/// Whether the op divides integers.
pub(crate) fn divides(op: Op) -> bool {
    matches!(op, Op::Binary(Binary::Div) | Op::Broadcast(Binary::Div))
}
