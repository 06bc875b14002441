//! Convolutions of f32 on the matrix cores of NVIDIA's GPUs, in one launch and without a matrix of windows
//! (`kernels/conv_nvidia.hip`, which says how the sums stay as near to the right ones as those of multiply-adds).
//!
//! It takes convolutions whose weights lie one after the other, and only such as are faster so than by cuDNN: see [`Call::new`].
#![expect(unsafe_code, reason = "submits a kernel with the addresses of tensors")]

use std::sync::Arc;

use super::plan::Plan;
use crate::hip::context::Context;
use crate::hip::launch::{Args, Grid};
use crate::ops::window::Axis;
use crate::trace::Level;
use crate::view::{Region, divisor};
use crate::{DType, DriverKind, DynBuffer, Result, module};

/// The module, a file of `kernels/`.
const MODULE: &str = "conv_nvidia";
/// Threads of a workgroup.
const THREADS: usize = 128;
/// What four weights are read at once from.
const ALIGNMENT: usize = 16;
/// Sizes, and a row and a column of a window, as the kernel counts them.
const MAX_SIZE: usize = 1 << 30;
const MAX_TAPS: usize = 31;
/// Places of a window, at least: a product is within 12 units of 2^-24 of itself, which sums of so many multiply-adds may be off.
const MIN_DEPTH: usize = 32;
/// Places of a window of which few tiles are taken.
const SHORT: usize = 144;
/// Results of a channel: what a `Divisor` divides, less a tile.
const MAX_COUNT: usize = (1 << 31) - 256;

/// A kernel: channels and pixels of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tile {
    high: usize,
    wide: usize,
}

const TILES: [Tile; 2] = [Tile { high: 128, wide: 64 }, Tile { high: 64, wide: 128 }];

impl Tile {
    fn symbol(self) -> String {
        format!("conv_{}_f32", self.high)
    }
}

/// A launch, but for the addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    tile: Tile,
    tiles: usize,
    /// The arguments that the kernel takes in 32 bits, in its order, and the divisors behind them.
    sizes: [u32; 17],
    divisors: [u64; 4],
}

impl Call {
    /// The launch for images that lie as `strides` say, if it is one for the kernels of a GPU of so many `units`, and one that wins.
    ///
    /// On an H200 (132 units) they had 0.6 to 0.9 of cuDNN's time wherever tiles filled three quarters of the units and were
    /// themselves three quarters full, and lost where fewer tiles had long sums: 50 tiles of sums of 2,304 took 132 µs, 112 by
    /// cuDNN. With sums of 144 and 64 tiles they took 30 µs, 38 by cuDNN.
    fn new(plan: &Plan, strides: &[usize], units: usize) -> Option<Call> {
        let (depth, pixels) = (plan.depth()?, plan.pixels()?);
        let count = plan
            .batch
            .checked_mul(pixels)
            .filter(|count| *count <= MAX_COUNT)?;
        // The fewest channels that are computed in vain; the wider tile of weights if they are as many.
        let padded = |tile: &Tile| plan.c_out.next_multiple_of(tile.high);
        let tile = *TILES.iter().min_by_key(|tile| padded(tile))?;
        let tiles = (padded(&tile) / tile.high).checked_mul(count.div_ceil(tile.wide))?;
        let wins = match tiles >= units * 3 / 4 {
            true => plan.c_out * 4 >= padded(&tile) * 3,
            false => depth <= SHORT,
        };
        let fits = depth >= MIN_DEPTH
            && depth % 4 == 0
            && plan.taps[0] + plan.taps[1] <= MAX_TAPS
            && tiles < MAX_SIZE;
        if !wins || !fits {
            return None;
        }
        // The step between what there is one of means nothing, and may be anything.
        let step = |size: usize, step: usize| if size == 1 { 0 } else { step };
        let (row, col) = match *strides {
            [_, _, col] => (0, col),
            [_, _, row, col] => (row, col),
            _ => return None,
        };
        let image = step(plan.batch, *strides.first()?);
        let channel = step(plan.c_in, *strides.get(1)?);
        let [row, col] = [step(plan.input[0], row), step(plan.input[1], col)];
        // The last place of a window, from its first.
        let reach = |count: usize, step: usize| (count - 1).checked_mul(step);
        let last = [
            reach(plan.c_in, channel)?,
            reach(plan.taps[0], plan.dilation.checked_mul(row)?)?,
            reach(plan.taps[1], plan.dilation.checked_mul(col)?)?,
        ];
        let last = last.into_iter().try_fold(0_usize, usize::checked_add)?;
        i32::try_from(last).ok()?;
        let small = |size: &usize| *size < MAX_SIZE;
        let numbers = [
            plan.c_out,
            depth,
            count,
            pixels,
            plan.output[1],
            plan.taps[0],
            plan.taps[1],
            plan.stride,
            plan.dilation,
            plan.padding[0],
            plan.padding[1],
            plan.input[0],
            plan.input[1],
            image,
            channel,
            row,
            col,
        ];
        let of_images = numbers.iter().enumerate().filter(|(at, _)| *at != 2 && *at < 13);
        if !of_images.map(|(_, size)| size).all(small) {
            return None;
        }
        let mut sizes = [0; 17];
        for (size, number) in sizes.iter_mut().zip(numbers) {
            *size = u32::try_from(number).ok()?;
        }
        Some(Call {
            tile,
            tiles,
            sizes,
            divisors: [plan.taps[0] * plan.taps[1], plan.taps[1], pixels, plan.output[1]].map(divisor),
        })
    }
}

/// Computes the convolution, if it is one for these kernels; says whether. The caller has checked the sizes, and that no
/// operand is empty.
pub(super) fn convolve(
    op: &'static str,
    context: &Arc<Context>,
    x: &Region<'_>,
    kernel: &Region<'_>,
    axes: &[Axis],
    out: &DynBuffer,
) -> Result<bool> {
    let info = context.info();
    if info.driver().kind() != DriverKind::Nvidia || out.dtype() != DType::F32 || !kernel.is_contiguous() {
        return Ok(false);
    }
    let weights = kernel.buffer().memory().block().address() + kernel.offset() * size_of::<f32>();
    let plan = kernel.dims().first().and_then(|c_out| Plan::new(x, *c_out, axes));
    let call = plan.and_then(|plan| Call::new(&plan, x.strides(), info.compute_units() as usize));
    let Some(call) = call.filter(|_| weights.is_multiple_of(ALIGNMENT)) else {
        return Ok(false);
    };
    let function = module::named(context, MODULE, &call.tile.symbol(), op, DType::F32)?;
    let mut args = Args::default();
    for size in call.sizes {
        args.int(size);
    }
    for divisor in call.divisors {
        args.word(divisor);
    }
    args.element(x.buffer(), x.offset())
        .element(kernel.buffer(), kernel.offset())
        .element(out, 0);
    let grid = Grid::of(call.tiles, THREADS);
    // SAFETY: the arguments are those of `conv_<high>_f32`, and the buffers are of f32. The kernel reads elements of the two regions
    // only, as their own sizes and strides have them, from addresses that are aligned as it needs them, and `out` has room for
    // the results.
    unsafe { args.submit(op, context, &function, grid) }?;
    context.ledger().add(op, op, Level::of_kernels(info.driver()));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A convolution of square images with padding that keeps their size.
    fn plan(batch: usize, [c_in, c_out]: [usize; 2], taps: [usize; 2], output: [usize; 2]) -> Plan {
        Plan {
            batch,
            c_in,
            c_out,
            input: output,
            taps,
            output,
            padding: taps.map(|taps| taps / 2),
            stride: 1,
            dilation: 1,
        }
    }

    /// The strides of packed images.
    fn packed(plan: &Plan) -> [usize; 4] {
        let [height, width] = plan.input;
        [plan.c_in * height * width, height * width, width, 1]
    }

    fn call(plan: &Plan) -> Option<Call> {
        Call::new(plan, &packed(plan), 132)
    }

    #[test]
    fn a_convolution_becomes_one_launch_of_tiles() {
        let resnet = plan(32, [64, 128], [3, 3], [56, 56]);
        let call = call(&resnet).unwrap();
        assert_eq!(call.tile, TILES[0]);
        assert_eq!(call.tile.symbol(), "conv_128_f32");
        assert_eq!(call.tiles, 32 * 56 * 56 / 64);
        let sizes = [
            128,
            576,
            32 * 56 * 56,
            56 * 56,
            56,
            3,
            3,
            1,
            1,
            1,
            1,
            56,
            56,
            64 * 56 * 56,
            56 * 56,
            56,
            1,
        ];
        assert_eq!(call.sizes, sizes);
        assert_eq!(call.divisors, [9, 3, 56 * 56, 56].map(divisor));

        // One dimension is an image of height 1, whose rows are no step apart.
        let mut line = plan(16, [256, 256], [1, 3], [1, 4096]);
        line.padding = [0, 1];
        let call = Call::new(&line, &[256 * 4096, 4096, 1], 132).unwrap();
        assert_eq!(call.tiles, 2 * 16 * 4096 / 64);
        assert_eq!(
            call.sizes[5..],
            [1, 3, 1, 1, 0, 1, 1, 4096, 256 * 4096, 4096, 0, 1]
        );
    }

    #[test]
    fn tiles_are_as_high_as_leaves_the_fewest_channels_out() {
        let high = |c_out| call(&plan(32, [64, c_out], [3, 3], [56, 56])).map(|call| call.tile.high);
        for (c_out, wanted) in [
            (128, Some(128)),
            (256, Some(128)),
            (112, Some(128)),
            (64, Some(64)),
            (192, Some(64)),
            (48, Some(64)),
            (32, None),
            (16, None),
        ] {
            assert_eq!(high(c_out), wanted, "{c_out} channels");
        }
    }

    #[test]
    fn few_tiles_are_taken_where_sums_are_short() {
        let taken = |plan: Plan| call(&plan).is_some();
        assert!(!taken(plan(1, [64, 64], [3, 3], [56, 56])));
        assert!(!taken(plan(1, [512, 512], [3, 3], [7, 7])));
        assert!(taken(plan(4, [16, 32], [3, 3], [32, 32])));
        assert!(taken(plan(1, [8, 4], [3, 3], [9, 9])));
    }

    #[test]
    fn what_the_kernel_cannot_count_or_read_at_once_is_left_to_others() {
        let taken = |plan: Plan| call(&plan).is_some();
        // Few places.
        assert!(!taken(plan(32, [28, 64], [1, 1], [56, 56])));
        assert!(taken(plan(32, [32, 64], [1, 1], [56, 56])));
        // Windows of 147 places: no four weights of a row lie in one piece of 16 bytes.
        assert!(!taken(plan(32, [3, 64], [7, 7], [112, 112])));
        assert!(taken(plan(32, [4, 64], [7, 7], [112, 112])));
        // Rows and columns of a window have a bit each.
        assert!(!taken(plan(32, [4, 64], [16, 16], [56, 56])));
        assert!(!taken(plan(usize::MAX, [64, 128], [3, 3], [56, 56])));
        assert!(Call::new(&plan(2, [usize::MAX, 128], [3, 3], [56, 56]), &[1; 4], 132).is_none());
        assert!(!taken(plan(1 << 20, [64, 128], [3, 3], [56, 56])));
        // A window that reaches farther than 31 bits.
        let far = plan(32, [64, 128], [3, 3], [56, 56]);
        assert!(Call::new(&far, &[1 << 20, 1 << 26, 56, 1], 132).is_none());
        assert!(Call::new(&far, &[1 << 32, 3136, 56, 1], 132).is_none());
        // Of one image the step to the next means nothing.
        let single = plan(1, [64, 128], [3, 3], [224, 224]);
        assert!(Call::new(&single, &[usize::MAX, 224 * 224, 224, 1], 132).is_some());
    }
}
