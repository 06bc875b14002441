//! Convolutions as products of matrices, by rocBLAS, where MIOpen does not serve: the windows become the columns of a matrix
//! (`kernels/unfold.hip`), an image at a time, and weights times columns is the result as it lies.
//!
//! It takes convolutions of floats whose weights lie one after the other, and only such as are faster so: see [`wins`].
//! Sums are rocBLAS's: in f32 for 16-bit floats and else in the dtype, rounded once.
#![expect(
    unsafe_code,
    reason = "submits kernels and library calls with the addresses of tensors"
)]

use std::sync::Arc;

use super::plan::Plan;
use crate::hip::blas::{Gemm, GemmOperand};
use crate::hip::context::Context;
use crate::hip::launch::matmul::rocblas;
use crate::hip::launch::{Args, BLOCK, Grid, scratch_bytes};
use crate::ops::window::Axis;
use crate::view::Region;
use crate::{DType, DynBuffer, Result, module};

/// The module, a file of `kernels/`, and its kernel.
const UNFOLD: &str = "unfold";
/// Bytes of a pack of elements, as `kernels/packs.h` has it.
const PACK: usize = 16;
/// Workgroups in y and z at most; the kernel strides over the grid.
const MAX_GRID_YZ: usize = 65535;

/// Whether a product is faster than the kernel that convolves. On an H200 that one does 8 T operations a second in every
/// dtype; here each element of the columns is written and read once, which `c_out` multiplications and additions must be
/// worth, and two launches more.
fn wins(dtype: DType, plan: &Plan) -> bool {
    let least = match dtype {
        _ if plan.is_pointwise() => 8,
        DType::F16 | DType::BF16 => 16,
        DType::F32 => 32,
        DType::F64 => 64,
        _ => return false,
    };
    let (Some(depth), Some(pixels)) = (plan.depth(), plan.pixels()) else {
        return false;
    };
    let terms = [plan.batch, plan.c_out, pixels]
        .into_iter()
        .fold(depth, usize::saturating_mul);
    plan.c_out >= least && depth >= 16 && terms >= 1 << 22
}

/// Computes the convolution by rocBLAS, if that is there and the convolution is one for it; says whether. The caller has
/// checked the sizes, and that no operand is empty.
pub(super) fn convolve(
    op: &'static str,
    context: &Arc<Context>,
    x: &Region<'_>,
    kernel: &Region<'_>,
    axes: &[Axis],
    out: &DynBuffer,
) -> Result<bool> {
    let dtype = out.dtype();
    let plan = kernel.dims().first().and_then(|c_out| Plan::new(x, *c_out, axes));
    let Some(plan) = plan.filter(|plan| wins(dtype, plan) && kernel.is_contiguous()) else {
        return Ok(false);
    };
    if !rocblas::is_there(context) {
        return Ok(false);
    }
    let is_input = plan.is_pointwise() && x.is_contiguous();
    let Some(product) = ConvolutionProduct::new(dtype, &plan, is_input, kernel, out) else {
        return Ok(false);
    };
    if is_input {
        // SAFETY: the columns are the input, which is contiguous and has a row of pixels for each image and channel.
        return unsafe { product.submit(op, context, address(x), 0, plan.batch) };
    }
    let Some(windows) = Windows::new(&plan, x, product.pitch) else {
        return Ok(false);
    };
    let image = product.depth * product.pitch;
    let at_once = (scratch_bytes(context) / (image * dtype.size_in_bytes())).clamp(1, plan.batch);
    let columns = DynBuffer::uninit(x.buffer().device(), dtype, at_once * image)?;
    for first in (0..plan.batch).step_by(at_once) {
        let images = at_once.min(plan.batch - first);
        windows.unfold(op, context, first, images, &columns)?;
        // SAFETY: the kernel above fills the columns of so many images. They go back to the pool at the end of this function;
        // who gets their memory next runs after this product.
        let is_done =
            unsafe { product.submit(op, context, columns.memory().block().address(), first, images) }?;
        if !is_done {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The address of a region's first element.
fn address(region: &Region<'_>) -> usize {
    let buffer = region.buffer();
    buffer.memory().block().address() + region.offset() * buffer.dtype().size_in_bytes()
}

/// The windows of images, which a kernel copies to the columns of matrices.
struct Windows<'a> {
    x: &'a Region<'a>,
    c_in: usize,
    /// Rows of an image's matrix, and from one to the next.
    depth: usize,
    pitch: usize,
    /// The sizes that the kernel takes in 32 bits, in its order.
    sizes: [u32; 13],
}

impl<'a> Windows<'a> {
    /// None for images of which a size or a place needs more than 32 bits.
    fn new(plan: &Plan, x: &'a Region<'a>, pitch: usize) -> Option<Windows<'a>> {
        let (row_step, step) = match *x.strides() {
            [_, _, step] => (0, step),
            [_, _, row_step, step] => (row_step, step),
            _ => return None,
        };
        // The last place within a channel, and the farthest that a window reaches.
        let reach = |size: usize, step: usize| (size - 1).checked_mul(step);
        let last = reach(plan.input[0], row_step)?.checked_add(reach(plan.input[1], step)?)?;
        u32::try_from(last).ok()?;
        let [height, width] = plan.input;
        // The step of a single row means nothing, and may be anything.
        let row_step = if height == 1 { 0 } else { row_step };
        let step = if width == 1 { 0 } else { step };
        let words = [
            height,
            width,
            row_step,
            step,
            plan.taps[0],
            plan.taps[1],
            plan.stride,
            plan.dilation,
            plan.padding[0],
            plan.padding[1],
            plan.pixels()?,
            plan.output[1],
            pitch,
        ];
        let mut sizes = [0; 13];
        for (size, word) in sizes.iter_mut().zip(words) {
            *size = u32::try_from(word).ok().filter(|word| *word < 1 << 31)?;
        }
        Some(Windows {
            x,
            c_in: plan.c_in,
            depth: plan.depth()?,
            pitch,
            sizes,
        })
    }

    /// Writes the columns of `images`, from number `first` on.
    fn unfold(
        &self,
        op: &str,
        context: &Arc<Context>,
        first: usize,
        images: usize,
        columns: &DynBuffer,
    ) -> Result<()> {
        let (x, dtype) = (self.x, columns.dtype());
        let function = module::named(
            context,
            UNFOLD,
            &format!("{UNFOLD}_{}", dtype.suffix()),
            op,
            dtype,
        )?;
        debug_assert!(images * self.depth * self.pitch <= columns.len());
        let image_step = x.strides()[0];
        let mut args = Args::default();
        args.size(images)
            .size(self.c_in)
            .size(image_step)
            .size(x.strides()[1]);
        for word in self.sizes {
            args.int(word);
        }
        args.element(x.buffer(), x.offset() + first * image_step)
            .element(columns, 0);
        let packs = self.pitch / (PACK / dtype.size_in_bytes());
        let threads = packs.clamp(1, BLOCK).next_multiple_of(super::LANES);
        let grid = Grid::new(
            [
                packs.div_ceil(threads),
                self.c_in.min(MAX_GRID_YZ),
                images.min(MAX_GRID_YZ),
            ],
            [threads, 1, 1],
        );
        // SAFETY: the arguments are those of `unfold_<dtype>`, of the buffers' dtype. The kernel reads elements of the images
        // of the region only, as their own sizes and strides have them, and writes `images * depth * pitch` elements, for
        // which the columns have room.
        unsafe { args.submit(op, context, &function, grid) }
    }
}

/// The weights times the columns of images, `c_out` by `depth` times `depth` by pixels.
#[derive(Debug, Clone, Copy)]
struct ConvolutionProduct {
    dtype: DType,
    weights: usize,
    out: usize,
    c_out: usize,
    depth: usize,
    pixels: usize,
    /// From a row of the columns to the next.
    pitch: usize,
}

impl ConvolutionProduct {
    /// `is_input`: the columns are the input itself. Else each of their rows is whole packs, so that all are aligned.
    fn new(
        dtype: DType,
        plan: &Plan,
        is_input: bool,
        kernel: &Region<'_>,
        out: &DynBuffer,
    ) -> Option<ConvolutionProduct> {
        let (depth, pixels) = (plan.depth()?, plan.pixels()?);
        let pitch = match is_input {
            true => pixels,
            false => pixels.checked_next_multiple_of(PACK / dtype.size_in_bytes())?,
        };
        // An image's columns can be counted in bytes.
        depth.checked_mul(pitch)?.checked_mul(dtype.size_in_bytes())?;
        // rocBLAS counts in 31 bits; a batch is no longer than its images are.
        for size in [depth, pitch, plan.c_out, plan.batch] {
            i32::try_from(size).ok()?;
        }
        Some(ConvolutionProduct {
            dtype,
            weights: address(kernel),
            out: out.memory().block().address(),
            c_out: plan.c_out,
            depth,
            pixels,
            pitch,
        })
    }

    /// Submits the product for `images`, from number `first` on. False where rocBLAS has no kernel for it: nothing was done.
    ///
    /// # Safety
    /// At `columns` lie `images * depth` rows of the pitch, in memory of `context`, and the weights and the result are as
    /// long as the plan that this was made of says, in buffers that nobody else writes.
    unsafe fn submit(
        &self,
        op: &'static str,
        context: &Context,
        columns: usize,
        first: usize,
        images: usize,
    ) -> Result<bool> {
        let count = |size: usize| i32::try_from(size).unwrap_or(i32::MAX);
        // By columns, as rocBLAS has it, all three are the transposed matrices: the result is columns times weights.
        let call = Gemm {
            dtype: self.dtype,
            out_dtype: self.dtype,
            m: count(self.pixels),
            n: count(self.c_out),
            k: count(self.depth),
            batch: count(images),
            a: GemmOperand {
                address: columns,
                is_transposed: false,
                ld: count(self.pitch),
                stride: (self.depth * self.pitch) as i64,
            },
            b: GemmOperand {
                address: self.weights,
                is_transposed: false,
                ld: count(self.depth),
                stride: 0,
            },
            out: self.out + first * self.c_out * self.pixels * self.dtype.size_in_bytes(),
            out_ld: count(self.pixels),
        };
        // SAFETY: the caller's promise, and sizes that `new` found to be countable.
        unsafe { rocblas::serve(op, context, &call) }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::{Device, Element, View, driver};

    /// The columns of two images of three channels, as the definition of a convolution has them: `[image, channel, tap in y, tap in x,
    /// pixel]`, of a view whose rows lie apart and whose elements do if `step` is not 1.
    fn check<T: Element + PartialEq>(number: fn(usize) -> T, step: usize, mut plan: Plan) {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let [height, width] = plan.input;
        let effective = |of: usize| plan.dilation * (plan.taps[of] - 1) + 1;
        let outputs = |of: usize| (plan.input[of] + 2 * plan.padding[of] - effective(of)) / plan.stride + 1;
        plan.output = [outputs(0), outputs(1)];
        let row = width * step + 3;
        let (channel, image) = (height * row + 5, 3 * (height * row + 5) + 7);
        let stored: Vec<T> = (0..2 * image + 1).map(number).collect();
        let x = device.upload(&stored).unwrap().untyped();
        let (dims, strides) = ([2, 3, height, width], [image, channel, row, step]);
        let x = View::new(&x, &dims, &strides).at(1).check(UNFOLD).unwrap();
        let pixels = plan.pixels().unwrap();
        let pitch = pixels.next_multiple_of(PACK / size_of::<T>());
        let depth = plan.depth().unwrap();
        let columns = DynBuffer::uninit(&device, T::DTYPE, 2 * depth * pitch).unwrap();
        let windows = Windows::new(&plan, &x, pitch).unwrap();
        windows.unfold(UNFOLD, device.context(), 0, 2, &columns).unwrap();
        let got: Vec<T> = columns.download().unwrap();
        for (at, got) in got.into_iter().enumerate() {
            let (pixel, row_of) = (at % pitch, at / pitch);
            let (tap_x, rest) = (row_of % plan.taps[1], row_of / plan.taps[1]);
            let (tap_y, rest) = (rest % plan.taps[0], rest / plan.taps[0]);
            let place = |of: usize, out: usize, tap: usize| {
                (out * plan.stride + tap * plan.dilation).checked_sub(plan.padding[of])
            };
            let y = place(0, pixel / plan.output[1], tap_y).filter(|y| *y < height);
            let x = place(1, pixel % plan.output[1], tap_x).filter(|x| *x < width);
            let wanted = match (y, x) {
                (Some(y), Some(x)) if pixel < pixels => {
                    stored[1 + rest / 3 * image + rest % 3 * channel + y * row + x * step]
                }
                _ => T::default(),
            };
            assert!(
                got == wanted,
                "{plan:?}, step {step}, element {at}: {got:?}, not {wanted:?}"
            );
        }
    }

    #[test]
    fn windows_become_columns_with_zeros_in_the_padding_and_behind_the_pixels() {
        for (taps, input) in [
            ([3, 3], [9, 11]),
            ([1, 5], [1, 33]),
            ([2, 3], [8, 7]),
            ([5, 1], [6, 4]),
        ] {
            for (padding, stride, dilation) in
                [(0, 1, 1), (1, 1, 1), (2, 2, 1), (1, 3, 1), (4, 1, 2), (4, 2, 2)]
            {
                let mut plan = plan(2, [3, 64], taps, input);
                plan.padding = [if input[0] == 1 { 0 } else { padding }, padding];
                (plan.stride, plan.dilation) = (stride, dilation);
                if (0..2).any(|of| plan.input[of] + 2 * plan.padding[of] < dilation * (taps[of] - 1) + 1) {
                    continue;
                }
                for step in [1, 2] {
                    check(|i| i as f32 + 1.0, step, plan);
                    check(|i| i as f64 + 1.0, step, plan);
                    check(|i| f16::from_f32((i % 2000 + 1) as f32), step, plan);
                }
            }
        }
    }

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

    #[test]
    fn large_convolutions_of_many_channels_are_products() {
        let resnet = plan(32, [64, 128], [3, 3], [56, 56]);
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            assert!(wins(dtype, &resnet), "{dtype}");
        }
        // The columns cost as much as the sums: few results a window, short sums, little in all; no floats.
        assert!(!wins(DType::F32, &plan(32, [64, 16], [3, 3], [56, 56])));
        assert!(wins(DType::F16, &plan(32, [64, 16], [3, 3], [56, 56])));
        assert!(!wins(DType::F16, &plan(32, [1, 64], [3, 3], [224, 224])));
        assert!(!wins(DType::F16, &plan(1, [64, 64], [3, 3], [8, 8])));
        assert!(!wins(DType::U8, &resnet));
        assert!(wins(DType::F32, &plan(32, [64, 8], [1, 1], [56, 56])));
        // Sizes that cannot be counted are no product, and no panic.
        assert!(!wins(DType::F32, &plan(2, [usize::MAX, 64], [3, 3], [8, 8])));
        assert!(!wins(DType::F32, &plan(2, [64, 64], [3, 3], [usize::MAX, 8])));
    }
}
