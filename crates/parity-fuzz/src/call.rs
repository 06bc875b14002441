//! Parameters and shapes that go together. Shapes are drawn by the op's shape rule in the table, parameters by their names, so that a
//! new op needs no line here; only rules that say more than a pattern of shapes have a function of their own.

mod copies;
mod images;
mod params;
mod products;

use parity_model::float::Format;
use parity_model::layout::Strided;
use parity_model::op::grad::result;
use parity_model::op::shape::{infer, patterns};
use parity_model::op::{
    Binary, Copies, Differentiable, Grad, Indexing, Nn, Op, Quantized, Random, Reduce, Role,
};
use parity_model::{Case, DType, Family};

use crate::draw::Draw;

/// Parameters, and a shape for each argument.
pub(crate) type ParamsAndShapes = (Vec<f64>, Vec<Vec<usize>>);

/// What [`cost`] may be of one case: some milliseconds of the oracle.
pub(crate) const MOST_WORK: usize = 400_000;

/// Parameters and shapes of a call, most of them within the rules of the op.
pub(crate) fn draw(op: Op, draw: &mut Draw) -> ParamsAndShapes {
    match op {
        _ if images::convolves(op) => images::conv(op, draw),
        Op::Broadcast(_) => broadcast(draw),
        Op::Indexing(op) => indexing(op, draw),
        Op::Matmul(op) => products::matmul(op, draw),
        Op::Pool(_) => images::pool(draw),
        Op::Upsample(_) => images::upsample(op, draw),
        Op::Copies(op) => copies::copies(op, draw),
        Op::Layers(op) => products::layers(op, draw),
        Op::Random(op) => random(op, draw),
        Op::Grad(grad) => gradient(grad, draw),
        Op::Quantized(op) => quantized(op, draw),
        // The numbers that candle's layer has.
        Op::Nn(Nn::Selu) => (vec![1.673_263_2, 1.050_701], vec![draw.shape(0)]),
        _ => by_rule(op, draw),
    }
}

/// Shapes by the op's rule, and parameters by their names.
pub(crate) fn by_rule(op: Op, draw: &mut Draw) -> ParamsAndShapes {
    let shapes = shapes(op, draw);
    (params::named(op.params(), &shapes[0], draw), shapes)
}

/// Shapes that go by one of the patterns of the op's rule; the same for all arguments where the rule has none.
fn shapes(op: Op, draw: &mut Draw) -> Vec<Vec<usize>> {
    let patterns = patterns(op);
    if patterns.is_empty() {
        let shape = draw.shape(usize::from(params::needs_dim(op.params())));
        return vec![shape; op.arity()];
    }
    let pattern = *draw.pick(&patterns);
    let names = pattern.names();
    let rest = match pattern.rest() {
        Some(_) => draw.rank(names.len()) - names.len(),
        None => 0,
    };
    let extents = draw.extents(names.len() + rest);
    let (named, rest) = extents.split_at(names.len());
    let least = pattern.rest().unwrap_or(0);
    let rest: Vec<usize> = rest.iter().map(|extent| (*extent).max(least)).collect();
    let extent = |wanted: &str| {
        let place = names.iter().position(|name| name.name == wanted);
        place.map_or(1, |place| match (named[place], names[place].factor) {
            (extent, 1) => extent.max(names[place].least),
            // A dimension that is split into halves or gates gets at least one element each: no documentation says what an empty
            // one means.
            (extent, factor) => extent.div_ceil(factor).max(1),
        })
    };
    pattern.shapes(extent, &rest)
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
        _ => 1,
    };
    inputs
        .saturating_mul(weight)
        .saturating_add(output.saturating_mul(weight).saturating_mul(inner.max(1)))
}

/// A shape, and the same with dimensions of extent 1 or without the first ones.
fn broadcast(draw: &mut Draw) -> ParamsAndShapes {
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

fn indexing(op: Indexing, draw: &mut Draw) -> ParamsAndShapes {
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

/// Draws are held to their distribution, which fewer numbers say nothing of.
fn random(op: Random, draw: &mut Draw) -> ParamsAndShapes {
    let shape = vec![*draw.pick(&[1024, 1025, 2047, 4096, 4099])];
    let names = Op::from(op).params();
    let ends = match names {
        ["lo", "up", ..] => draw.pick(&[[0.0, 1.0], [-3.0, 1.0], [1.0, 3.0], [0.0, 100.0], [-0.5, 0.5]]),
        _ => draw.pick(&[[0.0, 1.0], [5.0, 0.25], [-1.0, 3.0], [0.0, 0.01]]),
    };
    let further = names
        .iter()
        .skip(2)
        .map(|name| params::number(name, &shape, draw));
    let params = ends.iter().copied().chain(further.collect::<Vec<_>>());
    (params.collect(), vec![shape.clone()])
}

/// A call of the function, the weight of its result, and the argument it is differentiated by.
fn gradient(grad: Grad, draw: &mut Draw) -> ParamsAndShapes {
    // A tape keeps every step of every element.
    draw.budget = draw.budget.min(600);
    draw.empties = false;
    let op = Op::Grad(grad);
    let by_argument = op.params().last() == Some(&"wrt");
    let (mut params, mut shapes) = match grad.of() {
        Differentiable::Op(op) => self::draw(op, draw),
        Differentiable::GradOnly(_) => {
            let shapes = vec![draw.shape(0)];
            let names = op.params().len() - usize::from(by_argument);
            (params::named(&op.params()[..names], &shapes[0], draw), shapes)
        }
    };
    let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let result = result(grad, &params, &slices);
    shapes.push(result.map(|shapes| shapes.output).unwrap_or_default());
    if by_argument {
        let roles = op.roles().iter().take(op.arity() - 1).enumerate();
        let data: Vec<f64> = roles
            .filter(|(_, role)| **role == Role::Data)
            .map(|(i, _)| i as f64)
            .collect();
        params.push(draw.number(&data));
    }
    (params, shapes)
}

fn quantized(op: Quantized, draw: &mut Draw) -> ParamsAndShapes {
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
    let Some(format) = Format::of(case.dtype) else {
        return whole && end + step < 128.0;
    };
    let count = |start: f64, end: f64, step: f64| ((end - start) / step).ceil().max(0.0);
    let [first, last, each] = [start, end, step].map(|param| format.round(param));
    // A step below the gap between numbers is rounded away, and candle never ends. It adds until it is past the end.
    let farthest = first.abs().max(last.abs()) + each.abs();
    each.abs() >= format.ulp(farthest) && count(first, last, each) == count(start, end, step)
}

/// Whether the op divides integers.
pub(crate) fn divides(op: Op) -> bool {
    matches!(op, Op::Binary(Binary::Div) | Op::Broadcast(Binary::Div))
}
