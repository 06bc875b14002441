//! What numbers become in blocks of ggml's formats: by the formulas of `quantize_row_*_ref` in `ggml-quants.c`, in f32.
//!
//! Most formats leave no choice: a scale from the extreme numbers of a block, and each number over it, rounded. Those of
//! 256 weights with scales of their own for groups search for the scales; of them it is asked that no weight is further
//! from its number than one step of a grid that is spread evenly over the block.

use parity_model::DType;
use parity_model::float::Format;
use parity_model::op::formats::BlockFormat;

use crate::Element;
use crate::blocks::Weight;
use crate::limit::Limit;

/// Where the limits are from, for reports.
pub(crate) fn source(format: BlockFormat) -> &'static str {
    match levels(format) {
        None => "exact: each step of the reference quantizer's formula in f32, and of the format's own",
        Some(_) => {
            "one step of a grid of the format's levels, spread evenly over a block of 256, and for q6_K the rounding of its scales"
        }
    }
}

/// The steps between the lowest and the highest number of a block, of formats that search for scales.
fn levels(format: BlockFormat) -> Option<f64> {
    match format {
        BlockFormat::Q2K => Some(3.0),
        BlockFormat::Q3K => Some(7.0),
        BlockFormat::Q4K => Some(15.0),
        BlockFormat::Q5K => Some(31.0),
        BlockFormat::Q6K => Some(63.0),
        BlockFormat::F32
        | BlockFormat::F16
        | BlockFormat::BF16
        | BlockFormat::Q4_0
        | BlockFormat::Q4_1
        | BlockFormat::Q5_0
        | BlockFormat::Q5_1
        | BlockFormat::Q8_0
        | BlockFormat::Q8_1
        | BlockFormat::Q8K => None,
    }
}

/// What the rounding of the scales may add to a step, as a share of the greatest number.
///
/// q6_K has quants from -32 to 31, so that a number opposite to the greatest one is cut off by a whole step already. A group's scale is
/// an integer of 8 bits times the block's: up to half of a 128th of the greatest scale, times 32 steps, is 1/256 of the greatest
/// number. The block's is rounded to f16. In coarser formats that is inside the step.
fn of_scales(format: BlockFormat) -> f64 {
    if format == BlockFormat::Q6K {
        1.0 / 256.0 + 1.0 / 2048.0
    } else {
        0.0
    }
}

/// The weights that blocks of `x`, whole blocks of numbers of f32, mean.
pub(crate) fn quantized(format: BlockFormat, x: &[f64]) -> Vec<Element> {
    let blocks = x.chunks(format.block_len());
    blocks.flat_map(|block| of_block(format, block)).collect()
}

fn of_block(format: BlockFormat, x: &[f64]) -> Vec<Element> {
    let x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let exact = |value: f32| crate::ops::exact(u64::from(value.to_bits()));
    let Some(levels) = levels(format) else {
        return of_formula(format, &x).into_iter().map(exact).collect();
    };
    // Formats without an offset spread as far to both sides.
    let symmetric = matches!(format, BlockFormat::Q3K | BlockFormat::Q6K);
    let extreme = |of: fn(f32, f32) -> f32| f64::from(x.iter().copied().fold(0.0, of));
    let (low, high) = (extreme(f32::min), extreme(f32::max));
    let span = if symmetric {
        2.0 * high.max(-low)
    } else {
        high - low
    };
    let limit = Limit {
        ulp: 0.0,
        abs: span / levels + of_scales(format) * high.max(-low),
    };
    let near = |x: &f32| Element {
        bits: u64::from(x.to_bits()),
        limit,
    };
    x.iter().map(near).collect()
}

fn rounded(dtype: DType, x: f32) -> f32 {
    Format::of(dtype).map_or(x, |format| format.round(f64::from(x)) as f32)
}

/// 1 / d, and zero for a block of zeros.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// The first number of the greatest magnitude.
fn greatest(x: &[f32]) -> f32 {
    x.iter()
        .fold(0.0, |best: f32, x| if x.abs() > best.abs() { *x } else { best })
}

fn of_formula(format: BlockFormat, x: &[f32]) -> Vec<f32> {
    let half = |x: f32| rounded(DType::F16, x);
    let (least, most) = x
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), x| {
            (least.min(*x), most.max(*x))
        });
    let of = |quant: &dyn Fn(f32) -> Weight| x.iter().map(|x| quant(*x).value).collect();
    // A quant from 0 to 2 `centre` - 1 for a grid whose lowest number is the greatest of the block.
    let centred = |centre: f32| {
        let d = greatest(x) / -centre;
        let id = inverse(d);
        of(&|x| {
            let quant = ((x * id + centre + 0.5) as i32).min(2 * centre as i32 - 1);
            Weight::product(half(d), quant - centre as i32)
        })
    };
    // A quant from 0 to `top` above the least number.
    let above_least = |top: f32| {
        let d = (most - least) / top;
        let id = inverse(d);
        of(&|x| {
            let quant = (((x - least) * id + 0.5) as i32).min(top as i32);
            Weight::new(half(d), quant, half(least))
        })
    };
    match format {
        BlockFormat::Q4_0 => centred(8.0),
        BlockFormat::Q5_0 => centred(16.0),
        BlockFormat::Q4_1 => above_least(15.0),
        BlockFormat::Q5_1 => above_least(31.0),
        BlockFormat::Q8_0 | BlockFormat::Q8_1 => {
            let d = greatest(x).abs() / 127.0;
            let id = inverse(d);
            of(&|x| Weight::product(half(d), (x * id).round() as i32))
        }
        BlockFormat::Q8K => {
            let scale = match greatest(x) {
                0.0 => return vec![0.0; x.len()],
                greatest => -127.0 / greatest,
            };
            of(&|x| Weight::product(1.0 / scale, (scale * x).round().clamp(-128.0, 127.0) as i32))
        }
        BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16 => {
            x.iter().map(|x| rounded(format.floats().0, *x)).collect()
        }
        BlockFormat::Q2K | BlockFormat::Q3K | BlockFormat::Q4K | BlockFormat::Q5K | BlockFormat::Q6K => {
            panic!("{format} searches for scales")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(format: BlockFormat, x: &[f64]) -> Vec<f64> {
        let elements = quantized(format, x);
        let value = |element: &Element| f64::from(f32::from_bits(element.bits as u32));
        elements.iter().map(value).collect()
    }

    #[test]
    fn what_a_grid_holds_stays_what_it_is() {
        let grid =
            |low: i32, step: f64| -> Vec<f64> { (0..32).map(|i| f64::from(low + i % 16) * step).collect() };
        assert_eq!(values(BlockFormat::Q4_0, &grid(-8, 0.5)), grid(-8, 0.5));
        assert_eq!(values(BlockFormat::Q4_1, &grid(3, 0.25)), grid(3, 0.25));
        let whole: Vec<f64> = (0..32).map(|i| f64::from(i * 8 - 121)).collect();
        let whole = [&[127.0], &whole[1..]].concat();
        assert_eq!(values(BlockFormat::Q8_0, &whole), whole);
        assert_eq!(values(BlockFormat::F16, &[1.0 / 3.0]), [0.333_251_953_125]);
    }

    #[test]
    fn the_other_end_of_a_grid_with_an_odd_level_is_cut() {
        // -8 steps to one side, 7 to the other.
        let x: Vec<f64> = [-8.0, 8.0].into_iter().cycle().take(32).collect();
        let found = values(BlockFormat::Q4_0, &x);
        assert_eq!(&found[..2], [-8.0, 7.0]);
        assert_eq!(values(BlockFormat::Q5_0, &vec![0.0; 32]), vec![0.0; 32]);
    }

    #[test]
    fn a_block_that_is_searched_for_has_a_step_of_room() {
        let x: Vec<f64> = (0..256).map(|i| f64::from(i) / 255.0).collect();
        let limit = |format| quantized(format, &x)[7].limit.abs;
        assert_eq!(limit(BlockFormat::Q4K), 1.0 / 15.0);
        assert_eq!(limit(BlockFormat::Q6K), 2.0 / 63.0 + (1.0 / 256.0 + 1.0 / 2048.0));
        assert_eq!(limit(BlockFormat::Q8K), 0.0, "the control");
    }
}
