//! Weights in ggml's formats: as floats, by rows, and multiplied.
//!
//! A product is that of the dequantized weights with the activations, exact. No backend computes just that: for all but
//! plain weights each first makes 8-bit blocks of the activations, and which ones is its own choice. The limit holds for
//! ggml's three (`quantize_row_q8_0`, `quantize_row_q8_1`, `quantize_row_q8_K` in `ggml-quants.c`), which all take the
//! greatest of a block for 127: a number is off by half a step of that and, in the first two, by the rounding of the
//! step to f16. A backend that multiplies on matrix units may round them to bf16 in their place, by less than half a step:
//! that is the error where blocks hold them. For activations that all four hold exactly, only the arithmetic has one.

use parity_model::float::Format;
use parity_model::op::Quantized;
use parity_model::op::formats::BlockFormat;
use parity_model::{DType, HostTensor};

use super::{Answer, exact};
use crate::Element;
use crate::blocks::{Weight, weights};
use crate::dot::gamma;
use crate::expected::Call;
use crate::formula::steps::accumulator_unit;
use crate::limit::Limit;
use crate::numbers::{ints, reals};

pub(crate) fn answer(call: &Call<'_>, op: Quantized) -> Answer {
    let single = |weight: &Weight| u64::from(weight.value.to_bits());
    match op {
        Quantized::Dequantize(format) => {
            let elements = weights(format, &call.args[0].bytes)
                .iter()
                .map(|w| exact(single(w)))
                .collect();
            (
                elements,
                "exact: each step of the format's formula, rounded to f32".to_owned(),
            )
        }
        Quantized::DequantizeF16(format) => {
            let half = Format::of(call.dtype).unwrap_or_else(|| panic!("weights as {}", call.dtype));
            let weights = weights(format, &call.args[0].bytes);
            let elements = weights
                .iter()
                .map(|w| exact(half.encode(f64::from(w.value))))
                .collect();
            (elements, "exact: the f32 weight, rounded to f16".to_owned())
        }
        Quantized::Embedding(format) => {
            let rows = weights(format, &call.args[0].bytes);
            let width = call.shape.last().copied().unwrap_or(0);
            let row = |id: i64| {
                let start = id as usize * width;
                rows[start..start + width].iter().map(|w| exact(single(w)))
            };
            let elements = ints(&call.args[1]).into_iter().flat_map(row).collect();
            (elements, "exact: the weights of a row".to_owned())
        }
        Quantized::Qmatmul(format) => product(call, format),
        Quantized::IndexedMoe(format) => by_experts(call, format),
        Quantized::Quantize(format) => {
            let x = reals(&call.args[0]);
            let elements = crate::quantize::quantized(format, &x);
            (elements, crate::quantize::source(format).to_owned())
        }
    }
}

fn product(call: &Call<'_>, format: BlockFormat) -> Answer {
    let (x, blocks) = (&call.args[0], &call.args[1]);
    let (n, k) = (blocks.shape[0], x.shape.last().copied().unwrap_or(0));
    let weights = weights(format, &blocks.bytes);
    let output = Format::of(call.dtype).unwrap_or_else(|| panic!("a product of {}", call.dtype));
    let mut elements = Vec::with_capacity(call.shape.iter().product());
    if k == 0 {
        return (
            vec![exact(0); elements.capacity()],
            "exact: sums of nothing".to_owned(),
        );
    }
    for row in rows(x, k) {
        let row = Row::new(row, quantizer(format, call, n, k));
        elements.extend((0..n).map(|j| row.dot(&output, &weights[j * k..][..k])));
    }
    let source = if format.is_plain() {
        "gamma_k sum|w x|, accumulated in f32 in any order"
    } else {
        PRODUCT
    };
    (elements, source.to_owned())
}

/// For each id, the activations times the weights of the expert that it names.
fn by_experts(call: &Call<'_>, format: BlockFormat) -> Answer {
    let (x, blocks, ids) = (&call.args[0], &call.args[1], ints(&call.args[2]));
    let (n, k, each) = (call.shape[2], x.shape[2], x.shape[1]);
    let weights = weights(format, &blocks.bytes);
    let output = Format::of(call.dtype).unwrap_or_else(|| panic!("a product of {}", call.dtype));
    let inputs: Vec<Vec<f64>> = rows(x, k.max(1)).collect();
    let mut elements = Vec::with_capacity(ids.len() * n);
    for (at, id) in ids.iter().enumerate() {
        let of = if each == 1 { at / call.shape[1] } else { at };
        let row = Row::new(inputs[of].clone(), quantizer(format, call, n, k));
        let rows = (0..n).map(|j| &weights[(*id as usize * n + j) * k..][..k]);
        elements.extend(rows.map(|weights| row.dot(&output, weights)));
    }
    (elements, PRODUCT.to_owned())
}

/// Where the limits of products with quantized activations are from.
const PRODUCT: &str = "half a step, max|x| / 127, of the activations' 8-bit blocks and the rounding of the step to f16 (q8_0, q8_1, \
     q8_K in ggml-quants.c), or their rounding to bf16 where blocks hold them, times |w|; gamma_k sum|w x|; one rounding";

fn rows(x: &HostTensor, k: usize) -> impl Iterator<Item = Vec<f64>> {
    let numbers = reals(x);
    let count = numbers.len() / k;
    (0..count).map(move |i| numbers[i * k..][..k].to_vec())
}

/// The longest blocks that a backend makes of activations for weights of a format, where others make them of [`SHORT`]; `None` where
/// none does. candle's CPU
/// backend has q8_K for the formats of 256, and for q8_0 where its tiles of 16 columns fit (`repack_x86.rs`); CUDA and
/// ROCm have q8_1 throughout.
fn quantizer(format: BlockFormat, call: &Call<'_>, n: usize, k: usize) -> Option<usize> {
    let tiles = n.is_multiple_of(16) && k.is_multiple_of(256) && call.dtype != DType::F16;
    match format.block_len() {
        1 => None,
        32 if format == BlockFormat::Q8_0 && tiles => Some(256),
        len => Some(len),
    }
}

/// Numbers in blocks of q8_0 and q8_1.
const SHORT: usize = 32;

/// A row of activations, and how far from them those are that a backend multiplies with.
struct Row {
    x: Vec<f64>,
    /// For each number.
    errors: Vec<f64>,
    /// For the sum of each [`SHORT`] numbers, which q8_1 keeps as an f16; empty where nothing is quantized.
    sum_errors: Vec<f64>,
}

impl Row {
    fn new(x: Vec<f64>, quantizer: Option<usize>) -> Row {
        let float = |dtype| Format::of(dtype).unwrap_or_else(|| unreachable!("{dtype} is a float"));
        let (half, short) = (float(DType::F16), float(DType::BF16));
        let (mut errors, mut sum_errors) = (vec![0.0; x.len()], vec![]);
        // A long block may hold its numbers unharmed where the short ones in it do not: theirs is another step.
        for len in quantizer.into_iter().flat_map(|longest| [longest, SHORT]) {
            for (block, errors) in x.chunks(len).zip(errors.chunks_mut(len)) {
                quantization_errors(&half, &short, block, errors);
            }
        }
        if quantizer.is_some() {
            for (block, errors) in x.chunks(SHORT).zip(errors.chunks(SHORT)) {
                let (sum, error) = (block.iter().sum::<f64>(), errors.iter().sum::<f64>());
                let exact = error == 0.0 && half.round(sum) == sum;
                // Rounded as a number of steps, and times the step.
                let rounded = 2.0 * half.unit_roundoff() * (sum.abs() + error) + half.min_subnormal();
                sum_errors.push(if exact { 0.0 } else { rounded });
            }
        }
        Row {
            x,
            errors,
            sum_errors,
        }
    }

    fn dot(&self, output: &Format, weights: &[Weight]) -> Element {
        let (mut sum, mut magnitude, mut slack, mut whole) = (0.0, 0.0, 0.0, true);
        for (i, weight) in weights.iter().enumerate() {
            let (x, error) = (self.x[i], self.errors[i]);
            let value = f64::from(weight.value);
            sum += value * x;
            // With an offset, a backend may take the sum of the activations themselves, so that only the scaled part
            // meets the quantized ones.
            slack += error * value.abs().max(weight.scaled.abs());
            magnitude += (weight.scaled.abs() + weight.offset.abs()) * (x.abs() + error);
            whole &= (weight.scaled * x).fract() == 0.0 && (weight.offset * x).fract() == 0.0;
        }
        for (weights, error) in weights.chunks(SHORT).zip(&self.sum_errors) {
            let offset = weights
                .iter()
                .map(|weight| weight.offset.abs())
                .fold(0.0, f64::max);
            slack += error * offset;
        }
        let unit = accumulator_unit(DType::F32);
        if slack > 0.0 || !whole || magnitude * unit > 1.0 {
            slack += gamma(weights.len() + SCALINGS, unit) * magnitude;
        }
        let slack = if slack.is_finite() { slack } else { 0.0 };
        let limit = if slack == 0.0 {
            Limit::EXACT
        } else {
            Limit { ulp: 1.0, abs: slack }
        };
        Element {
            bits: output.encode(sum),
            limit,
        }
    }
}

/// Roundings beside those of the sum: a weight's own, the conversion of an integer sum, the products with both scales.
const SCALINGS: usize = 4;

/// Raises `errors` to how far each number of a block may be from what its quant means, or from what bf16 makes of it where that is
/// nothing.
fn quantization_errors(half: &Format, short: &Format, block: &[f64], errors: &mut [f64]) {
    let greatest = block.iter().map(|x| x.abs()).fold(0.0, f64::max);
    let step = greatest / 127.0;
    let held = half.round(step) == step && block.iter().all(|x| (x / step).fract() == 0.0);
    if held {
        for (x, error) in block.iter().zip(errors) {
            *error = error.max((short.round(*x) - x).abs());
        }
        return;
    }
    if step == 0.0 {
        return;
    }
    let rounding = (half.unit_roundoff() * step).max(half.min_subnormal() / 2.0);
    for (x, error) in block.iter().zip(errors) {
        // Quantizers divide, or multiply with a reciprocal, in f32: a half step may be missed by a few of its roundings.
        let own =
            (0.5 + 127.0 * 4.0 * accumulator_unit(DType::F32)) * step + (x.abs() / step + 0.5) * rounding;
        *error = error.max(own);
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Case;

    use super::*;
    use crate::expected;

    fn of(id: &str) -> (Vec<HostTensor>, crate::Expected) {
        let case: Case = id.parse().unwrap();
        let inputs = case.inputs(0);
        let expected = expected(&case, &inputs);
        (inputs, expected)
    }

    fn number(expected: &crate::Expected, i: usize) -> f64 {
        Format::of(expected.dtype)
            .unwrap()
            .decode(expected.elements[i].bits)
    }

    #[test]
    fn a_row_of_an_embedding_is_that_row_dequantized() {
        let (inputs, rows) = of("quantized/embedding_q4_K:u8,u32:[5,512],[2,3]:contiguous,contiguous:any");
        assert_eq!(rows.shape, [2, 3, 512]);
        let all = weights(BlockFormat::Q4K, &inputs[0].bytes);
        for (i, id) in ints(&inputs[1]).into_iter().enumerate() {
            let row = &all[id as usize * 512..][..512];
            let same = |(j, weight): (usize, &Weight)| {
                rows.elements[i * 512 + j] == exact(u64::from(weight.value.to_bits()))
            };
            assert!(row.iter().enumerate().all(same), "row {i}");
        }
    }

    #[test]
    fn activations_that_blocks_hold_leave_room_for_arithmetic_only() {
        for format in ["q4_0", "q5_1", "q8_0", "q2_K", "q6_K"] {
            let id = |values: &str| {
                format!("quantized/qmatmul_{format}:f32,u8:[3,256],[5,256]:contiguous,contiguous:{values}")
            };
            let limit = |values: &str| {
                let (_, expected) = of(&id(values));
                let allowed = expected.elements.iter().map(|element| element.limit.abs);
                let size = (0..15).map(|i| number(&expected, i).abs()).fold(0.0, f64::max);
                allowed.fold(0.0, f64::max) / size
            };
            assert!(limit("quants") < 5e-4, "{format}: {}", limit("quants"));
            assert!(limit("uniform(-1,1)") > 1e-3, "{format}: the control");
        }
        let (_, q8_0) = of("quantized/qmatmul_q8_0:f32,u8:[3,96],[5,96]:contiguous,contiguous:quants");
        assert!(q8_0.elements.iter().all(|element| element.limit == Limit::EXACT));
        // Every second number: ±127 is in the block of 256, and not in each block of 32.
        let (_, apart) = of("quantized/qmatmul_q6_K:f32,u8:[1,256],[1,256]:stepped,contiguous:quants");
        assert_ne!(apart.elements[0].limit, Limit::EXACT);
    }

    #[test]
    fn what_blocks_hold_and_bf16_does_not_may_be_rounded_to_bf16() {
        // One number in a row: 127 steps of it, and 11 bits long.
        let id = "quantized/qmatmul_q4_0:f16,u8:[64,32],[1,32]:broadcast_last,contiguous:uniform(-1,1)";
        let (inputs, expected) = of(id);
        let (x, weights) = (reals(&inputs[0]), weights(BlockFormat::Q4_0, &inputs[1].bytes));
        let bf16 = Format::of(DType::BF16).unwrap();
        for (i, element) in expected.elements.iter().enumerate() {
            let rounding = bf16.round(x[i]) - x[i];
            let sum: f64 = weights.iter().map(|weight| f64::from(weight.value)).sum();
            let off = (rounding * sum).abs();
            assert!(off <= element.limit.abs, "row {i}: {off} of {:?}", element.limit);
        }
    }

    /// What `quantize_row_q8_0` and a sum in f32 make of a row and a column.
    fn through_q8_0(x: &[f64], weights: &[Weight], flaw: f32) -> f64 {
        let half = Format::of(DType::F16).unwrap();
        let mut sum = 0_f32;
        for (x, weights) in x.chunks(32).zip(weights.chunks(32)) {
            let greatest = x.iter().map(|x| x.abs() as f32).fold(0.0, f32::max);
            let step = greatest / 127.0;
            let kept = half.round(f64::from(step)) as f32;
            for (x, weight) in x.iter().zip(weights) {
                sum += (*x as f32 / step).round() * kept * weight.value * flaw;
            }
        }
        f64::from(sum)
    }

    #[test]
    fn quantized_activations_are_inside_and_a_scale_that_is_a_tenth_too_large_is_not() {
        let id = "quantized/qmatmul_q5_0:f32,u8:[4,96],[33,96]:contiguous,contiguous:uniform(-1,1)";
        let (inputs, expected) = of(id);
        let (x, weights) = (reals(&inputs[0]), weights(BlockFormat::Q5_0, &inputs[1].bytes));
        let outside = |flaw: f32| {
            let outside = (0..4 * 33).filter(|&i| {
                let got = through_q8_0(&x[i / 33 * 96..][..96], &weights[i % 33 * 96..][..96], flaw);
                (got - number(&expected, i)).abs() > expected.elements[i].limit.abs
            });
            outside.count()
        };
        assert_eq!(outside(1.0), 0);
        assert!(outside(1.1) > 33, "the control: {} of 132", outside(1.1));
    }

    #[test]
    fn a_nan_spoils_its_row_and_no_other() {
        let (inputs, expected) = of("quantized/qmatmul_q4_1:f32,u8:[5,64],[7,64]:contiguous,contiguous:nan");
        for (i, row) in rows(&inputs[0], 64).enumerate() {
            let spoilt = row.iter().any(|x| x.is_nan());
            assert!(
                (0..7).all(|j| number(&expected, i * 7 + j).is_nan() == spoilt),
                "row {i}"
            );
        }
        assert!(
            expected
                .elements
                .iter()
                .all(|element| element.limit.abs.is_finite())
        );
    }

    #[test]
    fn half_weights_are_the_single_ones_rounded() {
        let (_, single) = of("quantized/dequantize_q2_K:u8:[4,256]:contiguous:any");
        let case: Case = "quantized/dequantize_to_f16_q2_K:u8:[4,256]:contiguous:any"
            .parse()
            .unwrap();
        let inputs = "quantized/dequantize_q2_K:u8:[4,256]:contiguous:any"
            .parse::<Case>()
            .unwrap()
            .inputs(0);
        let half = expected(&case, &inputs);
        let format = Format::of(DType::F16).unwrap();
        for i in 0..1024 {
            assert_eq!(
                half.elements[i].bits,
                format.encode(number(&single, i)),
                "weight {i}"
            );
        }
    }
}
