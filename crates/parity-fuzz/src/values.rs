//! What arguments are filled with.

use parity_model::float::{Format, int_range};
use parity_model::op::{Copies, Layers, Nn, Quantized, Reduce, Role, Terms};
use parity_model::{DType, Op, ValueSet};

use crate::call::divides;
use crate::draw::Draw;

const fn uniform(lo: f64, hi: f64) -> ValueSet {
    ValueSet::Uniform { lo, hi }
}

const fn ints(lo: i64, hi: i64) -> ValueSet {
    ValueSet::Ints { lo, hi }
}

/// Numbers for functions of single elements: every exponent, ties, both ends, no numbers.
const FLOATS: [ValueSet; 14] = [
    uniform(-1.0, 1.0),
    uniform(-10.0, 10.0),
    uniform(0.5, 2.0),
    uniform(-200.0, 200.0),
    ints(-4, 4),
    ints(-100, 100),
    ValueSet::Geometric { lo: 1e-6, hi: 1e6 },
    ValueSet::Any,
    ValueSet::Special,
    ValueSet::Nan,
    ValueSet::Nans,
    ValueSet::OnlyNan,
    ValueSet::Ties,
    ValueSet::Peaks,
];

/// Numbers whose sums of products every dtype holds.
const SUMMED: [ValueSet; 6] = [
    uniform(-1.0, 1.0),
    uniform(-2.0, 2.0),
    uniform(0.25, 1.0),
    ints(-4, 4),
    ints(-1, 1),
    ValueSet::Nan,
];

/// Numbers that weights in blocks are multiplied with.
const ACTIVATIONS: [ValueSet; 5] = [
    uniform(-1.0, 1.0),
    uniform(-4.0, 4.0),
    ints(-4, 4),
    ValueSet::Quants,
    ValueSet::Nan,
];

const INTEGERS: [ValueSet; 6] = [
    ints(-9, 9),
    ints(0, 3),
    ints(-30_000, 30_000),
    ValueSet::Any,
    ValueSet::Extremes,
    ValueSet::Peaks,
];

/// Numbers that lie close together, far from zero: what a formula loses that subtracts their squares. The narrower dtypes hold too few
/// there.
const FAR: [ValueSet; 2] = [uniform(1000.0, 1004.0), uniform(10_000.0, 10_004.0)];

/// What the names of functions hold whose derivatives have a pole.
const POLES: [&str; 5] = ["log", "sqrt", "recip", "div", "pow"];

/// A set that the op may be filled with; `fits` says that the shapes go by the op's rule.
pub(crate) fn draw(op: Op, dtype: DType, fits: bool, draw: &mut Draw) -> ValueSet {
    if fits && op.roles().contains(&Role::Index) && draw.chance(6) {
        // A page is there and an expert, or the call is refused.
        if let Op::Layers(Layers::PagedAttention | Layers::MoeGemm | Layers::MoeGemmWeighted) = op {
            return ValueSet::IdsBeyond;
        }
        let sets = [ValueSet::IdsBeyond, ValueSet::IdsNone, ValueSet::IdsNegative];
        // `one_hot` documents -1 as an id that sets nothing, so it is not asked to be refused.
        let count = if op == Op::Copies(Copies::OneHot) { 2 } else { 3 };
        return *draw.pick(&sets[..count]);
    }
    if let Op::Quantized(op) = op {
        return match op {
            Quantized::Dequantize(_) | Quantized::DequantizeF16(_) | Quantized::Embedding(_) => ValueSet::Any,
            Quantized::Qmatmul(_) | Quantized::IndexedMoe(_) => *draw.pick(&ACTIVATIONS),
            // What the blocks of a NaN are is nowhere said.
            Quantized::Quantize(_) => *draw.pick(&ACTIVATIONS[..4]),
        };
    }
    match (divides(op), dtype.is_float()) {
        (true, false) => *draw.pick(&[
            ValueSet::Nonzero { lo: -9, hi: 9 },
            ValueSet::Nonzero {
                lo: -30_000,
                hi: 30_000,
            },
            ValueSet::Nonzero {
                lo: i64::MIN,
                hi: i64::MAX,
            },
            ValueSet::DivZero,
        ]),
        // Numbers that f64 does not hold are interpolated with errors that no limit is derived for.
        (_, false) if matches!(op, Op::Upsample(_)) && dtype == DType::I64 => *draw.pick(&INTEGERS[..3]),
        (_, false) if matches!(op, Op::Cast(_)) && draw.chance(30) => tie(dtype, draw),
        (_, false) => *draw.pick(&INTEGERS),
        (_, true) if of_differences(op) && matches!(dtype, DType::F32 | DType::F64) && draw.chance(20) => {
            *draw.pick(&FAR)
        }
        // Of exponentials of differences from the greatest there is an answer for every number.
        (_, true) if op.terms() == Terms::One || exponentials(op) => *draw.pick(&FLOATS),
        // Logarithms of what is positive; a variance is, for the gradient of the layer too.
        (_, true) if op.name().ends_with("batch_norm_eval") => uniform(0.5, 2.0),
        (_, true) if matches!(op, Op::Layers(Layers::BceWithLogit)) => uniform(0.05, 0.95),
        // Where a derivative has a pole, its sign and what 0 times it is are nowhere said.
        (_, true) if matches!(op, Op::Grad(_)) && POLES.iter().any(|pole| op.name().contains(pole)) => {
            *draw.pick(&[uniform(0.5, 2.0), uniform(0.2, 0.9), uniform(0.25, 4.0)])
        }
        (_, true) if matches!(op, Op::Grad(_)) => *draw.pick(&[
            uniform(0.5, 2.0),
            uniform(-1.0, 1.0),
            uniform(-4.0, 4.0),
            ints(-4, 4),
            uniform(0.2, 0.9),
        ]),
        // Whether a NaN of the kernel reaches sums through the padding is nowhere said.
        (_, true) if op.name().contains("conv") => *draw.pick(&SUMMED[..5]),
        // Nor whether a key that a window hides may be NaN: tiles that nobody sees are not read, and others are.
        (_, true)
            if matches!(
                op,
                Op::Layers(Layers::FlashWindowed | Layers::FlashAlibi | Layers::PagedAttention)
            ) =>
        {
            *draw.pick(&SUMMED[..5])
        }
        // Terms of different signs, of which every dtype but f8e4m3 holds the sum of a long row.
        (_, true) if sums_alone(op) && dtype != DType::F8E4M3 && draw.chance(15) => ValueSet::Ties,
        (_, true) => *draw.pick(&SUMMED),
    }
}

/// Whether the op adds elements up and does nothing else that rounds, but for the division of a mean.
fn sums_alone(op: Op) -> bool {
    matches!(op, Op::Reduce(Reduce::Sum | Reduce::Mean, _))
}

/// Whether the op sums exponentials of what its elements are less than the greatest.
fn exponentials(op: Op) -> bool {
    matches!(
        op,
        Op::Reduce(Reduce::LogSumExp, _) | Op::Nn(Nn::Softmax | Nn::LogSoftmax | Nn::SoftmaxLastDim)
    )
}

/// Whether the op sums squares of what its elements differ from their mean.
fn of_differences(op: Op) -> bool {
    matches!(
        op,
        Op::Reduce(Reduce::Var, _)
            | Op::Nn(Nn::LayerNorm)
            | Op::Layers(Layers::LayerNormLayer | Layers::LayerNormSlow | Layers::GroupNorm)
    )
}

/// Integers around one in the middle between two neighbours of a narrower float, where a second rounding goes astray.
fn tie(dtype: DType, draw: &mut Draw) -> ValueSet {
    let to = *draw.pick(&[DType::F8E4M3, DType::BF16, DType::F16, DType::F32]);
    let (Some(to), Some((_, most))) = (Format::of(to), int_range(dtype)) else {
        return ValueSet::Any;
    };
    // Binades in which neighbours are two integers apart or more, as far as the integer goes.
    let bits = to.mantissa_bits as usize;
    let last = most.ilog2() as usize;
    if last <= bits {
        return ValueSet::Any;
    }
    let gap = draw.between(bits + 1, last) - bits;
    let neighbour = ((1 << bits) + draw.below(1 << bits)) as i64;
    let middle = (neighbour << gap) + (1 << (gap - 1));
    ints(middle - 1, middle.saturating_add(1).min(most))
}
