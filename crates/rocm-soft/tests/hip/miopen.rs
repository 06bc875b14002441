//! The model of MIOpen: convolutions, gradients and poolings worked out by hand or by a loop, and what it refuses.

use core::ffi::c_void;
use core::ptr;

use rocm_rs::miopen::bindings as nn;
use rocm_rs::miopen::bindings::{
    miopenConvSolution_t, miopenConvolutionDescriptor_t, miopenHandle_t, miopenStatus_t,
    miopenTensorDescriptor_t,
};

use crate::call::{download, malloc, upload};

const SUCCESS: miopenStatus_t = nn::miopenStatus_t_miopenStatusSuccess;
const BAD_PARAMETER: miopenStatus_t = nn::miopenStatus_t_miopenStatusBadParm;
const FLOAT: u32 = nn::miopenDataType_t_miopenFloat;

/// `nn!(miopenDestroy(handle))`: what the function gives.
macro_rules! nn {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let witness = || {
            let declared: unsafe extern "C" fn($($crate::call::infer!($argument)),*) -> _ = nn::$name;
            declared
        };
        // SAFETY: the type is the declaration's, and the tests pass what MIOpen asks for.
        unsafe { $crate::call::resolve(stringify!($name), witness)($($argument),*) }
    }};
}

fn handle() -> miopenHandle_t {
    let mut handle = ptr::null_mut();
    assert_eq!(nn!(miopenCreateWithStream(&mut handle, ptr::null_mut())), SUCCESS);
    handle
}

fn tensor(datatype: u32, [n, c, h, w]: [i32; 4]) -> miopenTensorDescriptor_t {
    let mut tensor = ptr::null_mut();
    assert_eq!(nn!(miopenCreateTensorDescriptor(&mut tensor)), SUCCESS);
    assert_eq!(
        nn!(miopenSet4dTensorDescriptor(tensor, datatype, n, c, h, w)),
        SUCCESS
    );
    tensor
}

/// A convolution with padding, stride and dilation of both axes.
fn convolution([padding, stride, dilation]: [i32; 3], groups: i32) -> miopenConvolutionDescriptor_t {
    let mut convolution = ptr::null_mut();
    assert_eq!(nn!(miopenCreateConvolutionDescriptor(&mut convolution)), SUCCESS);
    let mode = nn::miopenConvolutionMode_t_miopenConvolution;
    let status = nn!(miopenInitConvolutionDescriptor(
        convolution,
        mode,
        padding,
        padding,
        stride,
        stride,
        dilation,
        dilation
    ));
    assert_eq!(status, SUCCESS);
    assert_eq!(nn!(miopenSetConvolutionGroupCount(convolution, groups)), SUCCESS);
    convolution
}

fn floats(values: &[f32]) -> *mut c_void {
    upload(&values.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
}

fn read(pointer: *mut c_void, len: usize) -> Vec<f32> {
    download(pointer, len).into_iter().map(f32::from_bits).collect()
}

/// Sizes of a convolution.
#[derive(Clone, Copy)]
struct Sizes {
    images: [i32; 4],
    kernel: [i32; 4],
    results: [i32; 4],
    /// Padding, stride, dilation.
    slide: [i32; 3],
    groups: i32,
}

/// Small whole numbers, none like its neighbours.
fn numbers(sizes: [i32; 4], seed: i32) -> Vec<f32> {
    (0..sizes.iter().product::<i32>())
        .map(|i| ((i * 7 + seed) % 9 - 4) as f32)
        .collect()
}

impl Sizes {
    fn solution(&self, handle: miopenHandle_t, is_gradient: bool) -> (usize, miopenConvSolution_t) {
        let [x, w, y] = [self.images, self.kernel, self.results].map(|sizes| tensor(FLOAT, sizes));
        let conv = convolution(self.slide, self.groups);
        let mut found = 7_usize;
        let mut best = miopenConvSolution_t {
            time: 0.0,
            workspace_size: 0,
            solution_id: 0,
            algorithm: 0,
        };
        let status = if is_gradient {
            nn!(miopenConvolutionBackwardDataGetSolution(
                handle, y, w, conv, x, 1_usize, &mut found, &mut best
            ))
        } else {
            nn!(miopenConvolutionForwardGetSolution(
                handle, w, x, conv, y, 1_usize, &mut found, &mut best
            ))
        };
        assert_eq!(status, SUCCESS);
        (found, best)
    }

    /// The status and the results of the forward call, with a workspace of `room` bytes, or as many as are asked for.
    fn forward(&self, images: &[f32], kernel: &[f32], room: Option<usize>) -> (miopenStatus_t, Vec<f32>) {
        let handle = handle();
        let (_, best) = self.solution(handle, false);
        let [x, w, y] = [self.images, self.kernel, self.results].map(|sizes| tensor(FLOAT, sizes));
        let len = self.results.iter().product::<i32>() as usize;
        let (out, room) = (malloc(4 * len), room.unwrap_or(best.workspace_size));
        let status = nn!(miopenConvolutionForwardImmediate(
            handle,
            w,
            floats(kernel).cast_const(),
            x,
            floats(images).cast_const(),
            convolution(self.slide, self.groups),
            y,
            out,
            malloc(room.max(1)),
            room,
            best.solution_id
        ));
        (status, read(out, len))
    }

    fn gradient(&self, results: &[f32], kernel: &[f32]) -> Vec<f32> {
        let handle = handle();
        let (found, best) = self.solution(handle, true);
        assert_eq!(found, 1);
        let [x, w, y] = [self.images, self.kernel, self.results].map(|sizes| tensor(FLOAT, sizes));
        let len = self.images.iter().product::<i32>() as usize;
        let out = malloc(4 * len);
        let status = nn!(miopenConvolutionBackwardDataImmediate(
            handle,
            y,
            floats(results).cast_const(),
            w,
            floats(kernel).cast_const(),
            convolution(self.slide, self.groups),
            x,
            out,
            malloc(best.workspace_size),
            best.workspace_size,
            best.solution_id
        ));
        assert_eq!(status, SUCCESS);
        read(out, len)
    }
}

const PLAIN: Sizes = Sizes {
    images: [1, 1, 3, 3],
    kernel: [1, 1, 2, 2],
    results: [1, 1, 2, 2],
    slide: [0, 1, 1],
    groups: 1,
};

#[test]
fn a_convolution_by_hand() {
    let images = [1., 2., 3., 4., 5., 6., 7., 8., 9.];
    // 1 5 + 10 top right + 100 bottom left + 1000 bottom right.
    let (status, results) = PLAIN.forward(&images, &[1., 10., 100., 1000.], None);
    assert_eq!(status, SUCCESS);
    assert_eq!(results, [5421., 6532., 8754., 9865.]);
}

#[test]
fn padding_stride_dilation_and_groups_are_those_of_the_definition() {
    let sizes = Sizes {
        images: [2, 4, 6, 5],
        kernel: [6, 2, 2, 3],
        results: [2, 6, 4, 3],
        slide: [2, 2, 2],
        groups: 2,
    };
    let (images, kernel) = (numbers(sizes.images, 1), numbers(sizes.kernel, 4));
    let (status, results) = sizes.forward(&images, &kernel, None);
    assert_eq!(status, SUCCESS);
    let [n, k, rows, cols] = sizes.results;
    let mut want = Vec::new();
    for at in 0..n * k * rows * cols {
        let (col, row, channel, image) = (
            at % cols,
            at / cols % rows,
            at / cols / rows % k,
            at / cols / rows / k,
        );
        let mut sum = 0.0;
        for (c, y, x) in (0..2).flat_map(|c| (0..2).flat_map(move |y| (0..3).map(move |x| (c, y, x)))) {
            let (h, w) = (row * 2 + y * 2 - 2, col * 2 + x * 2 - 2);
            if (0..6).contains(&h) && (0..5).contains(&w) {
                let of = channel / 3 * 2 + c;
                let pixel = images[(((image * 4 + of) * 6 + h) * 5 + w) as usize];
                sum += pixel * kernel[(((channel * 2 + c) * 2 + y) * 3 + x) as usize];
            }
        }
        want.push(sum);
    }
    assert_eq!(results, want);
}

#[test]
fn the_gradient_is_the_convolutions_transpose() {
    // <conv(x), y> = <x, gradient(y)>, exactly for whole numbers.
    for sizes in [
        PLAIN,
        Sizes {
            images: [2, 4, 5, 5],
            kernel: [2, 2, 3, 3],
            results: [2, 2, 3, 3],
            slide: [1, 2, 1],
            groups: 2,
        },
    ] {
        let (x, w, y) = (
            numbers(sizes.images, 2),
            numbers(sizes.kernel, 5),
            numbers(sizes.results, 8),
        );
        let (status, forward) = sizes.forward(&x, &w, None);
        assert_eq!(status, SUCCESS);
        let back = sizes.gradient(&y, &w);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert_eq!(dot(&forward, &y), dot(&x, &back));
        assert_ne!(dot(&x, &back), 0.0);
    }
}

#[test]
fn a_workspace_that_is_too_small_is_refused() {
    let (images, kernel) = (numbers(PLAIN.images, 1), numbers(PLAIN.kernel, 1));
    let (_, best) = PLAIN.solution(handle(), false);
    assert_eq!(best.workspace_size, 4 * 4 * 4, "four taps of four windows");
    assert_eq!(
        PLAIN.forward(&images, &kernel, Some(best.workspace_size)).0,
        SUCCESS
    );
    assert_eq!(
        PLAIN.forward(&images, &kernel, Some(best.workspace_size - 1)).0,
        BAD_PARAMETER
    );
}

#[test]
fn sizes_that_do_not_fit_and_dtypes_without_convolutions_are_refused() {
    let handle = handle();
    let conv = convolution([0, 1, 1], 1);
    let mut found = 7_usize;
    let mut best = PLAIN.solution(handle, false).1;
    let mut ask = |x, w, y| {
        let status = nn!(miopenConvolutionForwardGetSolution(
            handle, w, x, conv, y, 1_usize, &mut found, &mut best
        ));
        (status, found)
    };
    let float = |sizes| tensor(FLOAT, sizes);
    let (x, w, y) = (float(PLAIN.images), float(PLAIN.kernel), float(PLAIN.results));
    assert_eq!(ask(x, w, y), (SUCCESS, 1));
    assert_eq!(ask(x, w, float([1, 1, 2, 3])).0, BAD_PARAMETER);
    assert_eq!(ask(x, float([1, 2, 2, 2]), y).0, BAD_PARAMETER);
    assert_eq!(ask(x, float([1, 1, 4, 4]), y).0, BAD_PARAMETER);
    let double = |sizes| tensor(nn::miopenDataType_t_miopenDouble, sizes);
    assert_eq!(ask(double(PLAIN.images), w, y).0, BAD_PARAMETER, "two dtypes");
    let answer = ask(double(PLAIN.images), double(PLAIN.kernel), double(PLAIN.results));
    assert_eq!(answer, (SUCCESS, 0), "no solution");
    assert_eq!(
        nn!(miopenSet4dTensorDescriptor(x, FLOAT, 1, 0, 3, 3)),
        BAD_PARAMETER,
        "a size of 0"
    );
    assert_eq!(nn!(miopenSetConvolutionGroupCount(conv, 0)), BAD_PARAMETER);
    assert_eq!(nn!(miopenDestroy(handle)), SUCCESS);
    assert_eq!(nn!(miopenDestroy(handle)), BAD_PARAMETER);
}

#[test]
fn poolings_take_the_largest_or_a_mean_with_or_without_the_padding() {
    let images = floats(&[1., 2., 3., 4.]);
    let (x, y) = (tensor(FLOAT, [1, 1, 2, 2]), tensor(FLOAT, [1, 1, 2, 2]));
    let pool = |mode, scale: f32| {
        let mut pooling = ptr::null_mut();
        assert_eq!(nn!(miopenCreatePoolingDescriptor(&mut pooling)), SUCCESS);
        assert_eq!(
            nn!(miopenSet2dPoolingDescriptor(pooling, mode, 2, 2, 1, 1, 2, 2)),
            SUCCESS
        );
        let (out, zero) = (malloc(16), 0.0_f32);
        let status = nn!(miopenPoolingForward(
            handle(),
            pooling,
            (&raw const scale).cast::<c_void>(),
            x,
            images.cast_const(),
            (&raw const zero).cast::<c_void>(),
            y,
            out,
            false,
            ptr::null_mut(),
            0_usize
        ));
        (status, read(out, 4))
    };
    let numbers = vec![1., 2., 3., 4.];
    assert_eq!(
        pool(nn::miopenPoolingMode_t_miopenPoolingMax, 1.0),
        (SUCCESS, numbers.clone())
    );
    assert_eq!(
        pool(nn::miopenPoolingMode_t_miopenPoolingAverage, 1.0),
        (SUCCESS, numbers)
    );
    let quarters = vec![0.25, 0.5, 0.75, 1.0];
    assert_eq!(
        pool(nn::miopenPoolingMode_t_miopenPoolingAverageInclusive, 1.0),
        (SUCCESS, quarters)
    );
    let scaled = pool(nn::miopenPoolingMode_t_miopenPoolingMax, 2.0).0;
    assert_eq!(scaled, nn::miopenStatus_t_miopenStatusUnknownError);
}
